// The meaning of typed keys and numbers, without a document.

import { plainDigits } from "./layout.js";

/**
 * The state after a digit of a word's number. The number is complete, and has a place, when no other digit can
 * follow; it is still kept as typed, because a slip such as 99 for 9 shows only at the next digit.
 * @param {string} typed
 * @param {number} nWords
 * @param {"head" | "word"} what is typed: 0 is a head, but no word
 * @returns {{ typed: string, place: number | null, text: string, isBad: boolean }}
 */
export function afterDigits(typed, nWords, what = "head") {
  if (!typed) return { typed: "", place: null, text: "", isBad: false };
  const place = Number(typed);
  if (place > nWords || (what === "word" && place === 0)) {
    return { typed: "", place: null, text: `There is no word ${typed}.`, isBad: true };
  }
  if (typed === "0" || place * 10 > nWords) return { typed, place, text: "", isBad: false };
  const name = what === "head" ? "Head" : "Go to word";
  return { typed, place: null, text: `${name} ${typed}: Enter, or more digits`, isBad: false };
}

/**
 * The meaning of the keys that work everywhere: Ctrl or Cmd with Z, Y or Shift Z.
 * @param {{ key: string, ctrlKey: boolean, metaKey: boolean, shiftKey: boolean }} event
 * @returns {"undo" | "redo" | null}
 */
export function backKey(event) {
  if (!event.ctrlKey && !event.metaKey) return null;
  const letter = event.key.toLowerCase();
  if (letter === "y" || (letter === "z" && event.shiftKey)) return "redo";
  return letter === "z" ? "undo" : null;
}

/**
 * The typed number of a sentence, counted from 0; null if there is no such sentence.
 * @param {string} text
 * @param {number} total
 */
export function sentenceNumber(text, total) {
  const digits = plainDigits(text);
  const isOne = /^[0-9]{1,9}$/.test(digits) && Number(digits) >= 1 && Number(digits) <= total;
  return isOne ? Number(digits) - 1 : null;
}

/**
 * The element after the present one, and the first after the last. If the present one is not there, the first.
 * @template Element
 * @param {Element[]} list not empty
 * @param {Element} present
 * @param {1 | -1} step -1: the one before
 */
export function turned(list, present, step) {
  const k = list.indexOf(present);
  if (k < 0) return list[step > 0 ? 0 : list.length - 1];
  return list[(k + step + list.length) % list.length];
}

/** @type {Record<string, string>} */
export const TAG_KEYS = {
  j: "ADJ", p: "ADP", a: "ADV", x: "AUX", c: "CCONJ", d: "DET", i: "INTJ", n: "NOUN", m: "NUM", t: "PART", o: "PRON",
  e: "PROPN", u: "PUNCT", s: "SCONJ", y: "SYM", v: "VERB", z: "X",
};

/** The place in the address: "#s=35&w=4". Null if there is none. @param {string} hash */
export function placeIn(hash) {
  const found = /^#s=(\d{1,9})(?:&w=(\d{1,9}))?$/.exec(hash);
  return found ? { id: Number(found[1]), word: Number(found[2] ?? 0) } : null;
}

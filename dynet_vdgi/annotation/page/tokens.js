// Words and sentences: splitting, joining, multiword tokens, cutting and joining sentences.

import { ask } from "./choice.js";
import { change, chosenWord, give, say, store } from "./store.js";

/**
 * What a typed split means, as values of changes, one after the other, each to the next word: all words of a
 * multiword token, or the number of characters after which a token of its own ends.
 * @param {string} form
 * @param {string} typed the words, bars between those of a multiword token, or blanks
 * @returns {(number | string[])[]} empty: it is no split
 */
export function splitsOf(form, typed) {
  const isBarred = typed.includes("|") && !form.includes("|");
  const forms = typed.split(isBarred ? /[\s|]+/ : /\s+/).filter(Boolean);
  const isSame = forms.join("") === form.replace(/\s/g, "");
  if (forms.length < 2) return [];
  return isBarred || !isSame ? [forms] : forms.slice(0, -1).map((part) => [...part].length);
}

export function askSplit() {
  const word = chosenWord();
  const place = store.chosen;
  if (!word) return;
  ask({
    title: `Split ${place} ${word.form}`,
    place,
    present: word.form,
    hint: "Bar: one multiword token. Blank: two tokens",
    options: () => [],
    answer: async (typed) => {
      const values = splitsOf(word.form, typed);
      if (!values.length) say("Put a bar or a blank where the word is to be split.", true);
      for (const [k, value] of values.entries()) if (!(await give("split", value, place + k))) return false;
      return values.length > 0;
    },
  });
}

export function join() {
  if (store.chosen < store.sentence.words.length) change("join");
  else say("No word follows that could be joined.", true);
}

/**
 * A multiword token as it is typed, "3-4 du".
 * @param {string} typed
 * @returns {[number, number, string] | null}
 */
export function rangeOf(typed) {
  const found = /^(\d{1,4})-(\d{1,4})\s*(\S.*)?$/.exec(typed);
  return found ? [Number(found[1]), Number(found[2]), found[3] ?? ""] : null;
}

export function askRange() {
  const { sentence, chosen } = store;
  const word = chosenWord();
  if (!word) return;
  const present = sentence.ranges.find(({ from, to }) => from <= chosen && chosen <= to);
  const last = Math.min(chosen + 1, sentence.words.length);
  const { from, to, form } = present ?? { from: chosen, to: last, form: word.form + sentence.words[last - 1].form };
  ask({
    title: "Multiword token",
    place: chosen,
    present: `${from}-${to} ${form}`,
    hint: "First and last word, and the form. Without a form the token is removed, its words stay",
    options: () => [],
    answer: async (typed) => {
      const value = rangeOf(typed);
      if (value) return give("range", value, value[0]);
      say("Write the first and the last word and the form, such as 3-4 du.", true);
      return false;
    },
  });
}

/** @param {boolean} isOn whether a space follows the selected word */
export function setSpace(isOn) {
  change("space", isOn);
}

export function cut() {
  if (store.chosen > 1) change("cut");
  else say("Select the word with which the new sentence begins, not the first.", true);
}

export function glue() {
  change("glue", 0, 0);
}

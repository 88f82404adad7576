// The meaning of typed keys and numbers, without a document.

/**
 * The state after a digit of a head: the head is set when no other digit can follow.
 * @param {string} typed
 * @param {number} nWords
 * @returns {{ typed: string, head: number | null, text: string, isBad: boolean }}
 */
export function afterDigits(typed, nWords) {
  if (!typed) return { typed: "", head: null, text: "", isBad: false };
  const head = Number(typed);
  if (head > nWords) return { typed: "", head: null, text: `There is no word ${typed}.`, isBad: true };
  if (typed === "0" || head * 10 > nWords) return { typed: "", head, text: "", isBad: false };
  return { typed, head: null, text: `Head ${typed}: Enter, or more digits`, isBad: false };
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
  const isOne = /^[0-9]{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= total;
  return isOne ? Number(text) - 1 : null;
}

// Descriptions of a sentence and its words, without a document.

/**
 * @typedef {object} Word
 * @property {string} form
 * @property {string} tag
 * @property {string} feats "_": none
 * @property {string} lemma "_": none
 * @property {number} head 0: ROOT, -1: none yet
 * @property {string} label its relation; "_": none
 * @property {string} head_by who confirmed the head; "": nobody
 * @property {string} label_by who confirmed the relation
 * @property {number | null} sure the probability of the head
 *
 * @typedef {object} Sentence
 * @property {number} number from 0
 * @property {number} edits
 * @property {number} version
 * @property {boolean} done
 * @property {string[]} comments
 * @property {Word[]} words
 * @property {number[]} punctuation
 *
 * @typedef {"plain" | "confirmed" | "sure" | "middling" | "doubtful"} Kind
 */

/**
 * The sentence shown before the first has arrived.
 * @type {Sentence}
 */
export const NONE = { number: -1, edits: 0, version: 0, done: false, comments: [], words: [], punctuation: [] };

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LETTER = /\p{L}/u;

/**
 * The certainty of an arc, as a class; plain if unknown.
 * @param {Word} word
 * @returns {Kind}
 */
export function kind(word) {
  if (word.head < 0) return "plain";
  if (word.head_by) return "confirmed";
  if (word.sure === null) return "plain";
  return word.sure >= 0.85 ? "sure" : word.sure >= 0.6 ? "middling" : "doubtful";
}

/**
 * The text on an arc, because colour alone is not enough.
 * @param {Word} word
 */
export function note(word) {
  const found = kind(word);
  if (found === "confirmed") return word.label_by ? `✓ ${word.label}` : `✓ head, ${word.label}?`;
  const percent = word.sure === null ? "" : ` ${Math.round(100 * word.sure)}%`;
  return found === "doubtful" ? `? ${word.label}${percent}` : `${word.label}${percent}`;
}

/**
 * A word and its arc, as a screen reader reads them out.
 * @param {Sentence} sentence
 * @param {number} place of the word, from 1
 */
export function spoken(sentence, place) {
  const word = sentence.words[place - 1];
  const head = word.head < 0 ? "no head yet"
    : word.head === 0 ? "root of the sentence" : `head ${word.head} ${sentence.words[word.head - 1].form}`;
  const sure = { confirmed: word.label_by ? "confirmed" : "head confirmed", plain: "", sure: "sure",
    middling: "less sure", doubtful: "doubtful" }[kind(word)];
  const percent = word.sure !== null && !word.head_by ? `${Math.round(100 * word.sure)} percent` : "";
  const label = word.head < 0 ? "" : word.label;
  return [`${place} ${word.form}`, word.tag, head, label, sure, percent].filter(Boolean).join(", ");
}

/**
 * The known facts about a word, and who confirmed them.
 * @param {Word} word
 */
export function facts(word) {
  const sure = word.sure === null || word.head_by ? "" : `head ${Math.round(100 * word.sure)} % sure`;
  const by = word.head_by ? `head confirmed by ${word.head_by}` : "";
  const label = word.label_by ? `relation confirmed by ${word.label_by}` : "";
  return [word.tag, word.feats === "_" ? "" : word.feats.replaceAll("|", " | "),
    word.lemma === "_" ? "" : `lemma ${word.lemma}`, sure, by, label].filter(Boolean).join(" · ");
}

/**
 * "Sentence 3 (its sent_id) ✓ done".
 * @param {Sentence} sentence
 */
export function heading(sentence) {
  const id = sentence.comments.map((line) => /^#\s*sent_?id\s*[=:]?\s*(.+)$/.exec(line)?.[1]).find(Boolean);
  return `Sentence ${sentence.number + 1}${id ? ` (${id})` : ""}${sentence.done ? " ✓ done" : ""}`;
}

/**
 * The first word after a place, or from the beginning again, whose head is not sure.
 * @param {Sentence} sentence
 * @param {number} after 0: before the first word
 * @returns {number | undefined}
 */
export function firstDoubtful({ words }, after = 0) {
  const order = words.map((_, k) => ((k + after) % words.length) + 1);
  return order.find((place) => ["doubtful", "middling"].includes(kind(words[place - 1])));
}

/**
 * Whether most letters are of scripts that are written from right to left.
 * @param {Sentence} sentence
 */
export function isRightToLeft(sentence) {
  const letters = sentence.words.flatMap((word) => [...word.form].filter((letter) => LETTER.test(letter)));
  return letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length * 2 > letters.length;
}

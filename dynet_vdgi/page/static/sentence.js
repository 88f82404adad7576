// Descriptions of a sentence and its words, without a document.

/**
 * @typedef {object} Word
 * @property {string} form
 * @property {string} tag UPOS, or the tagger's guess
 * @property {string} upos "_": nobody has said it
 * @property {string} xpos "_": none
 * @property {string} feats "_": none
 * @property {string} lemma "_": none
 * @property {[string, string][]} misc
 * @property {{ what: string, title: string, value: string }[]} more columns that the page does not know
 * @property {number} head 0: ROOT, -1: none yet
 * @property {string} label its relation; "_": none
 * @property {string} head_by who confirmed the head; "": nobody
 * @property {string} label_by who confirmed the relation
 * @property {string} tag_by
 * @property {string} feats_by
 * @property {string} lemma_by
 * @property {string} xpos_by
 * @property {boolean} xpos_given whether XPOS is no guess
 * @property {number | null} sure the probability of the head
 * @property {[string, number | null][]} tags all, the most probable first
 * @property {string} note
 * @property {string} deps
 * @property {boolean} deps_wrong whether DEPS were made for another head
 * @property {boolean} after whether a space follows
 *
 * @typedef {object} Range a multiword token
 * @property {number} from
 * @property {number} to
 * @property {string} form
 *
 * @typedef {object} Sentence
 * @property {number} id stays when sentences are cut or joined
 * @property {number} number its place in the file, from 0
 * @property {number} edits
 * @property {number} version
 * @property {boolean} done
 * @property {string} text
 * @property {string} translation "": none
 * @property {string} translation_key name of its comment, such as text_en
 * @property {string} note
 * @property {boolean} flag
 * @property {Range[]} ranges
 * @property {{ after: number, id: string, form: string, upos: string }[]} empty
 * @property {{ rule: string, places: { word: number, text: string }[] }[]} problems word 0: of the whole sentence
 * @property {string[]} comments
 * @property {Word[]} words
 * @property {number[]} punctuation places
 * @property {number} [changed] sentences that were changed at once
 * @property {{ what: string, word: number }} [went] the change that was undone or redone; word 0: of the sentence
 *
 * @typedef {"plain" | "confirmed" | "sure" | "middling" | "doubtful"} Kind
 */

/**
 * The sentence shown before the first has arrived.
 * @type {Sentence}
 */
export const NONE = {
  id: -1, number: -1, edits: 0, version: 0, done: false, text: "", translation: "",
  translation_key: "text_en", note: "", flag: false,
  ranges: [], empty: [], problems: [], comments: [], words: [], punctuation: [],
};

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LETTER = /\p{L}/u;
const SURE_TAG = 0.6;

/** The certainty of an arc, as a class; plain if unknown. @param {Word} word @returns {Kind} */
export function kind(word) {
  if (word.head < 0) return "plain";
  if (word.head_by) return "confirmed";
  if (word.sure === null) return "plain";
  return word.sure >= 0.85 ? "sure" : word.sure >= 0.6 ? "middling" : "doubtful";
}

/**
 * The text on an arc, because colour alone is not enough: ✓ head confirmed, a ? before: head doubtful,
 * behind: relation not confirmed; ✓ behind: only the relation confirmed.
 * @param {Word} word
 */
export function mark(word) {
  const found = kind(word);
  if (found === "confirmed") return word.label_by ? `✓ ${word.label}` : `✓ ${word.label}?`;
  return `${found === "doubtful" ? "? " : ""}${word.label}${word.label_by ? " ✓" : ""}`;
}

/** Whether the tag is a guess of which the tagger is not sure. @param {Word} word */
export function isTagDoubtful({ tag, upos, tags }) {
  const found = tags.find(([name]) => name === tag);
  return upos === "_" && typeof found?.[1] === "number" && found[1] < SURE_TAG;
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
  const label = word.head < 0 ? "" : word.label;
  const tag = isTagDoubtful(word) ? `${word.tag} doubtful` : word.tag;
  const given = word.label_by && !word.head_by ? "relation confirmed" : "";
  return [`${place} ${word.form}`, tag, head, label, given, sure, percent(word), word.note && `note: ${word.note}`]
    .filter(Boolean).join(", ");
}

/** @param {Word} word */
function percent(word) {
  return word.sure !== null && !word.head_by ? `${Math.round(100 * word.sure)} percent` : "";
}

/** The known facts about a word, and who confirmed them. @param {Word} word */
export function facts(word) {
  const sure = word.sure === null || word.head_by ? "" : `head ${Math.round(100 * word.sure)} % sure`;
  const by = Object.entries({ head: word.head_by, relation: word.label_by, tag: word.tag_by,
    XPOS: word.xpos_by, features: word.feats_by, lemma: word.lemma_by }).filter(([, name]) => name);
  const names = [...new Set(by.map(([, name]) => name))];
  const confirmed = names.map((name) => `${by.filter((one) => one[1] === name).map(([what]) => what).join(", ")}`
    + ` confirmed by ${name}`);
  const deps = some(word.deps, "DEPS ") + (word.deps_wrong ? " (look again: for another head)" : "");
  const misc = word.misc.filter(([name]) => name !== "Note").map(([name, value]) => `${name}=${value}`);
  return [word.tag, some(word.xpos, "XPOS "), word.feats === "_" ? "" : word.feats.replaceAll("|", " | "),
    some(word.lemma, "lemma "), ...misc, deps, sure, ...confirmed,
    word.note && `note: ${word.note}`].filter(Boolean).join(" · ");
}

/** @param {string} value "_": none @param {string} name */
function some(value, name) {
  return value && value !== "_" ? name + value : "";
}

/** @param {Word} word */
export function gloss({ misc }) {
  return misc.find(([name]) => name === "Gloss")?.[1] ?? "";
}

/** "Sentence 3 (sent_id x-3) ✓ done". @param {Sentence} sentence */
export function heading(sentence) {
  const id = sentence.comments.map((line) => /^#\s*sent_?id\s*[=:]?\s*(.+)$/.exec(line)?.[1]).find(Boolean);
  return `Sentence ${sentence.number + 1}${id ? ` (sent_id ${id})` : ""}${sentence.done ? " ✓ done" : ""}`;
}

/**
 * The first word after a place, or from the beginning again, for which a test holds.
 * @param {Sentence} sentence
 * @param {number} after 0: before the first word
 * @param {(word: Word, place: number) => boolean} holds
 * @returns {number | undefined}
 */
export function nextWord({ words }, after, holds) {
  const order = words.map((_, k) => ((k + after) % words.length) + 1);
  return order.find((place) => holds(words[place - 1], place));
}

/** The next word whose tag is doubtful or whose head is not sure. @param {Sentence} sentence @param {number} after */
export function firstDoubtful(sentence, after = 0) {
  return nextWord(sentence, after, (word) => isTagDoubtful(word) || ["doubtful", "middling"].includes(kind(word)));
}

/**
 * What whoever confirms the whole sentence should know about it; "" if no arc is doubtful.
 * @param {Sentence} sentence
 */
export function doubted({ words }) {
  const count = words.filter((word) => kind(word) === "doubtful").length;
  if (!count) return "";
  return `${count === 1 ? "1 arc was doubtful" : `${count} arcs were doubtful`} when you confirmed; u takes it back.`;
}

/** Changes, by the program's names for them, as one says what was undone. */
const CHANGES = /** @type {Record<string, string>} */ ({
  head: "the head", label: "the relation", right: "the confirmation", open: "Unconfirm", done: "Sentence is right",
  tag: "the tag", xpos: "XPOS", feats: "the features", lemma: "the lemma", note: "the note", flag: "the flag", split: "the split",
  join: "the join", range: "the multiword token", space: "the space", cut: "the new sentence",
  glue: "the join with the next sentence", everywhere: "the change of all found, also", misc: "MISC", form: "the form",
  comment: "the comment",
});

/**
 * ": the head of 4 bark", the change that was undone or redone; "" if it is not known.
 * @param {Sentence} sentence after it
 */
export function went({ went: change, words }) {
  const name = CHANGES[change?.what ?? ""];
  const form = words[(change?.word ?? 0) - 1]?.form;
  return name ? `: ${name}${form ? ` of ${change?.word} ${form}` : ""}` : "";
}

/**
 * The next word but punctuation whose head or relation is not confirmed.
 * @param {Sentence} sentence
 * @param {number} after
 */
export function firstUnconfirmed(sentence, after = 0) {
  return nextWord(sentence, after, ({ head_by, label_by }, place) => (
    !(head_by && label_by) && !sentence.punctuation.includes(place)));
}

/**
 * The words that have another head than before.
 * @param {Word[]} before
 * @param {Word[]} after
 * @param {number} except the word whose head was set
 */
export function moved(before, after, except) {
  if (before.length !== after.length) return [];
  return after.flatMap(({ head }, k) => (head !== before[k].head && k + 1 !== except ? [k + 1] : []));
}

/** "2 arcs follow: 3 and 7", with a blank in front; "" if there are none. @param {number[]} places */
export function follow(places) {
  if (!places.length) return "";
  const text = places.length === 1 ? "1 arc follows" : `${places.length} arcs follow`;
  return ` ${text}: ${places.slice(0, 8).join(", ")}${places.length > 8 ? ", …" : ""}.`;
}

/** Whether most letters are of scripts that are written from right to left. @param {Sentence} sentence */
export function isRightToLeft(sentence) {
  const letters = sentence.words.flatMap((word) => [...word.form].filter((letter) => LETTER.test(letter)));
  return letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length * 2 > letters.length;
}

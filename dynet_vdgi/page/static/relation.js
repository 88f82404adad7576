// The relation of a word: chosen from a list at the arc, turned through the likely ones, or taken by its first letter.

import { ask } from "./choice.js";
import { Fault, get, listed } from "./client.js";
import { completed } from "./completing.js";
import { turned } from "./keys.js";
import { changed, chosenWord, make, onChange, onLeave, relationOf, say, store, trying } from "./store.js";

const MOST_LIKELY = 5; // through which one turns
export const MOST_KEYS = 9;

/** The relations to offer for one arc. They keep their order as long as the arc is the same, so that one can turn. */
let offered = { arc: "", all: /** @type {string[]} */ ([]) };
let unknown = ""; // sentence, word and relation that nobody has used yet: Enter again stores it
let turning = Promise.resolve(true); // one turn after the other

/** @param {number} place */
const arcOf = (place) => `${store.sentence.id} ${place} ${store.sentence.words[place - 1]?.head}`;

onChange(() => {
  if (offered.arc !== arcOf(store.chosen)) offered.arc = ""; // whoever comes back gets what is likely by then
});

/** The relations for a word under its head, also one that was set just before. @param {number} place */
const offers = (place) => listed(async () => {
  const arc = arcOf(place);
  if (offered.arc === arc) return offered.all;
  const { id, words } = store.sentence;
  const { head } = words[place - 1];
  const { relations } = await get(`relations/${id}`, { word: String(place) });
  offered = { arc, all: relations.filter((relation) => (relation === "root") === (head === 0)) };
  return offered.all;
});

/**
 * Stores a relation; returns whether it could.
 * @param {number} place
 * @param {string} label
 * @param {import("./choice.js").How} how
 */
async function set(place, label, { isEnter, isNew }) {
  const key = `${store.sentence.id} ${place} ${label}`;
  const mine = { word: place, label };
  store.pending = mine;
  changed();
  const isStored = await trying(async () => {
    try {
      await make({ what: "label", value: label, word: place, anyway: isNew || (isEnter && unknown === key) });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (error.content?.unknown) unknown = key;
      if (error.content) {
        const end = error.message.endsWith("?") ? "" : ".";
        error.message += `${end} ${error.content.unknown ? "Enter once more stores it; " : ""}Esc takes it back.`;
      }
      throw error;
    }
  });
  if (store.pending === mine) store.pending = null;
  changed();
  return isStored;
}

export function askRelation() {
  const place = store.chosen;
  const word = chosenWord();
  if (!word) return;
  offered.arc = ""; // a new look at what is frequent by now
  let all = /** @type {string[]} */ ([]);
  const ready = trying(async () => {
    all = await offers(place);
  });
  ask({
    get title() {
      const { head } = store.sentence.words[place - 1];
      const form = store.sentence.words[head - 1]?.form;
      return `Relation of ${place} ${word.form}${form ? `, dependent of ${head} ${form}` : ""}`;
    },
    place,
    hint: "1 to 9 takes one at once; type for others: n:p is nmod:poss, :p a subtype of the present one",
    options: (typed) => matching(typed, all, relationOf(place)),
    answer: (label, how) => set(place, label, how),
  }, ready);
}

/**
 * The options for what is typed, as `completed` has them; new ones are marked where others are known.
 * @param {string} typed
 * @param {string[]} all the likeliest first
 * @param {string} present
 * @returns {import("./choice.js").Option[]}
 */
export function matching(typed, all, present) {
  const { known, anew } = completed(typed, all, present);
  const options = known.map((relation, k) => {
    const aside = store.unlisted.has(relation) ? "not listed" : "";
    return { value: relation, aside, ...(k < MOST_KEYS && !typed && { key: String(k + 1) }) };
  });
  if (!known.length && anew.length === 1 && anew[0] === typed) return []; // Enter takes it as it is written
  return [...options, ...anew.map((value, k) => ({ value, isNew: known.length + k > 0 }))];
}

/**
 * Runs tasks of keys one after the other, as long as their sentence is there.
 * @param {() => Promise<unknown>} task
 */
export function inTurn(task) {
  const { id } = store.sentence;
  turning = turning.then(() => trying(async () => {
    if (chosenWord() && store.sentence.id === id) await task();
  }));
}

/**
 * Takes another of the relations that suit, one at each press.
 * @param {(all: string[], present: string) => string | null} pick
 */
function turn(pick) {
  const place = store.chosen;
  const { id } = store.sentence;
  inTurn(async () => {
    const label = pick(await offers(place), relationOf(place));
    if (label && store.sentence.id === id) set(place, label, { isEnter: false, isNew: false });
  });
}

onLeave(() => turning);

/** @param {1 | -1} step through the likely relations */
export function turnRelation(step) {
  turn((all, present) => (all.length ? turned(all.slice(0, MOST_LIKELY), present, step) : null));
}

/**
 * Takes the likeliest relation that begins with a letter, and at the next press the next.
 * @param {string} letter
 * @param {string} typed the letter of the keyboard's layout, with which relations of this file may begin
 */
export function relationWith(letter, typed) {
  turn((all, present) => {
    const own = all.filter((relation) => relation.startsWith(typed));
    const list = own.length ? own : all.filter((relation) => relation.startsWith(letter));
    if (!list.length) say(`No relation of UD or of this file begins with ${letter}.`, true);
    return list.length ? turned(list, present, 1) : null;
  });
}

// Tag, features and lemma of the selected word.

import { ask } from "./choice.js";
import { get } from "./client.js";
import { isKnown, merged, offers } from "./features.js";
import { TAG_KEYS, turned } from "./keys.js";
import { inTurn, matching } from "./relation.js";
import { chosenWord, give, onChange, say, store, trying } from "./store.js";

const KEY_OF = Object.fromEntries(Object.entries(TAG_KEYS).map(([key, tag]) => [tag, key]));
const MOST_KEYS = 9;

const HINT = "Type beginnings of values, such as g pl; -g takes one away, _ all; Name=Value sets any";

const doubted = new Set(); // features that nobody has used, and that were held back once
let ring = { of: "", values: /** @type {string[]} */ ([]) }; // keeps its order, so that one can turn

onChange(() => {
  if (!ring.of.startsWith(`${store.sentence.id} ${store.chosen} `)) ring.of = "";
});

/**
 * The values that suit a word's column, the likeliest first.
 * @param {"xpos" | "feats" | "lemma"} what
 * @param {number} place
 */
async function values(what, place) {
  return (await get(`values/${store.sentence.id}`, { word: String(place), what })).values;
}

/**
 * Takes the next of the likely values of a column.
 * @param {"tag" | "xpos" | "feats" | "lemma"} what
 */
export function turnValue(what) {
  const place = store.chosen;
  inTurn(async () => {
    const of = `${store.sentence.id} ${place} ${what}`;
    const word = store.sentence.words[place - 1];
    if (ring.of !== of) ring = { of, values: what === "tag" ? word.tags.map(([tag]) => tag) : await values(what, place) };
    if (ring.values.length) await give(what, turned(ring.values, word[what], 1), place);
    else say(`Nothing is known that could be the ${what} of this word.`, true);
  });
}

/**
 * Options with the keys 1 to 9.
 * @param {string[]} found
 * @returns {import("./choice.js").Option[]}
 */
const numbered = (found) => found.map((value, k) => ({ value, ...(k < MOST_KEYS && { key: String(k + 1) }) }));

/** @param {number | null} share */
const percent = (share) => (share === null ? "" : `${Math.round(100 * share)} %`);

export function askTag() {
  const word = chosenWord();
  const place = store.chosen;
  if (!word) return;
  ask({
    title: `Tag of ${place} ${word.form}`,
    place,
    hint: "One letter takes a tag at once",
    options: (typed) => word.tags.filter(([tag]) => tag.startsWith(typed.toUpperCase()))
      .map(([tag, share]) => ({ value: tag, aside: percent(share), key: KEY_OF[tag] })),
    answer: (tag) => give("tag", tag, place),
  });
}

export function askXpos() {
  const word = chosenWord();
  const place = store.chosen;
  if (!word) return;
  let all = /** @type {string[]} */ ([]);
  ask({
    title: `XPOS of ${place} ${word.form}: ${word.xpos === "_" ? "none" : word.xpos}`,
    place,
    hint: "1 to 9 takes one at once; type for others; _ removes it",
    options: (typed) => {
      if (!typed) return numbered(all.filter((one) => one !== word.xpos));
      const alike = typed === "_" ? [] : all.map((one) => typed + one.slice(typed.length)); // where each letter means something
      return matching(typed, { likely: [], all: [...all, ...alike] });
    },
    answer: (xpos) => give("xpos", xpos, place),
  }, trying(async () => {
    all = await values("xpos", place);
  }));
}

export function askFeatures() {
  const word = chosenWord();
  const place = store.chosen;
  if (!word) return;
  const present = () => store.sentence.words[place - 1].feats; // what was set just before may come while one types
  const above = store.sentence.words[place - 2]?.feats ?? "_";
  let bundles = /** @type {string[]} */ ([]);
  ask({
    title: `Features of ${place} ${word.form}: ${word.feats === "_" ? "none" : word.feats.replaceAll("|", " | ")}`,
    place,
    hint: `1 to 9 takes a bundle, 0 that of the word above. ${HINT}`,
    options: (typed) => {
      const found = offers(typed, present(), bundles);
      if (typed) return found.map((value) => ({ value }));
      const copied = above === "_" || above === present() ? [] : [{ value: above, key: "0", aside: "as above" }];
      return [...numbered(found), ...copied];
    },
    answer: async (text, { isOffered }) => {
      const feats = isOffered ? text : merged(present(), text);
      const slip = text.split("|").find((one) => !isKnown(one, [present(), ...bundles]) && !doubted.has(one));
      if (feats !== null && slip) {
        doubted.add(slip);
        say(`'${slip}' is no feature of UD or of the sentences seen. Enter once more stores it; Esc takes it back.`, true);
        return false;
      }
      if (feats !== null) return give("feats", feats, place);
      say(`'${text}' is no feature (expected such as Number=Plur).`, true);
      return false;
    },
  }, trying(async () => {
    bundles = await values("feats", place);
  }));
}

/**
 * Asks for the value of a column that the page does not know.
 * @param {string} what
 */
export function askColumn(what) {
  const word = chosenWord();
  const place = store.chosen;
  const column = word?.more.find((one) => one.what === what);
  if (!column) return;
  ask({
    title: `${column.title} of ${place} ${word.form}`,
    place,
    present: column.value === "_" ? "" : column.value,
    mayBeEmpty: true,
    options: () => [],
    answer: (value) => give(what, value, place),
  });
}

export function askLemma() {
  const word = chosenWord();
  const place = store.chosen;
  if (!word) return;
  let all = /** @type {string[]} */ ([]);
  ask({
    title: `Lemma of ${place} ${word.form}`,
    place,
    present: word.lemma === "_" ? word.form : word.lemma,
    hint: "1 to 9 takes one at once; Backspace changes the ending",
    options: (typed) => {
      const found = all.filter((one) => one !== word.lemma && one.startsWith(typed));
      return typed || /\d/.test(word.form) ? found.map((value) => ({ value })) : numbered(found); // digits may be a lemma
    },
    answer: (lemma) => give("lemma", lemma, place),
  }, trying(async () => {
    all = await values("lemma", place);
  }));
}

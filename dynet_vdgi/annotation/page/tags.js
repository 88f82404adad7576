// Tag, features and lemma of the selected word.

import { ask } from "./choice.js";
import { get } from "./client.js";
import { completions, isKnown, merged } from "./features.js";
import { TAG_KEYS } from "./keys.js";
import { matching } from "./relation.js";
import { chosenWord, give, say, store, trying } from "./store.js";

const KEY_OF = Object.fromEntries(Object.entries(TAG_KEYS).map(([key, tag]) => [tag, key]));

const HINT = "Name=Value sets one feature, Name= removes it, _ removes all";

const doubted = new Set(); // features that nobody has used, and that were held back once

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
  const ready = trying(async () => {
    all = (await get(`xpos/${store.sentence.id}`, { word: String(place) })).xpos;
  });
  ask({
    title: `XPOS of ${place} ${word.form}: ${word.xpos === "_" ? "none" : word.xpos}`,
    place,
    hint: "1 to 5 takes one at once; type for others; _ removes it",
    options: (typed) => matching(typed, { likely: all.slice(0, 5), all }),
    answer: (xpos) => give("xpos", xpos, place),
  }, ready);
}

export function askFeatures() {
  const word = chosenWord();
  const place = store.chosen;
  if (!word) return;
  const present = () => store.sentence.words[place - 1].feats; // what was set just before may come while one types
  ask({
    title: `Features of ${place} ${word.form}: ${word.feats === "_" ? "none" : word.feats.replaceAll("|", " | ")}`,
    place,
    hint: `${word.bundles.length ? `1 to ${word.bundles.length} takes a bundle. ` : ""}${HINT}`,
    options: (typed) => {
      const removes = typed.endsWith("=") && `|${present()}`.includes(`|${typed}`);
      const first = removes ? [{ value: typed, aside: "removes it" }] : [];
      if (typed) return [...first, ...completions(typed).map((value) => ({ value }))];
      return word.bundles.map(([value, share], k) => ({ value, aside: percent(share), key: String(k + 1) }));
    },
    answer: async (text) => {
      const feats = merged(present(), text);
      const slip = text.split("|").find((one) => !isKnown(one) && !doubted.has(one));
      if (feats !== null && slip) {
        doubted.add(slip);
        say(`'${slip}' is no feature of UD or of the sentences seen. Enter once more stores it; Esc takes it back.`, true);
        return false;
      }
      if (feats !== null) return give("feats", feats, place);
      say(`'${text}' is no feature (expected such as Number=Plur).`, true);
      return false;
    },
  });
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
    options: () => [],
    answer: (value) => give(what, value, place),
  });
}

export function askLemma() {
  const word = chosenWord();
  const place = store.chosen;
  if (!word) return;
  ask({
    title: `Lemma of ${place} ${word.form}`,
    place,
    present: word.lemma === "_" ? word.form : word.lemma,
    options: () => [],
    answer: (lemma) => give("lemma", lemma, place),
  });
}

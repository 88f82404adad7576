// Tag, features and lemma of the selected word.

import { askOfWord } from "./choice.js";
import { get, listed } from "./client.js";
import { isKnown, lemmaOffers, merged, offers, xposOffers } from "./features.js";
import { TAG_KEYS, turned } from "./keys.js";
import { inTurn, MOST_KEYS } from "./relation.js";
import { give, onChange, say, select, store, trying } from "./store.js";

const KEY_OF = Object.fromEntries(Object.entries(TAG_KEYS).map(([key, tag]) => [tag, key]));

const doubted = new Set(); // features that nobody has used, and that were held back once
let ring = { of: "", values: /** @type {string[]} */ ([]) }; // keeps its order, so that one can turn

onChange(() => {
  if (!ring.of.startsWith(`${store.sentence.id} ${store.chosen} `)) ring.of = "";
});

/**
 * The values that suit a word's column, the likeliest first.
 * @param {"xpos" | "feats" | "lemma" | "split"} what
 * @param {number} place
 */
async function values(what, place) {
  const { id } = store.sentence;
  return (await listed(() => get(`values/${id}`, { word: String(place), what }))).values;
}

/** Takes the next of the likely values of a column. @param {"tag" | "xpos" | "feats" | "lemma"} what */
export function turnValue(what) {
  const place = store.chosen;
  inTurn(async () => {
    const of = `${store.sentence.id} ${place} ${what}`;
    const word = () => store.sentence.words[place - 1];
    if (ring.of !== of) ring = { of, values: what === "tag" ? word().tags.map(([tag]) => tag) : await values(what, place) };
    if (ring.values.length) await give(what, turned(ring.values, word()[what], 1), place);
    else say(`Nothing is known that could be the ${what} of this word.`, true);
  });
}

/** Options with the keys 1 to 9. @param {string[]} found */
export const numbered = (found) => found.map((value, k) => ({ value, ...(k < MOST_KEYS && { key: String(k + 1) }) }));

/**
 * Options, and last what is typed, as it is, if there are others: it can be chosen, too.
 * @param {string[]} found
 * @param {string} typed "": nothing that can be stored
 */
const withTyped = (found, typed) => (
  [...found, ...(found.length && /^\S+$/.test(typed) && !found.includes(typed) ? [typed] : [])].map((value) => ({ value })));

/** @param {number | null} share */
const percent = (share) => (share === null ? "" : `${Math.round(100 * share)} %`);

export function askTag() {
  askOfWord("tag", (of, { tags }) => ({
    title: `Tag of ${of}`,
    next: askFeatures,
    hint: "One letter takes a tag at once",
    options: (typed) => tags.filter(([tag]) => tag.startsWith(typed.normalize("NFKC").toUpperCase()))
      .map(([tag, share]) => ({ value: tag, aside: percent(share), key: KEY_OF[tag] })),
  }));
}

/**
 * Asks for a value of a column, the likeliest first.
 * @typedef {Parameters<typeof askOfWord>[1]} About
 * @param {"xpos" | "feats" | "lemma" | "split"} what
 * @param {(all: () => string[], ...word: Parameters<About>) => ReturnType<About>} about
 */
export function askLikely(what, about) {
  let all = /** @type {string[]} */ ([]);
  askOfWord(what, (...word) => about(() => all, ...word), () => trying(async () => {
    all = await values(what, store.chosen);
  }));
}

export function askXpos() {
  askLikely("xpos", (all, of, { xpos }, place) => ({
    title: `XPOS of ${of}: ${xpos === "_" ? "none" : xpos}`,
    next: askLemma,
    hint: "1 to 9 takes one at once; type its beginning, or the parts that differ, such as p n, after a blank if 2; _ removes it",
    options: (typed) => (typed ? withTyped(xposOffers(typed, store.sentence.words[place - 1].xpos, all()), typed)
      : numbered(all().filter((one) => one !== xpos))),
  }));
}

export function askFeatures() {
  askLikely("feats", (all, of, { feats }, place) => {
    const present = () => store.sentence.words[place - 1].feats; // what was set just before may come while one types
    const above = store.sentence.words[place - 2]?.feats ?? "_";
    return {
      title: `Features of ${of}: ${feats === "_" ? "none" : feats.replaceAll("|", " | ")}`,
      next: () => (store.sentence.words.some(({ xpos }) => xpos !== "_") ? askXpos : askLemma)(),
      hint: "1 to 9 takes a bundle, 0 that of the word above. Type beginnings of values, such as g pl; -g takes one away, "
        + "_ all; Name=Value sets any",
      options: (typed) => {
        const found = offers(typed, present(), all());
        if (typed) return withTyped(found, merged(present(), typed) ?? "");
        const copied = above === "_" || above === present() ? [] : [{ value: above, key: "0", aside: "as above" }];
        return [...numbered(found), ...copied];
      },
      answer: async (text, { isOffered }) => {
        const made = isOffered ? text : merged(present(), text);
        const slips = text.split("|").filter((one) => !isKnown(one, [present(), ...all()]) && !doubted.has(one));
        if (made !== null && !slips.length) return give("feats", made, place);
        if (made !== null) for (const slip of slips) doubted.add(slip);
        const why = "is no feature of UD or of the sentences seen. Enter once more stores it; Esc takes it back.";
        say(made === null ? `'${text}' is no feature (expected such as Number=Plur).` : `'${slips.join("', '")}' ${why}`, true);
        return false;
      },
    };
  });
}

export function askLemma() {
  askLikely("lemma", (all, of, { form, lemma }, place) => {
    const present = lemma === "_" ? form : lemma;
    return {
      title: `Lemma of ${of}`,
      next: () => place < store.sentence.words.length && (select(place + 1), askFeatures()),
      present,
      hint: "1 to 9 takes one at once; Backspace changes the ending; ↓ and Enter take what typed letters make of the form",
      options: (typed) => {
        const others = all().filter((one) => one !== lemma);
        if (typed) return lemmaOffers(typed, form, present, others).map((value) => ({ value }));
        return /\p{Decimal_Number}/u.test(form) ? others.map((value) => ({ value })) : numbered(others); // digits may be a lemma
      },
    };
  });
}

/**
 * Asks for the value of a column that the page does not know.
 * @param {import("./sentence.js").Word["more"][number]} column of the selected word
 */
export function askColumn({ what, title, value }) {
  askOfWord(what, (of) => ({ title: `${title} of ${of}`, present: value === "_" ? "" : value, mayBeEmpty: true }));
}

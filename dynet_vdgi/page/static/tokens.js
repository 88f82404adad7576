// Words and sentences: splitting, joining, multiword tokens, cutting and joining sentences.

import { askOfWord } from "./choice.js";
import { at } from "./dom.js";
import { plainDigits } from "./layout.js";
import { change, give, say, store } from "./store.js";
import { askLikely, numbered } from "./tags.js";

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
  askLikely("split", (all, of, { form }, place) => ({
    title: `Split ${of}`,
    present: form,
    hint: "Bar: one multiword token. Blank: two tokens. 1 to 9 splits as other words are",
    options: (typed) => (typed || /\p{Decimal_Number}/u.test(form) ? [] : numbered(all())),
    answer: async (typed) => {
      const values = splitsOf(form, typed);
      if (!values.length) say("Put a bar or a blank where the word is to be split.", true);
      for (const [k, value] of values.entries()) if (!(await give("split", value, place + k))) return false;
      return values.length > 0;
    },
  }));
}

/** A multiword token as it is typed, "3-4 du". @param {string} typed @returns {[number, number, string] | null} */
export function rangeOf(typed) {
  const found = /^(\p{Decimal_Number}{1,4})-(\p{Decimal_Number}{1,4})\s*(\S.*)?$/u.exec(typed);
  return found ? [Number(plainDigits(found[1])), Number(plainDigits(found[2])), found[3] ?? ""] : null;
}

export function askRange() {
  askOfWord("range", (_, word, place) => {
    const { ranges, words } = store.sentence;
    const last = Math.min(place + 1, words.length);
    const { from, to, form } = ranges.find((one) => one.from <= place && place <= one.to)
      ?? { from: place, to: last, form: word.form + words[last - 1].form };
    return {
      title: "Multiword token",
      present: `${from}-${to} ${form}`,
      hint: "First and last word, and the form. Without a form the token is removed, its words stay",
      answer: async (typed) => {
        const value = rangeOf(typed);
        if (value) return give("range", value, value[0]);
        say("Write the first and the last word and the form, such as 3-4 du.", true);
        return false;
      },
    };
  });
}

export const setSpace = () => change("space", at("space").checked);

export const cut = () => change("cut");

export const glue = () => change("glue", 0, 0);

// Notes, the flag "look again", and the problems of a sentence.

import { askOfWord } from "./choice.js";
import { at, button } from "./dom.js";
import { give, select, store } from "./store.js";

/** @param {number} place 0: the note is of the sentence */
export function askNote(place = store.chosen) {
  askOfWord("note", (of, { note }) => ({
    title: place ? `Note on ${of}` : "Note on the sentence",
    present: place ? note : store.sentence.note,
    hint: "An empty note is removed",
    mayBeEmpty: true,
    answer: (text) => give("note", text, place),
  }));
}

export function askComment() {
  askOfWord("comment", () => ({
    title: "Comment on the sentence",
    present: `${store.sentence.translation_key} = ${store.sentence.translation}`,
    hint: "key = text stores a comment, without text removes it",
    answer: (text) => give("comment", text, 0),
  }));
}

/** Shows the sentence's note, flag and problems. */
export function showNotes() {
  const { note, flag, problems, words, empty } = store.sentence;
  at("note").textContent = note ? `✎ ${note}` : "";
  at("flag").setAttribute("aria-pressed", String(flag));
  at("empty").textContent = empty.length ? `Empty nodes: ${empty.map(described).join("; ")}` : "";
  at("problem-box").hidden = !problems.length;
  const count = problems.reduce((sum, { places }) => sum + places.length, 0);
  at("problem-count").textContent = counted("error", count);
  at("problems").replaceChildren(...problems.map(({ rule, places }) => {
    const line = document.createElement("li");
    const title = document.createElement("b");
    title.textContent = `${counted("error", places.length)}, ${rule}:`;
    line.append(title, ...places.map(({ word, text }) => (
      button(word ? `${word} ${words[word - 1]?.form ?? ""}: ${text}` : text, () => select(word || 1)))));
    return line;
  }));
}

/** @param {string} kind @param {number} number */
function counted(kind, number) {
  return `${number} ${kind}${number === 1 ? "" : "s"}`;
}

/** @param {import("./sentence.js").Sentence["empty"][number]} node */
function described({ id, form, upos, after }) {
  return `${id} ${form} ${upos === "_" ? "" : upos} after ${after ? `word ${after}` : "the beginning"}`;
}

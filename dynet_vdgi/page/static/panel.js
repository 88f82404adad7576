// The fields and buttons of the selected word.

import { at, button } from "./dom.js";
import { askComment, askNote } from "./notes.js";
import { facts } from "./sentence.js";
import { chosenWord, relationOf, store } from "./store.js";
import { askColumn } from "./tags.js";
import { cut, glue, setSpace } from "./tokens.js";

export function showPanel() {
  const { sentence, chosen } = store;
  const word = chosenWord();
  if (!word) return;
  at("word-heading").textContent = `Word ${chosen}: ${word.form}`;
  at("word-facts").textContent = facts(word);
  at("head").textContent = word.head < 0 ? "–" : `${word.head} ${sentence.words[word.head - 1]?.form ?? "ROOT"}`;
  at("relation").textContent = relationOf(chosen) === "_" ? "–" : relationOf(chosen);
  at("tag").textContent = word.tag;
  at("pick").setAttribute("aria-pressed", String(store.picks));
  at("open").disabled = !word.head_by && !word.label_by;
  at("space").checked = word.after;
  at("cut").disabled = chosen < 2;
  at("further").replaceChildren(...word.more.map((column) => {
    return button(`${column.title}: ${column.value === "_" ? "–" : column.value}…`, () => askColumn(column));
  }));
}

export function startPanel() {
  at("note-sentence").addEventListener("click", () => askNote(0));
  at("comment").addEventListener("click", askComment);
  at("cut").addEventListener("click", cut);
  at("glue").addEventListener("click", glue);
  at("panel").addEventListener("submit", (event) => event.preventDefault());
  at("space").addEventListener("change", setSpace);
}

// The fields and buttons of the selected word.

import { at, button } from "./dom.js";
import { askComment, askNote } from "./notes.js";
import { facts } from "./sentence.js";
import { change, chosenWord, relationOf, store } from "./store.js";
import { askColumn } from "./tags.js";
import { cut, glue, setSpace } from "./tokens.js";

export function showPanel() {
  const { sentence, chosen } = store;
  const word = chosenWord();
  if (!word) return;
  at("word-heading").textContent = `Word ${chosen}: ${word.form}`;
  at("word-facts").textContent = facts(word);
  setHeads(sentence.words, chosen);
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

/**
 * Fills the list of heads, unless it has them: it may be open.
 * @param {import("./sentence.js").Word[]} words
 * @param {number} chosen
 */
function setHeads(words, chosen) {
  const { head } = words[chosen - 1];
  const heads = [...(head < 0 ? ["–"] : []), "0 ROOT", ...words.map(({ form }, k) => `${k + 1} ${form}`)];
  const key = `${chosen} ${head} ${heads}`;
  if (at("head").dataset.key === key) return;
  at("head").dataset.key = key;
  const first = head < 0 ? -1 : 0;
  const options = heads.map((text, k) => new Option(text, String(k + first), k + first === head, k + first === head));
  at("head").replaceChildren(...options.filter(({ value }) => value !== String(chosen)));
}

export function startPanel() {
  at("note-sentence").addEventListener("click", () => askNote(0));
  at("comment").addEventListener("click", askComment);
  at("cut").addEventListener("click", cut);
  at("glue").addEventListener("click", glue);
  at("panel").addEventListener("submit", (event) => event.preventDefault());
  at("head").addEventListener("change", () => change("head", Number(at("head").value)));
  at("space").addEventListener("change", setSpace);
}

// Draws the state: the sentence, its tree, notes and the selected word.

import { at } from "./dom.js";
import { showNotes } from "./notes.js";
import { showPanel } from "./panel.js";
import { heading } from "./sentence.js";
import { chosenWord, onChange, store } from "./store.js";
import { draw, drawArcs, items, reveal, words } from "./tree.js";

let shown = 0; // the word last scrolled to

/** @param {{ isOther: boolean }} change */
function view({ isOther }) {
  const { sentence, chosen } = store;
  const hadFocus = words.contains(document.activeElement);
  at("heading").textContent = heading(sentence);
  at("text").textContent = sentence.text;
  at("translation").textContent = sentence.translation;
  if (isOther || document.activeElement !== at("number")) at("number").value = String(sentence.number + 1);
  draw(sentence, store);
  if (hadFocus) items[chosen - 1]?.focus({ preventScroll: true });
  showPanel();
  showNotes();
  if (isOther || shown !== chosen) reveal(chosen, chosenWord()?.head ?? 0, isOther);
  shown = chosen;
  const place = `#s=${sentence.id}&w=${chosen}`;
  if (location.hash !== place) history.replaceState(null, "", place);
}

export function startView() {
  onChange(view);
  new ResizeObserver(() => drawArcs(store.sentence, store)).observe(at("scroll"));
  at("view").addEventListener("change", () => {
    store.view = at("view").value;
    sessionStorage.setItem("view", store.view);
    drawArcs(store.sentence, store);
    reveal(store.chosen, chosenWord()?.head ?? 0);
  });
  store.view = sessionStorage.getItem("view") ?? "auto";
  at("view").value = store.view;
}

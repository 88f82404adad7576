// The page begins here: forms and buttons above and below the sentence, and everything is started.

import { startChoice } from "./choice.js";
import { at } from "./dom.js";
import { focusChosen, startDrag } from "./drag.js";
import { startKeyboard } from "./keyboard.js";
import { placeIn, sentenceNumber } from "./keys.js";
import { isComposing } from "./layout.js";
import { startPanel } from "./panel.js";
import { startSearch } from "./search.js";
import { begin, load, openNumber, say, select, store, trying, update } from "./store.js";
import { startView } from "./view.js";

const EVERY = 1000; // milliseconds between two requests for the state

at("order").addEventListener("change", () => sessionStorage.setItem("order", at("order").value));
for (const field of /** @type {const} */ (["number", "order", "view"])) startLeaving(at(field));
at("number").addEventListener("change", () => {
  const text = at("number").value.trim();
  const number = sentenceNumber(text, store.total);
  if (number === store.sentence.number) return;
  if (number !== null) {
    openNumber(number);
  } else {
    say(`There is no sentence ${text}: they are numbered from 1 to ${store.total}.`, true);
    at("number").value = String(store.sentence.number + 1);
  }
});
window.addEventListener("hashchange", (event) => {
  const place = placeIn(new URL(event.newURL).hash); // a sentence that arrived meanwhile has put its own into location
  if (place && place.id !== store.sentence.id) trying(() => load(place.id, { word: place.word }));
  else if (place?.word) select(place.word);
});

/**
 * After Enter or Esc in a field, or a choice that is no step with the arrows, the keys are those of the words again.
 * @param {HTMLElement} field
 */
function startLeaving(field) {
  const isList = field instanceof HTMLSelectElement; // which Enter opens
  let isStep = false;
  field.addEventListener("keydown", (event) => {
    isStep = !["Enter", " "].includes(event.key);
    const isEscape = event.key === "Escape";
    if (isComposing(event) || (!isEscape && (isList || event.key !== "Enter"))) return;
    event.preventDefault();
    if (isEscape) at("number").value = String(store.sentence.number + 1);
    leaveField(field);
  });
  field.addEventListener("pointerdown", () => { isStep = false; });
  if (isList) field.addEventListener("change", () => isStep || leaveField(field));
}

/** @param {HTMLElement} field which gives what was typed in it to its listeners */
function leaveField(field) {
  if (store.sentence.words.length) focusChosen();
  else field.blur();
}

startChoice();
startView();
startPanel();
startDrag();
startKeyboard();
startSearch();
await begin();
setInterval(update, EVERY);

// The page begins here: forms and buttons above and below the sentence, and everything is started.

import { startChoice } from "./choice.js";
import { at } from "./dom.js";
import { startDrag } from "./drag.js";
import { startKeyboard } from "./keyboard.js";
import { placeIn, sentenceNumber } from "./keys.js";
import { startPanel } from "./panel.js";
import { startSearch } from "./search.js";
import { begin, load, openNumber, say, select, store, trying, update } from "./store.js";
import { startView } from "./view.js";

const EVERY = 1000; // milliseconds between two requests for the state

at("order").addEventListener("change", () => sessionStorage.setItem("order", at("order").value));
at("number").addEventListener("change", () => {
  const text = at("number").value.trim();
  const number = sentenceNumber(text, store.total);
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

startChoice();
startView();
startPanel();
startDrag();
startKeyboard();
startSearch();
await begin();
setInterval(update, EVERY);

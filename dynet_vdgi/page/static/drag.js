// The mouse and the finger on words and arcs: selecting, dragging a word onto its head.

import { askRelation } from "./relation.js";
import { at, near, placeOf } from "./dom.js";
import { change, changed, say, select, store } from "./store.js";
import { askTag } from "./tags.js";
import { isDown, items, words } from "./tree.js";

const EDGE = 40; // pixels from the border, where dragging scrolls
const box = at("scroll");

let drag = /** @type {{ place: number, x: number, y: number, moves: boolean } | null} */ (null);

/** @param {PointerEvent} event */
function under(event) {
  const element = document.elementFromPoint(event.clientX, event.clientY);
  if (element?.closest("#root")) return 0;
  return placeOf(element?.closest("#words li"), -1);
}

/** @param {PointerEvent} event */
function begin(event) {
  const place = placeOf(near(event, "li"), 0);
  if (!place || event.button) return;
  if (picked(place)) return event.preventDefault();
  drag = { place, x: event.clientX, y: event.clientY, moves: false };
}

/** @param {PointerEvent} event */
function move(event) {
  if (!drag || event.pointerType === "touch") return;
  if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 6) drag.moves = true;
  if (!drag.moves) return;
  const { left, right } = box.getBoundingClientRect();
  if (event.clientX > right - EDGE) box.scrollLeft += 20;
  if (event.clientX < left + EDGE) box.scrollLeft -= 20;
  if (isDown() && event.clientY > innerHeight - EDGE) scrollBy(0, 10);
  if (isDown() && event.clientY < EDGE) scrollBy(0, -10);
  mark(under(event));
}

/** @param {number} place of the word that the pointer is over; 0: ROOT, -1: none */
function mark(place) {
  at("root").classList.toggle("target", place === 0);
  for (const element of items) element.classList.toggle("target", placeOf(element, -1) === place);
}

/** @param {PointerEvent} event */
function drop(event) {
  if (!drag) return;
  const { place, moves } = drag;
  endDrag();
  if (!moves) {
    if (!near(event, "#words li")) return;
    const isTag = Boolean(near(event, ".tag")) && place === store.chosen;
    const isRelation = Boolean(near(event, ".relation"));
    select(place);
    focusChosen();
    if (isTag) askTag();
    if (isRelation) askRelation();
    return;
  }
  const head = under(event);
  select(place);
  focusChosen();
  if (head >= 0 && head !== place) change("head", head, place);
}

export function focusChosen() {
  items[store.chosen - 1]?.focus({ preventScroll: true });
}

export function endDrag() {
  if (!drag) return;
  drag = null;
  mark(-1);
}

/** @param {boolean} isOn whether the next tap on a word is the head of the selected one */
function setPicks(isOn) {
  store.picks = isOn;
  changed();
}

/** @param {number} place that was tapped; returns whether it is the head of the selected word now */
function picked(place) {
  if (!store.picks || place === store.chosen) return false;
  setPicks(false);
  change("head", place);
  return true;
}

export function startDrag() {
  words.addEventListener("pointerdown", begin);
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", drop);
  document.addEventListener("pointercancel", endDrag);
  at("arcs").addEventListener("click", (event) => {
    const place = placeOf(near(event, ".arc"), 0);
    if (!place) return;
    select(place);
    focusChosen();
    if (near(event, "text")) askRelation();
  });
  at("root").addEventListener("click", () => picked(0));
  at("pick").addEventListener("click", () => {
    setPicks(!store.picks);
    say(store.picks ? `Now tap the head of word ${store.chosen}, or ROOT.` : "");
  });
}

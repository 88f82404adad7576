// Draws a sentence: words as a list, arcs above them as SVG.

import { heightOf, outline, placed, TOP } from "./arcs.js";
import { addSvg, at } from "./dom.js";
import { isRightToLeft, kind, note, spoken } from "./sentence.js";

/**
 * @typedef {import("./sentence.js").Sentence} Sentence
 * @typedef {import("./sentence.js").Word} Word
 */

export const stage = at("stage");
export const words = at("words");
export const items = /** @type {HTMLCollectionOf<HTMLElement>} */ (words.children); // live: always the present ones
const arcs = at("arcs");

/**
 * @param {Sentence} sentence
 * @param {number} chosen place of the selected word, 0: none
 */
export function draw(sentence, chosen) {
  stage.dir = isRightToLeft(sentence) ? "rtl" : "ltr";
  const isNew = items.length !== sentence.words.length || words.dataset.number !== String(sentence.number);
  if (isNew) {
    words.dataset.number = String(sentence.number);
    words.replaceChildren(...sentence.words.map((word, k) => item(word, k + 1)));
  }
  [...items].forEach((element, k) => {
    const place = k + 1;
    const isChosen = place === chosen;
    element.setAttribute("aria-selected", String(isChosen));
    element.setAttribute("aria-label", spoken(sentence, place));
    element.tabIndex = isChosen || (!chosen && k === 0) ? 0 : -1;
    element.className = kind(sentence.words[k]) === "doubtful" ? "doubtful" : "";
  });
  drawArcs(sentence, chosen);
}

/**
 * @param {Word} word
 * @param {number} place
 */
function item(word, place) {
  const element = document.createElement("li");
  element.setAttribute("role", "option");
  element.dataset.place = String(place);
  element.title = [word.tag, word.feats === "_" ? "" : word.feats, word.lemma === "_" ? "" : `lemma ${word.lemma}`]
    .filter(Boolean).join("\n");
  for (const [name, text] of [["place", String(place)], ["form", word.form], ["tag", word.tag]]) {
    const part = document.createElement(name === "form" ? "bdi" : "span");
    part.className = name;
    part.textContent = text;
    element.append(part);
  }
  return element;
}

/**
 * @param {Sentence} sentence
 * @param {number} chosen
 */
export function drawArcs(sentence, chosen) {
  const found = placed(sentence.words.map(({ head }) => head));
  const height = heightOf(found);
  words.style.paddingTop = `${height}px`;
  const middles = [...items].map((element) => element.offsetLeft + element.offsetWidth / 2 + words.offsetLeft);
  arcs.replaceChildren();
  for (const arc of found) {
    const { path, end, x, y } = outline(arc, middles, height);
    drawArc(sentence, arc.place, chosen, height, { path, end, text: { x, y } });
  }
  sentence.words.forEach(({ head }, k) => {
    if (head !== 0) return;
    const end = middles[k];
    const text = { x: end + 6, y: TOP + 6, class: "beside" };
    drawArc(sentence, k + 1, chosen, height, { path: `M${end} 24V${height - 5}`, end, text });
  });
  arcs.append(...arcs.querySelectorAll(".chosen")); // on top of the others
}

/**
 * @param {Sentence} sentence
 * @param {number} place of the dependent
 * @param {number} chosen
 * @param {number} height
 * @param {{ path: string, end: number, text: Record<string, string | number> }} lines
 */
function drawArc(sentence, place, chosen, height, { path, end, text }) {
  const word = sentence.words[place - 1];
  const element = addSvg(arcs, "g", { class: `arc ${kind(word)}${place === chosen ? " chosen" : ""}`, "data-place": place });
  addSvg(element, "path", { d: path });
  addSvg(element, "polygon", { class: "tip", points: `${end - 5},${height - 8} ${end + 5},${height - 8} ${end},${height + 1}` });
  addSvg(element, "text", text).textContent = note(word);
}

/**
 * Draws a line from a word to the pointer, while the word is dragged.
 * @param {number} place
 * @param {number} x
 * @param {number} y
 */
export function rubber(place, x, y) {
  endRubber();
  const box = arcs.getBoundingClientRect();
  const element = items[place - 1].getBoundingClientRect();
  const from = [element.left + element.width / 2 - box.left, element.top - box.top];
  const to = [x - box.left, y - box.top];
  addSvg(arcs, "path", { id: "rubber", d: `M${from}L${to}` });
}

export function endRubber() {
  document.getElementById("rubber")?.remove();
}

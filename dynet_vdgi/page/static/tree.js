// Draws a sentence: words as a list, arcs beside them as SVG. The words run across the page or down it.

import { ACROSS, depth, DOWN, DOWN_NARROW, GAP, outline, placed, spaces } from "./arcs.js";
import { addSvg, at } from "./dom.js";
import { facts, gloss, isRightToLeft, isTagDoubtful, kind, mark, spoken } from "./sentence.js";

/**
 * @typedef {import("./sentence.js").Sentence} Sentence
 *
 * @typedef {object} Look
 * @property {number} chosen place of the selected word, 0: none
 * @property {number[]} moved words whose arcs are new
 * @property {string} view auto, across or down
 */

export const stage = at("stage");
export const words = at("words");
export const items = /** @type {HTMLCollectionOf<HTMLElement>} */ (words.children); // live: always the present ones
const NARROW = 600; // pixels
const [MARGIN, HEADER] = [24, 100]; // pixels around a word that is scrolled to, and above it
const arcs = at("arcs");
let texts = /** @type {Element} */ (arcs); // what the relations are drawn into
const box = at("scroll");

/** @param {Sentence} sentence @param {Look} look */
export function draw(sentence, look) {
  stage.dir = isRightToLeft(sentence) ? "rtl" : "ltr";
  stage.dataset.shown = `${sentence.id} ${sentence.edits} ${sentence.version}`;
  while (items.length > sentence.words.length) items[items.length - 1].remove();
  while (items.length < sentence.words.length) words.append(document.createElement("li"));
  [...items].forEach((element, k) => setItem(element, sentence, k + 1, look));
  setRanges(sentence);
  drawArcs(sentence, look);
}

/** Whether the words run down the page. */
export const isDown = () => stage.classList.contains("down");

/** @param {HTMLElement} element @param {Sentence} sentence @param {number} place @param {Look} look */
function setItem(element, sentence, place, { chosen }) {
  const word = sentence.words[place - 1];
  element.setAttribute("role", "option");
  element.setAttribute("aria-selected", String(place === chosen));
  element.setAttribute("aria-label", spoken(sentence, place));
  element.tabIndex = place === (chosen || 1) ? 0 : -1;
  element.dataset.place = String(place);
  element.className = kind(word) === "doubtful" ? "doubtful" : "";
  const tag = isTagDoubtful(word) ? `${word.tag}?` : word.tag;
  const lemma = word.lemma === "_" ? "" : word.lemma;
  const feats = word.feats === "_" ? "" : word.feats;
  element.title = facts(word).replaceAll(" · ", "\n");
  const note = word.note ? " ✎" : "";
  const contents = [["place", `${place}${note}`], ["form", word.form], ["tag", tag], ["gloss", gloss(word)],
    ["relation", word.head < 0 ? "" : mark(word)], ["lemma", lemma], ["feats", feats]];
  element.replaceChildren(...contents.filter(([name, text]) => name !== "gloss" || text).map(([name, text]) => {
    const part = document.createElement(name === "form" ? "bdi" : "span");
    if (name === "form") part.dir = /\p{L}/u.test(text) ? "auto" : stage.dir; // marks have none
    part.className = name === "relation" ? `relation ${look(sentence, word)}` : name;
    if (name === "tag" && isTagDoubtful(word)) part.classList.add("doubtful");
    part.textContent = text;
    return part;
  }));
}

/** @param {Sentence} sentence whose multiword tokens get brackets */
function setRanges({ ranges }) {
  for (const { from, to, form } of ranges) {
    const text = document.createElement("bdi");
    text.className = "range";
    text.textContent = form;
    for (let place = from; place <= to; place += 1) {
      const sides = `in-range${place === from ? " first" : ""}${place === to ? " last" : ""}`;
      items[place - 1]?.classList.add(...sides.split(" "));
    }
    items[from - 1]?.append(text);
  }
}

/** @param {Sentence} sentence @param {Look} look */
export function drawArcs(sentence, { chosen, moved, view }) {
  const found = placed(sentence.words.map(({ head }) => head));
  stage.classList.remove("down");
  makeRoom(sentence);
  const isTooLong = words.scrollWidth > box.clientWidth;
  stage.classList.toggle("down", view === "down" || (view === "auto" && isTooLong));
  if (isDown()) for (const element of items) element.style.marginInlineStart = ""; // the rows line up
  const measure = !isDown() ? ACROSS : box.clientWidth < NARROW ? DOWN_NARROW : DOWN;
  const off = depth(found, measure);
  words.style.paddingTop = isDown() ? "" : `${off}px`;
  words.style.paddingInlineStart = isDown() ? `${off}px` : "";
  words.setAttribute("aria-orientation", isDown() ? "vertical" : "horizontal");
  const middles = [...items].map((element) => (isDown()
    ? element.offsetTop + element.offsetHeight / 2
    : element.offsetLeft + element.offsetWidth / 2 + words.offsetLeft));
  const edge = isDown() ? words.offsetLeft + (stage.dir === "rtl" ? words.offsetWidth - off : off) : off;
  const side = isDown() && stage.dir === "rtl" ? -1 : 1;
  /** @type {(along: number, off: number) => number[]} */
  const point = (along, away) => (isDown() ? [edge - side * away, along] : [along, edge - away]);
  arcs.replaceChildren();
  texts = addSvg(arcs, "g", {});
  for (const arc of found) {
    const { path, along, off: away } = outline(arc, middles, measure, (...place) => point(...place).join(" "));
    const [x, y] = point(along, away + 5);
    drawArc(sentence, arc.place, { path, tip: tip(point, middles[arc.place - 1]), text: { x, y } });
  }
  sentence.words.forEach(({ head }, k) => {
    if (head !== 0) return;
    const path = `M${point(middles[k], off - (isDown() ? 2 : 24)).join(" ")}L${point(middles[k], 5).join(" ")}`;
    const [x, y] = point(middles[k] + 6, off - 40);
    drawArc(sentence, k + 1, { path, tip: tip(point, middles[k]), text: { x, y, class: "beside" } });
  });
  for (const place of moved) arcs.querySelector(`[data-place="${place}"]`)?.classList.add("moved");
  const mine = arcs.querySelector(`[data-place="${chosen}"]`);
  mine?.classList.add("chosen");
  if (mine) arcs.append(mine); // on top of the others
  arcs.append(texts); // so that no line strikes a relation through
}

/** @param {Sentence} sentence whose neighbours get room for the relations between them */
function makeRoom(sentence) {
  for (const element of items) element.style.marginInlineStart = "";
  words.style.paddingInlineStart = "";
  const labels = sentence.words.map((word, k) => ({ place: k + 1, head: word.head, text: mark(word) }))
    .filter(({ head }) => head > 0);
  spaces(labels, [...items].map((element) => element.offsetWidth)).forEach((space, k) => {
    items[k].style.marginInlineStart = space ? `${space}px` : "";
  });
  words.style.gap = `${GAP}px`;
}

/** @param {(along: number, off: number) => number[]} point @param {number} along */
function tip(point, along) {
  return [point(along - 5, 8), point(along + 5, 8), point(along, -1)].map((place) => place.join(",")).join(" ");
}

/**
 * @param {Sentence} sentence
 * @param {number} place of the dependent
 * @param {{ path: string, tip: string, text: Record<string, string | number> }} lines
 */
function drawArc(sentence, place, { path, tip: points, text }) {
  const word = sentence.words[place - 1];
  const attributes = { class: `arc ${look(sentence, word)}`, "data-place": place };
  const element = addSvg(arcs, "g", attributes);
  addSvg(element, "path", { d: path });
  addSvg(element, "polygon", { class: "tip", points });
  if (!isDown()) addSvg(addSvg(texts, "g", attributes), "text", text).textContent = mark(word);
}

/**
 * The certainty of an arc; in a finished sentence, punctuation has followed the words and is not open.
 * @param {Sentence} sentence
 * @param {import("./sentence.js").Word} word
 */
const look = ({ done }, word) => (done && kind(word) === "plain" ? "confirmed" : kind(word));

/**
 * Scrolls to a word, and to its head if there is room for both.
 * @param {number} place
 * @param {number} head
 * @param {boolean} isNew whether the sentence has just come
 */
export function reveal(place, head, isNew = false) {
  if (isNew) box.scrollTo(0, 0);
  for (const one of [head, place]) { // the word itself comes last, so that it is in sight
    const element = items[one - 1]?.getBoundingClientRect();
    if (!element) continue; // scrollIntoView would also move where Tab goes on
    const room = box.getBoundingClientRect();
    box.scrollLeft += Math.max(0, element.right + MARGIN - room.right) || Math.min(0, element.left - MARGIN - room.left);
    scrollBy(0, Math.max(0, element.bottom + MARGIN - innerHeight) || Math.min(0, element.top - HEADER));
  }
}

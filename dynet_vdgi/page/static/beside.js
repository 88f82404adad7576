// The page on which somebody decides between two annotations of one text.

import { placed } from "./arcs.js";
import { Fault, get, post } from "./client.js";
import { addSvg, at, button } from "./dom.js";
import { isComposing, keyOf } from "./layout.js";

/**
 * @typedef {object} Item a difference
 * @property {string} key
 * @property {string} column
 * @property {number} word its place in the sentence of the result, 0: the whole sentence
 * @property {string} form
 * @property {string[]} values of both files
 * @property {number | null} side that was taken
 * @property {string} by
 *
 * @typedef {object} Word
 * @property {string} form
 * @property {string} tag
 * @property {number} head 0: ROOT, -1: none
 * @property {string} label
 *
 * @typedef {object} Part a sentence with differences
 * @property {number} number
 * @property {number} version
 * @property {string[]} places
 * @property {string} sent_id
 * @property {Word[][]} trees
 * @property {Item[]} items
 * @property {string} fault why the chosen heads are no tree; "": they are
 * @property {boolean} waits whether other choices mend that
 *
 * @typedef {object} State
 * @property {string[]} files
 * @property {string} fault
 * @property {string} more what is not compared; "": nothing
 * @property {number} parts
 * @property {number} differences
 * @property {number} decided
 */

const WHAT = { upos: "UPOS", xpos: "XPOS", feats: "FEATS", lemma: "lemma", head: "head", deprel: "relation", tokens: "words" };
const STEP = 26;

/** @type {Part | null} */
let part = null;
let chosen = 0;
let busy = Promise.resolve();

/** @type {(path: string, content?: object) => Promise<any>} */
const ask = (path, content) => (content ? post(/** @type {any} */ (path), content) : get(/** @type {any} */ (path)));

/** Runs one task after the other, and says what fails. @param {() => Promise<void>} task */
function run(task) {
  busy = busy.then(async () => {
    try {
      await task();
      await progress();
    } catch (error) {
      const fault = /** @type {Error} */ (error);
      say(fault.message, true);
      if (error instanceof Fault && error.status === 409 && part) show(await ask(`part/${part.number}`));
    }
  });
}

/** @param {string} text @param {boolean} isBad */
function say(text, isBad = false) {
  at("notice").textContent = text;
  at("notice").classList.toggle("bad", isBad);
}

async function progress() {
  const state = /** @type {State} */ (await ask("state"));
  at("file").textContent = `Decide: ${state.files[2]}`;
  const more = state.more ? ` · ${state.more}` : "";
  at("sides").textContent = `1: ${state.files[0]} · 2: ${state.files[1]}${more}`;
  at("decided").textContent = `${state.decided} of ${state.differences}`;
  at("parts").textContent = String(state.parts);
  at("fault").textContent = state.fault;
  at("fault").hidden = !state.fault;
  if (!state.parts) say("The two files do not differ. The result is written.");
}

/** @param {Part} found */
function show(found) {
  if (!part || part.number !== found.number) chosen = Math.max(0, found.items.findIndex(({ side }) => side === null));
  part = found;
  location.hash = `s=${found.number + 1}`;
  at("heading").textContent = `Difference ${found.number + 1}${found.sent_id ? `: ${found.sent_id}` : ""}`;
  at("tree-first-name").textContent = `1: ${found.places[0]}`;
  at("tree-second-name").textContent = `2: ${found.places[1]}`;
  const then = found.waits ? "Until they are, the result has the heads of the first file."
    : "Neither file has a tree here: open the result with vdgi annotate, and mend it there.";
  say(found.fault ? `The chosen heads are no tree: ${found.fault}. ${then}` : "", Boolean(found.fault));
  at("items").replaceChildren(...found.items.map(row));
  const ofArcs = found.items.filter(({ column }) => column === "head" || column === "deprel");
  const [words, arcs] = [found.items, ofArcs].map((items) => new Set(items.map(({ word }) => word)));
  draw("tree-first", found.trees[0], words, arcs);
  draw("tree-second", found.trees[1], words, arcs);
}

/** @param {Item} item @param {number} k */
function row(item, k) {
  const element = document.createElement("tr");
  mark(element, k === chosen);
  const cells = [item.word ? `${item.word} ${item.form}` : "sentence", WHAT[/** @type {keyof WHAT} */ (item.column)]];
  for (const text of cells) element.append(cell(text));
  item.values.forEach((value, side) => {
    const choice = button(value, () => { chosen = k; decide([item.key], side); });
    choice.setAttribute("aria-pressed", String(item.side === side));
    const holder = document.createElement("td");
    holder.append(choice);
    element.append(holder);
  });
  element.append(cell(item.side === null ? "open" : item.by));
  return element;
}

/** @param {Element} element of a difference @param {boolean} isChosen */
function mark(element, isChosen) {
  element.className = isChosen ? "chosen" : "";
  element.setAttribute("aria-current", String(isChosen));
}

/** @param {string} text */
function cell(text) {
  const element = document.createElement("td");
  element.textContent = text;
  return element;
}

/**
 * @param {string} name
 * @param {Word[]} words
 * @param {Set<number>} differing places of words
 * @param {Set<number>} differingArcs places of dependents
 */
function draw(name, words, differing, differingArcs) {
  const picture = at(name);
  picture.replaceChildren();
  picture.setAttribute("aria-label", words.map(({ form, head, label }, k) => `${k + 1} ${form}: ${label} of ${head}`).join("; "));
  const widths = words.map(({ form, tag, label }) => 14 + 9 * Math.max(form.length, tag.length, label.length));
  /** @type {number[]} */
  const middles = [];
  widths.reduce((x, width) => { middles.push(x + width / 2); return x + width; }, 4);
  const arcs = placed(words.map(({ head }) => head));
  const height = STEP * (1.5 + Math.max(1, ...arcs.map(({ level }) => level)));
  picture.setAttribute("width", String(widths.reduce((a, b) => a + b, 8)));
  picture.setAttribute("height", String(height + 46));
  for (const { place, head, level } of arcs) {
    const group = addSvg(picture, "g", differingArcs.has(place) ? { class: "differs" } : {});
    const [from, to, y] = [middles[head - 1], middles[place - 1], height - STEP * level];
    const start = from + 5 * Math.sign(to - from);
    const arrow = `M${to - 3} ${height - 7}L${to} ${height - 1}L${to + 3} ${height - 7}`;
    addSvg(group, "path", { d: `M${start} ${height}V${y + 5}H${to}V${height - 2}${arrow}` });
    addSvg(group, "text", { x: (start + to) / 2, y: y + 1, class: "label" }).textContent = words[place - 1].label;
  }
  words.forEach((word, k) => {
    const group = addSvg(picture, "g", differing.has(k + 1) ? { class: "differs" } : {});
    const root = addSvg(picture, "g", differingArcs.has(k + 1) ? { class: "differs" } : {});
    if (word.head === 0) addSvg(root, "path", { d: `M${middles[k]} 4V${height - 2}` });
    addSvg(group, "text", { x: middles[k], y: height + 16 }).textContent = word.form;
    addSvg(group, "text", { x: middles[k], y: height + 34, class: "tag" }).textContent = word.tag;
  });
}

/** @param {string[]} keys @param {number | null} side */
function decide(keys, side) {
  run(async () => {
    if (!part || !keys.length) return;
    const found = /** @type {Part} */ (await ask("decide", { part: part.number, version: part.version, keys, side }));
    const next = found.items.findIndex((item, k) => k > chosen && item.side === null);
    if (side !== null && next >= 0) chosen = next;
    show(found);
  });
}

/** @param {number} side */
function decideAll(side) {
  decide(part ? part.items.filter((item) => item.side === null).map(({ key }) => key) : [], side);
}

/** @param {number} step */
function go(step) {
  run(async () => {
    const { parts } = /** @type {State} */ (await ask("state"));
    const number = (part ? part.number : -1) + step;
    if (number < 0 || number >= parts) say(step > 0 ? "This is the last sentence with differences." : "This is the first one.");
    else show(await ask(`part/${number}`));
  });
}

function goOpen() {
  run(async () => {
    const { next } = /** @type {any} */ (await get("next", { after: String(part?.number ?? "") }));
    if (next === null) say("Everything is decided.");
    else show(await ask(`part/${next}`));
  });
}

/** @param {number} step */
function select(step) {
  if (!part) return;
  chosen = Math.min(Math.max(chosen + step, 0), part.items.length - 1);
  [...at("items").children].forEach((element, k) => mark(element, k === chosen));
  at("items").children[chosen]?.scrollIntoView({ block: "nearest" });
}

/** @type {Record<string, () => void>} */
const KEYS = {
  ArrowUp: () => select(-1),
  ArrowDown: () => select(1),
  0: () => part && decide([part.items[chosen].key], null),
  1: () => part && decide([part.items[chosen].key], 0),
  2: () => part && decide([part.items[chosen].key], 1),
  a: () => decideAll(0),
  b: () => decideAll(1),
  n: () => go(1),
  p: () => go(-1),
  d: goOpen,
  u: () => run(async () => show(await ask("undo", {}))),
};

document.addEventListener("keydown", (event) => {
  if (isComposing(event)) return;
  const action = KEYS[keyOf(event)];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
});
for (const [name, key] of Object.entries({
  previous: "p", next: "n", "open-next": "d", undo: "u", "all-first": "a", "all-second": "b",
})) at(name).addEventListener("click", KEYS[key]);

run(async () => {
  const wanted = Number(new URLSearchParams(location.hash.slice(1)).get("s")) || 0;
  const { parts } = /** @type {State} */ (await ask("state"));
  if (wanted > 0 && wanted <= parts) show(await ask(`part/${wanted - 1}`));
  else if (parts) {
    const { next } = await ask("next");
    show(await ask(`part/${next ?? 0}`));
  }
});

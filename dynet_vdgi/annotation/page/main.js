// The page: shows one sentence, handles keys, mouse and forms, and sends changes to the program.

import { Fault, get, post, queued } from "./client.js";
import { at, near, placeOf } from "./dom.js";
import { showFault, showState } from "./header.js";
import { afterDigits, backKey, sentenceNumber } from "./keys.js";
import { facts, firstDoubtful, heading, NONE, spoken } from "./sentence.js";
import { openSearch, searchWith } from "./search.js";
import { draw, drawArcs, endRubber, items, rubber, stage, words } from "./tree.js";

/** @typedef {import("./sentence.js").Sentence} Sentence */

const EVERY = 1000; // milliseconds between two requests for the state

let sentence = NONE;
let chosen = 0; // the selected word, from 1; 0: none
let typed = ""; // digits of a head
let picks = false; // the next tap on a word is the head of the selected one
let program = ""; // the id of the program's start, to notice a restart
let total = 0; // number of sentences
let typing = false; // whether the relation in the field differs from the word's and must be stored
/**
 * The relation that is being stored; `ends` resolves to whether it was stored.
 * @typedef {{ word: number, text: string, ends: Promise<boolean> }} Storing
 */
let storing = /** @type {Storing | null} */ (null);
let unknown = ""; // word and relation that nobody has used yet: pressing Enter again stores it
const visited = /** @type {number[]} */ ([]); // numbers of sentences

// ------------------------------------------------------------------------------------------ messages
/**
 * @param {string} text
 * @param {boolean} isBad
 */
function say(text, isBad = false) {
  at("notice").classList.toggle("bad", isBad);
  at("notice").textContent = text;
}

/**
 * Shows the error of a task, if any; returns whether there was none.
 * @param {() => Promise<unknown>} task
 * @returns {Promise<boolean>}
 */
async function trying(task) {
  try {
    await task();
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    say(error.message, true);
    if (error.status === 409 && sentence !== NONE) await trying(() => load(sentence.number, true));
    return false;
  }
}

// ------------------------------------------------------------------------------------------ showing
/** @param {Sentence} found */
function show(found) {
  const isOther = sentence.number !== found.number;
  sentence = found;
  if (isOther) {
    chosen = firstDoubtful(sentence) || 1;
    typed = "";
    typing = false;
    setPicks(false);
  }
  at("heading").textContent = heading(found);
  at("text").textContent = found.words.map((word) => word.form).join(" ");
  at("text").dir = "auto";
  at("number").value = String(found.number + 1);
  refresh();
  if (isOther) reveal();
}

function refresh() {
  const hadFocus = words.contains(document.activeElement);
  draw(sentence, chosen);
  if (hadFocus) items[chosen - 1]?.focus({ preventScroll: true });
  panel();
}

/** @param {ScrollLogicalPosition} inline */
function reveal(inline = "center") {
  items[chosen - 1]?.scrollIntoView({ block: "nearest", inline });
}

function panel() {
  const word = sentence.words[chosen - 1];
  if (!word) return;
  at("word-heading").textContent = `Word ${chosen}: ${word.form}`;
  at("word-facts").textContent = facts(word);
  const heads = sentence.words.map((other, k) => ({ place: k + 1, text: `${k + 1} ${other.form}` }));
  heads.unshift({ place: 0, text: "0 ROOT" });
  if (word.head < 0) heads.unshift({ place: -1, text: "–" });
  at("head").replaceChildren(...heads.filter(({ place }) => place !== chosen).map(({ place, text }) => {
    const isHead = place === word.head;
    return new Option(text, String(place), isHead, isHead);
  }));
  const relation = storing?.word === chosen ? storing.text : word.label;
  if (!typing) at("label").value = relation === "_" ? "" : relation;
  at("open").disabled = !word.head_by && !word.label_by;
}

/** @param {number} place */
function select(place) {
  stored(); // if this fails, the relation is shown again
  chosen = Math.max(1, Math.min(sentence.words.length, place));
  typed = "";
  refresh();
  items[chosen - 1].focus({ preventScroll: true });
  reveal("nearest");
}

/**
 * The screen's content for a word, or for all words (0): whoever confirms means this.
 * @param {number} place
 */
function onScreen(place = 0) {
  const shown = sentence.words.map((word, k) => {
    const label = storing?.word === k + 1 ? storing.text
      : typing && chosen === k + 1 ? at("label").value.trim() : word.label;
    return `${word.head} ${label}`;
  });
  return place ? shown[place - 1] : String(shown);
}

// ------------------------------------------------------------------------------------------ requests
/**
 * @param {number} number of a sentence
 * @param {boolean} keepsNotice
 */
async function load(number, keepsNotice = false) {
  if (number !== sentence.number && !(await stored())) {
    at("number").value = String(sentence.number + 1);
    return;
  }
  await queued(async () => {
    const found = await get(`sentence/${number}`);
    if (!keepsNotice) say("");
    if (visited.at(-1) !== number) visited.push(number);
    show(found);
  });
}

/**
 * Returns whether the change was made. Whoever confirms means what was on the screen then.
 * @param {string} what
 * @param {number} value
 * @param {number} word
 */
async function change(what, value = 0, word = chosen) {
  const meant = ["right", "done"].includes(what) ? onScreen(word) : "";
  if (what !== "head" && !(await stored())) return false;
  return trying(() => make({ what, value, word }, meant));
}

/**
 * @param {{ what: string, value: number | string, word: number, anyway?: boolean }} order
 * @param {string} meant content that must still be on the screen; "": anything
 */
function make(order, meant = "") {
  const number = sentence.number;
  const { what, word } = order;
  return queued(async (othersWait) => {
    if (sentence.number !== number || (meant && meant !== onScreen(word))) {
      refresh();
      throw new Fault("The tree has changed since you said so. Please look at it once more.", 0);
    }
    const began = performance.now();
    const { edits, version } = sentence;
    const found = await post("change", { sentence: number, edits, version, ...order });
    performance.measure("acknowledged", { start: began, end: performance.now() });
    if (sentence.number !== number) return;
    show(found);
    say(what === "done" ? `Sentence ${number + 1} is done.` : `${spoken(sentence, word || 1)}.`);
    if (what === "head" && !othersWait()) show(await get(`guess/${number}`));
    update();
  });
}

// Stores the typed relation. Returns whether none is left that could not be stored.
async function stored() {
  const text = at("label").value.trim();
  if (typing && text) store(text);
  else leaveRelation();
  if (!storing) return true;
  return (await storing.ends) && !typing;
}

/**
 * @param {string} text
 * @param {boolean} isTwice whether Enter was pressed, perhaps for the second time
 */
function store(text, isTwice = false) {
  const { number } = sentence;
  const word = chosen;
  const key = `${number} ${word} ${text}`;
  const anyway = isTwice && unknown === key;
  typing = false;
  /** @type {Storing} */
  const mine = { word, text, ends: Promise.resolve(false) };
  storing = mine;
  mine.ends = trying(async () => {
    try {
      await make({ what: "label", value: text, word, anyway });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (error.content?.unknown) unknown = key;
      if (error.content) error.message += `. ${error.content.unknown ? "Enter once more stores it; " : ""}Esc takes it back.`;
      throw error;
    }
  }).then((isStored) => {
    if (storing === mine) storing = null;
    if (!isStored && sentence.number === number) giveBack(word, text);
    return isStored;
  });
}

/**
 * Shows again a relation that could not be stored.
 * @param {number} word
 * @param {string} text
 */
function giveBack(word, text) {
  chosen = word;
  typing = true;
  refresh();
  at("label").value = text;
  if (words.contains(document.activeElement)) at("label").focus();
}

function leaveRelation() {
  if (!typing) return;
  typing = false;
  panel();
}

/** @param {"undo" | "redo"} what */
async function back(what) {
  if (!(await stored())) return;
  await trying(() => queued(async () => {
    const found = await post(what);
    show(found);
    say(`${what === "undo" ? "Taken back" : "Made again"}, in sentence ${found.number + 1}.`);
    update();
  }));
}

async function next() {
  if (!(await stored())) return;
  await trying(async () => {
    const found = await get("next", { after: sentence === NONE ? "" : String(sentence.number), order: at("order").value });
    if (found.next === null) say("No other sentence is left to do.");
    else await load(found.next, true);
  });
}

async function previous() {
  visited.pop();
  const number = visited.at(-1) ?? Math.max(0, sentence.number - 1);
  await trying(() => load(number));
}

async function done() {
  const before = sentence.number;
  await change("done", 0, 0);
  if (sentence.number === before && sentence.done) await next();
}

async function update() {
  try {
    const isShown = sentence !== NONE;
    const state = await get("state", isShown ? { shown: String(sentence.number) } : {});
    if (program && program !== state.id && isShown) {
      program = state.id;
      await trying(() => load(sentence.number));
    }
    if (!program) {
      program = state.id;
      at("order").value = state.order;
    }
    total = state.progress.sentences;
    at("of").textContent = `of ${total}`;
    showState(state);
    const isOld = isShown && state.versions && String(state.versions) !== String([sentence.edits, sentence.version]);
    if (isOld && !typed) {
      await queued(async (othersWait) => {
        if (!othersWait()) show(await get(`sentence/${sentence.number}`));
      });
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    showFault(error.message);
  }
}

// ------------------------------------------------------------------------------------------ keys
/** @type {Record<string, () => unknown>} */
const KEYS = {
  c: () => change("right"),
  " ": () => change("right"),
  x: () => change("open"),
  a: () => done(),
  n: () => next(),
  p: () => previous(),
  u: () => back("undo"),
  r: () => back("redo"),
  l: () => { at("label").focus(); at("label").select(); },
  d: () => {
    const place = firstDoubtful(sentence, chosen);
    if (place) select(place);
    else say("No word is doubtful.");
  },
  "/": () => openSearch(),
  Home: () => select(1),
  End: () => select(sentence.words.length),
  ArrowLeft: () => select(chosen + (stage.dir === "rtl" ? 1 : -1)),
  ArrowRight: () => select(chosen + (stage.dir === "rtl" ? -1 : 1)),
  Enter: () => { if (typed) setTyped(); },
  Backspace: () => type(typed.slice(0, -1)),
  Escape: () => type(""),
};

words.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isDigit = /^[0-9]$/.test(event.key);
  if (!isDigit && !(event.key in KEYS)) return;
  event.preventDefault();
  if (isDigit) type(typed + event.key);
  else KEYS[event.key]();
});

/** @param {string} digits */
function type(digits) {
  const found = afterDigits(digits, sentence.words.length);
  typed = found.typed;
  if (found.head === null) say(found.text, found.isBad);
  else change("head", found.head);
}

function setTyped() {
  const head = Number(typed);
  typed = "";
  change("head", head);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") endDrag();
  const what = near(event, "input, select, textarea") ? null : backKey(event);
  if (what) {
    event.preventDefault();
    back(what);
  }
});

// ------------------------------------------------------------------------------------------ mouse
let drag = /** @type {{ place: number, x: number, y: number, moves: boolean } | null} */ (null);

/** @param {PointerEvent} event */
function under(event) {
  const element = document.elementFromPoint(event.clientX, event.clientY);
  if (element?.closest("#root")) return 0;
  return placeOf(element?.closest("#words li"), -1);
}

words.addEventListener("pointerdown", (event) => {
  const place = placeOf(near(event, "li"), 0);
  if (!place || event.button) return;
  if (picks && place !== chosen) {
    event.preventDefault();
    setPicks(false);
    change("head", place);
    return;
  }
  drag = { place, x: event.clientX, y: event.clientY, moves: false };
});

document.addEventListener("pointermove", (event) => {
  if (!drag || event.pointerType === "touch") return;
  if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 6) drag.moves = true;
  if (!drag.moves) return;
  rubber(drag.place, event.clientX, event.clientY);
  const box = at("scroll").getBoundingClientRect();
  if (event.clientX > box.right - 40) at("scroll").scrollLeft += 20;
  if (event.clientX < box.left + 40) at("scroll").scrollLeft -= 20;
  mark(under(event));
});

/** @param {number} place of the word that the pointer is over; 0: ROOT, -1: none */
function mark(place) {
  at("root").classList.toggle("target", place === 0);
  for (const element of items) element.classList.toggle("target", placeOf(element, -1) === place);
}

document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { place, moves } = drag;
  endDrag();
  if (!moves) {
    if (near(event, "#words li")) select(place);
    return;
  }
  const head = under(event);
  select(place);
  if (head >= 0 && head !== place) change("head", head, place);
});
document.addEventListener("pointercancel", endDrag);

function endDrag() {
  if (!drag) return;
  drag = null;
  endRubber();
  mark(-1);
}

at("arcs").addEventListener("click", (event) => {
  const place = placeOf(near(event, ".arc"), 0);
  if (place) select(place);
});
at("root").addEventListener("click", () => {
  if (picks) {
    setPicks(false);
    change("head", 0);
  }
});

/** @param {boolean} isOn */
function setPicks(isOn) {
  picks = isOn;
  at("pick").setAttribute("aria-pressed", String(isOn));
}

// ------------------------------------------------------------------------------------------ forms
at("previous").addEventListener("click", previous);
at("next").addEventListener("click", next);
at("undo").addEventListener("click", () => back("undo"));
at("redo").addEventListener("click", () => back("redo"));
at("done").addEventListener("click", done);
at("right").addEventListener("click", () => change("right"));
at("open").addEventListener("click", () => change("open"));
at("pick").addEventListener("click", () => {
  setPicks(!picks);
  say(picks ? `Now tap the head of word ${chosen}, or ROOT.` : "");
});
at("head").addEventListener("change", () => change("head", Number(at("head").value)));
at("number").addEventListener("change", () => {
  const text = at("number").value.trim();
  const number = sentenceNumber(text, total);
  if (number !== null) {
    trying(() => load(number));
  } else {
    say(`There is no sentence ${text}: they are numbered from 1 to ${total}.`, true);
    at("number").value = String(sentence.number + 1);
  }
});
at("panel").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("label").value.trim();
  if (storing?.word !== chosen || storing.text !== text) store(text, true);
  items[chosen - 1].focus();
});
at("label").addEventListener("input", () => { typing = true; });
at("label").addEventListener("focus", () => trying(async () => {
  const { relations } = await get(`relations/${sentence.number}`, { word: String(chosen) });
  at("labels").replaceChildren(...relations.map((relation) => new Option(relation)));
}));
at("label").addEventListener("blur", () => {
  if (document.activeElement !== at("label")) stored(); // otherwise the window lost the focus
});
at("label").addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    leaveRelation();
    say("");
    items[chosen - 1].focus();
  }
});
at("set-label").addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus

at("find").addEventListener("click", openSearch);
searchWith(trying, (number) => trying(() => load(number)).then(() => select(chosen)));

new ResizeObserver(() => { drawArcs(sentence, chosen); }).observe(at("scroll"));

// ------------------------------------------------------------------------------------------ beginning
await update();
await next();
setInterval(update, EVERY);

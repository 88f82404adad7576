// The keys: they work everywhere but in fields. Those for a sentence to come are held.

import { at, near } from "./dom.js";
import { endDrag, focusChosen } from "./drag.js";
import { drop, endEarly, hold, isWaiting, wasBlind } from "./held.js";
import { afterDigits, backKey } from "./keys.js";
import { isComposing, keyOf } from "./layout.js";
import { askNote } from "./notes.js";
import { askRelation, relationWith, turnRelation } from "./relation.js";
import { openSearch, turnHit } from "./search.js";
import { firstDoubtful, firstUnconfirmed } from "./sentence.js";
import { back, change, done, forgetDigits, next, onLeave, previous, say, select, store } from "./store.js";
import { askFeatures, askLemma, askTag, askXpos, turnValue } from "./tags.js";
import { askRange, askSplit } from "./tokens.js";
import { isDown, stage } from "./tree.js";

const FIELDS = "input, select, textarea, dialog";
const PRESSED = "button, summary, a"; // Enter and the space bar are theirs
const PAUSE = 400; // milliseconds after which no other digit of a complete number is awaited
const CONFIRMING = ["a", " "]; // and Enter, if it ends no number

let ended = ""; // the selected word when a number has just ended without Enter, which directly after it means no more
let complete = 0; // the timer of a complete number; 0: none waits

/** @param {number} place */
function go(place) {
  select(place);
  focusChosen();
}

/** @param {number | undefined} place @param {string} otherwise */
const goOr = (place, otherwise) => (place ? go(place) : say(otherwise));

/** Confirms the word and goes to the next that is not confirmed. */
async function confirm() {
  const { chosen, sentence } = store;
  if (!(await change("right")) || store.sentence.id !== sentence.id || store.chosen !== chosen) return;
  const place = firstUnconfirmed(store.sentence, chosen);
  if (place) go(place);
}

/** @param {1 | -1} step to the right or to the left, as one sees it */
function aside(step) {
  go(store.chosen + (stage.dir === "rtl" && !isDown() ? -step : step));
}

/** @type {Record<string, () => unknown>} */
const KEYS = {
  " ": () => confirm(),
  Enter: () => enter(),
  x: () => change("open"),
  a: () => done(),
  n: () => next(),
  p: () => previous(),
  u: () => back("undo"),
  r: () => back("redo"),
  l: () => askRelation(),
  ".": () => turnRelation(1),
  ",": () => turnRelation(-1),
  t: () => askTag(),
  f: () => askFeatures(),
  m: () => askLemma(),
  y: () => askXpos(),
  e: () => turnValue("tag"),
  v: () => turnValue("feats"),
  k: () => turnValue("lemma"),
  i: () => turnValue("xpos"),
  s: () => askSplit(),
  b: () => askRange(),
  j: () => change("join"),
  o: () => askNote(),
  q: () => change("flag", !store.sentence.flag, 0),
  d: () => goOr(firstDoubtful(store.sentence, store.chosen), "No word is doubtful, as far as the parser knows."),
  w: () => goOr(firstUnconfirmed(store.sentence, store.chosen), "Every word is confirmed."),
  g: () => {
    store.typed = "";
    store.goes = true;
    say("Go to word: type its number.");
  },
  h: () => go(store.sentence.words[store.chosen - 1]?.head || store.chosen),
  "/": () => openSearch(),
  "+": () => turnHit(1),
  "-": () => turnHit(-1),
  Home: () => go(1),
  End: () => go(store.sentence.words.length),
  ArrowLeft: () => aside(-1),
  ArrowRight: () => aside(1),
  ArrowUp: () => go(store.chosen - 1),
  ArrowDown: () => go(store.chosen + 1),
  Backspace: () => type(store.typed.slice(0, -1)),
  Escape: () => {
    forgetDigits();
    say("");
  },
};

/** @param {string} digits */
function type(digits) {
  const what = store.goes ? "word" : "head";
  const found = afterDigits(digits, store.sentence.words.length, what);
  store.typed = found.typed;
  ended = found.typed || !digits ? "" : selected();
  clearTimeout(complete);
  complete = found.place === null ? 0 : setTimeout(finish, PAUSE);
  if (found.place === null) say(found.text, found.isBad);
}

/** Takes a complete number at once, if one waits. */
function finish() {
  clearTimeout(complete);
  if (complete && store.typed) {
    complete = 0;
    reach(Number(store.typed));
    ended = selected();
  }
  complete = 0;
  return true;
}

/** The selected word, as a name. */
const selected = () => `${store.sentence.id} ${store.chosen}`;

/** Ends a number, or confirms the word. */
function enter() {
  if (store.typed) reach(Number(store.typed));
  else if (ended !== selected()) confirm();
  else say(`${at("notice").textContent} (Enter ended the number. Once more confirms word ${store.chosen}.)`.trim());
}

/** @param {number} place that was typed */
function reach(place) {
  const { goes } = store;
  forgetDigits();
  if (goes) go(place);
  else change("head", place);
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (isComposing(event)) return;
  if (event.key === "Escape") endDrag();
  if (near(event, FIELDS)) return;
  const meant = keyOf(event);
  const what = backKey({ ...modifiers(event), key: meant });
  const isOff = event.ctrlKey || event.metaKey || event.altKey || !at("keys-on").checked && !near(event, "#words");
  const isButton = near(event, PRESSED) && (meant === "Enter" || meant === " ");
  if (!what && (isOff || isButton)) return;
  if (isWaiting()) return hold(event);
  if (what) {
    event.preventDefault();
    back(what);
    return;
  }
  const isDigit = /^[0-9]$/.test(meant);
  const letter = meant.toLowerCase(); // Caps Lock does not matter
  const key = meant.length === 1 ? letter : meant;
  const isInitial = event.shiftKey && /^\p{L}$/u.test(meant);
  if (!(isDigit || isInitial || key in KEYS) || !store.sentence.words.length) return;
  event.preventDefault();
  if (isDigit) return type(store.typed + meant);
  if (!["Enter", "Backspace", "Escape"].includes(key)) finish();
  if (isInitial) relationWith(letter, event.key.toLowerCase());
  else if (wasBlind() && isConfirming(key)) refuse(key);
  else KEYS[key]();
  ended = "";
}

/** @param {KeyboardEvent} event */
const modifiers = ({ ctrlKey, metaKey, shiftKey }) => ({ ctrlKey, metaKey, shiftKey });

/** @param {string} key */
function isConfirming(key) {
  return key === "Enter" ? !store.typed && ended !== selected() : CONFIRMING.includes(key);
}

/** @param {string} key that would confirm what nobody has seen; what was typed after it is about something else */
function refuse(key) {
  const name = key === " " ? "The space bar" : key;
  const others = drop() ? " The keys after it are not used either." : "";
  say(`${name} was pressed before this sentence was shown, and confirms nothing.${others}`, true);
}

/** Buttons do what their keys do. */
export function startKeyboard() {
  endEarly();
  onLeave(finish);
  document.addEventListener("keydown", pressed);
  for (const button of document.querySelectorAll("button[aria-keyshortcuts]")) {
    button.addEventListener("click", KEYS[button.getAttribute("aria-keyshortcuts") ?? ""]);
  }
}

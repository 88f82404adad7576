// The state of the page, and the requests that change it. Other modules draw it: they are told by `onChange`.

import { Fault, get, post, queued } from "./client.js";
import { at } from "./dom.js";
import { showFault, showState } from "./header.js";
import { drop, withKeysHeld } from "./held.js";
import { placeIn } from "./keys.js";
import { doubted, firstDoubtful, follow, moved, NONE, spoken, went } from "./sentence.js";

/** @typedef {import("./sentence.js").Sentence} Sentence */

export const store = {
  sentence: NONE,
  chosen: 0, // the selected word, from 1; 0: none
  typed: "", // digits of a head, or of a word to go to
  goes: false, // whether the digits are of a word to go to
  picks: false, // the next tap on a word is the head of the selected one
  moved: /** @type {number[]} */ ([]), // words whose arcs the last change moved
  pending: /** @type {{ word: number, label: string } | null} */ (null), // a relation that is being stored
  view: "auto",
  total: 0, // number of sentences
  unlisted: /** @type {Set<string>} */ (new Set()), // relations that are not in the project's list
};

let arrivals = 0; // sentences shown in place of others, or as they were before
let faults = 0; // errors said so far
const visited = /** @type {number[]} */ ([]); // ids of sentences

// ------------------------------------------------------------------------------------------ listeners
/** @typedef {{ isOther: boolean }} Change whether another sentence is shown than before */
const listeners = /** @type {((change: Change) => void)[]} */ ([]);
const leavers = /** @type {(() => boolean | Promise<boolean>)[]} */ ([]);

/** @param {(change: Change) => void} listener is called when there is something else to show */
export function onChange(listener) {
  listeners.push(listener);
}

/** @param {() => boolean | Promise<boolean>} leaver stores what is being typed; says whether it could */
export function onLeave(leaver) {
  leavers.push(leaver);
}

export function changed(isOther = false) {
  for (const listener of listeners) listener({ isOther });
}

/** Whether nothing that was typed is left unstored. */
export async function left() {
  const all = await Promise.all(leavers.map((leaver) => leaver())); // all are asked now: what opens later is not meant
  return all.every(Boolean);
}

// ------------------------------------------------------------------------------------------ messages
/** @param {string} text @param {boolean} isBad */
export function say(text, isBad = false) {
  if (isBad) faults += 1;
  at("notice").classList.toggle("bad", isBad);
  at("notice").textContent = text;
}

/**
 * Says what a change has done, unless that would hide an error of something that was asked later.
 * @param {string} text
 * @param {number} before errors said when the change was asked for
 */
function sayDone(text, before) {
  if (faults === before) say(text);
}

/**
 * Shows the error of a task, if any; returns whether there was none.
 * @param {() => Promise<unknown>} task
 * @returns {Promise<boolean>}
 */
export async function trying(task) {
  try {
    await task();
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    say(error.message, true);
    if (error.status === 409 && store.sentence !== NONE) await trying(() => load(store.sentence.id, { keepsNotice: true }));
    return false;
  }
}

// ------------------------------------------------------------------------------------------ showing
/**
 * @param {Sentence} found
 * @param {number} word to select; 0: the one that was, or the first doubtful one of another sentence
 * @param {number[]} places of the words whose arcs have moved
 */
export function show(found, word = 0, places = /** @type {number[]} */ ([])) {
  const isOther = store.sentence.id !== found.id;
  store.sentence = found;
  store.moved = places;
  if (isOther) {
    arrivals += 1;
    store.chosen = firstDoubtful(found) || 1;
    store.picks = false;
    forgetDigits();
  }
  store.chosen = Math.min(word || store.chosen, found.words.length);
  changed(isOther);
}

/** The selected word. */
export const chosenWord = () => store.sentence.words[store.chosen - 1];

/** @param {number} place */
export function select(place) {
  left(); // if this fails, what was typed is shown again
  store.chosen = Math.max(1, Math.min(store.sentence.words.length, place));
  store.moved = [];
  forgetDigits();
  changed();
}

export function forgetDigits() {
  store.typed = "";
  store.goes = false;
}

/** The relation of a word, or the one that is being stored for it. @param {number} place */
export function relationOf(place) {
  return store.pending?.word === place ? store.pending.label : store.sentence.words[place - 1].label;
}

/** The screen's content for a word, or for all words (0): whoever confirms means this. @param {number} place */
function onScreen(place) {
  const shown = store.sentence.words.map(({ head }, k) => `${head} ${relationOf(k + 1)}`);
  return place ? shown[place - 1] : String(shown);
}

// ------------------------------------------------------------------------------------------ requests
/**
 * Runs a task that is to show a sentence. Keys wait for that; if none comes, they are not used.
 * @param {() => Promise<unknown>} task
 */
function awaiting(task) {
  const before = arrivals;
  return withKeysHeld(async () => {
    try {
      await task();
    } finally {
      const isLost = arrivals === before && drop() > 0;
      if (isLost) say(`${at("notice").textContent} The keys pressed since then are not used.`.trim(), true);
    }
  }, true);
}

/** @param {number} id of a sentence @param {{ keepsNotice?: boolean, word?: number }} options */
export async function load(id, options = {}) {
  if (id === store.sentence.id) return fetched(id, options);
  await awaiting(async () => {
    if (await left()) await fetched(id, options);
    else changed();
  });
}

/** @param {number} id @param {{ keepsNotice?: boolean, word?: number }} options */
async function fetched(id, { keepsNotice = false, word = 0 }) {
  await queued(async () => {
    const found = await get(`sentence/${id}`);
    if (!keepsNotice) say("");
    if (visited.at(-1) !== id) visited.push(id);
    show(found, word);
  });
}

/**
 * Makes a change to the selected word or another, and returns whether it was made.
 * @param {string} what
 * @param {unknown} value
 * @param {number} word 0: the sentence
 */
export async function change(what, value = 0, word = store.chosen) {
  const meant = ["right", "done"].includes(what) ? onScreen(word) : "";
  if (what !== "head" && !(await left())) return false;
  return trying(() => make({ what, value, word }, meant));
}

/**
 * Makes a change that was typed, without waiting for what is typed; returns whether it was made.
 * @param {string} what
 * @param {unknown} value
 * @param {number} word
 */
export function give(what, value, word) {
  return trying(() => make({ what, value, word }));
}

/**
 * @param {{ what: string, value: unknown, word: number, anyway?: boolean }} order
 * @param {string} meant content that must still be on the screen; "": anything
 */
export function make(order, meant = "") {
  const { id } = store.sentence;
  const { what, word } = order;
  const before = faults;
  return queued(async (othersWait) => {
    if (store.sentence.id !== id || (meant && meant !== onScreen(word))) {
      changed();
      throw new Fault("The tree has changed since you said so. Please look at it once more.", 0);
    }
    const { edits, version, words } = store.sentence;
    const began = performance.now();
    const found = await post("change", { sentence: id, edits, version, ...order });
    performance.measure("acknowledged", { start: began, end: performance.now() });
    if (store.sentence.id !== id) return;
    show(found);
    if (found.edits === edits) {
      sayDone(`It is so already: ${report(order)}`, before);
      return;
    }
    const isParsed = what === "head" || what === "tag";
    const said = report(order);
    sayDone(said, before);
    if (isParsed && !othersWait()) show(await get(`guess/${id}`));
    if (isParsed && store.sentence.id === id) {
      store.moved = moved(words, store.sentence.words, word);
      changed();
      if (at("notice").textContent === said) say(report(order) + follow(store.moved)); // the relation may be another
    }
    update();
  });
}

/** What a change has done, in words. @param {{ what: string, value: unknown, word: number }} order */
function report({ what, value, word }) {
  const { sentence } = store;
  const its = sentence.words[word - 1];
  switch (what) {
    case "done": return `Sentence ${sentence.number + 1} is done.`;
    case "flag": return value ? "Flagged: look again." : "No longer flagged.";
    case "note": return value ? "The note is stored." : "The note is removed.";
    case "comment": return `The comments: ${sentence.comments.join(" ")}`;
    case "cut": return `Cut: this is sentence ${sentence.number + 1}, the rest is the next one.`;
    case "glue": return "The next sentence is now part of this one.";
    case "xpos": return `${word} ${its.form}, ${its.xpos === "_" ? "no XPOS" : `XPOS ${its.xpos}`}.`;
    case "tag": return `${spoken(sentence, word)}.${its.xpos_given ? ` XPOS stays ${its.xpos}: y changes it.` : ""}`;
    default: return sentence.words.length ? `${spoken(sentence, Math.min(word, sentence.words.length) || 1)}.` : "";
  }
}

/** @param {"undo" | "redo"} what */
export function back(what) {
  const before = faults;
  return awaiting(async () => {
    if (!(await left())) return;
    await trying(() => queued(async () => {
      const found = await post(what);
      show(found, found.went?.word);
      arrivals += 1;
      sayDone(`${what === "undo" ? "Taken back" : "Made again"}, in sentence ${found.number + 1}${went(found)}.`, before);
      update();
    }));
  });
}

export function next() {
  return awaiting(async () => {
    if (!(await left())) return;
    await trying(async () => {
      const after = store.sentence === NONE ? "" : String(store.sentence.id);
      const found = await get("next", { after, order: at("order").value });
      if (found.next === null) say("No other sentence is left to do.");
      else await load(found.next, { keepsNotice: true });
    });
  });
}

export async function previous() {
  visited.pop();
  const id = visited.at(-1);
  if (id !== undefined) await trying(() => load(id));
  else await openNumber(Math.max(0, store.sentence.number - 1));
}

/** @param {number} number of a sentence in the file, from 0 */
export function openNumber(number) {
  return awaiting(() => trying(async () => load((await get("next", { number: String(number) })).next ?? 0)));
}

export function done() {
  return awaiting(async () => {
    const { sentence } = store;
    const before = faults;
    const isMade = await change("done", 0, 0);
    if (store.sentence.id !== sentence.id || !store.sentence.done) return;
    const doubt = doubted(sentence);
    if (isMade && doubt) sayDone(`Sentence ${sentence.number + 1} is done. ${doubt}`, before);
    await next();
  });
}

/** Asks for the program's state, and for the sentence again if it has changed. */
export async function update() {
  try {
    const { sentence } = store;
    const isShown = sentence !== NONE;
    const state = await get("state", isShown ? { shown: String(sentence.id) } : {});
    store.total = state.progress.sentences;
    at("of").textContent = `of ${store.total}`;
    store.unlisted = new Set(state.unlisted);
    showState(state);
    const now = store.sentence;
    const isOld = isShown && now.id === sentence.id && state.versions
      && String(state.versions) !== String([now.edits, now.version]);
    if (isOld && !store.typed) {
      await queued(async (othersWait) => {
        if (othersWait()) return;
        const { id, words } = store.sentence;
        const found = await get(`sentence/${id}`);
        show(found, 0, moved(words, found.words, 0));
      });
    }
    return state;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    showFault(error.message);
    return null;
  }
}

/** Opens the place in the address, or the program's last place, or the next sentence: one of them only. */
export function begin() {
  return awaiting(opened);
}

async function opened() {
  const state = await update();
  at("order").value = sessionStorage.getItem("order") ?? state?.order ?? "choose";
  const place = placeIn(location.hash);
  if (place && (await trying(() => load(place.id, { word: place.word })))) return;
  const last = state?.place;
  if (last && !last.done && state.progress.can_undo) await trying(() => load(last.sentence, { word: last.word }));
  if (store.sentence === NONE) await next();
  if (last && store.sentence === NONE) await trying(() => load(last.sentence, { keepsNotice: true })); // all are done
}

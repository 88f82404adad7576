// The dialogue that finds words and sentences, the steps through what it has found, and the change of all these words.

import { get, post, queued } from "./client.js";
import { at, button } from "./dom.js";
import { isComposing } from "./layout.js";
import { load, say, show, store, trying, update } from "./store.js";

let places = /** @type {[number, number][]} */ ([]); // sentences by id, and words, as they were found
let place = -1; // the one that was last gone to
let seen = 0; // the program's number for them
let refused = ""; // a relation that nobody has used yet: the button again stores it

export function openSearch() {
  at("search").showModal();
  at("wanted").focus();
  trying(search);
}

/** @param {string} text in the dialogue, which hides the notice */
function tell(text) {
  at("found-count").textContent = text;
}

async function search() {
  const [wanted, kind] = [at("wanted").value, at("kind").value];
  at("all").hidden = true;
  at("found").replaceChildren();
  if (!wanted && kind === "columns") return tell("Such as: upos=NOUN deprel~^obl head.upos!=VERB feats.Case=Loc lemma~^a");
  const answer = await get("find", { q: wanted, kind }).catch((/** @type {Error} */ error) => {
    tell(error.message);
    throw error;
  });
  if (at("wanted").value !== wanted || at("kind").value !== kind) return;
  ({ places, seen } = answer);
  place = -1;
  const [count, shown] = [places.length, answer.found.length];
  const unit = kind === "columns" || kind === "list" ? "word" : "sentence";
  const counted = `${count} ${unit}${count === 1 ? "" : "s"}${count > shown ? `, the first ${shown} of them` : ""}`;
  tell([counted, answer.hint].filter(Boolean).join(": "));
  at("found").replaceChildren(...answer.found.map(line));
  at("all").hidden = kind !== "columns" || !count;
}

/** @param {import("./client.js").Hit} hit @param {number} k */
function line({ number, text, why }, k) {
  const element = document.createElement("li");
  element.dir = "auto";
  element.append(button(`${number + 1} ${text}${why ? ` (${why})` : ""}`, () => go(k)));
  return element;
}

/** @param {number} k of the places */
function go(k) {
  at("search").close();
  if (!places.length) return say("Nothing has been searched for: / opens the search.", true);
  place = (k + places.length) % places.length;
  at("hits").hidden = false;
  at("hit").textContent = `${place + 1} of ${places.length} found`;
  const [id, word] = places[place];
  trying(() => load(id, { word }));
}

/** @param {1 | -1} step through what was found */
export const turnHit = (step) => go(place < 0 && step < 0 ? -1 : place + step);

/** Changes one column of all words that were found, in one step. */
async function changeAll() {
  const [what, value, query] = [at("all-what").value, at("all-value").value.trim(), at("wanted").value];
  await queued(async () => {
    const anyway = refused === value;
    refused = value;
    const { id, edits, version } = store.sentence;
    const found = await post("change", { sentence: id, edits, version, what, value, anyway, query, seen });
    at("search").close();
    show(found);
    say(`Changed in ${found.changed} sentence${found.changed === 1 ? "" : "s"}. u takes all of it back.`);
    update();
  }).catch((error) => tell(`${error.message}${error.content?.unknown ? " The button again stores it." : ""}`));
}

export function startSearch() {
  at("wanted").addEventListener("input", () => trying(search));
  at("kind").addEventListener("change", () => trying(search));
  at("wanted").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || isComposing(event)) return;
    event.preventDefault();
    at("found").querySelector("button")?.focus();
  });
  at("all-change").addEventListener("click", changeAll);
}

// The dialogue that finds sentences by their words and comments, or by what is said of them.

import { get } from "./client.js";
import { at } from "./dom.js";
import { load, trying } from "./store.js";

/** Kinds of search in which the text narrows what is found; without it, all of the kind are found. */
const EVERYTHING = ["doubtful", "done", "flagged", "note", "problem", "official"];

export function openSearch() {
  at("search").showModal();
  at("wanted").focus();
  trying(search);
}

/** Runs the official validator, and lists what it says by sentence. */
export function openValidator() {
  at("kind").value = "official";
  at("wanted").value = "";
  openSearch();
}

async function search() {
  const wanted = at("wanted").value;
  const kind = at("kind").value;
  if (!wanted && !EVERYTHING.includes(kind) && kind !== "words") {
    at("found-count").textContent = `Type a ${kind}.`;
    at("found").replaceChildren();
    return;
  }
  if (kind === "official") {
    at("found-count").textContent = "The official validator reads the text…";
    at("found").replaceChildren();
  }
  const { found, count, summary } = await get("find", { q: wanted, kind }).catch((/** @type {Error} */ error) => {
    at("found-count").textContent = error.message; // the notice is behind the dialogue
    throw error;
  });
  if (at("wanted").value !== wanted || at("kind").value !== kind) return;
  const more = count > found.length ? `, the first ${found.length} of them` : "";
  const isNone = kind === "official" && !wanted && !count;
  const said = isNone ? "The official validator finds nothing." : count === 1 ? "1 sentence" : `${count} sentences`;
  at("found-count").textContent = (!isNone && summary) || said + more;
  at("found").replaceChildren(...found.map((hit, k) => line(hit, hit.rule !== found[k - 1]?.rule)));
}

/**
 * @param {import("./client.js").Hit} hit
 * @param {boolean} begins whether it is the first of its rule
 */
function line({ id, number, text, why, rule }, begins) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = `${number + 1} ${text}${why ? ` (${why})` : ""}`;
  button.dir = "auto";
  button.addEventListener("click", () => {
    at("search").close();
    trying(() => load(id));
  });
  const element = document.createElement("li");
  if (begins && rule) {
    const title = document.createElement("h3");
    title.textContent = rule;
    element.append(title);
  }
  element.append(button);
  return element;
}

export function startSearch() {
  at("wanted").addEventListener("input", () => trying(search));
  at("kind").addEventListener("change", () => trying(search));
  at("wanted").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    at("found").querySelector("button")?.focus();
  });
}

// The dialogue that finds sentences by their words and comments, or by what is said of them.

import { get } from "./client.js";
import { at } from "./dom.js";
import { load, trying } from "./store.js";

/** Kinds of search in which the text narrows what is found; without it, all of the kind are found. */
const EVERYTHING = ["doubtful", "done", "flagged", "note", "problem"];

export function openSearch() {
  at("search").showModal();
  at("wanted").focus();
  trying(search);
}

async function search() {
  const wanted = at("wanted").value;
  const kind = at("kind").value;
  if (!wanted && !EVERYTHING.includes(kind) && kind !== "words") {
    at("found-count").textContent = `Type a ${kind}.`;
    at("found").replaceChildren();
    return;
  }
  const { found, count } = await get("find", { q: wanted, kind }).catch((/** @type {Error} */ error) => {
    at("found-count").textContent = error.message; // the notice is behind the dialogue
    throw error;
  });
  if (at("wanted").value !== wanted || at("kind").value !== kind) return;
  const more = count > found.length ? `, the first ${found.length} of them` : "";
  at("found-count").textContent = (count === 1 ? "1 sentence" : `${count} sentences`) + more;
  at("found").replaceChildren(...found.map(line));
}

/** @param {import("./client.js").Hit} hit */
function line({ id, number, text, why }) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = `${number + 1} ${text}${why ? ` (${why})` : ""}`;
  button.dir = "auto";
  button.addEventListener("click", () => {
    at("search").close();
    trying(() => load(id));
  });
  const element = document.createElement("li");
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

// The dialogue that finds sentences by their words and comments.

import { get } from "./client.js";
import { at } from "./dom.js";

export function openSearch() {
  at("search").showModal();
  at("wanted").focus();
  at("wanted").dispatchEvent(new Event("input"));
}

/**
 * @param {(task: () => Promise<unknown>) => unknown} trying shows the error of a task
 * @param {(number: number) => unknown} open opens a found sentence
 */
export function searchWith(trying, open) {
  at("wanted").addEventListener("input", () => trying(() => search(open)));
  at("wanted").addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      at("found").querySelector("button")?.focus();
    }
  });
}

/** @param {(number: number) => unknown} open */
async function search(open) {
  const wanted = at("wanted").value;
  const { found, more } = await get("find", { text: wanted });
  if (at("wanted").value !== wanted) return;
  at("found-count").textContent = `${found.length}${more ? " or more" : ""} sentences`;
  at("found").replaceChildren(...found.map((hit) => line(hit, open)));
}

/**
 * @param {import("./client.js").Hit} hit
 * @param {(number: number) => unknown} open
 */
function line({ number, text, done }, open) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = `${number + 1}${done ? " ✓" : ""} ${text}`;
  button.dir = "auto";
  button.addEventListener("click", () => {
    at("search").close();
    open(number);
  });
  const element = document.createElement("li");
  element.append(button);
  return element;
}

// The popup at a word in which one chooses from a list or types: relation, tag, features, lemma, note, forms.

import { at } from "./dom.js";
import { drop, hold, isSentenceComing, withKeysHeld } from "./held.js";
import { isComposing, keyOf, plainDigits } from "./layout.js";
import { changed, chosenWord, give, onChange, onLeave, say, store } from "./store.js";
import { items, words } from "./tree.js";

/**
 * @typedef {object} Option
 * @property {string} value
 * @property {string} [key] pressed while nothing is typed, it takes this option
 * @property {string} [aside] shown beside it
 * @property {boolean} [isNew] typed, and in no list
 *
 * @typedef {object} Question
 * @property {string} title
 * @property {number} place of the word at which the popup stands
 * @property {string} [present] to be edited; Enter means what is written then
 * @property {string} [hint]
 * @property {(typed: string) => Option[]} options for what is typed, "": nothing yet; the first is what Enter takes
 * @property {boolean} [mayBeEmpty] whether leaving an emptied field stores that
 * @property {() => unknown} [next] Tab also opens the popup after this one
 * @property {(text: string, how: How) => Promise<boolean>} answer stores, and returns whether it could
 *
 * @typedef {object} How the answer was given
 * @property {boolean} isEnter whether Enter was pressed, and the field not just left
 * @property {boolean} isNew whether the option was chosen that nobody has used before
 * @property {boolean} [isOffered] whether an option was taken
 */

const LEAST = 240; // pixels of height that a popup gets
const MARGIN = 4;
const popup = at("choice");
const input = at("choice-input");
const list = at("choice-list");

let question = /** @type {Question | null} */ (null);
let options = /** @type {Option[]} */ ([]);
let isPending = false; // whether the options have not come yet: keys wait for them
let active = -1; // the option that Enter takes
let isTyped = false; // whether there is something to store
let id = -1; // of the question's sentence
let storing = /** @type {Promise<boolean>} */ (Promise.resolve(true));

/**
 * Opens the popup, at once, because the next keys are meant for it. What was typed in another one is stored.
 * @param {Question} asked
 * @param {Promise<unknown>} [ready] when the options are there
 */
export function ask(asked, ready) {
  leave();
  if (isSentenceComing()) return say("Another sentence is coming. Click once more when it is there.");
  open(asked, asked.present ?? "");
  input.select();
  if (!ready) return;
  isPending = true;
  withKeysHeld(async () => {
    await ready;
    if (question !== asked) return;
    isPending = false;
    at("choice-title").textContent = asked.title; // the head may be another by now
    offer();
  }, false, Boolean(asked.next));
}

/**
 * Asks for a value of the selected word, which makes a change, unless the question has another answer.
 * @param {string} what the change
 * @param {(of: string, word: import("./sentence.js").Word, place: number) => Partial<Question>} about `of`: "3 dogs"
 * @param {() => Promise<unknown>} [ready]
 */
export function askOfWord(what, about, ready) {
  const { chosen } = store;
  const word = chosenWord();
  if (!word) return;
  const of = `${chosen} ${word.form}`;
  /** @type {Question} */
  const usual = { title: of, place: chosen, options: () => [], answer: (value) => give(what, value, chosen) };
  ask({ ...usual, ...about(of, word, chosen) }, ready?.());
}

/** @param {Question} asked @param {string} text */
function open(asked, text) {
  question = asked;
  isPending = false;
  id = store.sentence.id;
  isTyped = false;
  at("choice-title").textContent = asked.title;
  at("choice-hint").textContent = asked.hint ?? "";
  input.value = text;
  popup.hidden = false;
  offer();
  input.focus({ preventScroll: true });
}

/** Shows the options for what is typed. */
function offer() {
  if (!question) return;
  const typed = isTyped ? input.value.trim() : "";
  options = question.options(typed);
  active = typed && options.length && !question.present ? 0 : -1;
  list.replaceChildren(...options.map(line));
  list.hidden = !options.length;
  place();
  showActive();
}

/** @param {Option} option @param {number} k */
function line({ value, key, aside, isNew }, k) {
  const element = document.createElement("li");
  element.id = `choice-${k}`;
  element.setAttribute("role", "option");
  for (const [name, text] of [["key", key], ["value", value], ["aside", isNew ? "new" : aside]]) {
    if (!text) continue;
    const part = document.createElement(name === "key" ? "kbd" : name === "value" ? "bdi" : "span");
    part.className = String(name);
    part.textContent = text;
    element.append(part);
  }
  element.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus
  element.addEventListener("click", () => choose({ value, isNew }));
  return element;
}

function showActive() {
  [...list.children].forEach((element, k) => element.setAttribute("aria-selected", String(k === active)));
  if (active < 0) input.removeAttribute("aria-activedescendant");
  else {
    input.setAttribute("aria-activedescendant", `choice-${active}`);
    list.children[active].scrollIntoView({ block: "nearest" });
  }
}

/** Puts the popup below its word, where there is room for it. */
function place() {
  const box = items[(question?.place ?? 1) - 1]?.getBoundingClientRect();
  if (!box) return;
  list.style.maxHeight = "";
  const { offsetWidth } = popup;
  const top = Math.max(0, Math.min(box.bottom, innerHeight - LEAST)) + MARGIN;
  const excess = top + popup.offsetHeight + MARGIN - innerHeight;
  if (excess > 0) list.style.maxHeight = `${Math.max(0, list.offsetHeight - excess)}px`;
  const left = box.left + Math.min(box.width, 200) / 2 - offsetWidth / 2;
  const right = document.documentElement.clientWidth - offsetWidth - MARGIN;
  popup.style.top = `${top}px`;
  popup.style.left = `${Math.max(MARGIN, Math.min(left, right))}px`;
}

function close() {
  const hadFocus = popup.contains(document.activeElement);
  if (isPending) drop(); // they were typed into the popup
  isPending = false;
  question = null;
  popup.hidden = true;
  if (hadFocus) items[store.chosen - 1]?.focus({ preventScroll: true });
}

/** Stores what was typed, and returns whether nothing is left that could not be stored. */
async function leave() {
  if (!question) return storing;
  const text = input.value.trim();
  if (!isTyped || (!text && !question.mayBeEmpty)) {
    close();
    return true;
  }
  return submit(text, { isEnter: false, isNew: false });
}

/** @param {string} text @param {How} how */
function submit(text, how) {
  if (!question) return storing;
  const asked = question;
  const of = id;
  close();
  storing = asked.answer(text, how).then((isStored) => {
    storing = Promise.resolve(true); // what could not be stored is in the field again
    if (!isStored && store.sentence.id === of && !question) giveBack(asked, text);
    return isStored;
  });
  return storing;
}

/** Shows again what could not be stored, and why. @param {Question} asked @param {string} text */
function giveBack(asked, text) {
  store.chosen = asked.place;
  changed();
  open(asked, text);
  at("choice-hint").textContent = at("notice").textContent;
  isTyped = true;
  active = -1; // Enter means what is written
  showActive();
}

/** @param {Option} option */
const choose = ({ value, isNew }) => submit(value, { isEnter: true, isNew: Boolean(isNew), isOffered: true });

function take() {
  const option = options[active];
  if (option) choose(option);
  else if (!isTyped && !question?.present) close();
  else if (!input.value.trim() && !question?.mayBeEmpty) close();
  else submit(input.value.trim(), { isEnter: true, isNew: false });
}

/**
 * Whether a key takes an option. A digit must be one, in any script: what stands on its key in another layout may be
 * the first letter of what somebody types.
 * @param {Option} option
 * @param {KeyboardEvent} event
 */
const isPressed = ({ key }, event) => Boolean(key)
  && key === (/^[0-9]$/.test(String(key)) ? plainDigits(event.key) : keyOf(event));

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (isComposing(event)) return;
  const { key } = event;
  const option = !input.value || !isTyped ? options.find((one) => isPressed(one, event)) : undefined;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isPending && key !== "Escape") return hold(event);
  if (key === "Backspace" && !isTyped) return input.setSelectionRange(input.value.length, input.value.length); // one letter
  if (option) choose(option);
  else if (key === "Enter") take();
  else if (key === "ArrowDown" || key === "ArrowUp") {
    const step = key === "ArrowDown" ? 1 : -1;
    active = Math.max(-1, Math.min(options.length - 1, active + step));
    showActive();
  } else if (key === "ArrowRight" && isTyped && input.selectionStart === input.value.length) {
    take();
    items[store.chosen - 1]?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); // to the next word
  } else if (key === "Tab" && question?.next && !event.shiftKey) {
    const { next, place: word } = question;
    const of = id;
    take();
    withKeysHeld(async () => {
      const isStored = await storing;
      if (isStored && store.sentence.id === of && store.chosen === word && !isSentenceComing()) next();
      else drop(); // what was typed since then was meant for that popup
    }, false, true);
  } else if (key === "Escape") {
    at("notice").textContent = "";
    at("notice").classList.remove("bad");
    close();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

export function startChoice() {
  onLeave(leave);
  onChange(({ isOther }) => {
    if (question && (isOther || id !== store.sentence.id)) close();
    else place();
  });
  input.addEventListener("input", () => {
    isTyped = true;
    offer();
  });
  input.addEventListener("keydown", pressed);
  input.addEventListener("blur", () => {
    if (question && document.activeElement !== input) leave(); // otherwise the window lost the focus
  });
  document.addEventListener("scroll", place, true); // of the page, and of the words
  words.addEventListener("focusin", place);
}

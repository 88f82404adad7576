// Keys that are pressed before what they are meant for is there: they are held, and then given in their order.
// index.html loads this module before all others, so that no key is lost while the page itself is loading.

const FIELDS = "#choice-input, #wanted"; // in which held keys can be typed
const NAMED = ["Enter", "Escape", "Backspace", "Home", "End", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

/**
 * @typedef {object} Held
 * @property {string} key
 * @property {string} code of the key's place
 * @property {boolean} shiftKey
 * @property {boolean} ctrlKey
 * @property {boolean} metaKey
 * @property {boolean} isBlind whether the sentence that it is meant for was not on the screen
 */

let keys = /** @type {Held[]} */ ([]);
let waits = 0; // tasks for whose end keys wait
let blindWaits = 0; // those of them that show a sentence
let tabWaits = 0; // those of them after which Tab opens a popup
let isBlind = false; // whether a key is being given that was pressed before its sentence was there

/** Whether keys are held now. */
export const isWaiting = () => waits > 0;

/** Whether a sentence is to be shown in place of the present one. */
export const isSentenceComing = () => blindWaits > 0;

/** Whether the key that is being handled was pressed before the sentence was shown. */
export const wasBlind = () => isBlind;

/** @param {KeyboardEvent} event that is kept, if it can mean anything to the page */
export function hold(event) {
  const { key, code, shiftKey, ctrlKey, metaKey } = event;
  const isTab = key === "Tab" && tabWaits > 0 && !shiftKey;
  if (!isTyped(key) && !NAMED.includes(key) && !isTab) return;
  event.preventDefault();
  event.stopPropagation();
  keys.push({ key, code, shiftKey, ctrlKey, metaKey, isBlind: blindWaits > 0 });
}

/** Whether a key stands for what it types, one letter or several, and is no name. @param {string} key */
const isTyped = (key) => key.length === 1 || !/^[ -~]*$/.test(key);

/** Forgets the held keys; returns how many there were. */
export function drop() {
  const count = keys.length;
  keys = [];
  return count;
}

/**
 * Runs a task; keys wait for its end.
 * @template Result
 * @param {() => Promise<Result>} task
 * @param {boolean} showsSentence whether they are meant for a sentence that it shows
 * @param {boolean} takesTab whether Tab is one of them
 * @returns {Promise<Result>}
 */
export async function withKeysHeld(task, showsSentence, takesTab = false) {
  waits += 1;
  blindWaits += Number(showsSentence);
  tabWaits += Number(takesTab);
  try {
    return await task();
  } finally {
    waits -= 1;
    blindWaits -= Number(showsSentence);
    tabWaits -= Number(takesTab);
    give();
  }
}

/** Gives the held keys to the page, until one has it wait again. */
function give() {
  while (!waits) {
    const held = keys.shift();
    if (!held) return;
    ({ isBlind } = held);
    try {
      press(held);
    } finally {
      isBlind = false;
    }
  }
}

/** @param {Held} held */
function press({ key, code, shiftKey, ctrlKey, metaKey }) {
  const target = document.activeElement ?? document.body;
  const event = new KeyboardEvent("keydown", { key, code, shiftKey, ctrlKey, metaKey, bubbles: true, cancelable: true });
  if (!target.dispatchEvent(event) || !(target instanceof HTMLInputElement) || !target.matches(FIELDS)) return;
  const { selectionStart, selectionEnd, value } = target;
  const [start, end] = [selectionStart ?? value.length, selectionEnd ?? value.length];
  if (isTyped(key)) target.setRangeText(key, start, end, "end");
  else if (key === "Backspace") target.setRangeText("", start === end ? Math.max(0, start - 1) : start, end, "end");
  else return;
  target.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

/** @param {KeyboardEvent} event */
function early(event) {
  const isComposing = event.isComposing || event.keyCode === 229; // as in layout.js, for which this module does not wait
  const isOurs = !event.ctrlKey && !event.metaKey && !event.altKey && !isComposing;
  const target = /** @type {Element} */ (event.target);
  if (isOurs && !target.closest("a, button, input, select, summary, textarea")) hold(event);
}

/** Leaves the keys from now on to the page, which has loaded. */
export function endEarly() {
  document.removeEventListener("keydown", early);
  blindWaits -= 1;
}

blindWaits = 1; // for the first sentence
document.addEventListener("keydown", early);

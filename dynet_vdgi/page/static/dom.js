// The elements of index.html, found by their names.

/**
 * @typedef {object} Elements of more specific types than HTMLElement
 * @property {HTMLInputElement} number
 * @property {HTMLInputElement} space
 * @property {HTMLInputElement} choice-input
 * @property {HTMLInputElement} keys-on
 * @property {HTMLInputElement} wanted
 * @property {HTMLInputElement} all-value
 * @property {HTMLSelectElement} all-what
 * @property {HTMLSelectElement} order
 * @property {HTMLSelectElement} view
 * @property {HTMLSelectElement} kind
 * @property {HTMLButtonElement} open
 * @property {HTMLButtonElement} cut
 * @property {HTMLButtonElement} undo
 * @property {HTMLButtonElement} redo
 * @property {HTMLDialogElement} search
 */

/**
 * The element with a name.
 * @template {string} Name
 * @param {Name} name
 * @returns {Name extends keyof Elements ? Elements[Name] : HTMLElement}
 */
export function at(name) {
  const found = document.getElementById(name);
  if (!found) throw new Error(`index.html has no element ${name}`);
  return /** @type {any} */ (found);
}

/**
 * The target of an event, or its nearest ancestor, that matches a selector.
 * @param {Event} event
 * @param {string} selector
 */
export function near(event, selector) {
  return /** @type {Element} */ (event.target).closest(selector);
}

/**
 * The number of an element's word; `none` if there is no element.
 * @param {Element | null | undefined} element
 * @param {number} none
 */
export function placeOf(element, none) {
  return Number(/** @type {HTMLElement | null | undefined} */ (element)?.dataset.place ?? none);
}

/** @param {string} text @param {() => void} task */
export function button(text, task) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = text;
  element.addEventListener("click", task);
  return element;
}

/** @param {Element} parent @param {string} name @param {Record<string, string | number>} attributes */
export function addSvg(parent, name, attributes) {
  const part = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, String(value));
  parent.append(part);
  return part;
}

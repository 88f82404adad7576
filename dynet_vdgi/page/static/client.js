// Requests to the program, one after the other, so that each one knows the result of the last.

/**
 * The program's answers, by path.
 * @typedef {import("./sentence.js").Sentence} Sentence
 *
 * @typedef {object} Hit a sentence, or a word of it
 * @property {number} number of the sentence
 * @property {string} text its beginning
 * @property {string} why it was found
 *
 * @typedef {object} Answers
 * @property {import("./header.js").State} state
 * @property {{ next: number | null }} next
 * @property {{ found: Hit[], places: [number, number][], seen: number, hint?: string }} find
 */

/**
 * @template {string} Path
 * @typedef {Path extends keyof Answers ? Answers[Path]
 *   : Path extends `relations/${number}` ? { relations: string[] }
 *   : Path extends `values/${number}` ? { values: string[] } : Sentence} Answer
 */

/** @type {Promise<unknown>} */
let last = Promise.resolve();
let waiting = 0;

/** A failed request, with the reason in words for the person. */
export class Fault extends Error {
  /**
   * @param {string} message
   * @param {number} status of HTTP; 0: no answer came
   * @param {{ fault?: string, unknown?: boolean } | null} content
   */
  constructor(message, status, content = null) {
    super(message);
    this.status = status;
    this.content = content; // of the program's answer
  }
}

const WHERE = "open the address that it printed in the terminal"; // each start has another address
const GONE = `The program does not answer here any more. If it was started again, ${WHERE}; if it has ended, start it first.`;
const OTHER = `This page is of an earlier start of the program, and something else answers here now. Please ${WHERE}.`;

/**
 * @param {string} path
 * @param {RequestInit} options
 * @param {string} lost what else is said if no answer of this program comes
 * @returns {Promise<any>}
 */
async function answer(path, options, lost) {
  const response = await fetch(path, options).catch(() => null);
  /** @type {{ fault?: string, unknown?: boolean } | null} */
  const content = await response?.json().catch(() => null) ?? null;
  const why = strange(response?.status ?? 0, content !== null);
  if (!response || why) throw new Fault(`${why} ${lost}`, 0);
  if (!response.ok) throw new Fault(content?.fault ?? `The program refused this (${response.status}).`, response.status, content);
  return content;
}

/**
 * Why an answer is not of the program that has made this page; "": it is. The program has whatever this page asks for.
 * @param {number} status of HTTP; 0: no answer came
 * @param {boolean} isJson
 */
function strange(status, isJson) {
  const isOfProxy = [502, 503, 504].includes(status) && !isJson;
  if (!status || isOfProxy) return GONE;
  return status === 404 || (!isJson && status !== 500) ? OTHER : "";
}

/**
 * @template {string} Path
 * @param {Path} path
 * @param {Record<string, string>} parameters
 * @returns {Promise<Answer<Path>>}
 */
export function get(path, parameters = {}) {
  const options = /** @type {RequestInit} */ ({ cache: "no-store" });
  return answer(`${path}?${new URLSearchParams(parameters)}`, options, "What was confirmed is safe.");
}

/**
 * Asks for a change.
 * @param {"change" | "undo" | "redo"} path
 * @param {object} content
 * @returns {Promise<Sentence>} after the change
 */
export function post(path, content = {}) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) };
  return answer(path, options, "Note: this was not saved.");
}

/**
 * Runs a task after the earlier ones have ended. The task can ask whether other changes are waiting.
 * @template Result
 * @param {(othersWait: () => boolean) => Promise<Result>} task
 * @param {number} count 0: it is no change
 * @returns {Promise<Result>}
 */
export function queued(task, count = 1) {
  waiting += count;
  const run = last.then(() => task(() => waiting > 1)).finally(() => { waiting -= count; });
  last = run.catch(() => {});
  return run;
}

/** Asks for a list, after what was set just before. @template Result @param {() => Promise<Result>} task */
export const listed = (task) => queued(task, 0);

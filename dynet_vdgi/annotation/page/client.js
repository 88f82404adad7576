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
 * @property {{ found: Hit[], places: [number, number][], seen: number }} find
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

/**
 * @param {string} path
 * @param {RequestInit} options
 * @param {string} silence what is said if no answer comes
 * @returns {Promise<any>}
 */
async function answer(path, options, silence) {
  const response = await fetch(path, options).catch(() => {
    throw new Fault(`The program does not answer${silence}`, 0);
  });
  /** @type {{ fault?: string, unknown?: boolean }} */
  const content = await response.json().catch(() => ({})); // refusals of requests are plain text
  if (!response.ok) throw new Fault(content.fault || `The program refused this (${response.status}).`, response.status, content);
  return content;
}

/**
 * @template {string} Path
 * @param {Path} path
 * @param {Record<string, string>} parameters
 * @returns {Promise<Answer<Path>>}
 */
export function get(path, parameters = {}) {
  const options = /** @type {RequestInit} */ ({ cache: "no-store" });
  return answer(`${path}?${new URLSearchParams(parameters)}`, options, ". Is it still running? What was confirmed is safe.");
}

/**
 * Asks for a change.
 * @param {"change" | "undo" | "redo"} path
 * @param {object} content
 * @returns {Promise<Sentence>} after the change
 */
export function post(path, content = {}) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) };
  return answer(path, options, ": this was not saved. Is it still running?");
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

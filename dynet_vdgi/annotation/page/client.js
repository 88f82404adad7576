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
 * @param {Response} response
 * @returns {Promise<any>}
 */
async function answer(response) {
  /** @type {{ fault?: string, unknown?: boolean }} */
  let content = {};
  try {
    content = await response.json();
  } catch {
    // Refusals of requests are plain text.
  }
  if (!response.ok) throw new Fault(content.fault || `The program refused this (${response.status}).`, response.status, content);
  return content;
}

/**
 * @template {string} Path
 * @param {Path} path
 * @param {Record<string, string>} parameters
 * @returns {Promise<Answer<Path>>}
 */
export async function get(path, parameters = {}) {
  let response;
  try {
    response = await fetch(`${path}?${new URLSearchParams(parameters)}`, { cache: "no-store" });
  } catch {
    throw new Fault("The program does not answer. Is it still running? What was confirmed is safe.", 0);
  }
  return answer(response);
}

/**
 * Asks for a change.
 * @param {"change" | "undo" | "redo"} path
 * @param {object} content
 * @returns {Promise<Sentence>} after the change
 */
export async function post(path, content = {}) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(content),
    });
  } catch {
    throw new Fault("The program does not answer: this was not saved. Is it still running?", 0);
  }
  return answer(response);
}

/**
 * Runs a task after the earlier ones have ended. The task can ask whether others are waiting.
 * @template Result
 * @param {(othersWait: () => boolean) => Promise<Result>} task
 * @returns {Promise<Result>}
 */
export function queued(task) {
  waiting += 1;
  const run = last.then(() => task(() => waiting > 1)).finally(() => { waiting -= 1; });
  last = run.catch(() => {});
  return run;
}

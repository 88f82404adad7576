// Progress, learning and faults, above the sentence.

import { addSvg, at } from "./dom.js";

/**
 * @typedef {object} Progress
 * @property {number} sentences
 * @property {number} sentences_done
 * @property {number} words
 * @property {number} words_done
 * @property {number | null} heads_right a share of the last sentences; null: nothing is done yet
 * @property {number | null} labels_right
 * @property {(number | null)[]} over_time the share of right heads by sentence; null: only punctuation
 * @property {boolean} can_undo
 * @property {boolean} can_redo
 *
 * @typedef {object} Learning
 * @property {string} state off, nothing, starting, learning, ready or failed
 * @property {number} lessons number of times that the text was parsed
 * @property {string} [why] the reason of a failure
 * @property {number} [trees] number of trees learnt from
 * @property {number} [seconds] duration of learning
 *
 * @typedef {object} State
 * @property {string} id of the program's start
 * @property {string} file
 * @property {string} annotator
 * @property {string} order
 * @property {Learning} learning
 * @property {Progress} progress
 * @property {string} fault "": none
 * @property {[number, number] | null} versions edits and version of the sentence shown
 */

/** @param {State} state */
export function showState(state) {
  document.title = `${state.file} – annotate`;
  set(at("file"), state.file);
  const p = state.progress;
  set(at("sentences-done"), `${p.sentences_done} of ${p.sentences}`);
  set(at("words-done"), `${p.words_done} of ${p.words}`);
  set(at("heads-right"), percent(p.heads_right));
  set(at("labels-right"), percent(p.labels_right));
  at("undo").disabled = !p.can_undo;
  at("redo").disabled = !p.can_redo;
  set(at("learning"), learning(state.learning));
  curve(means(p.over_time));
  showFault(state.fault);
}

/** @param {string} text "": none */
export function showFault(text) {
  at("fault").hidden = !text;
  set(at("fault"), text);
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
function set(element, text) {
  if (element.textContent !== text) element.textContent = text; // otherwise screen readers repeat it
}

/** @param {number | null} share */
export function percent(share) {
  return share === null ? "–" : `${Math.round(100 * share)} %`;
}

/** @param {Learning} found */
export function learning(found) {
  const trees = found.trees === 1 ? "1 sentence" : `${found.trees ?? 0} sentences`;
  switch (found.state) {
    case "off": return "Nothing is learnt.";
    case "nothing": return "Nothing is learnt: no sentence has two to forty words.";
    case "starting": return "Reading the text…";
    case "failed": return `Learning has stopped: ${found.why} You can go on; to learn again, quit and restart.`;
    case "learning": return found.lessons
      ? "Learning from what you have confirmed… You need not wait."
      : "Learning from the text… The first trees come soon.";
    default: return found.trees
      ? `Parsed with what you confirmed in ${trees}; that took ${found.seconds} s.`
      : "Parsed without any corrected sentence yet.";
  }
}

/**
 * The running mean of ten sentences; sentences of punctuation only do not count.
 * @param {(number | null)[]} shares
 */
export function means(shares) {
  const known = shares.filter((share) => share !== null);
  return known.map((_, k) => {
    const part = known.slice(Math.max(0, k - 9), k + 1);
    return part.reduce((a, b) => a + b, 0) / part.length;
  });
}

/**
 * The line of a picture of 80 by 20 pixels, from 50 % up.
 * @param {number[]} shares two or more
 */
export function line(shares) {
  const points = shares.map((share, k) => `${2 + (76 * k) / (shares.length - 1)} ${18 - 32 * (Math.max(share, 0.5) - 0.5)}`);
  return `M${points.join("L")}`;
}

/** @param {number[]} shares over time */
function curve(shares) {
  const place = at("curve");
  const drawn = shares.length < 2 ? "" : String(shares);
  if ((place.dataset.shares ?? "") === drawn) return;
  place.dataset.shares = drawn;
  place.replaceChildren();
  if (!drawn) return;
  const label = `over time: from ${percent(shares[0])} to ${percent(shares[shares.length - 1])}`;
  const picture = addSvg(place, "svg", { width: 80, height: 20, role: "img", "aria-label": label });
  addSvg(picture, "path", { d: line(shares) });
}

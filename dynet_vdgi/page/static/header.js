// Progress, learning and faults, above the sentence.

import { addSvg, at } from "./dom.js";

/**
 * @typedef {object} Progress
 * @property {number} sentences
 * @property {number} sentences_done
 * @property {[number, number] | null} latest shares of heads, and of heads with relations, that the parser had right in
 *   the latest 25 finished sentences before they were seen; null: nothing is done yet
 * @property {[number, number][]} curve the same, by 25 finished sentences
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
 * @property {string} file
 * @property {string} annotator
 * @property {string} order
 * @property {Learning} learning
 * @property {Progress} progress
 * @property {string} fault "": none
 * @property {{ sentence: number, word: number, done: boolean }} place the last one, and whether the sentence is done
 * @property {string[]} unlisted relations that are not in the project's list
 * @property {string} tagger what the tagger has learnt from; "": none
 * @property {[number, number] | null} versions edits and version of the sentence shown
 */

/** @param {State} state */
export function showState(state) {
  document.title = `${state.file} – annotate`;
  set(at("file"), state.file);
  const p = state.progress;
  set(at("sentences-done"), `${p.sentences_done} of ${p.sentences}`);
  set(at("parser-right"), parserRight(p.latest));
  showCurve(p.curve);
  at("advice").hidden = p.sentences_done > 0;
  at("undo").disabled = !p.can_undo;
  at("redo").disabled = !p.can_redo;
  set(at("learning"), [learning(state.learning, p.sentences_done), state.tagger].filter(Boolean).join(" "));
  showFault(state.fault);
}

/** @param {[number, number][]} curve what the parser had right in each 25 finished sentences before they were seen */
function showCurve(curve) {
  if (at("curve").dataset.points === String(curve)) return; // drawn already
  at("curve").dataset.points = String(curve);
  at("curve").toggleAttribute("hidden", !curve.length);
  at("curve").replaceChildren();
  for (const k of [0, 1]) {
    const points = curve.map((point, n) => `${4 + (112 * n) / Math.max(1, curve.length - 1)},${28 - 26 * point[k]}`);
    addSvg(at("curve"), "polyline", { points: points.join(" "), class: k ? "relations" : "heads" });
    points.forEach((point) => addSvg(at("curve"), "circle", { cx: point.split(",")[0], cy: point.split(",")[1], r: 2 }));
  }
}

/** @param {string} text "": none */
export function showFault(text) {
  at("fault").hidden = !text;
  set(at("fault"), text);
}

/** @param {HTMLElement} element @param {string} text */
function set(element, text) {
  if (element.textContent !== text) element.textContent = text; // otherwise screen readers repeat it
}

/** @param {Progress["latest"]} latest */
export function parserRight(latest) {
  const [heads, both] = (latest ?? []).map((share) => `${Math.round(100 * share)} %`);
  return latest ? `heads ${heads}, with relations ${both}` : "–";
}

/** @param {Learning} found @param {number} nDone number of sentences that are done */
export function learning(found, nDone = 0) {
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
      : `Parsed without any corrected sentence yet.${nDone ? " Those that are done count when it learns again." : ""}`;
  }
}

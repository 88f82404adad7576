// Progress, learning and faults, above the sentence.

const at = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

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
  curve(p.over_time);
  at("fault").hidden = !state.fault;
  set(at("fault"), state.fault);
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text; // else screen readers repeat it
}

function percent(share) {
  return share === null ? "–" : `${Math.round(100 * share)} %`;
}

function learning(found) {
  const trees = found.trees === 1 ? "1 sentence" : `${found.trees ?? 0} sentences`;
  switch (found.state) {
    case "off": return "Nothing is learnt.";
    case "nothing": return "Nothing is learnt: no sentence has two to forty words.";
    case "starting": return "Reading the text…";
    case "failed": return `Learning has stopped: ${found.why} You can go on; start anew to learn again.`;
    case "learning": return found.lessons
      ? "Learning from what you have confirmed… You need not wait."
      : "Learning from the text… The first trees come soon.";
    default: return found.trees
      ? `Parsed with what you confirmed in ${trees}; that took ${found.seconds} s.`
      : "Parsed without any corrected sentence yet.";
  }
}

// The share of right heads over time, as a running mean of ten sentences.
function curve(shares) {
  if (shares.length < 2 || at("curve").dataset.shares === String(shares)) {
    if (shares.length < 2) at("curve").replaceChildren();
    return;
  }
  at("curve").dataset.shares = String(shares);
  const means = shares.map((_, k) => {
    const part = shares.slice(Math.max(0, k - 9), k + 1);
    return part.reduce((a, b) => a + b, 0) / part.length;
  });
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("width", 80);
  picture.setAttribute("height", 20);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", `over time: from ${percent(means[0])} to ${percent(means.at(-1))}`);
  const line = document.createElementNS(SVG, "path");
  const points = means.map((mean, k) => `${2 + (76 * k) / (means.length - 1)} ${18 - 32 * (Math.max(mean, 0.5) - 0.5)}`); // from 50 % up
  line.setAttribute("d", `M${points.join("L")}`);
  picture.append(line);
  at("curve").replaceChildren(picture);
}

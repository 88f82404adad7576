// Draws a sentence: words as a list, arcs above them as SVG.

const SVG = "http://www.w3.org/2000/svg";
const STEP = 30; // pixels between two levels of arcs
const TOP = 34; // room for ROOT
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LETTER = /\p{L}/u;

export const stage = document.getElementById("stage");
export const words = document.getElementById("words");
const arcs = document.getElementById("arcs");

// How sure an arc is, as a class: confirmed, sure, middling, doubtful, or plain where nothing is known.
export function kind(word) {
  if (word.head < 0) return "plain";
  if (word.head_by) return "confirmed";
  if (word.sure === null) return "plain";
  return word.sure >= 0.85 ? "sure" : word.sure >= 0.6 ? "middling" : "doubtful";
}

// What is written on an arc: never colour alone.
export function note(word) {
  const found = kind(word);
  if (found === "confirmed") return word.label_by ? `✓ ${word.label}` : `✓ head, ${word.label}?`;
  const percent = word.sure === null ? "" : ` ${Math.round(100 * word.sure)}%`;
  return found === "doubtful" ? `? ${word.label}${percent}` : `${word.label}${percent}`;
}

export function spoken(sentence, place) {
  const word = sentence.words[place - 1];
  const head = word.head < 0 ? "no head yet"
    : word.head === 0 ? "root of the sentence" : `head ${word.head} ${sentence.words[word.head - 1].form}`;
  const sure = { confirmed: word.label_by ? "confirmed" : "head confirmed", plain: "", sure: "sure",
    middling: "less sure", doubtful: "doubtful" }[kind(word)];
  const percent = word.sure !== null && !word.head_by ? `${Math.round(100 * word.sure)} percent` : "";
  const label = word.head < 0 ? "" : word.label;
  return [`${place} ${word.form}`, word.tag, head, label, sure, percent].filter(Boolean).join(", ");
}

function isRightToLeft(sentence) {
  const letters = sentence.words.flatMap((word) => [...word.form].filter((letter) => LETTER.test(letter)));
  return letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length * 2 > letters.length;
}

export function draw(sentence, chosen) {
  stage.dir = isRightToLeft(sentence) ? "rtl" : "ltr";
  const isNew = words.children.length !== sentence.words.length || words.dataset.number !== String(sentence.number);
  if (isNew) {
    words.dataset.number = sentence.number;
    words.replaceChildren(...sentence.words.map((word, k) => item(word, k + 1)));
  }
  [...words.children].forEach((element, k) => {
    const place = k + 1;
    const isChosen = place === chosen;
    element.setAttribute("aria-selected", String(isChosen));
    element.setAttribute("aria-label", spoken(sentence, place));
    element.tabIndex = isChosen || (!chosen && k === 0) ? 0 : -1;
    element.className = kind(sentence.words[k]) === "doubtful" ? "doubtful" : "";
  });
  drawArcs(sentence, chosen);
}

function item(word, place) {
  const element = document.createElement("li");
  element.setAttribute("role", "option");
  element.dataset.place = place;
  element.title = [word.tag, word.feats === "_" ? "" : word.feats, word.lemma === "_" ? "" : `lemma ${word.lemma}`]
    .filter(Boolean).join("\n");
  for (const [name, text] of [["place", place], ["form", word.form], ["tag", word.tag]]) {
    const part = document.createElement(name === "form" ? "bdi" : "span");
    part.className = name;
    part.textContent = text;
    element.append(part);
  }
  return element;
}

function levels(spans) {
  const found = new Map();
  for (const span of [...spans].sort((a, b) => (a.right - a.left) - (b.right - b.left))) {
    let level = 1;
    for (const [other, its] of found) {
      const apart = other.right <= span.left || other.left >= span.right;
      if (!apart) level = Math.max(level, its + 1);
    }
    found.set(span, level);
  }
  return found;
}

export function drawArcs(sentence, chosen) {
  const spans = [];
  sentence.words.forEach((word, k) => {
    if (word.head > 0) {
      spans.push({ place: k + 1, left: Math.min(k + 1, word.head), right: Math.max(k + 1, word.head) });
    }
  });
  const found = levels(spans);
  const height = TOP + STEP * (1 + Math.max(1, ...found.values()));
  words.style.paddingTop = `${height}px`;
  const middles = [...words.children].map((element) => element.offsetLeft + element.offsetWidth / 2 + words.offsetLeft);
  const drawn = [];
  const leaving = {}; // how many arcs leave a word on one side: the shortest stand outermost
  for (const [span, level] of [...found].reverse()) {
    const side = `${sentence.words[span.place - 1].head} ${span.place < sentence.words[span.place - 1].head}`;
    leaving[side] = (leaving[side] ?? -1) + 1;
    const apart = 8 + 5 * Math.min(leaving[side], 5);
    drawn.push(arc(sentence, span.place, middles, height, level, apart, chosen));
  }
  sentence.words.forEach((word, k) => {
    if (word.head === 0) drawn.push(rootArc(sentence, k + 1, middles, height, chosen));
  });
  drawn.sort((a, b) => a.classList.contains("chosen") - b.classList.contains("chosen"));
  arcs.replaceChildren(...drawn);
}

function group(sentence, place, chosen) {
  const element = document.createElementNS(SVG, "g");
  element.setAttribute("class", `arc ${kind(sentence.words[place - 1])}${place === chosen ? " chosen" : ""}`);
  element.dataset.place = place;
  return element;
}

function arc(sentence, place, middles, height, level, apart, chosen) {
  const word = sentence.words[place - 1];
  const end = middles[place - 1];
  const towards = Math.sign(end - middles[word.head - 1]);
  const start = middles[word.head - 1] + apart * towards;
  const y = height - STEP * level + 8;
  const bend = Math.min(8, Math.abs(end - start) / 2);
  const element = group(sentence, place, chosen);
  add(element, "path", {
    d: `M${start} ${height}V${y + bend}Q${start} ${y} ${start + bend * towards} ${y}`
      + `H${end - bend * towards}Q${end} ${y} ${end} ${y + bend}V${height - 5}`,
  });
  tip(element, end, height);
  add(element, "text", { x: (start + end) / 2, y: y - 5 }).textContent = note(word);
  return element;
}

function rootArc(sentence, place, middles, height, chosen) {
  const element = group(sentence, place, chosen);
  const x = middles[place - 1];
  add(element, "path", { d: `M${x} 24V${height - 5}` });
  tip(element, x, height);
  add(element, "text", { x: x + 6, y: TOP + 6, class: "beside" }).textContent = note(sentence.words[place - 1]);
  return element;
}

function tip(element, x, y) {
  add(element, "polygon", { class: "tip", points: `${x - 5},${y - 8} ${x + 5},${y - 8} ${x},${y + 1}` });
}

function add(element, name, attributes) {
  const part = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
  element.append(part);
  return part;
}

// A line from a word to the pointer, while a word is dragged; no point: none.
export function rubber(place, x, y) {
  document.getElementById("rubber")?.remove();
  if (x === undefined) return;
  const box = arcs.getBoundingClientRect();
  const element = words.children[place - 1].getBoundingClientRect();
  const from = [element.left + element.width / 2 - box.left, element.top - box.top];
  const to = [x - box.left, y - box.top];
  add(arcs, "path", { id: "rubber", d: `M${from}L${to}` });
}

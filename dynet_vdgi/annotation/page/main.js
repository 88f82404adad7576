// The page: shows one sentence, takes what a person does with keys, mouse and forms, and tells the program.

import { Fault, get, post, queued } from "./server.js";
import { draw, drawArcs, kind, rubber, spoken, stage, words } from "./tree.js";
import { showState } from "./header.js";

const at = (id) => document.getElementById(id);
const EVERY = 1000; // milliseconds between two looks at the state

let sentence = null;
let chosen = 0; // the selected word, from 1; 0: none
let typed = ""; // digits of a head
let picks = false; // the next tap on a word is the head of the selected one
let program = ""; // the program's start, to notice another one
const visited = [];

// ------------------------------------------------------------------------------------------ messages
function say(text, isBad = false) {
  at("notice").classList.toggle("bad", isBad);
  at("notice").textContent = text;
}

async function trying(task) {
  try {
    await task();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    say(error.message, true);
    if (error.status === 409 && sentence) await trying(() => load(sentence.number, true));
  }
}

// ------------------------------------------------------------------------------------------ showing
function show(found) {
  const isOther = !sentence || sentence.number !== found.number;
  sentence = found;
  if (isOther) {
    chosen = firstDoubtful() || 1;
    typed = "";
    setPicks(false);
  }
  const id = found.comments.map((line) => /^#\s*sent_?id\s*[=:]?\s*(.+)$/.exec(line)?.[1]).find(Boolean);
  at("heading").textContent = `Sentence ${found.number + 1}${id ? ` (${id})` : ""}${found.done ? " ✓ done" : ""}`;
  at("text").textContent = found.words.map((word) => word.form).join(" ");
  at("text").dir = "auto";
  at("number").value = found.number + 1;
  refresh();
  if (isOther) reveal();
}

function refresh() {
  const hadFocus = words.contains(document.activeElement);
  draw(sentence, chosen);
  if (hadFocus) words.children[chosen - 1]?.focus({ preventScroll: true });
  panel();
}

function reveal(inline = "center") {
  words.children[chosen - 1]?.scrollIntoView({ block: "nearest", inline });
}

function panel() {
  const word = sentence.words[chosen - 1];
  if (!word) return;
  at("word-heading").textContent = `Word ${chosen}: ${word.form}`;
  const sure = word.sure === null || word.head_by ? "" : `head ${Math.round(100 * word.sure)} % sure`;
  const by = word.head_by ? `head confirmed by ${word.head_by}` : "";
  const label = word.label_by ? `relation confirmed by ${word.label_by}` : "";
  at("word-facts").textContent = [word.tag, word.feats === "_" ? "" : word.feats.replaceAll("|", " | "),
    word.lemma === "_" ? "" : `lemma ${word.lemma}`, sure, by, label].filter(Boolean).join(" · ");
  const options = [[0, "0 ROOT"], ...sentence.words.map((other, k) => [k + 1, `${k + 1} ${other.form}`])];
  if (word.head < 0) options.unshift([-1, "–"]);
  at("head").replaceChildren(...options.filter(([place]) => place !== chosen).map(([place, text]) => {
    const option = new Option(text, place, place === word.head, place === word.head);
    return option;
  }));
  if (document.activeElement !== at("label")) at("label").value = word.label === "_" ? "" : word.label;
  at("open").disabled = !word.head_by && !word.label_by;
}

function firstDoubtful(after = 0) {
  const order = sentence.words.map((_, k) => ((k + after) % sentence.words.length) + 1);
  return order.find((place) => ["doubtful", "middling"].includes(kind(sentence.words[place - 1])));
}

function select(place, focuses = true) {
  chosen = Math.max(1, Math.min(sentence.words.length, place));
  typed = "";
  refresh();
  if (focuses) words.children[chosen - 1].focus({ preventScroll: true });
  reveal("nearest");
}

// ------------------------------------------------------------------------------------------ requests
function load(number, keepsNotice = false) {
  return queued(async () => {
    const found = await get(`sentence/${number}`);
    if (!keepsNotice) say("");
    if (visited.at(-1) !== number) visited.push(number);
    show(found);
  });
}

function change(what, value = 0, word = chosen) {
  const number = sentence.number;
  return trying(() => queued(async (othersWait) => {
    const began = performance.now();
    const found = await post("change", {
      sentence: number, edits: sentence.edits, version: sentence.version, what, word, value,
    });
    performance.measure("acknowledged", { start: began, end: performance.now() });
    if (sentence.number !== number) return;
    show(found);
    say(what === "done" ? `Sentence ${number + 1} is done.` : `${spoken(sentence, word || 1)}.`);
    if (what === "head" && !othersWait()) show(await get(`guess/${number}`, { corrected: word }));
    update();
  }));
}

function back(what) {
  return trying(() => queued(async () => {
    const found = await post(what);
    show(found);
    say(`${what === "undo" ? "Taken back" : "Made again"}, in sentence ${found.number + 1}.`);
    show(await get(`guess/${found.number}`));
    update();
  }));
}

async function next() {
  await trying(async () => {
    const found = await get("next", { after: sentence ? sentence.number : "", order: at("order").value });
    if (found.next === null) say("No other sentence is left to do.");
    else await load(found.next, true);
  });
}

async function previous() {
  visited.pop();
  const number = visited.length ? visited.at(-1) : Math.max(0, sentence.number - 1);
  await trying(() => load(number));
}

async function done() {
  const before = sentence.number;
  await change("done", 0, 0);
  if (sentence.number === before && sentence.done) await next();
}

async function update() {
  try {
    const state = await get("state", sentence ? { shown: sentence.number } : {});
    if (program && program !== state.id && sentence) {
      program = state.id;
      await trying(() => load(sentence.number));
    }
    if (!program) {
      program = state.id;
      at("order").value = state.order;
      at("labels").replaceChildren(...state.labels.map((label) => new Option(label)));
    }
    at("of").textContent = `of ${state.progress.sentences}`;
    showState(state);
    const isOld = sentence && state.versions && String(state.versions) !== String([sentence.edits, sentence.version]);
    if (isOld && !typed) {
      await queued(async (othersWait) => {
        if (!othersWait()) show(await get(`sentence/${sentence.number}`));
      });
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    at("fault").hidden = false;
    if (at("fault").textContent !== error.message) at("fault").textContent = error.message;
  }
}

// ------------------------------------------------------------------------------------------ keys
const KEYS = {
  c: () => change("right"),
  " ": () => change("right"),
  x: () => change("open"),
  a: () => done(),
  n: () => next(),
  p: () => previous(),
  u: () => back("undo"),
  r: () => back("redo"),
  l: () => { at("label").focus(); at("label").select(); },
  d: () => {
    const place = firstDoubtful(chosen);
    if (place) select(place);
    else say("No word is doubtful.");
  },
  "/": () => openSearch(),
  Home: () => select(1),
  End: () => select(sentence.words.length),
  ArrowLeft: () => select(chosen + (stage.dir === "rtl" ? 1 : -1)),
  ArrowRight: () => select(chosen + (stage.dir === "rtl" ? -1 : 1)),
  Enter: () => { if (typed) setTyped(); },
  Backspace: () => type(typed.slice(0, -1)),
  Escape: () => type(""),
};

words.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isDigit = /^[0-9]$/.test(event.key);
  if (!isDigit && !(event.key in KEYS)) return;
  event.preventDefault();
  if (isDigit) type(typed + event.key);
  else KEYS[event.key]();
});

function type(digits) {
  typed = digits;
  if (!typed) {
    say("");
  } else if (Number(typed) > sentence.words.length) {
    say(`There is no word ${typed}.`, true);
    typed = "";
  } else if (typed === "0" || Number(typed) * 10 > sentence.words.length) {
    setTyped();
  } else {
    say(`Head ${typed}: Enter, or more digits`);
  }
}

function setTyped() {
  const head = Number(typed);
  typed = "";
  change("head", head);
}

document.addEventListener("keydown", (event) => {
  const isText = /^(input|select|textarea)$/i.test(event.target.tagName);
  if (!(event.ctrlKey || event.metaKey) || isText) return;
  const letter = event.key.toLowerCase();
  const what = letter === "y" || (letter === "z" && event.shiftKey) ? "redo" : letter === "z" ? "undo" : "";
  if (what) {
    event.preventDefault();
    back(what);
  }
});

// ------------------------------------------------------------------------------------------ mouse
let drag = null; // { place, x, y, moves }

function under(event) {
  const element = document.elementFromPoint(event.clientX, event.clientY);
  if (element?.closest("#root")) return 0;
  return Number(element?.closest("#words li")?.dataset.place ?? -1);
}

words.addEventListener("pointerdown", (event) => {
  const place = Number(event.target.closest("li")?.dataset.place ?? 0);
  if (!place || event.button) return;
  if (picks && place !== chosen) {
    event.preventDefault();
    setPicks(false);
    change("head", place);
    return;
  }
  drag = { place, x: event.clientX, y: event.clientY, moves: false };
});

document.addEventListener("pointermove", (event) => {
  if (!drag || event.pointerType === "touch") return;
  if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 6) drag.moves = true;
  if (!drag.moves) return;
  rubber(drag.place, event.clientX, event.clientY);
  const box = at("scroll").getBoundingClientRect();
  if (event.clientX > box.right - 40) at("scroll").scrollLeft += 20;
  if (event.clientX < box.left + 40) at("scroll").scrollLeft -= 20;
  mark(under(event));
});

function mark(place) {
  at("root").classList.toggle("target", place === 0);
  [...words.children].forEach((element, k) => element.classList.toggle("target", k + 1 === place));
}

document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { place, moves } = drag;
  drag = null;
  rubber();
  mark(-1);
  if (!moves) {
    if (event.target.closest("#words li")) select(place);
    return;
  }
  const head = under(event);
  select(place);
  if (head >= 0 && head !== place) change("head", head, place);
});
document.addEventListener("pointercancel", () => { drag = null; rubber(); mark(-1); });

at("arcs").addEventListener("click", (event) => {
  const place = Number(event.target.closest(".arc")?.dataset.place ?? 0);
  if (place) select(place);
});
at("root").addEventListener("click", () => {
  if (picks) {
    setPicks(false);
    change("head", 0);
  }
});

function setPicks(isOn) {
  picks = isOn;
  at("pick").setAttribute("aria-pressed", String(isOn));
}

// ------------------------------------------------------------------------------------------ forms
at("previous").addEventListener("click", previous);
at("next").addEventListener("click", next);
at("undo").addEventListener("click", () => back("undo"));
at("redo").addEventListener("click", () => back("redo"));
at("done").addEventListener("click", done);
at("right").addEventListener("click", () => change("right"));
at("open").addEventListener("click", () => change("open"));
at("pick").addEventListener("click", () => {
  setPicks(!picks);
  say(picks ? `Now tap the head of word ${chosen}, or ROOT.` : "");
});
at("head").addEventListener("change", () => change("head", Number(at("head").value)));
at("number").addEventListener("change", () => {
  const number = Number(at("number").value);
  if (Number.isInteger(number) && number > 0) trying(() => load(number - 1));
});
at("panel").addEventListener("submit", (event) => {
  event.preventDefault();
  change("label", at("label").value.trim());
  words.children[chosen - 1].focus();
});
at("label").addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    at("label").value = sentence.words[chosen - 1].label;
    words.children[chosen - 1].focus();
  }
});

function openSearch() {
  at("search").showModal();
  at("wanted").focus();
  search();
}
at("find").addEventListener("click", openSearch);
at("wanted").addEventListener("input", search);
at("wanted").addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    at("found").querySelector("button")?.focus();
  }
});

async function search() {
  const wanted = at("wanted").value;
  await trying(async () => {
    const { found, more } = await get("find", { text: wanted });
    if (at("wanted").value !== wanted) return;
    at("found-count").textContent = `${found.length}${more ? " or more" : ""} sentences`;
    at("found").replaceChildren(...found.map(({ number, text, done: isDone }) => {
      const line = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `${number + 1}${isDone ? " ✓" : ""} ${text}`;
      button.dir = "auto";
      button.addEventListener("click", () => {
        at("search").close();
        trying(() => load(number)).then(() => select(chosen));
      });
      line.append(button);
      return line;
    }));
  });
}

new ResizeObserver(() => { if (sentence) drawArcs(sentence, chosen); }).observe(at("scroll"));

// ------------------------------------------------------------------------------------------ beginning
await update();
await next();
setInterval(update, EVERY);

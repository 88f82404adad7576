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
let total = 0; // sentences
let typing = false; // whether the relation in the field differs from the word's, and is to be stored
let storing = null; // while it is: { word, text, ends }; ends tells whether it went well
let unknown = ""; // word and relation that nobody has used yet: Enter once more stores it
const visited = [];

// ------------------------------------------------------------------------------------------ messages
function say(text, isBad = false) {
  at("notice").classList.toggle("bad", isBad);
  at("notice").textContent = text;
}

// Tells the fault of a task, if there is one; says whether there is none.
async function trying(task) {
  try {
    await task();
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    say(error.message, true);
    if (error.status === 409 && sentence) await trying(() => load(sentence.number, true));
    return false;
  }
}

// ------------------------------------------------------------------------------------------ showing
function show(found) {
  const isOther = !sentence || sentence.number !== found.number;
  sentence = found;
  if (isOther) {
    chosen = firstDoubtful() || 1;
    typed = "";
    typing = false;
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
  const relation = storing?.word === chosen ? storing.text : word.label;
  if (!typing) at("label").value = relation === "_" ? "" : relation;
  at("open").disabled = !word.head_by && !word.label_by;
}

function firstDoubtful(after = 0) {
  const order = sentence.words.map((_, k) => ((k + after) % sentence.words.length) + 1);
  return order.find((place) => ["doubtful", "middling"].includes(kind(sentence.words[place - 1])));
}

function select(place) {
  stored(); // what cannot be stored comes back
  chosen = Math.max(1, Math.min(sentence.words.length, place));
  typed = "";
  refresh();
  words.children[chosen - 1].focus({ preventScroll: true });
  reveal("nearest");
}

// What is on the screen of a word, or of all words (0): who says that it is right means this.
function onScreen(place = 0) {
  const shown = sentence.words.map((word, k) => {
    const label = storing?.word === k + 1 ? storing.text
      : typing && chosen === k + 1 ? at("label").value.trim() : word.label;
    return `${word.head} ${label}`;
  });
  return place ? shown[place - 1] : String(shown);
}

// ------------------------------------------------------------------------------------------ requests
async function load(number, keepsNotice = false) {
  if (number !== sentence?.number && !(await stored())) {
    at("number").value = sentence.number + 1;
    return;
  }
  await queued(async () => {
    const found = await get(`sentence/${number}`);
    if (!keepsNotice) say("");
    if (visited.at(-1) !== number) visited.push(number);
    show(found);
  });
}

// Says whether the change was made. Who says that something is right means what was on the screen then.
async function change(what, value = 0, word = chosen) {
  const meant = ["right", "done"].includes(what) ? onScreen(word) : "";
  if (what !== "head" && !(await stored())) return false;
  return trying(() => make({ what, value, word }, meant));
}

function make(order, meant = "") {
  const number = sentence.number;
  const { what, word } = order;
  return queued(async (othersWait) => {
    if (sentence.number !== number || (meant && meant !== onScreen(word))) {
      refresh();
      throw new Fault("The tree has changed since you said so. Please look at it once more.", 0);
    }
    const began = performance.now();
    const { edits, version } = sentence;
    const found = await post("change", { sentence: number, edits, version, ...order });
    performance.measure("acknowledged", { start: began, end: performance.now() });
    if (sentence.number !== number) return;
    show(found);
    say(what === "done" ? `Sentence ${number + 1} is done.` : `${spoken(sentence, word || 1)}.`);
    if (what === "head" && !othersWait()) show(await get(`guess/${number}`));
    update();
  });
}

// Stores the relation that is typed. Says whether none is left that could not be stored.
async function stored() {
  const text = at("label").value.trim();
  if (typing && text) store(text);
  else leaveRelation();
  if (!storing) return true;
  return (await storing.ends) && !typing;
}

function store(text, isTwice = false) {
  const { number } = sentence;
  const word = chosen;
  const key = `${number} ${word} ${text}`;
  const anyway = isTwice && unknown === key;
  typing = false;
  const mine = { word, text };
  storing = mine;
  mine.ends = trying(async () => {
    try {
      await make({ what: "label", value: text, word, anyway });
    } catch (error) {
      if (error.content?.unknown) unknown = key;
      if (error.content) error.message += `. ${error.content.unknown ? "Enter once more stores it; " : ""}Esc takes it back.`;
      throw error;
    }
  }).then((isStored) => {
    if (storing === mine) storing = null;
    if (!isStored && sentence.number === number) giveBack(word, text);
    return isStored;
  });
}

// Shows a relation again that could not be stored.
function giveBack(word, text) {
  chosen = word;
  typing = true;
  refresh();
  at("label").value = text;
  if (words.contains(document.activeElement)) at("label").focus();
}

function leaveRelation() {
  if (!typing) return;
  typing = false;
  panel();
}

async function back(what) {
  if (!(await stored())) return;
  await trying(() => queued(async () => {
    const found = await post(what);
    show(found);
    say(`${what === "undo" ? "Taken back" : "Made again"}, in sentence ${found.number + 1}.`);
    update();
  }));
}

async function next() {
  if (!(await stored())) return;
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
    }
    total = state.progress.sentences;
    at("of").textContent = `of ${total}`;
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
  if (event.key === "Escape") endDrag();
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
  endDrag();
  if (!moves) {
    if (event.target.closest("#words li")) select(place);
    return;
  }
  const head = under(event);
  select(place);
  if (head >= 0 && head !== place) change("head", head, place);
});
document.addEventListener("pointercancel", endDrag);

function endDrag() {
  if (!drag) return;
  drag = null;
  rubber();
  mark(-1);
}

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
  const text = at("number").value.trim();
  if (/^[0-9]{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= total) {
    trying(() => load(Number(text) - 1));
  } else {
    say(`There is no sentence ${text}: they are numbered from 1 to ${total}.`, true);
    at("number").value = sentence.number + 1;
  }
});
at("panel").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("label").value.trim();
  if (storing?.word !== chosen || storing.text !== text) store(text, true);
  words.children[chosen - 1].focus();
});
at("label").addEventListener("input", () => { typing = true; });
at("label").addEventListener("focus", () => trying(async () => {
  const { relations } = await get(`relations/${sentence.number}`, { word: chosen });
  at("labels").replaceChildren(...relations.map((relation) => new Option(relation)));
}));
at("label").addEventListener("blur", () => {
  if (document.activeElement !== at("label")) stored(); // else it is the window that is left
});
at("label").addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    leaveRelation();
    say("");
    words.children[chosen - 1].focus();
  }
});
at("set-label").addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus

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

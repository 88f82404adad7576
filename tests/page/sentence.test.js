import assert from "node:assert/strict";
import { test } from "node:test";
import {
  doubted, facts, firstDoubtful, firstUnconfirmed, follow, heading, isRightToLeft, kind, mark, moved, spoken, went,
} from "../../dynet_vdgi/page/static/sentence.js";

const DOGS = {
  form: "dogs", tag: "NOUN", upos: "NOUN", feats: "_", lemma: "_", head: 2, label: "nsubj", head_by: "", label_by: "", sure: null,
  xpos: "_", misc: [], tag_by: "", feats_by: "", lemma_by: "", tags: [["NOUN", null]], note: "", deps: "", deps_wrong: false,
};
const word = (changes = {}) => ({ ...DOGS, ...changes });
const sentence = (words, changes = {}) => (
  { number: 0, edits: 0, version: 0, done: false, comments: [], words, punctuation: [], ...changes });

test("how sure an arc is has a class, and the bounds belong to the surer one", () => {
  const found = [1, 0.85, 0.849, 0.6, 0.599, 0].map((sure) => kind(word({ sure })));
  assert.deepEqual(found, ["sure", "sure", "middling", "middling", "doubtful", "doubtful"]);
  assert.equal(kind(word()), "plain");
  assert.equal(kind(word({ head: -1, sure: 0.1 })), "plain");
  assert.equal(kind(word({ head_by: "ann", sure: 0.1 })), "confirmed");
});

test("an arc says in writing what its colour says", () => {
  assert.equal(mark(word()), "nsubj");
  assert.equal(mark(word({ sure: 0.876 })), "nsubj");
  assert.equal(mark(word({ sure: 0.5 })), "? nsubj");
  assert.equal(mark(word({ head_by: "ann", sure: 0.5 })), "✓ nsubj?");
  assert.equal(mark(word({ head_by: "ann", label_by: "ann" })), "✓ nsubj");
  assert.equal(mark(word({ label_by: "ann" })), "nsubj ✓");
  assert.equal(mark(word({ label_by: "ann", sure: 0.5 })), "? nsubj ✓");
});

test("a word is spoken with its head, relation and doubt", () => {
  const root = word({ form: "bark", tag: "VERB", head: 0, label: "root", head_by: "ann" });
  const words = [word({ sure: 0.5 }), root, word({ head: -1 }), word({ label_by: "ann", sure: 0.9 })];
  assert.equal(spoken(sentence(words), 1), "1 dogs, NOUN, head 2 bark, nsubj, doubtful, 50 percent");
  assert.equal(spoken(sentence(words), 2), "2 bark, VERB, root of the sentence, root, head confirmed");
  assert.equal(spoken(sentence(words), 3), "3 dogs, NOUN, no head yet");
  assert.equal(spoken(sentence(words), 4), "4 dogs, NOUN, head 2 bark, nsubj, relation confirmed, sure, 90 percent");
});

test("what is known of a word leaves out what is not", () => {
  assert.equal(facts(word()), "NOUN");
  assert.equal(facts(word({ feats: "Case=Nom|Number=Plur", lemma: "dog", sure: 0.7 })),
    "NOUN · Case=Nom | Number=Plur · lemma dog · head 70 % sure");
  assert.equal(facts(word({ head_by: "ann", label_by: "bob", sure: 0.7 })),
    "NOUN · head confirmed by ann · relation confirmed by bob");
  const all = { xpos: "NN", misc: [["Gloss", "dog"]], deps: "3:obj", deps_wrong: true, note: "why?" };
  assert.equal(facts(word({ ...all, head_by: "ann", tag_by: "ann" })),
    "NOUN · XPOS NN · Gloss=dog · DEPS 3:obj (look again: for another head) · head, tag confirmed by ann · note: why?");
});

test("the heading has the name of the sentence in the file", () => {
  assert.equal(heading(sentence([])), "Sentence 1");
  assert.equal(heading(sentence([], { comments: ["# text = a", "# sent_id = x-1"], done: true })),
    "Sentence 1 (sent_id x-1) ✓ done");
  assert.equal(heading(sentence([], { comments: ["#sentid: 7"], number: 4 })), "Sentence 5 (sent_id 7)");
});

test("the next doubtful word comes after the selected one and then from the beginning", () => {
  const words = [0.3, 0.9, 0.7, null].map((sure) => word({ sure }));
  assert.equal(firstDoubtful(sentence(words)), 1);
  assert.equal(firstDoubtful(sentence(words), 1), 3);
  assert.equal(firstDoubtful(sentence(words), 3), 1);
  assert.equal(firstDoubtful(sentence([word()])), undefined);
  assert.equal(firstDoubtful(sentence([])), undefined);
});

test("a tag is doubtful if it is a guess of which the tagger is not sure", () => {
  const doubtful = word({ upos: "_", tags: [["NOUN", 0.5], ["VERB", 0.5]] });
  assert.equal(spoken(sentence([word({ ...doubtful, head: 0 })]), 1), "1 dogs, NOUN doubtful, root of the sentence, nsubj");
  assert.equal(firstDoubtful(sentence([word(), doubtful])), 2);
  assert.equal(firstDoubtful(sentence([word({ upos: "_", tags: [["NOUN", 0.7], ["VERB", 0.3]] })])), undefined);
  assert.equal(firstDoubtful(sentence([word({ ...doubtful, upos: "NOUN" })])), undefined);
});

test("punctuation and what has head and relation confirmed are passed over", () => {
  const words = [word({ head_by: "a", label_by: "a" }), word({ head_by: "a" }), word(), word({ tag: "PUNCT" })];
  assert.equal(firstUnconfirmed(sentence(words, { punctuation: [4] })), 2);
  assert.equal(firstUnconfirmed(sentence(words, { punctuation: [4] }), 3), 2);
  assert.equal(firstUnconfirmed(sentence(words.slice(0, 1))), undefined);
});

test("arcs that moved after a change are named, the changed one apart", () => {
  const heads = (...found) => found.map((head) => word({ head }));
  assert.deepEqual(moved(heads(2, 0, 2), heads(3, 3, 0), 3), [1, 2]);
  assert.deepEqual(moved(heads(2, 0), heads(2, 0, 2), 1), []); // words were split
  assert.equal(follow([1, 2]), " 2 arcs follow: 1, 2.");
  assert.equal(follow([4]), " 1 arc follows: 4.");
  assert.equal(follow([]), "");
});

test("most letters decide in which direction a sentence runs; digits and signs do not count", () => {
  const runs = (...forms) => isRightToLeft(sentence(forms.map((form) => word({ form }))));
  assert.ok(runs("يكتب", "الطالب", "2026", "...", "!!!!!!!!"));
  assert.ok(runs("שלום"));
  assert.ok(!runs("the", "word", "سلام"));
  assert.ok(!runs("漢字"));
  assert.ok(!runs("1", "."));
});

test("doubtful arcs that are confirmed with the sentence are counted", () => {
  const words = [word({ sure: 0.59 }), word({ sure: 0.7 }), word({ sure: 0.1, head_by: "ann" })];
  assert.equal(doubted(sentence(words)), "1 arc was doubtful when you confirmed; u takes it back.");
  assert.equal(doubted(sentence([words[0], ...words])), "2 arcs were doubtful when you confirmed; u takes it back.");
  assert.equal(doubted(sentence(words.slice(1))), "");
});

test("a change that was undone is named with its word", () => {
  const named = (what, place) => went(sentence([word(), word({ form: "bark" })], { went: { what, word: place } }));
  assert.equal(named("head", 2), ": the head of 2 bark");
  assert.equal(named("done", 0), ": Sentence is right");
  assert.equal(named("outside", 0), "");
  assert.equal(went(sentence([word()])), "");
});

test("a note is among the facts once", () => {
  const found = facts(word({ note: "a verb?", misc: [["Gloss", "x"], ["Note", "a verb?"]] }));
  assert.equal(found, "NOUN · Gloss=x · note: a verb?");
});

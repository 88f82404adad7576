import assert from "node:assert/strict";
import { test } from "node:test";
import { facts, firstDoubtful, heading, isRightToLeft, kind, note, spoken } from "../../dynet_vdgi/annotation/page/sentence.js";

const DOGS = {
  form: "dogs", tag: "NOUN", feats: "_", lemma: "_", head: 2, label: "nsubj", head_by: "", label_by: "", sure: null,
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
  assert.equal(note(word()), "nsubj");
  assert.equal(note(word({ sure: 0.876 })), "nsubj 88%");
  assert.equal(note(word({ sure: 0.5 })), "? nsubj 50%");
  assert.equal(note(word({ head_by: "ann", sure: 0.5 })), "✓ head, nsubj?");
  assert.equal(note(word({ head_by: "ann", label_by: "ann" })), "✓ nsubj");
});

test("a word is spoken with its head, relation and doubt", () => {
  const root = word({ form: "bark", tag: "VERB", head: 0, label: "root", head_by: "ann" });
  const words = [word({ sure: 0.5 }), root, word({ head: -1 })];
  assert.equal(spoken(sentence(words), 1), "1 dogs, NOUN, head 2 bark, nsubj, doubtful, 50 percent");
  assert.equal(spoken(sentence(words), 2), "2 bark, VERB, root of the sentence, root, head confirmed");
  assert.equal(spoken(sentence(words), 3), "3 dogs, NOUN, no head yet");
});

test("what is known of a word leaves out what is not", () => {
  assert.equal(facts(word()), "NOUN");
  assert.equal(facts(word({ feats: "Case=Nom|Number=Plur", lemma: "dog", sure: 0.7 })),
    "NOUN · Case=Nom | Number=Plur · lemma dog · head 70 % sure");
  assert.equal(facts(word({ head_by: "ann", label_by: "bob", sure: 0.7 })),
    "NOUN · head confirmed by ann · relation confirmed by bob");
});

test("the heading has the name of the sentence in the file", () => {
  assert.equal(heading(sentence([])), "Sentence 1");
  assert.equal(heading(sentence([], { comments: ["# text = a", "# sent_id = x-1"], done: true })), "Sentence 1 (x-1) ✓ done");
  assert.equal(heading(sentence([], { comments: ["#sentid: 7"], number: 4 })), "Sentence 5 (7)");
});

test("the next doubtful word comes after the selected one and then from the beginning", () => {
  const words = [0.3, 0.9, 0.7, null].map((sure) => word({ sure }));
  assert.equal(firstDoubtful(sentence(words)), 1);
  assert.equal(firstDoubtful(sentence(words), 1), 3);
  assert.equal(firstDoubtful(sentence(words), 3), 1);
  assert.equal(firstDoubtful(sentence([word()])), undefined);
  assert.equal(firstDoubtful(sentence([])), undefined);
});

test("most letters decide in which direction a sentence runs; digits and signs do not count", () => {
  const runs = (...forms) => isRightToLeft(sentence(forms.map((form) => word({ form }))));
  assert.ok(runs("يكتب", "الطالب", "2026", "...", "!!!!!!!!"));
  assert.ok(runs("שלום"));
  assert.ok(!runs("the", "word", "سلام"));
  assert.ok(!runs("漢字"));
  assert.ok(!runs("1", "."));
});

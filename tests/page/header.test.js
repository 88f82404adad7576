import assert from "node:assert/strict";
import { test } from "node:test";
import { learning, line, means, percent } from "../../dynet_vdgi/annotation/page/header.js";

test("a share is a percentage, none is a dash", () => {
  assert.deepEqual([null, 0, 0.666, 1].map(percent), ["–", "0 %", "67 %", "100 %"]);
});

test("the state of learning is a sentence", () => {
  const said = (state, more = {}) => learning({ state, lessons: 0, ...more });
  assert.equal(said("off"), "Nothing is learnt.");
  assert.equal(said("starting"), "Reading the text…");
  assert.equal(said("failed", { why: "No memory." }),
    "Learning has stopped: No memory. You can go on; to learn again, quit and restart.");
  assert.equal(said("learning"), "Learning from the text… The first trees come soon.");
  assert.equal(said("learning", { lessons: 1 }), "Learning from what you have confirmed… You need not wait.");
  assert.equal(said("ready", { trees: 0, seconds: 2.5 }), "Parsed without any corrected sentence yet.");
  assert.equal(said("ready", { trees: 1, seconds: 2.5 }), "Parsed with what you confirmed in 1 sentence; that took 2.5 s.");
  assert.equal(said("ready", { trees: 2, seconds: 3 }), "Parsed with what you confirmed in 2 sentences; that took 3 s.");
});

test("the running mean is of ten sentences at most", () => {
  assert.deepEqual(means([]), []);
  assert.deepEqual(means([1, 0, 0.5]), [1, 0.5, 0.5]);
  assert.equal(means([0, ...Array(10).fill(1)]).at(-1), 1);
});

test("a sentence of punctuation alone is not one whose heads were wrong", () => {
  assert.deepEqual(means([1, null, 1]), [1, 1]);
});

test("the line goes from half to all right, over the whole width", () => {
  assert.equal(line([0.5, 1]), "M2 18L78 2");
  assert.equal(line([0, 0.5, 0.75]), "M2 18L40 18L78 10");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { learning, parserRight } from "../../dynet_vdgi/page/static/header.js";

test("shares are percentages, and a dash before anything is done", () => {
  assert.equal(parserRight([0.666, 0.5]), "heads 67 %, with relations 50 %");
  assert.equal(parserRight(null), "–");
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
  assert.equal(learning({ state: "ready", lessons: 1, trees: 0 }, 7),
    "Parsed without any corrected sentence yet. Those that are done count when it learns again.");
  assert.equal(said("ready", { trees: 1, seconds: 2.5 }), "Parsed with what you confirmed in 1 sentence; that took 2.5 s.");
  assert.equal(said("ready", { trees: 2, seconds: 3 }), "Parsed with what you confirmed in 2 sentences; that took 3 s.");
});

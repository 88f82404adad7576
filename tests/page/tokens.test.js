import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { getElementById: () => ({ addEventListener: () => {} }), addEventListener: () => {} };
const { rangeOf, splitsOf } = await import("../../dynet_vdgi/page/static/tokens.js");

test("a bar keeps the form as a multiword token, a blank makes tokens, other letters a multiword token", () => {
  assert.deepEqual(splitsOf("aldı", "al|dı"), [["al", "dı"]]);
  assert.deepEqual(splitsOf("aldı", "al dı"), [2]);
  assert.deepEqual(splitsOf("aldılar", "al|dı | lar"), [["al", "dı", "lar"]]);
  assert.deepEqual(splitsOf("aldılar", "al dı lar"), [2, 2]);
  assert.deepEqual(splitsOf("𐌰𐌱", "𐌰 𐌱"), [1]); // characters, not halves of them
  assert.deepEqual(splitsOf("du", "de le"), [["de", "le"]]);
  assert.deepEqual(splitsOf("New York", "New York"), [3]);
  assert.deepEqual(splitsOf("a|b", "a| b"), [2]); // the bar is a letter of the word
  for (const typed of ["", "aldı", "aldı|", " | "]) assert.deepEqual(splitsOf("aldı", typed), []);
});

test("a multiword token is typed as its words and its form", () => {
  assert.deepEqual(rangeOf("3-4 du"), [3, 4, "du"]);
  assert.deepEqual(rangeOf("3-4"), [3, 4, ""]);
  assert.equal(rangeOf("3 du"), null);
  assert.deepEqual(rangeOf("٣-٤ من٥"), [3, 4, "من٥"]); // the form stays as it is typed
});

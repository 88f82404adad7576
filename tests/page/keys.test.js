import assert from "node:assert/strict";
import { test } from "node:test";
import { afterDigits, backKey, sentenceNumber } from "../../dynet_vdgi/annotation/page/keys.js";

test("a digit sets the head at once where no other digit can follow", () => {
  assert.deepEqual(afterDigits("5", 9), { typed: "", head: 5, text: "", isBad: false });
  assert.deepEqual(afterDigits("0", 200), { typed: "", head: 0, text: "", isBad: false });
  assert.deepEqual(afterDigits("2", 19), { typed: "", head: 2, text: "", isBad: false });
  assert.deepEqual(afterDigits("12", 119), { typed: "", head: 12, text: "", isBad: false });
});

test("a digit waits where another can follow", () => {
  for (const [typed, nWords] of [["1", 10], ["2", 20], ["12", 120]]) {
    const text = `Head ${typed}: Enter, or more digits`;
    assert.deepEqual(afterDigits(typed, nWords), { typed, head: null, text, isBad: false });
  }
});

test("every word can be typed, with Enter where more digits could follow", () => {
  for (const nWords of [1, 9, 10, 11, 99, 100, 101]) {
    for (let head = 0; head <= nWords; head += 1) {
      let typed = "";
      const found = [];
      for (const digit of String(head)) {
        const state = afterDigits(typed + digit, nWords);
        typed = state.typed;
        if (state.head !== null) found.push(state.head);
      }
      if (typed) found.push(Number(typed)); // Enter
      assert.deepEqual(found, [head], `${head} of ${nWords}`);
    }
  }
});

test("a number beyond the last word is told and forgotten, and none clears the notice", () => {
  assert.deepEqual(afterDigits("9", 8), { typed: "", head: null, text: "There is no word 9.", isBad: true });
  assert.deepEqual(afterDigits("", 8), { typed: "", head: null, text: "", isBad: false });
});

test("undo and redo have the keys of other programs, on every system", () => {
  const key = (name, held) => backKey({ key: name, ctrlKey: false, metaKey: false, shiftKey: false, ...held });
  assert.equal(key("z", { ctrlKey: true }), "undo");
  assert.equal(key("z", { metaKey: true }), "undo");
  assert.equal(key("Z", { ctrlKey: true, shiftKey: true }), "redo");
  assert.equal(key("Z", { ctrlKey: true }), "undo"); // Caps Lock
  assert.equal(key("y", { ctrlKey: true }), "redo");
  assert.equal(key("z", {}), null);
  assert.equal(key("a", { ctrlKey: true }), null);
});

test("sentences are typed from 1 and numbered from 0", () => {
  assert.equal(sentenceNumber("1", 3), 0);
  assert.equal(sentenceNumber("3", 3), 2);
  for (const text of ["0", "4", "", "-1", "1.5", "1e0", "two", "1234567890", "٣"]) {
    assert.equal(sentenceNumber(text, 3), null, text);
  }
});

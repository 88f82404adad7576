import assert from "node:assert/strict";
import { test } from "node:test";
import { afterDigits, backKey, placeIn, sentenceNumber, TAG_KEYS, turned } from "../../dynet_vdgi/page/static/keys.js";

test("a number is complete where no other digit can follow, and another digit is told", () => {
  assert.deepEqual(afterDigits("5", 9), { typed: "5", place: 5, text: "", isBad: false });
  assert.deepEqual(afterDigits("0", 200), { typed: "0", place: 0, text: "", isBad: false });
  assert.deepEqual(afterDigits("2", 19), { typed: "2", place: 2, text: "", isBad: false });
  assert.deepEqual(afterDigits("12", 119), { typed: "12", place: 12, text: "", isBad: false });
  assert.deepEqual(afterDigits("99", 14), { typed: "", place: null, text: "There is no word 99.", isBad: true });
});

test("a digit waits where another can follow", () => {
  for (const [typed, nWords] of [["1", 10], ["2", 20], ["12", 120]]) {
    const text = `Head ${typed}: Enter, or more digits`;
    assert.deepEqual(afterDigits(typed, nWords), { typed, place: null, text, isBad: false });
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
        found.push(state.place);
      }
      const places = Array(found.length - 1).fill(null);
      places.push(head === 0 || head * 10 > nWords ? head : null); // otherwise Enter ends it
      assert.deepEqual([Number(typed), ...found], [head, ...places], `${head} of ${nWords}`);
    }
  }
});

test("a number beyond the last word is told and forgotten, and none clears the notice", () => {
  assert.deepEqual(afterDigits("9", 8), { typed: "", place: null, text: "There is no word 9.", isBad: true });
  assert.deepEqual(afterDigits("", 8), { typed: "", place: null, text: "", isBad: false });
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
  assert.equal(sentenceNumber("٣", 3), 2);
  assert.equal(sentenceNumber("१०", 10), 9);
  for (const text of ["0", "4", "", "-1", "1.5", "1e0", "two", "1234567890", "٤", "x٣"]) {
    assert.equal(sentenceNumber(text, 3), null, text);
  }
});

test("a word to go to is typed as a head is, but none has the number 0", () => {
  assert.deepEqual(afterDigits("5", 9, "word"), { typed: "5", place: 5, text: "", isBad: false });
  assert.deepEqual(afterDigits("0", 9, "word"), { typed: "", place: null, text: "There is no word 0.", isBad: true });
  assert.equal(afterDigits("1", 12, "word").text, "Go to word 1: Enter, or more digits");
});

test("turning goes round in both directions, and begins at the end that comes first", () => {
  assert.deepEqual([turned(["a", "b", "c"], "a", 1), turned(["a", "b", "c"], "c", 1)], ["b", "a"]);
  assert.deepEqual([turned(["a", "b", "c"], "a", -1), turned(["a", "b", "c"], "b", -1)], ["c", "a"]);
  assert.deepEqual([turned(["a", "b"], "x", 1), turned(["a", "b"], "x", -1)], ["a", "b"]);
});

test("each of the 17 tags has a key of its own", () => {
  assert.equal(new Set(Object.values(TAG_KEYS)).size, 17);
  assert.equal(Object.keys(TAG_KEYS).length, 17);
});

test("an address names a sentence, and perhaps a word", () => {
  assert.deepEqual(placeIn("#s=35&w=4"), { id: 35, word: 4 });
  assert.deepEqual(placeIn("#s=0"), { id: 0, word: 0 });
  for (const hash of ["", "#words", "#s=", "#s=x&w=1", "#s=1&w=", "#s=-1"]) assert.equal(placeIn(hash), null, hash);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { isComposing, keyOf, plainDigits } from "../../dynet_vdgi/page/static/layout.js";

const press = (key, code, changes = {}) => ({ key, code, shiftKey: false, altKey: false, ...changes });
const meant = (...event) => keyOf(press(...event));

/** What layouts send for the places of the Latin letters and signs that the page uses. */
const LAYOUTS = {
  Cyrillic: "фKeyA иKeyB вKeyD лKeyK дKeyL тKeyN щKeyO чKeyX нKeyY яKeyZ бComma юPeriod",
  Ukrainian: "фKeyA іKeyS дKeyL юPeriod",
  Greek: "αKeyA δKeyD λKeyL νKeyN ςKeyW χKeyX",
  Hebrew: "שKeyA גKeyD ךKeyL מKeyN סKeyX תComma ץPeriod",
  Arabic: "شKeyA لاKeyB يKeyD مKeyL ىKeyN ءKeyX وComma زPeriod ظSlash",
  Devanagari: "ोKeyA वKeyB ्KeyD तKeyL ंKeyX यSlash",
  Bengali: "োKeyA ্KeyD তKeyL",
  Korean: "ㅁKeyA ㅇKeyD ㅣKeyL ㅜKeyN ㅌKeyX",
  Japanese: "ちKeyA しKeyD りKeyL みKeyN さKeyX ねComma るPeriod めSlash ぬDigit1 ふDigit2 わDigit0 ほMinus",
  Thai: "ฟKeyA กKeyD สKeyL ืKeyN ปKeyX มComma ใPeriod ฝSlash คDigit8 จDigit0 ขMinus ชEqual",
  Kazakh: "фKeyA дKeyL әDigit2 іDigit3 қDigit0 өMinus һEqual",
  Georgian: "აKeyA დKeyD ლKeyL ნKeyN",
  Armenian: "աKeyA տKeyD լKeyL",
};
const QWERTY = { Comma: ",", Period: ".", Slash: "/", Minus: "-", Equal: "=" };

test("a letter of another script than the Latin one means what stands there on a keyboard with Latin letters", () => {
  for (const [layout, keys] of Object.entries(LAYOUTS)) {
    for (const one of keys.split(" ")) {
      const [, key, code] = /^(\P{ASCII}+)(\w+)$/u.exec(one);
      assert.equal(meant(key, code), QWERTY[code] ?? code.replace(/^Key|^Digit/, "").toLowerCase(), `${layout} ${one}`);
    }
  }
});

test("with Shift, a letter of another script is a capital, and the key of + is +", () => {
  assert.equal(meant("Щ", "KeyO", { shiftKey: true }), "O");
  assert.equal(meant("ㅃ", "KeyQ", { shiftKey: true }), "Q");
  assert.equal(meant("Һ", "Equal", { shiftKey: true }), "+");
  assert.equal(meant("Ю", "Period", { shiftKey: true }), "Ю"); // > means nothing
});

// German, French, Dvorak, Turkish, Polish and others
test("layouts with Latin letters keep what they send", () => {
  const sent = "zKeyY yKeyZ öSemicolon ßMinus éDigit2 àDigit0 aKeyQ qKeyA ,KeyW .KeyE 'KeyQ /BracketLeft";
  for (const one of `${sent} ıKeyI çPeriod łKeyL đDigit0 ²Backquote`.split(" ")) {
    const [, key, code] = /^(.)(\w+)$/u.exec(one);
    assert.equal(meant(key, code), key, one);
  }
  for (const [key, code] of [["£", "Digit3"], ["4", "Quote"], ["?", "KeyM"], ["+", "BracketRight"]]) {
    assert.equal(meant(key, code, { shiftKey: true }), key);
  }
});

test("after a letter of another script, signs and marks mean the places of their keys", () => {
  meant("q", "KeyQ");
  assert.equal(meant("/", "KeyQ"), "/");
  for (const [letter, key, code, expected, shiftKey] of [
    ["ש", "/", "KeyQ", "q"], ["ש", "'", "KeyW", "w"], ["α", ";", "KeyQ", "q"],
    ["ฟ", "/", "Digit2", "2"], ["ฟ", "-", "Digit3", "3"],
    ["ф", ".", "Digit7", "7"], ["ش", "َ", "KeyQ", "Q", true], ["ش", "ـ", "KeyJ", "J", true], ["ش", "×", "KeyO", "O", true],
    ["ф", ".", "Slash", "."], ["ф", "+", "Equal", "+", true], ["ф", "-", "Minus", "-"], ["ф", "/", "Backslash", "/", true],
    ["ф", "№", "Digit3", "№", true], ["ф", "4", "Digit5", "4", true], ["ф", " ", "Space", " "], ["ф", "Enter", "Enter", "Enter"],
  ]) {
    assert.equal(meant(letter, "KeyA"), "a");
    assert.equal(meant(key, code, { shiftKey: Boolean(shiftKey) }), expected, `${letter} ${key} ${code}`);
  }
  meant("q", "KeyQ"); // the layout is another one again
  assert.equal(meant("/", "KeyQ"), "/");
});

test("names of keys, keys without a place, dead keys and keys with AltGr stay as they are", () => {
  meant("ф", "KeyA");
  for (const key of ["Enter", "ArrowLeft", "F1", "Dead", "Process"]) assert.equal(meant(key, "KeyE"), key);
  assert.equal(meant("Unidentified", ""), "Unidentified");
  assert.equal(meant("ф", ""), "ф");
  assert.equal(meant("€", "KeyE", { getModifierState: (name) => name === "AltGraph" }), "€");
  assert.equal(meant("∂", "KeyD", { altKey: true }), "∂");
  meant("q", "KeyQ");
});

test("digits of all scripts are digits, whatever key they stand on", () => {
  for (const [digits, keys] of [["٠١٢٣", "Digit"], ["०१२३", "Numpad"], ["০১২৩", "Digit"], ["๐๑๒๓", "Digit"], ["０１２３", "Digit"]]) {
    [...digits].forEach((key, k) => assert.equal(meant(key, `${keys}${k}`), String(k)));
  }
  assert.equal(meant("๑", "Digit2", { shiftKey: true }), "1");
  assert.equal(meant("9", "Numpad9"), "9");
  assert.equal(meant("ｎ", "KeyN"), "n");
  assert.equal(plainDigits("۱۲-٣٤ ৫৬ ០៩ x² 𑛚𑛣"), "12-34 56 09 x² 09");
  const all = [...Array(0x110000).keys()].filter((n) => n < 0xd800 || n > 0xdfff).map((n) => String.fromCodePoint(n));
  const found = all.filter((one) => /^\p{Decimal_Number}$/u.test(one));
  assert.ok(found.length > 600);
  found.forEach((digit, k) => assert.equal(plainDigits(digit), String(k % 10), digit));
});

test("a key belongs to an input method while it composes, and when it ends that", () => {
  assert.ok(isComposing({ isComposing: true, keyCode: 13 }));
  assert.ok(isComposing({ isComposing: false, keyCode: 229 }));
  assert.ok(!isComposing({ isComposing: false, keyCode: 13 }));
});

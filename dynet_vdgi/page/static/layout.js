// The keys that events mean under any layout of the keyboard, and digits of any script, without a document.

/**
 * @typedef {Pick<KeyboardEvent, "key" | "code" | "shiftKey" | "altKey">
 *   & Partial<Pick<KeyboardEvent, "isComposing" | "keyCode" | "getModifierState">>} Press
 */

const ASCII = /^[ -~]+$/; // letters, digits, signs, and the names of keys, such as Enter
const LATIN = /^\p{Script=Latin}/u;
const OF_OTHER_SCRIPTS = /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]/u;
const WIDE = /^[\uff01-\uff5e]$/; // letters and signs as wide as Chinese ones

/** What keys of signs mean, without and with Shift. @type {Record<string, [string, string]>} */
const SIGNS = { Period: [".", ""], Comma: [",", ""], Slash: ["/", ""], Minus: ["-", ""], Equal: ["=", "+"] };

let isOther = false; // whether the letter pressed last was of another script than the Latin one

/**
 * The key that an event means: its own, or, where the layout gives it a letter of another script than the Latin one,
 * what stands there on a keyboard with Latin letters. Digits are digits in every script. A sign says nothing about the
 * layout, and many stand elsewhere in layouts with Latin letters; so it means the key's place only after a letter of
 * another script.
 * @param {Press} event
 */
export function keyOf(event) {
  const { code } = event;
  const key = WIDE.test(event.key) ? event.key.normalize("NFKC") : event.key;
  if (event.altKey || event.getModifierState?.("AltGraph")) return key;
  const digit = plainDigits(key);
  if (/^[0-9]$/.test(digit)) return digit;
  const isOfOther = OF_OTHER_SCRIPTS.test(key);
  if (isOfOther && code.startsWith("Key")) isOther = true;
  if (LATIN.test(key) && [...key].length === 1) isOther = false;
  const isNamed = ASCII.test(key) && key.length > 1;
  const isElsewhere = isOther && !LATIN.test(key) && !isNamed && /^(Key|Digit)/.test(code);
  return isOfOther || isElsewhere ? placed(event) || key : key;
}

/** What the place of a key means on a keyboard with Latin letters; "": nothing to this page. @param {Press} event */
function placed({ code, shiftKey }) {
  const [, letter, digit] = /^(?:Key([A-Z])|Digit([0-9]))$/.exec(code) ?? [];
  if (letter) return shiftKey ? letter : letter.toLowerCase();
  if (digit) return shiftKey ? "" : digit;
  return SIGNS[code]?.[Number(shiftKey)] ?? "";
}

/**
 * Whether a key belongs to an input method that is making characters of several keys. The Enter that ends this comes
 * in some browsers after the end, with the number 229.
 * @param {Pick<Press, "isComposing" | "keyCode">} event
 */
export const isComposing = (event) => Boolean(event.isComposing) || event.keyCode === 229;

/**
 * A text whose digits are 0 to 9, whatever their script. In Unicode, the ten digits of a script stand one after the
 * other, and those of another script may follow at once.
 * @param {string} text
 */
export function plainDigits(text) {
  return text.replace(/\p{Decimal_Number}/gu, (digit) => {
    const number = /** @type {number} */ (digit.codePointAt(0));
    let first = number;
    while (isDigit(first - 1)) first -= 1;
    return String((number - first) % 10);
  });
}

/** @param {number} number of a character */
const isDigit = (number) => /^\p{Decimal_Number}$/u.test(String.fromCodePoint(number));

// Positions of arcs, without a document. An arc runs along the words, in pixels from the first (`along`), and
// stands off from them (`off`): upwards if the words run across the page, sideways if they run down.

/**
 * @typedef {object} Measure in pixels
 * @property {number} step between two levels of arcs
 * @property {number} first from the words to the first level
 * @property {number} top space for ROOT and the relation below it
 */

/** @type {Measure} relations stand on the arcs */
export const ACROSS = { step: 28, first: 22, top: 56 };
/** @type {Measure} relations stand beside the words */
export const DOWN = { step: 13, first: 18, top: 20 };
/** @type {Measure} */
export const DOWN_NARROW = { step: 7, first: 13, top: 8 };

export const GAP = 4; // pixels between two words that run across
const LETTER = 6.6; // pixels, of a relation

/**
 * @typedef {object} Arc between two words
 * @property {number} place of the dependent, from 1
 * @property {number} head from 1
 * @property {number} level from 1, above all arcs that it spans
 * @property {number} apart pixels between the middle of its head and the point where the arc leaves it
 */

/**
 * The arcs of a sentence except the one from ROOT, the longest first. Two on one level share at most a word.
 * @param {number[]} heads 0: ROOT, -1: none yet; both have no arc here
 * @returns {Arc[]}
 */
export function placed(heads) {
  const arcs = heads.map((head, k) => ({ place: k + 1, head, level: 1, apart: 0 })).filter(({ head }) => head > 0);
  arcs.sort((a, b) => Math.abs(a.place - a.head) - Math.abs(b.place - b.head));
  arcs.forEach((arc, k) => {
    const below = arcs.slice(0, k).filter((other) => overlap(arc, other)).map(({ level }) => level);
    arc.level = 1 + Math.max(0, ...below);
  });
  arcs.reverse();
  /** @type {Record<string, number>} */
  const leaving = {}; // number of arcs that leave a word on one side: the shortest are outermost
  for (const arc of arcs) {
    const side = `${arc.head} ${arc.place < arc.head}`;
    leaving[side] = (leaving[side] ?? -1) + 1;
    arc.apart = 8 + 5 * Math.min(leaving[side], 5);
  }
  return arcs;
}

/** @param {Arc} one @param {Arc} other */
function overlap(one, other) {
  const isLeft = Math.max(one.place, one.head) <= Math.min(other.place, other.head);
  const isRight = Math.min(one.place, one.head) >= Math.max(other.place, other.head);
  return !isLeft && !isRight;
}

/** The space that arcs need beside the words. @param {Arc[]} arcs @param {Measure} measure */
export function depth(arcs, { step, first, top }) {
  return top + first + step * (Math.max(1, ...arcs.map(({ level }) => level)) - 1);
}

/**
 * The outline of an arc, and the middle of its long line, where the relation stands.
 * @param {Arc} arc
 * @param {number[]} middles of the words
 * @param {Measure} measure
 * @param {(along: number, off: number) => string} point "x y" in the picture
 */
export function outline({ place, head, level, apart }, middles, { step, first }, point) {
  const end = middles[place - 1];
  const distance = Math.abs(end - middles[head - 1]);
  const towards = Math.sign(end - middles[head - 1]);
  const start = middles[head - 1] + Math.min(apart, distance / 3) * towards;
  const off = first + step * (level - 1);
  const bend = Math.min(8, Math.abs(end - start) / 2) * towards;
  const under = off - Math.abs(bend);
  const path = `M${point(start, 0)}L${point(start, under)}Q${point(start, off)} ${point(start + bend, off)}`
    + `L${point(end - bend, off)}Q${point(end, off)} ${point(end, under)}L${point(end, 5)}`;
  return { path, along: (start + end) / 2, off };
}

/**
 * The space that each word needs before it, so that relations of arcs between neighbours do not collide.
 * @param {{ place: number, head: number, text: string }[]} labels
 * @param {number[]} widths of the words
 */
export function spaces(labels, widths) {
  const found = widths.map(() => 0);
  for (const { place, head, text } of labels) {
    if (Math.abs(place - head) !== 1) continue;
    const right = Math.max(place, head) - 1;
    const between = (widths[right] + widths[right - 1]) / 2 + GAP;
    const leaves = 8; // the arc does not begin in the middle of its head
    found[right] = Math.max(found[right], Math.ceil(text.length * LETTER + leaves - between));
  }
  return found;
}

// Positions of arcs, without a document: y grows downwards, words stand at `height`.

export const STEP = 30; // pixels between two levels of arcs
export const TOP = 34; // space for ROOT

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

/**
 * @param {Arc} one
 * @param {Arc} other
 */
function overlap(one, other) {
  const isLeft = Math.max(one.place, one.head) <= Math.min(other.place, other.head);
  const isRight = Math.min(one.place, one.head) >= Math.max(other.place, other.head);
  return !isLeft && !isRight;
}

/**
 * The height that arcs need above the words.
 * @param {Arc[]} arcs
 */
export function heightOf(arcs) {
  return TOP + STEP * (1 + Math.max(1, ...arcs.map(({ level }) => level)));
}

/**
 * The outline of an arc and the position of its relation.
 * @param {Arc} arc
 * @param {number[]} middles of the words
 * @param {number} height
 */
export function outline({ place, head, level, apart }, middles, height) {
  const end = middles[place - 1];
  const towards = Math.sign(end - middles[head - 1]);
  const start = middles[head - 1] + apart * towards;
  const y = height - STEP * level + 8;
  const bend = Math.min(8, Math.abs(end - start) / 2);
  const path = `M${start} ${height}V${y + bend}Q${start} ${y} ${start + bend * towards} ${y}`
    + `H${end - bend * towards}Q${end} ${y} ${end} ${y + bend}V${height - 5}`;
  return { path, end, x: (start + end) / 2, y: y - 5 };
}

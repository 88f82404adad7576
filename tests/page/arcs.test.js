import assert from "node:assert/strict";
import { test } from "node:test";
import { heightOf, outline, placed, STEP, TOP } from "../../dynet_vdgi/annotation/page/arcs.js";

/** A random tree over n words, crossing arcs included: every word's head comes before it in some order. */
function tree(n, random) {
  const order = [...Array(n).keys()].map((k) => k + 1).sort(() => random() - 0.5);
  const heads = Array(n).fill(0);
  order.forEach((place, k) => {
    if (k) heads[place - 1] = order[Math.floor(random() * k)];
  });
  return heads;
}

function generator(seed) { // a linear congruence, so that each run sees the same trees
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

const overlap = (a, b) => { // brute force: they share a gap between two neighbouring words
  const gaps = ({ place, head }) => {
    const found = new Set();
    for (let k = Math.min(place, head); k < Math.max(place, head); k += 1) found.add(k);
    return found;
  };
  const others = gaps(b);
  return [...gaps(a)].some((gap) => others.has(gap));
};

test("ROOT and words without a head have no arc", () => {
  assert.deepEqual(placed([0, -1]), []);
  assert.deepEqual(placed([]), []);
  assert.equal(heightOf([]), TOP + 2 * STEP);
});

test("an arc stands above those that it spans, the longest arc comes first", () => {
  const found = placed([2, 3, 0, 3, 1]);
  assert.deepEqual(found.map(({ place, head, level }) => [place, head, level]),
    [[5, 1, 2], [4, 3, 1], [2, 3, 1], [1, 2, 1]]);
  assert.equal(heightOf(found), TOP + 3 * STEP);
});

test("two arcs on one level share no gap between words, in any tree", () => {
  const random = generator(1);
  for (let turn = 0; turn < 200; turn += 1) {
    const heads = tree(1 + (turn % 12), random);
    const found = placed(heads);
    assert.equal(found.length, heads.length - 1);
    found.forEach((one, k) => {
      for (const other of found.slice(k + 1)) {
        assert.ok(!overlap(one, other) || one.level > other.level, `${heads}`);
      }
      assert.ok(one.level === 1 || found.some((other) => other.level === one.level - 1 && overlap(one, other)));
    });
  }
});

test("arcs that leave a word on one side stand apart, the shortest outermost, at most five steps", () => {
  const found = placed([0, ...Array(8).fill(1)]);
  assert.deepEqual(found.map(({ place, apart }) => [place, apart]),
    [[9, 8], [8, 13], [7, 18], [6, 23], [5, 28], [4, 33], [3, 33], [2, 33]]);
  assert.deepEqual(placed([2, 0, 2]).map(({ apart }) => apart), [8, 8]);
});

test("the outline goes from the head, aside, to the middle of the dependent, either way", () => {
  const right = outline({ place: 2, head: 1, level: 1, apart: 8 }, [20, 100], 94);
  assert.deepEqual(right, { path: "M28 94V80Q28 72 36 72H92Q100 72 100 80V89", end: 100, x: 64, y: 67 });
  const left = outline({ place: 1, head: 2, level: 1, apart: 8 }, [20, 100], 94);
  assert.deepEqual(left, { path: "M92 94V80Q92 72 84 72H28Q20 72 20 80V89", end: 20, x: 56, y: 67 });
  const mirrored = outline({ place: 2, head: 1, level: 1, apart: 8 }, [100, 20], 94); // written right to left
  assert.equal(mirrored.path, left.path);
});

test("the bends of a short arc do not cross", () => {
  const { path } = outline({ place: 2, head: 1, level: 1, apart: 8 }, [0, 14], 94);
  assert.equal(path, "M8 94V75Q8 72 11 72H11Q14 72 14 75V89");
});

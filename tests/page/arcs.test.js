import assert from "node:assert/strict";
import { test } from "node:test";
import { ACROSS, depth, DOWN, outline, placed, spaces } from "../../dynet_vdgi/page/static/arcs.js";

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
  assert.equal(depth([], ACROSS), ACROSS.top + ACROSS.first);
});

test("an arc stands above those that it spans, the longest arc comes first", () => {
  const found = placed([2, 3, 0, 3, 1]);
  assert.deepEqual(found.map(({ place, head, level }) => [place, head, level]),
    [[5, 1, 2], [4, 3, 1], [2, 3, 1], [1, 2, 1]]);
  assert.equal(depth(found, DOWN), DOWN.top + DOWN.first + DOWN.step);
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

const up = (along, off) => `${along} ${94 - off}`;

test("the outline goes from the head, aside, to the middle of the dependent, either way", () => {
  const arc = { place: 2, head: 1, level: 1, apart: 8 };
  const right = outline(arc, [20, 100], ACROSS, up);
  assert.deepEqual(right, { path: "M28 94L28 80Q28 72 36 72L92 72Q100 72 100 80L100 89", along: 64, off: 22 });
  const left = outline({ ...arc, place: 1, head: 2 }, [20, 100], ACROSS, up);
  assert.deepEqual(left, { path: "M92 94L92 80Q92 72 84 72L28 72Q20 72 20 80L20 89", along: 56, off: 22 });
  const mirrored = outline(arc, [100, 20], ACROSS, up); // written right to left
  assert.equal(mirrored.path, left.path);
});

test("an outline beside words that run down the page is the same, turned", () => {
  const aside = (along, off) => `${94 - off} ${along}`;
  const { path } = outline({ place: 2, head: 1, level: 2, apart: 8 }, [20, 100], DOWN, aside);
  assert.equal(path, "M94 28L71 28Q63 28 63 36L63 92Q63 100 71 100L89 100");
});

test("the bends of a short arc do not cross, and it leaves its head on the right side", () => {
  const { path } = outline({ place: 2, head: 1, level: 1, apart: 33 }, [0, 15], ACROSS, up);
  assert.equal(path, "M5 94L5 77Q5 72 10 72L10 72Q15 72 15 77L15 89");
});

test("neighbours get the room that the relation between them needs, other words none", () => {
  const labels = [{ place: 1, head: 2, text: "? nsubj:pass" }, { place: 3, head: 2, text: "x" },
    { place: 4, head: 1, text: "a very long relation" }];
  const [first, second, third, fourth] = spaces(labels, [40, 40, 40, 40]);
  assert.deepEqual([first, third, fourth], [0, 0, 0]);
  assert.ok(second > 30 && second < 60, String(second));
});

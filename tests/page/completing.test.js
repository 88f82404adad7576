import assert from "node:assert/strict";
import { test } from "node:test";
import { completed } from "../../dynet_vdgi/page/static/completing.js";

const UD = ["nsubj", "obj", "nmod", "nmod:poss", "compound", "compound:prt", "aux", "aux:pass", "cc", "ccomp", "cc:preconj"];
const SUD = ["comp:obj", "comp:aux", "compound", "mod", "mod@relcl", "subj"];
const values = (...all) => {
  const { known, anew } = completed(...all);
  return [...known, ...anew];
};

test("beginnings stand for known relations, those of base and subtype too", () => {
  assert.deepEqual(completed("nm", UD, "_"), { known: ["nmod", "nmod:poss"], anew: ["nm"] });
  assert.equal(values("n:p", UD, "_")[0], "nmod:poss");
  assert.equal(values("nmod:p", UD, "_")[0], "nmod:poss");
  assert.deepEqual(completed("", UD, "_"), { known: UD, anew: [] });
  assert.equal(values("N:P", UD, "_")[0], "nmod:poss");
  assert.deepEqual(values("nmod:", UD, "_"), ["nmod:poss"]);
});

test("a subtype without a base belongs to the present relation, also if nobody has used it", () => {
  assert.deepEqual(values(":p", UD, "nmod"), ["nmod:poss", "nmod:p"]);
  assert.deepEqual(values(":own", UD, "nmod:poss"), ["nmod:own"]);
  assert.deepEqual(values(":prec", UD, "cc"), ["cc:preconj", "cc:prec"]);
});

test("a relation that is known comes first when it is written in full", () => {
  assert.equal(values("cc", ["ccomp", ...UD], "_")[0], "cc");
  assert.equal(values("aux:pass", ["aux:passive", ...UD], "_")[0], "aux:pass");
  assert.equal(values("Obj", ["obj", "Obj"], "_")[0], "Obj");
});

test("what is written in full is not changed to another relation", () => {
  for (const all of [UD, SUD]) {
    for (const typed of ["comp:obj@x", "comp:aux@pass", "compound:own", "mod@x", "a:b:c", "मुख्य", "मुख्य:x", "n:own"]) {
      const found = values(typed, all, "obj");
      assert.equal(found[0] ?? typed, typed);
    }
  }
  assert.deepEqual(completed("comp:aux@pass", SUD, "_"), { known: [], anew: ["comp:aux@pass"] });
  assert.equal(values("comp:a", SUD, "_")[0], "comp:aux");
  assert.deepEqual(values("cc:p", ["ccomp:p", ...UD], "_"), ["cc:preconj", "cc:p"]); // cc stands there as a whole
});

test("the likeliest completion and what is written can both be chosen", () => {
  assert.deepEqual(completed("n:own", UD, "_"), { known: [], anew: ["n:own", "nsubj:own"] });
  assert.deepEqual(completed("n:p", UD, "_"), { known: ["nmod:poss"], anew: ["nsubj:p", "n:p"] });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { completions, isKnown, merged, remember } from "../../dynet_vdgi/annotation/page/features.js";

test("one feature is set, changed or removed, and the names stay in order", () => {
  assert.equal(merged("Case=Nom|Number=Sing", "Case=Gen"), "Case=Gen|Number=Sing");
  assert.equal(merged("Number=Sing", "case=Gen"), "case=Gen|Number=Sing");
  assert.equal(merged("Case=Nom|Number=Sing", "Case="), "Number=Sing");
  assert.equal(merged("Case=Nom", "Case="), "_");
  assert.equal(merged("_", "Case=Nom"), "Case=Nom");
});

test("several features replace all, an underscore removes all", () => {
  assert.equal(merged("Mood=Ind", "Number=Sing|Case=Nom"), "Case=Nom|Number=Sing");
  assert.equal(merged("Case=Nom", "_"), "_");
});

test("what is no feature is refused", () => {
  for (const text of ["", "Case", "=Nom", "Case=A B", "Case=Nom|Number"]) assert.equal(merged("_", text), null, text);
});

test("features of UD are completed, those of the file come first", () => {
  assert.equal(completions("numb")[0], "Number=Coll");
  remember({ words: [{ feats: "Number=Sing|Own=Yes", bundles: [["Number=Plur", 0.5]] }, { feats: "_", bundles: [] }] });
  assert.deepEqual(completions("Numb").slice(0, 3), ["Number=Sing", "Number=Plur", "Number=Coll"]);
  assert.deepEqual(completions("Ow"), ["Own=Yes"]);
  assert.equal(new Set(completions("Number=")).size, completions("Number=").length);
});

test("a feature is known from UD, in any layer, or from a sentence that was seen", () => {
  for (const text of ["Case=Gen", "Number[psor]=Sing", "Case=Acc,Dat", "Case=", "_"]) assert.ok(isKnown(text), text);
  for (const text of ["Casus=Gen", "Number=Dul", "Case=Acc,Dut"]) assert.ok(!isKnown(text), text);
  remember({ words: [{ feats: "Casus=Gen|Case=Nom", bundles: [["Number=Dul", 0.5]] }] });
  for (const text of ["Casus=Gen", "Number=Dul"]) assert.ok(isKnown(text), text);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { isKnown, lemmaOffers, merged, offers, xposOffers } from "../../dynet_vdgi/page/static/features.js";

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

test("beginnings of values make features, known bundles that have them come before others", () => {
  assert.equal(offers("numb", "_", [])[0], "Number=Sing");
  assert.deepEqual(offers("abl", "Number=Sing", []), ["Case=Abl|Number=Sing"]);
  const bundles = ["Case=Abl|Number=Plur", "Case=Gen|Gender=Fem|Number=Sing", "Case=Nom|Number=Sing", "Own=Yes"];
  assert.equal(offers("a", "_", bundles)[0], "Case=Abl|Number=Plur");
  assert.equal(offers("g", "_", bundles)[0], "Case=Gen|Gender=Fem|Number=Sing");
  assert.equal(offers("g p", "_", bundles)[0], "Case=Gen|Number=Plur"); // no known bundle has both
  assert.equal(offers("g", "Case=Nom|Number=Plur", bundles)[0], "Case=Gen|Number=Plur"); // one feature is another
  assert.deepEqual(offers("ow", "_", bundles), ["Own=Yes"]);
  assert.deepEqual(offers("", "Own=Yes", bundles), bundles.slice(0, 3));
  assert.equal(new Set(offers("number=", "_", bundles)).size, offers("number=", "_", bundles).length);
});

test("beginnings of name and value tell values apart that begin alike, and what no list has can be among them", () => {
  assert.equal(offers("ind fi", "_", [])[0], "PronType=Ind|VerbForm=Fin");
  assert.ok(offers("ind fi", "_", []).includes("Definite=Ind|VerbForm=Fin")); // all that pieces can mean are in the list
  assert.equal(offers("d=i fi", "_", [])[0], "Definite=Ind|VerbForm=Fin");
  assert.equal(offers("s Own=Yes 3", "_", [])[0], "Number=Sing|Own=Yes|Person=3");
  assert.deepEqual(offers("own=yes", "_", []), []);
});

test("a value may be new under the beginning of a name", () => {
  assert.equal(offers("partt=vb", "_", [])[0], "PartType=Vb");
  assert.equal(offers("f ty=x", "Gender=Masc", ["Type=A"])[0], "Gender=Fem|Type=X");
  assert.deepEqual(offers("zz=vb", "_", []), []);
  for (const typed of ["Case=Nom|Number=Sing", "pa=vb=c", "pa=-", "g=m,"]) assert.deepEqual(offers(typed, "_", []), [], typed);
  assert.equal(offers("g=m,n", "_", [])[0], "Gender=Masc,Neut");
  assert.equal(offers("_i pa", "_", ["Mood=Ind|Person=3|Tense=Past"])[0], "Mood=Ind|Tense=Past"); // these, and no others
  assert.ok(!offers("partt=vb", "_", ["PartType=Neg"]).includes("PartType=Neg"));
  assert.ok(!isKnown("PartType=Vb", [])); // Enter once more stores it
});

test("what begins nothing is read letter by letter", () => {
  assert.equal(offers("ms3", "_", [])[0], "Gender=Masc|Number=Sing|Person=3");
  assert.equal(offers("_gp", "Case=Nom|Gender=Fem", ["Case=Gen|Number=Plur"])[0], "Case=Gen|Number=Plur");
  assert.equal(offers("-n-s", "Case=Nom|Gender=Fem|Number=Sing", [])[0], "Gender=Fem");
  assert.equal(offers("pa", "_", [])[0], "Number=Pauc"); // a beginning stays one
});

test("an XPOS is known by its beginning, or has other parts than the present one", () => {
  const known = ["Ncmsi", "Ncfpd", "Vpr1s", "Ncfsi"];
  assert.equal(xposOffers("v", "Ncmsi", known)[0], "Vpr1s");
  assert.equal(xposOffers("Ncfsi", "Ncmsi", ["Ncfsix", ...known])[0], "Ncfsi");
  assert.equal(xposOffers("f", "Ncmsi", known)[0], "Ncfsi");
  assert.equal(xposOffers("pd", "Ncmsi", known)[0], "Ncmpd");
  assert.deepEqual(xposOffers("h", "Ncmsi", known).slice(0, 2), ["Ncmsh", "hcmsi"]); // nobody has used an h: at the end, first
  assert.equal(xposOffers("-", "Ncmsi", [...known, "Nc-pi"])[0], "Nc-si");
  assert.ok(xposOffers("Vpr2", "Ncmsi", known).includes("Vpr2s"));
  assert.equal(xposOffers("Ti", "_", [])[0], undefined);
  assert.equal(xposOffers("pp3", "_", ["Nc", "Vms"])[0], "Pp3"); // with a capital, as all have
  assert.equal(xposOffers("pp3", "_", ["NN", "VBC"])[0], "PP3");
  assert.equal(xposOffers("pp3", "_", ["Nc", "vms"])[0], "pp3");
});

test("parts of an XPOS with marks are what stands between them", () => {
  const known = ["subst:pl:acc:m3", "subst:sg:loc:f", "prep:acc"];
  assert.equal(xposOffers("sg f", "subst:pl:acc:m3", known)[0], "subst:sg:acc:f");
  assert.equal(xposOffers("nom", "subst:pl:acc:m3", known)[0], "subst:pl:nom:m3"); // new: as long as the one that goes
  assert.equal(xposOffers("prep:l", "prep:acc", known).some((each) => each.endsWith("::acc")), false);
});

test("an underscore before others leaves only those", () => {
  assert.equal(offers("_ g pl", "Case=Nom|Gender=Fem", ["Case=Gen|Number=Sing"])[0], "Case=Gen|Number=Plur");
});

test("features go by a minus, or by a name without a value", () => {
  const present = "Case=Nom|Number=Sing";
  for (const text of ["-nom", "-case", "case=", "Case="]) assert.equal(offers(text, present, [])[0], "Number=Sing", text);
  assert.equal(offers("-sing gen", present, [])[0], "Case=Gen");
});

test("a feature is known from UD, in any layer, or from a known bundle", () => {
  for (const text of ["Case=Gen", "Number[psor]=Sing", "Case=Acc,Dat", "Case=", "_"]) assert.ok(isKnown(text, []), text);
  for (const text of ["Casus=Gen", "Number=Dul", "Case=Acc,Dut"]) assert.ok(!isKnown(text, []), text);
  for (const text of ["Casus=Gen", "Number=Dul"]) assert.ok(isKnown(text, ["Casus=Gen|Case=Nom", "Number=Dul"]), text);
});

test("a lemma is known, or the form with another beginning or ending", () => {
  assert.equal(lemmaOffers("b", "vraghtan", "vraghtan", [])[0], "braghtan");
  assert.deepEqual(lemmaOffers("g", "ghow", "ghow", ["gien"]).slice(0, 2), ["gow", "gien"]);
  assert.equal(lemmaOffers("co", "chooid", "chooid", [])[1], "cooid");
  assert.equal(lemmaOffers("f", "eddyn", "eddyn", [])[2], "feddyn");
  assert.equal(lemmaOffers("ke", "making", "making", [])[2], "make");
  assert.equal(lemmaOffers("b", "bus", "bu", ["bush"])[0], "bus"); // the form itself, if something else is proposed
  const offered = [...lemmaOffers("m", "making", "making", ["m"]), ...lemmaOffers("making", "making", "make", [])];
  assert.equal(offered.includes("making") || offered.includes("m"), false); // one is proposed or typed already
});

test("features that are written in full are stored as they are written", () => {
  const bundles = ["Case=Nom|Gender=Masc,Neut|Number[psor]=Sing", "NounClass=Bantu10", "Case=Nom|NounClass=Bantu1"];
  for (const typed of ["Gender=Masc", "Number=Sing", "NounClass=Bantu1", "Case=Acc,Dat", "Number[psor]=Plur"]) {
    assert.equal(offers(typed, "_", bundles)[0], typed);
    assert.equal(offers(typed, typed, bundles)[0], typed, "is there already, and no other is set");
  }
  assert.equal(offers("Case=Acc Number=Plur", "Case=Nom", bundles)[0], "Case=Acc|Number=Plur");
  assert.equal(offers("nounclass=bantu1", "Case=Gen", bundles)[0], "Case=Gen|NounClass=Bantu1");
  assert.equal(offers("Gender=Masc pl", "_", bundles)[0], "Gender=Masc|Number=Plur");
});

test("a feature with two values by two signs is none, and not the one that it begins with", () => {
  for (const typed of ["Case=Nom=x", "Case=Nom=", "case=n=s"]) assert.deepEqual(offers(typed, "_", ["Case=Nom"]), [], typed);
});

test("an XPOS that is written in full is stored as it is written", () => {
  const penn = ["NNS", "NN", "VBZ"];
  for (const typed of ["NN", "JJ", "VBD", "PUNCT"]) assert.equal(xposOffers(typed, "_", penn)[0], typed);
  assert.equal(xposOffers("NN", "NN", penn)[0], "NN", "is there already, and no other is set");
  assert.equal(xposOffers("Vmip-s", "Ncmsi", ["Ncmsi", "Vmip3p"])[0], "Vmip-s");
  assert.equal(xposOffers("fin:sg:ter:imperf", "subst:sg:nom:f", ["subst:sg:nom:f", "adj:pl:gen:f:pos"])[0], "fin:sg:ter:imperf");
  assert.equal(xposOffers("Vp", "Ncmsi", ["Ncmsi", "Afpms"])[0], "Vpmsi"); // all are equally long
});

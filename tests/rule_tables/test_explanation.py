"""What each part of a rule table gives to the arcs of a sentence, and the verbs that tell it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from wording import Wording

from dynet_vdgi.conllu import filtering, reading
from dynet_vdgi.conllu.protocols import STANDARD
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.explanation import PartByPart, alternatives
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules, parse_rules
from dynet_vdgi.settings.bundled import bundled, resources, rules_path

DEMO = resources() / "demo" / "demo-ud-test.conllu"
TABLES = sorted(bundled("rules"))


def demo(count: int = 60) -> list[Sentence]:
    text = list(reading.read(str(DEMO), heads="ignored"))[:count]
    return filtering.prepare(text, STANDARD).sentences


CONJUNCTIONS_FIRST = [Sentence.of_tags(["CONJ", "VERB", "NOUN"])] * 50


def backwards(sentence: Sentence) -> Sentence:
    columns = {
        name: getattr(sentence, name)[::-1] for name in ("forms", "tags", "feats", "xpos", "gaps")
    }
    return Sentence(**columns)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("is_mirrored", [False, True])
def test_additions_sum_to_the_potentials(name, is_mirrored):
    text = [backwards(s) for s in [*demo(), *CONJUNCTIONS_FIRST]] if is_mirrored else demo()
    prior = Prior.of_text(load_rules(rules_path(name)), text)
    pieces = PartByPart(prior)
    for sentence in text[:12]:
        additions = pieces.additions(sentence)
        total = sum(additions.values(), np.zeros((len(sentence) + 1, len(sentence) + 1)))
        np.testing.assert_allclose(total[:, 1:], prior.potentials(sentence)[:, 1:], atol=1e-9)
    assert prior.statistics.is_mirrored == (is_mirrored and name in ("best", "best-tags", "text"))


def test_each_part_adds_what_it_says():
    rules = parse_rules(
        "[links] (a)\nrule strength = 2\nROOT VERB 1\nVERB NOUN 1\nVERB ADV 1\n"
        "[names] (b)\nNOUN += PROPN\n"
        "[joined] (b)\nconjunct = 3 NOUN\n"  # the conjunction comes only with the next part
        "[kinds] (b)\nconjunction = CONJ\n"
        "[order] (d)\nexcept VERB ADV 0 left\n"
        "[near] (b)\nshort arcs = 0.5\nfrom previous = 1 ADV\n"
    )
    sentence = Sentence.of_tags(["ADV", "VERB", "NOUN", "CONJ", "NOUN", "PROPN", "ADV"])
    found = PartByPart(Prior(rules)).additions(sentence)
    # [joined] alone joins nothing
    assert list(found) == ["links", "names", "kinds", "order", "near"]
    assert found["links"][2, 3] == 2
    assert found["links"][2, 6] == 0
    assert found["names"][2, 6] == 2
    assert found["kinds"][3, 5] == 3
    assert (found["links"][2, 1], found["order"][2, 1]) == (2, -2)
    assert found["near"][6, 7] == 1
    assert found["near"][2, 7] == -0.5 * 4


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_readings_name_word_part_and_tag(is_mirrored):
    rules = parse_rules(
        "[turn] (c)\nreading order = CONJ\n[links] (a)\nrule strength = 1\nROOT VERB 1\n"
        "[copulas] (d)\nnominal predicate = 1 AUX | NOUN ; as VERB\n"
        "[symbols] (b)\ndistinguish = DET ; as Art"
    )
    tags = ["DET", "PRON", "AUX", "NOUN"]
    text = [Sentence(("x",) * 3, ("CONJ", "NOUN", "NOUN"), feats=("A=B",) * 3)] * 30
    sentence = Sentence(("x",) * 4, tuple(tags), feats=("A=B",) * 4)
    if is_mirrored:
        text, sentence = [backwards(s) for s in text], backwards(sentence)
    prior = Prior.of_text(rules, text)
    assert prior.statistics.is_mirrored == is_mirrored
    found = {(r.word, r.part, str(r)) for r in PartByPart(prior).readings(sentence)}
    words = (1, 4) if is_mirrored else (4, 1)
    assert found == {(words[0], "copulas", "read as VERB"), (words[1], "symbols", "symbol DET+Art")}


def test_the_alternative_is_in_the_best_tree_without_the_arc():
    potentials = np.zeros((4, 4))
    potentials[0, 1], potentials[1, 2], potentials[2, 3], potentials[1, 3] = 5.0, 3.0, 2.0, 1.0
    found = alternatives(potentials, (0, 1, 2))
    assert [(a.word, a.head) for a in found] == [(1, 0), (2, 1), (3, 2)]
    assert found[2].other == 1
    assert found[1].other == 3
    assert alternatives(np.zeros((2, 2)), (0,))[0].other == -1


def test_tables_grow_part_by_part_to_the_whole():
    rules = load_rules(rules_path("best"))
    grown = list(rules.growing())
    assert [part for part, _ in grown] == list(rules.parts)
    assert grown[-1][1].meaning == rules.meaning
    assert len(grown[0][1].rules) < len(rules.rules)


def test_explain_tells_measures_score_tree_and_parts(vdgi, wording: Wording):
    whole = vdgi.good("rules", "explain", DEMO).out
    wording.lines(whole, "rules alone")
    one = vdgi.good("rules", "explain", DEMO, "--sentence", "demo-test-0002").out
    wording.lines(one, "rules alone")
    assert vdgi.good("rules", "explain", DEMO, "--sentence", "2").out == one
    tables = one[one.index("\n1 Këkalk NOUN") :].strip().split("\n\n")
    assert len(tables) == 5
    for lines in tables:
        rows = [re.findall(r"[+-]\d+\.\d\d", line) for line in lines.splitlines()[2:]]
        *parts, total = [[float(number) for number in row] for row in rows]
        assert np.sum(parts, axis=0) == pytest.approx(total, abs=0.03)
    less = vdgi.good("rules", "explain", DEMO, "--sentence", "2", "--without", "markers").out
    assert "[markers]" in one
    assert "[markers]" not in less


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("rules foo", 2, "vdgi rules: error: no task 'foo' (there are: show, explain, estimate"),
        ("rules explian x", 2, "no task 'explian'; did you mean 'explain'? (there are:"),
        ("rules show bets", 4, "no rules 'bets'; did you mean 'best'?"),
        ("rules show best --without agreemnt", 4, "no part 'agreemnt'; did you mean 'agreement'?"),
        (
            "rules show best --without measures",
            4,
            "another part cannot do without what was left out",
        ),
        ("rules explain DEMO --sentence dem-test-0002", 2, "did you mean 'demo-test-0002'?"),
        (
            "rules explain DEMO --sentence 201",
            2,
            "--sentence 201: no sentence with words has this number",
        ),
        ("rules explain DEMO --width 10", 2, "--width 10: must be at least 40"),
        ("rules explain nowhere.conllu", 2, "no such file: 'nowhere.conllu'"),
        (
            "train --preset best --train DEMO --out OUT --without agreemnt",
            4,
            "no part 'agreemnt'; did you mean 'agreement'?",
        ),
        (
            "train --preset best --train DEMO --out OUT --rules ud --without x",
            4,
            "no part 'x' (there are: none)",
        ),
        (
            "train --trees DEMO --preset supervised --out OUT --without x",
            2,
            "--without would have no effect",
        ),
    ],
)
def test_what_is_refused(vdgi, tmp_path: Path, arguments, status, message):
    places = {"DEMO": str(DEMO), "OUT": str(tmp_path / "run")}
    result = vdgi(*(places.get(word, word) for word in arguments.split()))
    assert result.status == status, result.err
    assert message in result.err
    assert result.out == ""
    assert not (tmp_path / "run").exists()


def test_a_model_is_trained_without_a_part(vdgi, tmp_path: Path, wording: Wording):
    from dynet_vdgi.models import model_file

    quick = ["--set", "teacher.iterations=2", "--set", "teacher.valence_iterations=1"]
    quick += [
        "--set",
        "parser.log2_buckets=10",
        "--train",
        str(DEMO),
        "--out",
        str(tmp_path / "run"),
    ]
    vdgi.good(
        "train", "--preset", "best", *quick, "--without", "following conjunct", "--without", "names"
    )
    rules = model_file.load(tmp_path / "run" / "model.vdgi").rules
    assert rules.left_out == ["following conjunct", "names"]
    assert (
        rules.meaning
        == load_rules(rules_path("best")).without("names", "following conjunct").meaning
    )
    out = vdgi.good("info", tmp_path / "run").out
    wording.lines(out, "rules without")
    resumed = vdgi("train", "--preset", "best", *quick, "--resume")
    wording.lines(resumed.err, "its rules")

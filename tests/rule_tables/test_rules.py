"""Rule files, rule counts, and the arc potentials made of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.rules import count, load_rules, parse_rules
from dynet_vdgi.settings.bundled import rules_path

UD = (
    "ROOT>VERB ROOT>NOUN VERB>NOUN VERB>ADV VERB>VERB VERB>AUX "
    "NOUN>ADJ NOUN>DET NOUN>NUM NOUN>NOUN NOUN>CONJ NOUN>ADP ADJ>ADV"
)


def test_shipped_rules_are_the_thirteen():
    rules = load_rules(rules_path("ud"))
    assert " ".join(map(str, rules.rules)) == UD
    assert set(rules.expectations) == {0.5}
    assert not rules.classes


def test_authors_files_can_be_read(data_dir):
    rules = load_rules(data_dir / "authors_fr" / "fr_10_gt.txt")
    assert sorted(map(str, rules.rules)) == sorted(UD.split())
    assert rules.expectations.max() == 0.828


def test_counts_are_those_of_a_loop():
    rules = parse_rules("N = NOUN PROPN\nROOT VERB .5\nVERB N 1\nN DET 0.25\n")
    tags = ("DET", "NOUN", "PROPN", "VERB")
    sentence = ["DET", "NOUN", "VERB", "PROPN", "DET"]
    rng = np.random.default_rng(0)
    trees = [tuple(int(h) for h in rng.integers(0, 6, 5)) for _ in range(20)]
    counts = count(rules.index(tags), len(rules), [tags.index(t) for t in sentence], trees)
    for tree, row in zip(trees, counts):
        arcs = Counter(
            ("ROOT" if h == 0 else sentence[h - 1], tag) for h, tag in zip(tree, sentence)
        )
        nouns = ("NOUN", "PROPN")
        expected = [
            arcs["ROOT", "VERB"],
            sum(arcs["VERB", n] for n in nouns),
            sum(arcs[n, "DET"] for n in nouns),
        ]
        assert row.tolist() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.txt: no rules"),
        ("# only a comment\n", "r.txt: no rules"),
        (
            "ROOT VERB\n",
            "r.txt:1: expected head tag, dependent tag and expectation, found 2 columns",
        ),
        (
            "ROOT VERB 0.5 0.5\n",
            "r.txt:1: expected head tag, dependent tag and expectation, found 4 columns",
        ),
        ("\nROOT VERB half\n", "r.txt:2: expectation must be a number (found half)"),
        ("ROOT VERB -1\n", "r.txt:1: expectation must be 0 or more (found -1)"),
        ("ROOT VERB nan\n", "r.txt:1: expectation must be 0 or more (found nan)"),
        ("ROOT VERB inf\n", "r.txt:1: expectation must be 0 or more (found inf)"),
        ("VERB ROOT 1\n", "r.txt:1: ROOT cannot be a dependent"),
        (
            "ROOT VERB 1\n# x\nROOT VERB 2\n",
            "r.txt:3: ROOT>VERB is already matched by the rule in line 1",
        ),
        (
            "N = NOUN PROPN\nROOT N 1\nROOT PROPN 2\n",
            "r.txt:3: ROOT>PROPN is already matched by the rule in line 2",
        ),
        ("N = \nROOT N 1\n", "r.txt:1: expected a tag class such as NOUN = NOUN PROPN"),
        ("N = A\nN = B\nROOT N 1\n", "r.txt:2: class N is declared twice"),
        ("ROOT = A\nROOT A 1\n", "r.txt:1: ROOT cannot be part of a class"),
        ("N = ROOT A\nN A 1\n", "r.txt:1: ROOT cannot be part of a class"),
    ],
)
def test_faults_are_named_with_file_and_line(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_rules(text, "r.txt")
    assert message in str(caught.value)


def test_all_faults_are_told_at_once_in_the_order_of_lines():
    table = "[a] (a)\nrule strength = 1\nA B far\nA C 1\nshort arcs = -5\nA C 1\n"
    with pytest.raises(ConfigError) as caught:
        parse_rules(table, "r.txt")
    assert str(caught.value).split("\n") == [
        "r.txt:3: weight must be a number (found far)",
        "r.txt:5: 'short arcs' must be 0 or more (found -5)",
        "r.txt:6: A>C is already matched by the rule in line 4; change line 4, or write 'except A C 1'",
    ]
    with pytest.raises(ConfigError) as caught:
        parse_rules("A B\n" * 30, "r.txt")
    assert str(caught.value).split("\n")[19:] == [
        "r.txt:20: expected head tag, dependent tag and expectation, found 2 columns",
        "r.txt: 10 more faults",
    ]


def test_a_doubled_rule_is_told_with_its_remedy():
    table = "[a] (a)\nrule strength = 1\nN += M\nV N 1\nV M .5 left\n"
    remedy = "change line 4, or write 'except V M 0.5 left'"
    with pytest.raises(
        ConfigError, match=f"r.txt:5: V>M is already matched by the rule in line 4; {remedy}$"
    ):
        parse_rules(table, "r.txt")
    assert parse_rules(table.replace("V M .5", "except V M .5"), "r.txt").table.exceptions

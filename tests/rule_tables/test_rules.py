"""Rule files, rule counts, and the arc potentials made of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from wording import Wording

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
    "text",
    [
        "",
        "# only a comment\n",
        "ROOT VERB\n",
        "ROOT VERB 0.5 0.5\n",
        "\nROOT VERB half\n",
        "ROOT VERB -1\n",
        "ROOT VERB nan\n",
        "ROOT VERB inf\n",
        "VERB ROOT 1\n",
        "ROOT VERB 1\n# x\nROOT VERB 2\n",
        "N = NOUN PROPN\nROOT N 1\nROOT PROPN 2\n",
        "N = \nROOT N 1\n",
        "N = A\nN = B\nROOT N 1\n",
        "ROOT = A\nROOT A 1\n",
        "N = ROOT A\nN A 1\n",
    ],
)
def test_faults_are_named_with_file_and_line(text, wording: Wording):
    with pytest.raises(ConfigError) as caught:
        parse_rules(text, "r.txt")
    wording.check(caught.value)


def test_all_faults_are_told_at_once_in_the_order_of_lines(wording: Wording):
    table = "[a] (a)\nrule strength = 1\nA B far\nA C 1\nshort arcs = -5\nA C 1\n"
    with pytest.raises(ConfigError) as caught:
        parse_rules(table, "r.txt")
    wording.check(str(caught.value).split("\n"))
    with pytest.raises(ConfigError) as caught:
        parse_rules("A B\n" * 30, "r.txt")
    wording.check(str(caught.value).split("\n")[19:])


def test_a_doubled_rule_is_told_with_its_remedy(wording: Wording):
    table = "[a] (a)\nrule strength = 1\nN += M\nV N 1\nV M .5 left\n"
    with wording.raises(ConfigError):
        parse_rules(table, "r.txt")
    assert parse_rules(table.replace("V M .5", "except V M .5"), "r.txt").table.exceptions

"""The 13 rules for Penn Treebank tags: their classes, the table of pairs, and what they hold for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynet_vdgi.conllu import reading
from dynet_vdgi.rule_tables import expectations
from dynet_vdgi.rule_tables.rules import count, load_rules
from dynet_vdgi.rule_tables.table import ROOT
from dynet_vdgi.settings.bundled import rules_path

NAMES = (
    "ROOT>AUX ROOT>VERB VERB>NOUN VERB>PRON VERB>ADV VERB>VERB AUX>VERB "
    "NOUN>ADJ NOUN>ART NOUN>NOUN NOUN>NUM PREP>NOUN ADJ>ADV"
)
"""Naseem et al. (2010), as in the paper's supplement."""

CLASSES = {
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "AUX": "MD",
    "ADV": "RB RBR RBS WRB",
    "NOUN": "NN NNS NNP NNPS",
    "PRON": "PRP PRP$ WP WP$",
    "ADJ": "JJ JJR JJS",
    "ART": "DT PDT WDT",
    "NUM": "CD",
    "PREP": "IN",
}
"""As in the released evaluation code."""

COARSE, PAIRS = (load_rules(rules_path(name)) for name in ("wsj", "wsj-pairs"))

SIZES = (1, 6, 24, 24, 24, 36, 6, 12, 12, 16, 4, 4, 12)
"""Pairs of each rule, by hand from the classes."""


def test_the_rules_are_the_thirteen_of_the_paper() -> None:
    assert " ".join(map(str, COARSE.rules)) == NAMES
    assert COARSE.classes == {name: tuple(tags.split()) for name, tags in CLASSES.items()}
    assert set(COARSE.expectations) == {0.5}


def test_the_table_of_pairs_is_their_expansion() -> None:
    expanded = [
        (h, d) for rule in COARSE.rules for h in COARSE.heads(rule) for d in COARSE.dependents(rule)
    ]
    assert [(rule.head, rule.dependent) for rule in PAIRS.rules] == expanded
    assert len(PAIRS) == len(set(expanded)) == sum(SIZES) == 181
    owner = list(COARSE.pairs().values())
    assert tuple(owner.count(k) for k in range(13)) == SIZES
    assert set(PAIRS.expectations) == {0.5}
    assert not PAIRS.classes


def test_counts_of_a_rule_are_those_of_its_pairs() -> None:
    tags = sorted({tag for pair in PAIRS.pairs() for tag in pair} - {ROOT} | {"CC", "TO", "$"})
    rng = np.random.default_rng(3)
    owner = np.array(list(COARSE.pairs().values()))
    seen = np.zeros(181)
    for _ in range(30):
        n_words = 40
        sentence = rng.integers(len(tags), size=n_words)
        trees = rng.integers(n_words + 1, size=(20, n_words))  # any heads will do
        coarse = count(COARSE.index(tags), 13, sentence.tolist(), trees.tolist())
        pairs = count(PAIRS.index(tags), 181, sentence.tolist(), trees.tolist())
        assert (
            coarse == np.stack([pairs[:, owner == k].sum(axis=1) for k in range(13)], axis=1)
        ).all()
        seen += pairs.sum(axis=0)
    assert seen.all()  # every pair was put to the test


@pytest.fixture(scope="module")
def sample(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample of the Wall Street Journal as CoNLL-U."""
    from dynet_vdgi import cli

    path = tmp_path_factory.mktemp("wsj") / "sample.conllu"
    folder = data_dir / "wsj_sample" / "treebank" / "combined"
    assert cli.main(["-q", "convert", "wsj", str(folder), "-o", str(path)]) == 0
    return path


def test_rules_hold_for_as_many_arcs_as_was_measured(sample: Path) -> None:
    """Without this program, 72 % of the gold arcs up to ten words were found covered."""
    sentences = expectations.sentences_for_estimate(
        reading.read(sample, heads="required", tags="xpos")
    )
    assert (len(sentences.sentences), sentences.n_words) == (537, 3704)
    coarse, pairs = (expectations.estimate(sentences.sentences, rules) for rules in (COARSE, PAIRS))
    assert sum(coarse.arcs) == sum(pairs.arcs)
    assert 0.72 <= sum(coarse.arcs) / sentences.n_words < 0.73
    owner = list(COARSE.pairs().values())
    for k in range(13):
        mine = [i for i in range(181) if owner[i] == k]
        assert coarse.arcs[k] == sum(pairs.arcs[i] for i in mine)
        assert coarse.pairs[k] == sum(pairs.pairs[i] for i in mine)

"""Exact decoding against enumeration of all projective trees."""

from __future__ import annotations

import brute_force
import numpy as np
import pytest

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.evaluation.rules_only import break_ties, rules_only
from dynet_vdgi.inference import eisner
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import parse_rules
from dynet_vdgi.settings.bundled import rules_path


def score(matrix, tree):
    return sum(matrix[head, dependent] for dependent, head in enumerate(tree, 1))


@pytest.mark.parametrize("n", range(1, 6))
def test_the_best_of_all_trees_is_found(n):
    matrices = np.random.default_rng(n).normal(size=(40, n + 1, n + 1))
    trees = brute_force.projective_trees(n)
    for matrix, heads in zip(matrices, map(eisner.best, matrices)):
        assert heads in trees
        assert score(matrix, heads) == pytest.approx(max(score(matrix, tree) for tree in trees))


def test_one_root_even_if_several_would_score_more():
    matrix = np.zeros((5, 5))
    matrix[0, :] = 10.0
    assert eisner.best(matrix).count(0) == 1


def test_ties_fall_at_random_and_repeat_with_the_seed():
    flat = [np.zeros((4, 4))] * 200
    first = [
        [eisner.best(break_ties(m, rng)) for m in flat]
        for rng in map(np.random.default_rng, (1, 1, 2))
    ]
    assert first[0] == first[1] != first[2]
    assert set(first[0]) == set(brute_force.projective_trees(3))


def test_rules_only_finds_the_tree_with_most_rules():
    prior = Prior(parse_rules("ROOT VERB 1\nVERB NOUN 1\nNOUN DET 1"))
    for seed in range(3):
        assert rules_only(
            [Sentence.of_tags(["DET", "NOUN", "VERB", "DET", "NOUN"])], prior, seed
        ) == [(2, 3, 0, 5, 3)]


def test_rules_only_on_basque_is_as_measured_before(data_dir):
    from dynet_vdgi.conllu import filtering, protocols, reading
    from dynet_vdgi.evaluation.attachment import score as attachment_score
    from dynet_vdgi.rule_tables.rules import load_rules

    path = data_dir / "ud14" / "eu-ud-test.conllu"
    sentences = filtering.prepare(reading.read(str(path)), protocols.STANDARD, max_len=15).sentences
    prior = Prior(load_rules(rules_path("ud")))
    dda = attachment_score(sentences, rules_only(sentences, prior, 0)).dda
    assert 0.505 < dda < 0.525  # 51.5 is the mean of five seeds; "first split wins" would give 53.2

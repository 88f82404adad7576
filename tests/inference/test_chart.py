"""The chart against the enumeration of all trees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from brute_force import projective_trees
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.conllu.punctuation import is_projective
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.inference import eisner


def random_scores(n, seed, forbidden=0.0):
    rng = np.random.default_rng(seed)
    scores = 2 * rng.normal(size=(n + 1, n + 1))
    scores[rng.random(scores.shape) < forbidden] = -np.inf
    return scores


def score_of(scores, heads):
    return sum(scores[head, dependent] for dependent, head in enumerate(heads, 1))


def enumerated(scores, heads=None):
    """All trees that contain these heads, with their scores, the best first."""
    n = len(scores) - 1
    trees = [
        tree
        for tree in projective_trees(n)
        if heads is None or all(given in (FREE, head) for given, head in zip(heads, tree))
    ]
    scored = [(score_of(scores, tree), tree) for tree in trees]
    return sorted([pair for pair in scored if pair[0] > -math.inf], reverse=True)


sizes_and_seeds = given(st.integers(1, 6), st.integers(0, 10_000))


@sizes_and_seeds
def test_log_partition_and_marginals_are_those_of_the_enumeration(n, seed):
    scores = random_scores(n, seed)
    trees = enumerated(scores)
    log_z = np.logaddexp.reduce([score for score, _ in trees])
    expected = np.zeros((n + 1, n))
    for score, heads in trees:
        expected[list(heads), range(n)] += math.exp(score - log_z)
    assert eisner.log_partition(scores) == pytest.approx(log_z, abs=1e-9)
    assert eisner.marginals(scores) == pytest.approx(expected, abs=1e-9)


@sizes_and_seeds
def test_forbidden_arcs_are_in_no_tree(n, seed):
    scores = random_scores(n, seed, forbidden=0.4)
    trees = enumerated(scores)
    if not trees:
        with pytest.raises(ValueError, match="no projective"):
            eisner.log_partition(scores)
        with pytest.raises(ValueError, match="no projective"):
            eisner.best(scores)
        return
    assert eisner.log_partition(scores) == pytest.approx(
        np.logaddexp.reduce([s for s, _ in trees]), abs=1e-9
    )
    assert (eisner.marginals(scores)[scores[:, 1:] == -np.inf] == 0).all()
    assert eisner.best(scores) == trees[0][1]


@given(st.integers(1, 5), st.integers(0, 10_000), st.data())
def test_constraints_leave_the_trees_that_contain_them(n, seed, data):
    tree = data.draw(st.sampled_from(projective_trees(n)))
    given_heads = [head if data.draw(st.booleans()) else FREE for head in tree]
    scores = random_scores(n, seed)
    trees = enumerated(scores, given_heads)
    constrained = eisner.constrained_scores(scores, given_heads)
    assert eisner.best(constrained) == trees[0][1]
    assert eisner.log_partition(constrained) == pytest.approx(
        np.logaddexp.reduce([s for s, _ in trees])
    )


def test_marginals_are_the_slopes_of_log_partition():
    scores, step = random_scores(6, 3), 1e-5
    marginals = eisner.marginals(scores)
    for head, dependent in ((0, 3), (2, 5), (5, 2), (1, 6)):
        up, down = scores.copy(), scores.copy()
        up[head, dependent] += step
        down[head, dependent] -= step
        slope = (eisner.log_partition(up) - eisner.log_partition(down)) / (2 * step)
        assert marginals[head, dependent - 1] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("n", [30, 120])
def test_long_sentences_have_one_tree_and_sums_that_agree(n):
    scores = random_scores(n, n)
    heads = eisner.best(scores)
    assert is_projective(heads)
    assert heads.count(0) == 1
    assert score_of(scores, heads) < eisner.log_partition(scores)
    marginals = eisner.marginals(scores)
    assert score_of(scores, heads) > score_of(scores, eisner.expected_best(marginals[:, ::-1]))
    assert score_of(scores, heads) >= score_of(scores, eisner.expected_best(marginals))
    assert marginals.sum(axis=0) == pytest.approx(np.ones(n))
    assert marginals[0].sum() == pytest.approx(1)


@pytest.mark.parametrize("size", [1e-3, 30, 1000])
def test_sums_stay_finite_however_far_apart_scores_are(size):
    scores = size * random_scores(40, 1)
    assert math.isfinite(eisner.log_partition(scores))
    assert eisner.marginals(scores).sum(axis=0) == pytest.approx(np.ones(40))


def test_expected_best_is_the_tree_with_the_highest_sum_of_marginals():
    marginals = eisner.marginals(random_scores(5, 8))
    total = {tree: sum(marginals[h, d] for d, h in enumerate(tree)) for tree in projective_trees(5)}
    assert eisner.expected_best(marginals) == max(total, key=total.get)


@pytest.mark.parametrize(
    "scores",
    [
        np.zeros((2, 3)),
        np.full((3, 3), np.nan),
        np.full((3, 3), np.inf),
    ],
)
def test_other_scores_are_refused(scores, wording: Wording):
    with wording.raises(ValueError):
        eisner.best(scores)

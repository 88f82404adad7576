"""HDP-DEP: sums against enumeration, the bound, the projection, and the plain Bayesian DMV it
contains."""

from __future__ import annotations

import math
from itertools import product

import brute_force
import numpy as np
import pytest
import taught
from scipy.optimize import approx_fprime
from scipy.special import digamma, gammaln

from dynet_vdgi.rivals import hdp_dep
from dynet_vdgi.rivals.hdp_dep import (
    EmittedWords,
    HdpDep,
    HdpModel,
    HiddenText,
    best_betas,
    fit,
    projected,
)
from dynet_vdgi.rivals.sums import TreeWeights
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.unsupervised.dmv_model import Packed

N_TAGS, N_SUBS = 3, 2


def decisions(tree):
    """Each word with side, valence, and the child, or 0 for stopping."""
    for head, side, n_before, _, child in brute_force.decisions(tree):
        yield head, side, min(n_before, 2), child


def random_weights(rng, n_words=4):
    shapes = (
        (N_TAGS, N_SUBS),
        (N_TAGS, N_SUBS, 2, 3, N_TAGS, N_SUBS),
        (N_TAGS, N_SUBS, 2, 3),
        (n_words, N_SUBS),
    )
    return TreeWeights(*(rng.uniform(0.05, 1, shape) for shape in shapes))


def explained(weights, tags, emitted, potentials, tree, subs):
    """The weight of a tree and its subsymbols, and counts of its decisions shaped as the weights."""
    counts, value = TreeWeights(*(np.zeros_like(array) for array in weights)), 1.0

    def take(name, *where):
        nonlocal value
        value *= getattr(weights, name)[where]
        getattr(counts, name)[where] += 1

    root = tree.index(0)
    take("root", tags[root], subs[root])
    for head, side, valence, child in decisions(tree):
        own = (tags[head - 1], subs[head - 1], side, valence)
        if child:
            take("choose", *own, tags[child - 1], subs[child - 1])
        else:
            take("stop", *own)
    for word, head in enumerate(tree, 1):
        take("emit", emitted[word - 1], subs[word - 1])
        value *= math.exp(potentials[head, word])
    return value, counts


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_sums_and_counts_are_those_of_all_trees_and_subsymbols(n):
    rng = np.random.default_rng(n)
    weights = random_weights(rng)
    tags, emitted = rng.integers(0, N_TAGS, n), rng.integers(0, 4, n)
    potentials, follows = rng.normal(0, 2, (n + 1, n + 1)), rng.random((n + 1, n)) < 0.5
    multiplier = 0.7
    with_rules = potentials.copy()
    with_rules[:, 1:] -= multiplier * ~follows
    every = product(brute_force.projective_trees(n), product(range(N_SUBS), repeat=n))
    found = [
        (tree, *explained(weights, tags, emitted, with_rules, tree, subs)) for tree, subs in every
    ]
    z = sum(value for _, value, _ in found)
    text = HiddenText(Packed.of([tags], [potentials], N_TAGS), emitted, follows.ravel())
    expected = text.expected(weights, multiplier)
    assert expected.log_z == pytest.approx(math.log(z))
    for field, mine in zip(TreeWeights._fields, expected.counts):
        assert np.allclose(
            mine, sum(value * getattr(counts, field) for _, value, counts in found) / z
        )
    arcs = np.zeros((n + 1, n))
    for tree, value, _ in found:
        arcs[list(tree), range(n)] += value / z
    assert np.allclose(expected.arcs.reshape(n + 1, n), arcs)
    assert text.share_without(expected) * n == pytest.approx(arcs[~follows].sum())


def test_long_sentences_leave_the_range_of_floats_and_come_back():
    rng = np.random.default_rng(3)
    tags = rng.integers(0, N_TAGS, 70)
    weights = TreeWeights(*(array * 1e-3 for array in random_weights(rng)))
    text = HiddenText(
        Packed.of([tags], [np.zeros((71, 71))], N_TAGS), tags, np.ones(70 * 71, dtype=np.bool_)
    )
    more = text.expected(weights._replace(stop=weights.stop * 1e-6), 0.0)
    expected = text.expected(weights, 0.0)
    # each word stops twice
    assert more.log_z == pytest.approx(expected.log_z + 140 * math.log(1e-6))
    assert np.allclose(more.arcs, expected.arcs)


def sentences(rng, n_sentences):
    tags = [rng.integers(0, N_TAGS, rng.integers(2, 5)).tolist() for _ in range(n_sentences)]
    return tags, [[f"w{rng.integers(0, 3)}" for _ in row] for row in tags]


def hidden_text(rng, n_sentences):
    tags, forms = sentences(rng, n_sentences)
    potentials = [rng.normal(0, 1, (len(row) + 1, len(row) + 1)) for row in tags]
    lexicon = EmittedWords.of(tags, forms, N_TAGS)
    packed = Packed.of(tags, potentials, N_TAGS)
    emitted = [k for both in zip(tags, forms) for k in lexicon.numbers(*both)]
    table = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.bool_)
    follows = [table[[0, *(k + 1 for k in row)]][:, row].ravel() for row in tags]
    return HiddenText(packed, np.array(emitted), np.concatenate(follows)), lexicon


@pytest.mark.parametrize("share", [0.65])
def test_the_projection_reaches_the_share_and_no_more(share):
    text, lexicon = hidden_text(np.random.default_rng(5), 30)
    weights = HdpModel.start(N_TAGS, 2, lexicon, 1).weights()
    free = text.expected(weights, 0.0)
    assert 1 - text.share_without(free) < 0.55
    for start in (0.0, 1.0, 9.0):
        multiplier, expected = projected(text, weights, share, start)
        assert multiplier > 0
        assert 1 - text.share_without(expected) == pytest.approx(share, abs=hdp_dep.TOLERANCE)
        # The dual's derivative is 0 there, so log Z + multiplier * bound is at its lowest.
        bound = (1 - share) * text.n_words
        dual = [
            text.expected(weights, at).log_z + at * bound
            for at in (multiplier - 0.1, multiplier + 0.1)
        ]
        assert min(dual) > expected.log_z + multiplier * bound
    assert projected(text, weights, 0.3, 5.0)[0] == 0  # complementary slackness: it holds anyway
    multiplier, expected = projected(text, weights, 0.999, 0.0)
    assert multiplier == hdp_dep.MOST_MULTIPLIER
    assert text.share_without(expected) > 0.001


def test_one_subsymbol_is_the_variational_bayesian_dmv():
    """By enumeration, without words: E-steps with exp(digamma(a) - digamma(sum a)), pseudo-counts
    of 1."""
    rng = np.random.default_rng(6)
    tags, _ = sentences(rng, 12)
    potentials = [rng.normal(0, 1, (len(row) + 1, len(row) + 1)) for row in tags]
    lexicon = EmittedWords.of(tags, [["_"] * len(row) for row in tags], N_TAGS)
    emitted = np.array([k for row in tags for k in lexicon.numbers(row, ["_"] * len(row))])
    packed = Packed.of(tags, potentials, N_TAGS)
    text = HiddenText(packed, emitted, np.ones(len(packed.potentials), dtype=np.bool_))
    mine = fit(text, HdpModel.start(N_TAGS, 1, lexicon, 1), 0.0, 3)

    def expectation(pseudo):
        return np.exp(digamma(pseudo) - digamma(pseudo.sum(-1, keepdims=True)))

    shape = (N_TAGS, 2, 3)
    stop, choose, root = np.ones((*shape, 2)), np.ones((*shape, N_TAGS)), np.ones(N_TAGS)
    for _ in range(3):
        p_stop, p_choose, p_root = expectation(stop), expectation(choose), expectation(root)
        stop, choose, root = np.ones_like(stop), np.ones_like(choose), np.ones_like(root)
        for row, potential in zip(tags, potentials):
            trees, values = brute_force.projective_trees(len(row)), []
            for tree in trees:
                value = p_root[row[tree.index(0)]]
                value *= math.exp(sum(potential[head, word] for word, head in enumerate(tree, 1)))
                for head, side, valence, child in decisions(tree):
                    own = (row[head - 1], side, valence)
                    value *= (
                        p_stop[own][1] * p_choose[own][row[child - 1]] if child else p_stop[own][0]
                    )
                values.append(value)
            for tree, share in zip(trees, np.array(values) / sum(values)):
                root[row[tree.index(0)]] += share
                for head, side, valence, child in decisions(tree):
                    own = (row[head - 1], side, valence)
                    stop[own][1 if child else 0] += share
                    if child:
                        choose[own][row[child - 1]] += share
    assert np.allclose(mine.stop.reshape(stop.shape), stop)
    assert np.allclose(mine.tags[:-1].reshape(choose.shape), choose)
    assert np.allclose(mine.tags[-1], root)


def test_sticks_are_broken_where_the_bound_is_highest():
    rng = np.random.default_rng(7)
    counts = rng.gamma(0.5, 6, (9, 2, 3))
    start = rng.dirichlet(np.ones(3), 2)
    found = best_betas(counts, start)
    assert np.allclose(found.sum(axis=1), 1)

    def objective(betas):
        prior = hdp_dep.CONCENTRATION * betas
        return float((gammaln(prior + counts) - gammaln(prior)).sum()) + hdp_dep.log_gem(betas)

    assert objective(found) > objective(start)

    def along(step):  # moves mass between the pieces of the first stick
        betas = found.copy()
        betas[0] += np.array([step[0], step[1], -step[0] - step[1]])
        return objective(betas)

    assert np.abs(approx_fprime(np.zeros(2), along, 1e-6)).max() < 0.05
    one = best_betas(counts[..., :1], np.ones((2, 1)))
    assert one.tolist() == [[1], [1]]
    # of what is left
    assert hdp_dep.log_gem(np.array([[0.5, 0.3, 0.2]])) == pytest.approx(-math.log(0.5))


@pytest.fixture(scope="module")
def demo():
    return taught.demo(60)


def test_the_teacher_keeps_the_share_and_the_seed_counts(demo):
    prior = Prior.of_text(load_rules(rules_path("hdp-dep")), demo)
    teacher = HdpDep(iterations=6, subsymbols=2, share=0.9).fit(demo, prior)
    last = teacher.log_rows()[-1]
    assert last["share"] == pytest.approx(0.9, abs=1e-3)
    assert last["multiplier"] > 0
    other = HdpDep(iterations=6, subsymbols=2, share=0.9, seed=2).fit(demo, prior)
    assert other.log_rows()[-1]["log_z"] != last["log_z"]

"""Posterior regularisation against its definition, finite differences and exact expectations."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import dual, projective_trees
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.paper.posterior import (
    Lambda,
    RateOfPairs,
    RuleCounts,
    dual_gradient,
    effective_samples,
    gamma,
    log_z,
)
from dynet_vdgi.paper.released import MomentumLambda
from dynet_vdgi.paper.settings import PosteriorSettings
from dynet_vdgi.paper.stages import rule_counts
from dynet_vdgi.rule_tables.rules import load_rules, parse_rules
from dynet_vdgi.settings.bundled import rules_path

CASES = st.integers(0, 10_000)


def case(seed, m=20, k=4):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (m, k)).astype(float), rng.gamma(1.0, 1.0, k), rng.uniform(0, 1, k)


@given(CASES)
def test_gamma_is_exp_lambda_counts_over_z_with_mean_one(seed):
    counts, lam, _ = case(seed)
    phi = -counts  # the paper's features are negative counts
    z = np.mean([np.exp(-lam @ row) for row in phi])
    assert gamma(counts, lam) == pytest.approx([np.exp(-lam @ row) / z for row in phi])
    assert log_z(counts, lam) == pytest.approx(np.log(z))
    assert gamma(counts, lam).mean() == pytest.approx(1.0)


def test_large_lambda_does_not_overflow():
    counts, lam, _ = case(1)
    g = gamma(counts, 1e4 * lam)
    assert np.isfinite(g).all()
    assert g.mean() == pytest.approx(1.0)
    assert effective_samples(g) == pytest.approx(1.0)


@given(CASES)
def test_gradient_of_the_dual_by_finite_differences(seed):
    counts, lam, e = case(seed)
    lam = lam + 0.01
    numeric = [
        (dual(counts, lam + step, e, 0.1) - dual(counts, lam - step, e, 0.1)) / 2e-6
        for step in 1e-6 * np.eye(len(lam))
    ]
    assert dual_gradient(counts, lam, e, 0.1) == pytest.approx(numeric, abs=1e-6)


# The E'-step of the paper on all trees of small sentences: Q of Eq. 8 is not empty, and lambda
# solves Eq. 11's dual

RULES = parse_rules(
    "ROOT VERB .5\nROOT NOUN .5\nVERB NOUN .5\nNOUN NOUN .5\nNOUN ADJ .25\nADJ ADV .5\n"
)
TAGS = ("ADJ", "ADV", "NOUN", "VERB", "X")
SENTENCES = ["NOUN VERB", "VERB NOUN NOUN", "ADJ NOUN VERB", "X NOUN NOUN VERB", "ADV ADJ X", "X X"]


def encoded(tags):
    ids = tuple(TAGS.index(tag) + 1 for tag in tags.split())
    return Encoded(ids, (0,) * len(ids))


def rule_arcs(tags, heads):
    """Counts (K,) of the rules in one tree, one arc after the other."""
    of, counts = tags.split(), np.zeros(len(RULES))
    for dependent, head in enumerate(heads):
        for k, rule in enumerate(RULES.rules):
            counts[k] += (of[head - 1] if head else "ROOT", of[dependent]) == (
                rule.head,
                rule.dependent,
            )
    return counts


def drawn(tags, rng):
    """All trees of a sentence, each one to four times, as if they were samples; their counts (M,
    K)."""
    trees = [
        tree for tree in projective_trees(len(tags.split())) for _ in range(rng.integers(1, 5))
    ]
    return np.array([rule_arcs(tags, tree) for tree in trees])


def solved(counts, expected, epsilon, steps=20000, lr=0.2):
    lam = Lambda(np.zeros(len(expected[0])), lr, epsilon)
    for _ in range(steps):
        for of_sentence, e in zip(counts, expected):
            lam.end_sentence(of_sentence, e)
        lam.end_batch(len(counts))
    return lam.value


def counted_rates(rng):
    """The rules with numbers that a tree of each sentence holds: arcs by pairs of words."""
    trees = {tags: list(projective_trees(len(tags.split()))) for tags in SENTENCES}
    held = sum(rule_arcs(tags, of[rng.integers(len(of))]) for tags, of in trees.items())
    one = parse_rules("".join(f"{rule.head} {rule.dependent} 1\n" for rule in RULES.rules))
    pairs = RateOfPairs(one, TAGS)
    rates = held / sum(pairs.expectations(encoded(tags)) for tags in SENTENCES)
    return parse_rules(
        "".join(f"{r.head} {r.dependent} {x:.6f}\n" for r, x in zip(RULES.rules, rates))
    )


@pytest.mark.parametrize("share", [0.5, 0.95, 1.0])
@pytest.mark.parametrize("tags", SENTENCES)
def test_some_tree_has_the_rule_arcs_that_are_expected(tags, share):
    features = rule_counts(RULES, TAGS, PosteriorSettings(dynamics="dual", share=share))
    counts = np.array([rule_arcs(tags, tree) for tree in projective_trees(len(tags.split()))])
    assert features.expectations(encoded(tags)) == pytest.approx(
        [share * (counts @ RULES.expectations).max() / 0.5]
    )


def counts_in_all_trees(tags):
    """Counts (trees, K) of the rules."""
    return np.array([rule_arcs(tags, tree) for tree in projective_trees(len(tags.split()))])


def lacking(counts, expected):
    """What the rule that lacks most lacks, under the distribution over trees with the least of it."""
    n_trees, n_rules = counts.shape
    return optimize.linprog(
        np.append(np.zeros(n_trees), 1.0),
        A_ub=np.hstack([-counts.T, -np.ones((n_rules, 1))]),
        b_ub=-expected,
        A_eq=[np.append(np.ones(n_trees), 0.0)],
        b_eq=[1.0],
    ).fun


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("tags", [*SENTENCES, "NOUN ADV ADJ NOUN VERB", "NOUN NOUN NOUN ADJ"])
def test_a_share_of_each_rule_is_that_of_its_mean_in_the_trees_with_most_rule_arcs(tags, share):
    """So the mean over these trees, a distribution, has all of them at once."""
    settings = PosteriorSettings(dynamics="dual", expectations="each_rule", share=share)
    features, counts = rule_counts(RULES, TAGS, settings), counts_in_all_trees(tags)
    assert (counts @ features.constraints).tolist() == counts.tolist()
    worth = 2 * counts @ RULES.expectations  # an arc of NOUN ADJ is worth half of another
    most = counts[worth > worth.max() - 1e-9]
    # Trees with half an arc less keep exp(-15) of their weight.
    assert features.expectations(encoded(tags)) == pytest.approx(
        share * most.mean(axis=0), abs=1e-5
    )


@pytest.mark.parametrize("tags", [*SENTENCES, "NOUN ADV ADJ NOUN VERB", "VERB"])
def test_capped_expectations_are_those_of_the_rule_file_where_some_tree_has_them(tags):
    rules = parse_rules("ROOT VERB .5\nVERB NOUN 1.5\nNOUN NOUN .5\nADJ ADV .25\n")
    settings = PosteriorSettings(dynamics="dual", expectations="capped")
    features = rule_counts(rules, TAGS, settings)
    trees = list(projective_trees(len(tags.split())))
    most = features.count(encoded(tags), trees).max(axis=0)
    expected = features.expectations(encoded(tags))
    assert expected == pytest.approx(np.minimum([0.5, 1.5, 0.5, 0.25], most))
    assert (expected <= most).all()


def test_some_distribution_over_trees_has_all_capped_expectations_at_once():
    """But for few sentences, such as the last one."""
    settings = PosteriorSettings(dynamics="dual", expectations="capped")
    ud = load_rules(rules_path("ud"))
    features = rule_counts(ud, TAGS, settings)
    for tags in (*SENTENCES, "ADJ NOUN ADV VERB"):
        counts = features.count(encoded(tags), list(projective_trees(len(tags.split()))))
        missing = lacking(counts, features.expectations(encoded(tags)))
        assert missing == pytest.approx(1 / 6 if "ADV VERB" in tags else 0, abs=1e-9), tags


def test_rates_are_expected_of_every_pair_of_words():
    features = rule_counts(RULES, TAGS, PosteriorSettings(dynamics="dual", expectations="rates"))
    expected = features.expectations(encoded("NOUN NOUN VERB ADJ NOUN"))
    assert expected == pytest.approx([0.5, 1.5, 1.5, 3.0, 0.75, 0.0])  # pairs: 1, 3, 3, 3 * 2, 3, 0


def test_the_rule_file_expects_the_same_of_every_sentence():
    """As in the released code; a sentence may be unable to have it."""
    features = RuleCounts(RULES, TAGS)
    for tags in SENTENCES:
        assert features.expectations(encoded(tags)).tolist() == [0.5, 0.5, 0.5, 0.5, 0.25, 0.5]
        counts = np.array([rule_arcs(tags, tree) for tree in projective_trees(len(tags.split()))])
        assert (counts @ features.constraints).tolist() == counts.tolist()


@pytest.mark.parametrize(
    ("expectations", "epsilon"),
    [("rules", 0.0), ("rules", 0.1), ("rates", 0.1), ("each_rule", 0.1), ("capped", 0.1)],
)
@pytest.mark.parametrize("seed", range(3))
def test_steps_of_dual_lead_to_its_optimum(seed, epsilon, expectations):
    """The conditions of Karush, Kuhn and Tucker for Eq. 11."""
    rng = np.random.default_rng(seed)
    settings = PosteriorSettings(dynamics="dual", share=0.9, expectations=expectations)
    features = rule_counts(counted_rates(rng) if expectations == "rates" else RULES, TAGS, settings)
    counts = [drawn(tags, rng) @ features.constraints for tags in SENTENCES]
    expected = [features.expectations(encoded(tags)) for tags in SENTENCES]
    lam = solved(counts, expected, epsilon)
    n = len(SENTENCES)
    held = sum(gamma(c, lam) @ c / len(c) for c in counts) / n
    lacking = sum(expected) / n - held  # E_q[phi] - b
    slack = epsilon * lam / np.linalg.norm(lam)  # xi
    assert lam.min() >= 0
    assert lam.max() > 0.02  # the constraints bind
    assert (lacking <= slack + 1e-5).all()  # q is in Q
    assert lam * (lacking - slack) == pytest.approx(0, abs=1e-5)
    # q is feasible and as near as the dual's value, so no q in Q is nearer to q_omega.
    near = (
        sum(
            float(g @ np.log(np.maximum(g, 1e-300))) / len(g)
            for g in (gamma(c, lam) for c in counts)
        )
        / n
    )
    value = sum(
        lam @ e - log_z(c, lam) for c, e in zip(counts, expected)
    ) / n - epsilon * np.linalg.norm(lam)
    assert near == pytest.approx(value, abs=1e-5)


def test_lambda_of_dual_stays_at_zero_while_the_constraints_hold():
    lam = Lambda(np.zeros(2), lr=0.1, epsilon=0.5)
    lam.end_sentence(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([0.9, 0.9]))  # the first lacks .4
    lam.end_batch(1)
    assert lam.value.tolist() == [0.0, 0.0]
    # it lacks 1, the slack is half of it
    lam.end_sentence(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.5, 0.9]))
    assert lam.value.tolist() == [0.0, 0.0]  # it moves by `end_batch` only
    lam.end_batch(1)
    assert lam.value.tolist() == pytest.approx([0.05, 0.0])


def test_released_dynamics_step_by_step():
    counts, _, e = case(6)
    lam = MomentumLambda(e, lr=0.1, momentum=0.9, epsilon=0.1)
    assert lam.value.tolist() == e.tolist()  # starts at the expectations
    value, velocity = e.copy(), np.zeros(4)
    for _ in range(5):
        velocity = 0.9 * velocity + dual_gradient(counts, value, e, 0.1)
        value = np.maximum(0.0, value - 0.1 * velocity)
        lam.end_sentence(counts, e)
    assert lam.value == pytest.approx(value)
    lam.end_sentence(np.zeros((20, 4)), e)  # no rule anywhere: no gradient, momentum goes on
    velocity = 0.9 * velocity
    assert lam.value == pytest.approx(np.maximum(0.0, value - 0.1 * velocity))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [([1.0] * 20, 20.0), ([20.0] + [0.0] * 19, 1.0), ([1.0, 1.0, 0, 0], 2.0)],
)
def test_effective_samples(weights, expected):
    assert effective_samples(np.array(weights)) == pytest.approx(expected)

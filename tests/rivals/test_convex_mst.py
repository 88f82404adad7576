"""Convex-MST: features, regression and gradient by definition, trees by enumeration; whole
teachers."""

from __future__ import annotations

from itertools import chain

import brute_force
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from taught import RULES, TEXT, tagged

from dynet_vdgi.rivals.convex_mst import NO_ARC, ConvexMst, ConvexMstSettings, Problem, arc_features
from dynet_vdgi.rule_tables.prior import Prior

N_TAGS = 3
SETTINGS = ConvexMstSettings(prior_weight=0.4, ridge=0.02)
seeds = st.integers(0, 10**6)


def random_text(rng: np.random.Generator, lengths) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Tags and potentials."""
    return [rng.integers(0, N_TAGS, n) for n in lengths], [
        rng.normal(0, 2, (n + 1, n + 1)) for n in lengths
    ]


def arcs_of(n: int) -> list[tuple[int, int]]:
    return [(head, word) for head in range(n + 1) for word in range(1, n + 1) if head != word]


def described(tags, head, dependent) -> list[tuple]:
    """The features of an arc in words."""
    tag = dict(enumerate(tags, 1))  # None for what is not there, and ROOT
    side = "right" if head == 0 or dependent > head else "left"
    pair = (tag.get(head), tag[dependent], side)
    return [
        (pair, "alone"),
        (pair, "distance", 1 if head == 0 else min(abs(head - dependent), 6)),
        (pair, "before head", tag.get(head - 1)),
        (pair, "after head", tag.get(head + 1)),
        (pair, "before dependent", tag.get(dependent - 1)),
        (pair, "after dependent", tag.get(dependent + 1)),
    ]


class Definition:
    """The objective of a text as the paper writes it, over real arcs only; w by `lstsq`."""

    def __init__(self, tags, potentials, settings: ConvexMstSettings) -> None:
        arcs = [(k, *arc) for k, words in enumerate(tags) for arc in arcs_of(len(words))]
        names = [described(tags[k], head, word) for k, head, word in arcs]
        columns = {
            name: column for column, name in enumerate(dict.fromkeys(chain.from_iterable(names)))
        }
        self.x = np.zeros((len(arcs), len(columns)))
        for row, own in enumerate(names):
            self.x[row, [columns[name] for name in own]] = 1
        self.u = np.array([potentials[k][head, word] for k, head, word in arcs])
        self.n_words, self.settings = sum(map(len, tags)), settings
        sizes = [len(words) + 1 for words in tags]
        first = [sum(size**2 for size in sizes[:k]) for k in range(len(sizes))]
        self.cells = np.array([first[k] + head * sizes[k] + word for k, head, word in arcs])

    def weights(self, y):
        n_features = self.x.shape[1]
        penalty = np.sqrt(self.n_words * self.settings.ridge) * np.eye(n_features)
        target = np.concatenate([y, np.zeros(n_features)])
        return np.linalg.lstsq(np.vstack([self.x, penalty]), target, rcond=None)[0]

    def objective(self, y) -> float:
        w = self.weights(y)
        loss = ((y - self.x @ w) ** 2).sum() / (2 * self.n_words) + self.settings.ridge / 2 * (
            w @ w
        )
        return loss - self.settings.prior_weight / self.n_words * (self.u @ y)


def one_hot(problem: Problem, cells) -> np.ndarray:
    vector = np.zeros(len(problem.potentials))
    vector[cells] = 1
    return vector


def trees_of(problem: Problem, cells) -> list[tuple[int, ...]]:
    """Heads of each sentence from the cells of its arcs."""
    matrices = problem.matrices(one_hot(problem, cells))
    assert all(
        (matrix[:, 1:].sum(axis=0) == 1).all() and not matrix[:, 0].any() for matrix in matrices
    )
    return [tuple(matrix[:, 1:].argmax(axis=0).tolist()) for matrix in matrices]


def enumerated_mean(potentials) -> np.ndarray:
    """Of all trees (n + 1, n), each weighing exp(sum of its potentials)."""
    n, total = len(potentials) - 1, 0.0
    mean = np.zeros((n + 1, n))
    for tree in brute_force.projective_trees(n):
        weight = np.exp(potentials[tree, range(1, n + 1)].sum())
        mean[tree, range(n)] += weight
        total += weight
    return mean / total


@given(seed=seeds)
def test_features_are_one_to_one_with_their_descriptions(seed):
    rng = np.random.default_rng(seed)
    of_number: dict[int, tuple] = {}
    of_name: dict[tuple, int] = {}
    for n in (1, 2, 5, 9):
        tags = rng.integers(0, N_TAGS, n)
        features = arc_features(tags, N_TAGS)
        arcs = arcs_of(n)
        for head, word in arcs:
            for number, name in zip(features[head, word].tolist(), described(tags, head, word)):
                assert of_number.setdefault(number, name) == name
                assert of_name.setdefault(name, number) == number
        no_arcs = set(np.ndindex(n + 1, n + 1)) - set(arcs)
        assert all((features[cell] == NO_ARC).all() for cell in no_arcs)
    assert NO_ARC not in of_number


@given(seed=seeds)
@hypothesis_settings(max_examples=15)
def test_weights_and_objective_are_those_of_the_definition(seed):
    text = random_text(np.random.default_rng(seed), (3, 1, 4))
    problem, definition = Problem.of(*text, N_TAGS, SETTINGS), Definition(*text, SETTINGS)
    state = problem.start()
    for _ in range(3):
        y = state.arcs[definition.cells]
        fitted = state.weights[problem.features[definition.cells]].sum(axis=1)
        assert fitted == pytest.approx(definition.x @ definition.weights(y))
        assert (state.weights**2).sum() == pytest.approx((definition.weights(y) ** 2).sum())
        state, iteration = problem.step(state)
        assert iteration.objective == pytest.approx(definition.objective(y))


@given(seed=seeds)
@hypothesis_settings(max_examples=15)
def test_the_gradient_agrees_with_finite_differences(seed):
    text = random_text(np.random.default_rng(seed), (3, 2))
    problem, definition = Problem.of(*text, N_TAGS, SETTINGS), Definition(*text, SETTINGS)
    state, _ = problem.step(problem.start())
    y, step = state.arcs[definition.cells], 1e-4
    gradients = [
        (definition.objective(y + step * unit) - definition.objective(y - step * unit)) / (2 * step)
        for unit in np.eye(len(y))
    ]
    assert -problem.descent(state)[definition.cells] / problem.n_words == pytest.approx(
        gradients, abs=1e-8
    )


@given(seed=seeds)
def test_the_linear_oracle_finds_the_best_of_all_trees(seed):
    rng = np.random.default_rng(seed)
    problem = Problem.of(*random_text(rng, (4, 1, 2, 4, 5)), N_TAGS, SETTINGS)
    scores = rng.normal(size=len(problem.potentials))
    for matrix, found in zip(
        problem.matrices(scores), trees_of(problem, problem.best_trees(scores))
    ):
        trees = brute_force.projective_trees(len(matrix) - 1)
        sums = {tree: matrix[tree, range(1, len(matrix))].sum() for tree in trees}
        assert sums[found] == pytest.approx(max(sums.values()))


@given(seed=seeds)
@hypothesis_settings(max_examples=15)
def test_the_gap_is_that_of_all_trees(seed):
    """The largest fall that the gradient promises anywhere among the mixtures of trees."""
    text = random_text(np.random.default_rng(seed), (3, 2, 4))
    problem = Problem.of(*text, N_TAGS, SETTINGS)
    state, _ = problem.step(problem.start())
    best = 0.0
    for gradients, y in zip(problem.matrices(problem.descent(state)), problem.matrices(state.arcs)):
        words = range(1, len(y))
        trees = brute_force.projective_trees(len(y) - 1)
        best += max(gradients[tree, words].sum() for tree in trees) - (gradients * y).sum()
    assert problem.step(state)[1].gap == pytest.approx(best / problem.n_words)


@given(seed=seeds, prior_weight=st.sampled_from([1e-9, 0.1, 1.0, 10.0]))
@hypothesis_settings(max_examples=10)
def test_steps_never_raise_the_objective_and_stay_among_mixtures_of_trees(seed, prior_weight):
    settings = ConvexMstSettings(prior_weight=prior_weight, ridge=0.001)
    problem = Problem.of(*random_text(np.random.default_rng(seed), (6, 2, 1, 4)), N_TAGS, settings)
    state, log = problem.start(), []
    for _ in range(15):
        trees = one_hot(problem, problem.best_trees(problem.descent(state)))
        earlier, (state, iteration) = state, problem.step(state)
        log.append(iteration)
        on_line = (state.arcs - earlier.arcs) @ (trees - earlier.arcs)
        length = on_line / max(((trees - earlier.arcs) ** 2).sum(), 1e-300)
        assert 0 <= length <= 1 + 1e-12
        assert state.arcs == pytest.approx(earlier.arcs + length * (trees - earlier.arcs), abs=1e-9)
        for matrix in problem.matrices(state.arcs):
            assert matrix[:, 1:].sum(axis=0) == pytest.approx(np.ones(len(matrix) - 1))
            assert matrix[0].sum() == pytest.approx(1)
            assert matrix.min() >= 0
            assert not matrix[:, 0].any()
            assert not matrix.diagonal().any()
    for earlier, later in zip(log, log[1:]):
        assert later.objective <= earlier.objective + 1e-12
    assert min(iteration.gap for iteration in log) >= -1e-12
    assert max(i.objective - i.gap for i in log) <= min(i.objective for i in log) + 1e-12


def test_parses_have_the_highest_score_and_marginals_soften_it():
    teacher = ConvexMst().fit(TEXT, Prior.of_text(RULES, TEXT))
    (sentence,), ids = tagged("VERB ADP NOUN NEW NOUN"), [3, 0, 2, 4, 2]
    scores = teacher.model.scores(ids, teacher.prior.potentials(sentence))
    assert (teacher.scores([sentence])[0] == scores).all()
    sums = {tree: scores[tree, range(1, 6)].sum() for tree in brute_force.projective_trees(5)}
    assert sums[teacher.heads([sentence])[0]] == pytest.approx(max(sums.values()))
    softened = enumerated_mean(scores / teacher.model.prior_weight)
    assert teacher.marginals([sentence])[0] == pytest.approx(softened)

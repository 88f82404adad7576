"""Neural DMV: sums against enumeration, gradients against finite differences, and the plain DMV in it."""

from __future__ import annotations

import math

import brute_force
import numpy as np
import pytest
import taught

from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.rivals import neural_dmv
from dynet_vdgi.rivals.neural_dmv import (
    NeuralDmv,
    NeuralDmvSettings,
    SiblingTables,
    backward,
    expected,
    forward,
    new_parameters,
    of_dmv,
    shaped,
    tables_of,
)
from dynet_vdgi.settings.config import rules_path
from dynet_vdgi.teachers.dmv import DmvModel, Packed

N_TAGS = 3


def decisions(tree, tags):
    """Each word with side, the tag of the child before, and the child, or 0 for stopping."""
    for head, side, _, before, child in brute_force.decisions(tree):
        yield head, side, tags[before - 1] if before else N_TAGS, child


def random_tables(rng):
    shapes = (N_TAGS,), (N_TAGS, 2, N_TAGS + 1, N_TAGS), (N_TAGS, 2, N_TAGS + 1)
    return SiblingTables(*(rng.uniform(0.05, 1, shape) for shape in shapes))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_sums_and_counts_are_those_of_all_trees(n):
    rng = np.random.default_rng(n)
    tables, tags, potentials = (
        random_tables(rng),
        rng.integers(0, N_TAGS, n),
        rng.normal(0, 2, (n + 1, n + 1)),
    )
    weights, counted = [], []
    for tree in brute_force.projective_trees(n):
        counts = SiblingTables(*(np.zeros_like(array) for array in tables))
        value = tables.root[tags[tree.index(0)]]
        counts.root[tags[tree.index(0)]] += 1
        value *= math.exp(sum(potentials[head, word] for word, head in enumerate(tree, 1)))
        for head, side, before, child in decisions(tree, tags):
            own = (tags[head - 1], side, before)
            if child:
                value *= tables.choose[own][tags[child - 1]]
                counts.choose[own][tags[child - 1]] += 1
            else:
                value *= tables.stop[own]
                counts.stop[own] += 1
        weights.append(value)
        counted.append(counts)
    found, arcs, log_z = expected(Packed.of([tags], [potentials], N_TAGS), tables)
    assert log_z == pytest.approx(math.log(sum(weights)))
    shares = np.array(weights) / sum(weights)
    for k, mine in enumerate(found):
        assert np.allclose(mine, sum(share * counts[k] for share, counts in zip(shares, counted)))
    posterior = np.zeros((n + 1, n))
    for tree, share in zip(brute_force.projective_trees(n), shares):
        posterior[list(tree), range(n)] += share
    assert np.allclose(arcs.reshape(n + 1, n), posterior)


def test_without_siblings_the_sums_are_those_of_the_dmv():
    rng = np.random.default_rng(1)
    model = DmvModel(
        rng.dirichlet(np.ones(N_TAGS)),
        rng.dirichlet(np.ones(N_TAGS), (N_TAGS, 2, 2)),
        rng.uniform(0.05, 0.95, (N_TAGS, 2, 2)),
    )
    tags = [rng.integers(0, N_TAGS, n) for n in (4, 70)]
    potentials = [rng.normal(0, 9, (len(row) + 1, len(row) + 1)) for row in tags]
    text = Packed.of(tags, potentials, N_TAGS)
    (root, choose, stop), arcs, log_z = expected(text, of_dmv(model))
    counts, its_log_z = model.expected(text)
    assert log_z == pytest.approx(its_log_z)
    assert np.allclose(root, counts.root)
    by_valence = np.stack([choose[:, :, N_TAGS], choose[:, :, :N_TAGS].sum(axis=2)], axis=2)
    assert np.allclose(by_valence, counts.choose)
    assert np.allclose(np.stack([stop[:, :, N_TAGS], stop[:, :, :N_TAGS].sum(axis=2)], axis=2), counts.stop)
    for matrix, marginals in zip(text.by_sentence(arcs), model.all_marginals(text)):
        assert np.allclose(matrix, marginals)


@pytest.mark.parametrize("n_before", [2, N_TAGS + 1])
def test_the_gradient_is_that_of_the_marginal_likelihood(n_before):
    rng = np.random.default_rng(2)
    own = new_parameters(N_TAGS, n_before, 1)
    own["bias"] += 0.3  # away from the kinks of the rectifiers
    tags = [rng.integers(0, N_TAGS, n) for n in (2, 3, 5)]
    text = Packed.of(tags, [rng.normal(0, 1, (len(row) + 1, len(row) + 1)) for row in tags], N_TAGS)
    layers = forward(own)
    tables = tables_of(layers)
    assert np.allclose(tables.choose.sum(axis=-1) + tables.stop, 1)
    assert tables.root.sum() == pytest.approx(1)
    if n_before == 2:
        assert np.allclose(tables.choose[:, :, 0], tables.choose[:, :, 1])
    gradient = backward(own, layers, *shaped(expected(text, tables).counts, n_before))
    for name, array in own.items():
        for _ in range(3):
            where = tuple(rng.integers(0, size) for size in array.shape)
            kept, values = array[where], []
            for step in (1e-5, -1e-5):
                array[where] = kept + step
                values.append(-expected(text, tables_of(forward(own))).log_z)
            array[where] = kept
            slope = (values[0] - values[1]) / 2e-5
            assert gradient[name][where] == pytest.approx(slope, abs=1e-5), name


# ---------------------------------------------------------------------------------------------- the teacher
@pytest.fixture(scope="module")
def demo():
    return taught.demo(70)


@pytest.mark.parametrize("start", ["harmonic", "dmv"])
def test_learning_raises_the_likelihood_and_repeats_itself(demo, start, monkeypatch):
    monkeypatch.setattr(neural_dmv, "FITTING_STEPS", 60)
    prior = Prior.of_text(load_rules(rules_path("strict-tags")), demo)
    teacher = NeuralDmv(epochs=6, lr=0.01, start=start).fit(demo, prior)
    log = [row["log_likelihood"] for row in teacher.log_rows()]
    assert log[-1] > log[0] + 5
    settings = NeuralDmvSettings(epochs=6, lr=0.01, start=start)
    assert NeuralDmv(settings).fit(demo, prior).heads(demo) == teacher.heads(demo)
    assert NeuralDmv(settings, seed=2).fit(demo, prior).log_rows() != teacher.log_rows()


def test_the_rules_may_count_in_the_start_only(demo, monkeypatch):
    monkeypatch.setattr(neural_dmv, "FITTING_STEPS", 60)
    with_rules = Prior.of_text(load_rules(rules_path("strict-tags")), demo)
    nothing = Prior.of_text(load_rules(rules_path("none")), demo)
    teachers = {kind: NeuralDmv(epochs=1, potentials=kind).fit(demo, with_rules) for kind in ("all", "start")}
    bare = NeuralDmv(epochs=1).fit(demo, nothing)
    found = {kind: teacher.marginals(demo) for kind, teacher in teachers.items()}
    teachers["start"].prior = nothing  # which it does not ask any more
    assert all(map(np.allclose, teachers["start"].marginals(demo), found["start"]))
    for other in (found["all"], bare.marginals(demo)):
        assert not all(map(np.allclose, found["start"], other))

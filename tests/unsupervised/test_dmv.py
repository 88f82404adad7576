"""The DMV teacher against enumeration of all projective trees with one root; EM; whole teachers."""

from __future__ import annotations

import math

import brute_force
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from taught import RULES, TEXT

from dynet_vdgi.inference import eisner
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.settings.settings import DmvSettings
from dynet_vdgi.unsupervised.dmv import Dmv, fit
from dynet_vdgi.unsupervised.dmv_model import DmvModel, Packed

N_TAGS = 3
seeds = st.integers(0, 10**6)


def counted(model, tags, potentials):
    """Expected counts, and the sum of log Z."""
    return model.expected(Packed.of(tags, potentials, len(model.root)))


def random_model(rng: np.random.Generator, stage: int) -> DmvModel:
    """Any distributions; in stage 1 `choose` does not depend on valence."""
    choose = rng.dirichlet(np.ones(N_TAGS), (N_TAGS, 2, 2))
    if stage == 1:
        choose[:, :, 1] = choose[:, :, 0]
    return DmvModel(rng.dirichlet(np.ones(N_TAGS)), choose, rng.uniform(0.05, 0.95, (N_TAGS, 2, 2)))


def random_sentence(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(0, N_TAGS, n), rng.normal(0, 2, (n + 1, n + 1))


def all_marginals(model, tags, potentials):
    return model.all_marginals(Packed.of(tags, potentials, len(model.root)))


def marginals_of(model, tags, potentials):
    return all_marginals(model, [tags], [potentials])[0]


def parse_all(model, tags, potentials):
    return eisner.expected_best_of_all(all_marginals(model, tags, potentials))


def parse(model, tags, potentials):
    return parse_all(model, [tags], [potentials])[0]


def weight(
    model: DmvModel, tags: np.ndarray, potentials: np.ndarray, tree: tuple[int, ...]
) -> float:
    """Probability of tree and tags times the arcs' potentials, one decision after the other."""
    value = 1.0
    for dependent, head in enumerate(tree, 1):
        value *= math.exp(potentials[head, dependent])
        if head == 0:
            value *= model.root[tags[dependent - 1]]
    for head, tag in enumerate(tags, 1):
        children = [word for word, its_head in enumerate(tree, 1) if its_head == head]
        for side, outwards in enumerate(
            (
                [word for word in reversed(children) if word < head],
                [word for word in children if word > head],
            )
        ):
            for k, child in enumerate(outwards):
                valence = min(k, 1)
                value *= 1 - model.stop[tag, side, valence]
                value *= model.choose[tag, side, valence, tags[child - 1]]
            value *= model.stop[tag, side, min(len(outwards), 1)]
    return value


def enumerated(
    model: DmvModel, tags: np.ndarray, potentials: np.ndarray
) -> tuple[float, np.ndarray]:
    """Z, and marginals (n + 1, n)."""
    n = len(tags)
    z, marginals = 0.0, np.zeros((n + 1, n))
    for tree in brute_force.projective_trees(n):
        value = weight(model, tags, potentials, tree)
        z += value
        marginals[tree, range(n)] += value
    return z, marginals / z


@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("n", range(1, 6))
def test_inside_and_marginals_are_sums_over_all_trees(n, stage):
    rng = np.random.default_rng(10 * n + stage)
    for _ in range(8):
        model, (tags, potentials) = random_model(rng, stage), random_sentence(rng, n)
        z, marginals = enumerated(model, tags, potentials)
        assert counted(model, [tags], [potentials])[1] == pytest.approx(math.log(z))
        assert marginals_of(model, tags, potentials) == pytest.approx(marginals, abs=1e-12)


def test_many_sentences_at_once_are_those_one_by_one():
    rng = np.random.default_rng(5)
    model = random_model(rng, 2)
    tags, potentials = zip(
        *(random_sentence(rng, n) for n in [7] * 20 + [3, 0, 61, 4, 4] + [2] * 17)
    )
    each = [counted(model, [row], [matrix]) for row, matrix in zip(tags, potentials)]
    counts, log_z = counted(model, tags, potentials)
    assert log_z == pytest.approx(sum(log_z for _, log_z in each))
    for together, alone in zip(counts, zip(*(counts for counts, _ in each))):
        assert together == pytest.approx(sum(alone), abs=1e-9)
    trees = [parse(model, row, matrix) for row, matrix in zip(tags, potentials)]
    assert parse_all(model, tags, potentials) == trees


@pytest.mark.parametrize("stage", [1, 2])
@given(seed=seeds)
def test_expected_counts_are_gradients_of_log_z(stage, seed):
    rng = np.random.default_rng(seed)
    model, texts = random_model(rng, stage), [random_sentence(rng, n) for n in (1, 4, 6)]
    tags, potentials = zip(*texts)
    counts, _ = counted(model, tags, potentials)

    def slope(array: np.ndarray, at: tuple[int, ...]) -> float:
        """Of log Z by this parameter, by central differences."""
        before, values = array[at], []
        step = 1e-5 * before  # some are small
        for change in (step, -step):
            array[at] = before + change
            values.append(counted(model, tags, potentials)[1])
        array[at] = before
        return (values[0] - values[1]) / (2 * step)

    for at in np.ndindex(model.root.shape):
        assert slope(model.root, at) * model.root[at] == pytest.approx(counts.root[at], abs=1e-5)
    for at in list(np.ndindex(model.choose.shape))[seed % 5 :: 5]:
        assert slope(model.choose, at) * model.choose[at] == pytest.approx(
            counts.choose[at], abs=1e-5
        )
    for at in np.ndindex(model.stop.shape):
        stop, going_on = model.stop[at], counts.choose[at].sum()
        expected = counts.stop[at] / stop - going_on / (1 - stop)
        assert slope(model.stop, at) == pytest.approx(expected, abs=1e-4, rel=1e-5)


def test_a_constant_for_all_heads_of_a_word_changes_nothing_but_log_z():
    rng = np.random.default_rng(0)
    model, (tags, potentials) = random_model(rng, 2), random_sentence(rng, 60)
    constants = rng.normal(0, 100, 61)
    _, before = counted(model, [tags], [potentials])
    _, after = counted(model, [tags], [potentials + constants])
    assert after - before == pytest.approx(constants[1:].sum())
    assert marginals_of(model, tags, potentials) == pytest.approx(
        marginals_of(model, tags, potentials + constants)
    )


@pytest.mark.parametrize("scale", [0.0, 1.0, 5.0, 40.0])
def test_sentences_of_a_hundred_words(scale):
    rng = np.random.default_rng(1)
    model, tags = random_model(rng, 2), rng.integers(0, N_TAGS, 100)
    potentials = rng.normal(0, scale, (101, 101))
    counts, log_z = counted(model, [tags], [potentials])
    marginals = marginals_of(model, tags, potentials)
    assert math.isfinite(log_z)
    assert counts.choose.sum() == pytest.approx(99)
    assert marginals.sum(axis=0) == pytest.approx(np.ones(100))
    assert_tree(parse(model, tags, potentials))


def test_where_no_tree_is_allowed_there_is_one_all_the_same():
    model = random_model(np.random.default_rng(3), 2)
    for n in (1, 2, 5, 100):
        tags = [0] * n
        for potentials in (np.full((n + 1, n + 1), -np.inf), np.zeros((n + 1, n + 1))):
            potentials[1:] = -np.inf  # only ROOT may have children
            marginals = marginals_of(model, tags, potentials)
            assert marginals.sum(axis=0) == pytest.approx(np.ones(n))
            assert_tree(parse(model, tags, potentials))


def test_forbidden_arcs_are_not_taken():
    rng = np.random.default_rng(4)
    for _ in range(30):
        n = 6
        model, (tags, potentials) = random_model(rng, 2), random_sentence(rng, n)
        allowed = brute_force.projective_trees(n)[rng.integers(728)]
        forbidden = rng.random((n + 1, n + 1)) < 0.5
        forbidden[allowed, range(1, n + 1)] = False
        potentials[forbidden] = -np.inf
        marginals = marginals_of(model, tags, potentials)
        assert (marginals[forbidden[:, 1:]] < 1e-9).all()
        tree = parse(model, tags, potentials)
        assert not forbidden[tree, range(1, n + 1)].any()


def assert_tree(heads: tuple[int, ...]) -> None:
    assert brute_force.is_tree(heads)
    assert not brute_force.crosses(heads)


@given(seed=seeds, n=st.integers(1, 5))
def test_parses_have_most_expected_arcs(seed, n):
    rng = np.random.default_rng(seed)
    model, (tags, potentials) = random_model(rng, 2), random_sentence(rng, n)
    _, marginals = enumerated(model, tags, potentials)
    heads = parse(model, tags, potentials)
    assert_tree(heads)
    expected = {tree: marginals[tree, range(n)].sum() for tree in brute_force.projective_trees(n)}
    assert expected[heads] == pytest.approx(max(expected.values()))


@given(seed=seeds)
def test_em_never_lowers_the_penalised_likelihood(seed):
    rng = np.random.default_rng(seed)
    texts = [random_sentence(rng, n) for n in rng.integers(1, 8, 12)]
    settings = DmvSettings(
        iterations=8,
        valence_iterations=8,
        smoothing=rng.choice([0.01, 0.1, 2.0]),
        backoff=rng.choice([0.5, 100.0]),
    )
    model = fit(*zip(*texts), N_TAGS, settings)
    assert [iteration.stage for iteration in model.log] == [1] * 8 + [2] * 8
    for earlier, later in zip(model.log, model.log[1:]):
        if earlier.stage == later.stage:
            assert later.penalised >= earlier.penalised - 1e-9 * abs(earlier.penalised)
    assert model.root.sum() == pytest.approx(1)
    assert model.choose.sum(axis=-1) == pytest.approx(np.ones((N_TAGS, 2, 2)))


def test_the_first_step_is_counting_in_the_only_tree():
    """NOUN VERB, VERB the root, learnt in one step with pseudo-counts 1."""
    potentials = np.zeros((3, 3))
    potentials[0, 1] = potentials[1, 2] = -np.inf
    model = fit(
        [[0, 1]] * 3,
        [potentials] * 3,
        2,
        DmvSettings(iterations=1, valence_iterations=0, smoothing=1.0),
    )
    assert model.root == pytest.approx([1 / 5, 4 / 5])
    assert model.choose[1, 0] == pytest.approx(np.array([[4 / 5, 1 / 5]] * 2))
    assert model.choose[0] == pytest.approx(np.full((2, 2, 2), 0.5))
    # went on three times, stopped three times
    assert model.stop[1, 0] == pytest.approx([1 / 5, 4 / 5])
    assert model.stop[1, 1] == pytest.approx([4 / 5, 1 / 2])


def test_the_second_stage_tells_first_children_from_later_ones():
    potentials = np.zeros((4, 4))
    # 2 > 3 > nothing else: the last word governs both
    potentials[[0, 0, 1, 2], [1, 2, 2, 1]] = -np.inf
    plain = fit(
        [[0, 1, 2]] * 500, [potentials] * 500, 3, DmvSettings(iterations=10, valence_iterations=0)
    )
    assert plain.choose[2, 0, 0] == pytest.approx(plain.choose[2, 0, 1])
    valence = fit(
        [[0, 1, 2]] * 500,
        [potentials] * 500,
        3,
        DmvSettings(iterations=10, valence_iterations=20, backoff=1.0),
    )
    assert valence.choose[2, 0, 0, 1] > 0.99
    assert valence.choose[2, 0, 1, 0] > 0.99


def test_teachers_are_the_model_of_their_text_under_their_prior():
    prior, settings = (
        Prior.of_text(RULES, TEXT),
        DmvSettings(iterations=3, valence_iterations=2, backoff=5.0),
    )
    teacher = Dmv(iterations=3, valence_iterations=2, backoff=5.0).fit(iter(TEXT), prior)
    assert teacher.settings == settings
    ids = [[teacher.symbols.index(tag) for tag in sentence.tags] for sentence in TEXT]
    potentials = [prior.potentials(sentence) for sentence in TEXT]
    model = fit(ids, potentials, len(teacher.symbols) + 1, settings)
    assert (model.choose == teacher.model.choose).all()
    assert model.log == teacher.model.log
    for mine, expected in zip(teacher.marginals(TEXT), all_marginals(model, ids, potentials)):
        assert (mine == expected).all()
    assert teacher.heads(TEXT) == parse_all(model, ids, potentials)
    assert teacher.log_rows() == [iteration._asdict() for iteration in model.log]


@pytest.mark.parametrize(("first", "second"), [(0, 0), (4, 0), (4, 3)])
def test_the_score_of_the_text_is_what_the_next_iteration_would_begin_with(first, second):
    """An iteration's figures are of where it began; so what it ends with is the first of one more."""

    def score(of):
        return counted(teacher.model, *teacher.encoded(of))[1]

    prior = Prior.of_text(RULES, TEXT)
    teacher = Dmv(iterations=first, valence_iterations=second).fit(TEXT, prior)
    more = Dmv(iterations=first, valence_iterations=second + 1).fit(TEXT, prior)
    assert score(TEXT) == more.log_rows()[-1]["log_likelihood"]
    assert len(more.log_rows()) == first + second + 1
    assert score(TEXT[:3]) == pytest.approx(score(TEXT) / 20)

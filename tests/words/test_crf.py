"""The linear-chain CRF against enumeration of label sequences and against finite differences."""

from __future__ import annotations

import logging

import brute_force
import numpy as np
import pytest

from dynet_vdgi.errors import ModelError
from dynet_vdgi.features.hashing import text_code
from dynet_vdgi.words.tagger import chain as crfs
from dynet_vdgi.words.tagger.chain import FREE, Borders
from dynet_vdgi.words.tagger.crf import (
    Crf,
    FeatureWeights,
    Items,
    Likelihood,
    Tokens,
    weighted_features,
)

FIRST = np.array([0, 4, 4, 5, 8])  # one sequence is empty, one has one token


def made(rng, n_labels=3, scale=2.0):
    """A random field without features."""
    borders = Borders(
        *(scale * rng.normal(size=s) for s in ((n_labels, n_labels), n_labels, n_labels))
    )
    none = crfs.Sparse(np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0, np.int32))
    return Crf(FeatureWeights(none, np.zeros(0)), borders)


def tokens_of(rng, n_codes=12, n_items=6, n_uses=2):
    """Random tokens, in sequences as FIRST has them."""
    sizes = rng.integers(0, 4, n_items)
    first = np.concatenate([[0], np.cumsum(sizes)])
    codes = np.array([text_code(str(k)) for k in rng.integers(n_codes, size=first[-1])], np.uint64)
    uses = rng.integers(n_items, size=(FIRST[-1], n_uses)).astype(np.int32)
    return Tokens(Items(first, codes), uses, FIRST)


GIVEN = (None, np.array([FREE, 1, FREE, 0, 2, FREE, FREE, 1]))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_marginals_sums_and_the_best_labels_are_those_of_enumeration(seed, given, scale):
    rng = np.random.default_rng(seed)
    crf, scores = made(rng, scale=scale), scale * rng.normal(size=(8, 3))
    marginals, log_z = crf.sums(scores, FIRST, given)
    best = crf.best(scores, FIRST, given)
    for k, (start, end) in enumerate(zip(FIRST, FIRST[1:])):
        if start == end:
            assert log_z[k] == 0
            continue
        its = None if given is None else given[start:end]
        found = list(brute_force.label_sequences(scores[start:end], *crf.borders, its))
        weights = np.array([weight for _, weight in found])
        top = weights.max()
        assert log_z[k] == pytest.approx(top + np.log(np.exp(weights - top).sum()), abs=1e-9)
        expected = np.zeros((end - start, 3))
        for labels, weight in found:
            expected[np.arange(end - start), labels] += np.exp(weight - log_z[k])
        np.testing.assert_allclose(marginals[start:end], expected, atol=1e-9)
        assert tuple(best[start:end]) == max(found, key=lambda each: each[1])[0]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "labels", [np.array([0, 1, 2, 0, 2, 1, 1, 0]), np.array([0, FREE, 2, 0, FREE, 1, FREE, FREE])]
)
def test_gradients_are_those_of_finite_differences(seed, labels):
    rng = np.random.default_rng(seed)
    tokens = tokens_of(rng)
    known, features = weighted_features(tokens, labels, 3)
    loss = Likelihood(tokens, labels, 3, known, features)
    x = rng.normal(size=len(known.labels) + 3 * 5)
    _, gradient = loss(x)
    step = 1e-5
    for k in range(len(x)):
        ahead, behind = x.copy(), x.copy()
        ahead[k] += step
        behind[k] -= step
        assert gradient[k] == pytest.approx(
            (loss(ahead)[0] - loss(behind)[0]) / (2 * step), abs=1e-6
        )


def test_the_loss_is_minus_the_log_probability_of_the_labels():
    rng = np.random.default_rng(7)
    tokens, labels = tokens_of(rng), np.array([0, 1, 2, 0, 2, 1, 1, 0])
    crf = Crf.fit(tokens, labels, 3, l2=0.5, iterations=4)
    x = np.concatenate([crf.weights.values, *(np.ravel(part) for part in crf.borders)])
    value, _ = Likelihood(tokens, labels, 3, *weighted_features(tokens, labels, 3))(x)
    scores, total = crf.scores(tokens), 0.0
    for start, end in zip(FIRST, FIRST[1:]):
        if start < end:
            found = dict(brute_force.label_sequences(scores[start:end], *crf.borders))
            total -= found[tuple(labels[start:end])] - np.log(np.exp(list(found.values())).sum())
    assert value == pytest.approx(total)


def test_features_of_one_token_have_weights_for_its_label_and_others_for_all():
    codes = np.array([5, 7, 5, 9, 2], np.uint64)  # items: {5, 7}, {}, {5}, {9}, {2}
    uses = np.array([[0, 1], [2, 1], [3, 1], [4, 1]], np.int32)
    tokens = Tokens(Items(np.array([0, 2, 2, 3, 4, 5]), codes), uses, np.array([0, 4]))
    known, features = weighted_features(tokens, np.array([1, 1, FREE, 0]), 2)
    assert known.keys.tolist() == [2, 5, 7, 9]
    assert known.starts.tolist() == [0, 1, 3, 4, 4]
    assert known.labels.tolist() == [0, 0, 1, 1]
    assert features.tolist() == [1, 2, 1, 3, 0]


def test_scores_are_sums_over_items_and_features():
    rng = np.random.default_rng(3)
    tokens = tokens_of(rng)
    crf = Crf.fit(tokens, np.array([0, 1, 2, 0, 2, 1, 1, 0]), 3, iterations=3)
    keys, starts, labels = crf.weights.entries
    expected = np.zeros((8, 3))
    for i, items in enumerate(tokens.uses):
        for item in items:
            for code in tokens.items.codes[tokens.items.first[item] : tokens.items.first[item + 1]]:
                for q in range(*starts[np.searchsorted(keys, code) + np.arange(2)]):
                    expected[i, labels[q]] += crf.weights.values[q]
    np.testing.assert_allclose(crf.scores(tokens), expected)
    unknown = Tokens(
        Items(np.array([0, 1]), np.array([text_code("new")], np.uint64)),
        np.zeros((1, 1), np.int32),
        np.array([0, 1]),
    )
    assert not crf.scores(unknown).any()


def test_learning_finds_labels_that_features_and_neighbours_tell(caplog):
    caplog.set_level(logging.INFO, logger="dynet_vdgi")
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=3000)
    # of pairs of tokens, only the first has a feature of its own
    labels[1::2] = (labels[::2] + 1) % 3
    own = np.array(
        [text_code("second" if k % 2 else f"is {label}") for k, label in enumerate(labels)],
        np.uint64,
    )
    first = np.arange(0, 3001, 2)
    tokens = Tokens.of_items(Items(np.arange(3001), own), first)
    crf = Crf.fit(tokens, labels, 3)
    assert (crf.best(crf.scores(tokens), first) == labels).all()
    assert "own way" not in caplog.text  # machine code, not numba's


def test_arrays_give_the_same_field_back():
    tokens = tokens_of(np.random.default_rng(1))
    crf = Crf.fit(tokens, np.array([0, 1, 2, 0, 2, 1, 1, 0]), 3)
    again = Crf.from_arrays(crf.arrays("x/"), "x/")
    assert (again.scores(tokens) == crf.scores(tokens)).all()
    scores = crf.scores(tokens)
    assert (again.marginals(scores, FIRST) == crf.marginals(scores, FIRST)).all()


DAMAGE = {
    "keys do not ascend": ("keys", lambda a: a[::-1].copy()),
    "missing x/bigrams": ("bigrams", lambda a: None),
    "borders is of float32": ("borders", lambda a: a[:, 1:]),
    "labels are not below": ("labels", lambda a: a + 3),
    "weights is of float64": ("weights", lambda a: a.astype(np.float64)),
    "labels is of uint16": ("counts", lambda a: a + np.uint16(1)),
    "not finite": ("bigrams", lambda a: a * np.float32(np.nan)),
    "format 2": ("shape", lambda a: np.array([2, 3])),
}


@pytest.mark.parametrize("message", DAMAGE)
def test_damaged_arrays_are_refused(message):
    crf = Crf.fit(tokens_of(np.random.default_rng(1)), np.array([0, 1, 2, 0, 2, 1, 1, 0]), 3)
    name, change = DAMAGE[message]
    arrays = {**crf.arrays("x/"), "x/" + name: change(crf.arrays("x/")["x/" + name])}
    arrays = {key: array for key, array in arrays.items() if array is not None}
    with pytest.raises(ModelError, match=message):
        Crf.from_arrays(arrays, "x/")


def test_features_are_found_among_many():
    codes = np.array([text_code(str(k)) for k in range(20_000)], np.uint64)
    keys = np.unique(codes[::2])
    known = crfs.Sparse(keys, np.arange(len(keys) + 1), np.zeros(len(keys), np.int32))
    weights = FeatureWeights(known, np.zeros(len(keys)))
    for count in (20, 20_000):  # as Python, and as machine code
        found = weights.feature_numbers(Items(np.array([0, count]), codes[:count]))
        assert (keys[found[::2]] == codes[:count:2]).all()
        assert (found[1::2] == -1).all()

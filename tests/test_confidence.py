"""From margins to probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.errors import ModelError
from dynet_vdgi.parsing.confidence import (
    Calibration,
    arc_probabilities,
    best_shift,
    calibration_error,
    deciles,
    isotonic,
    shifted,
)

values = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(values, st.integers(0, 1000))
def test_isotonic_numbers_never_fall_and_none_is_nearer(numbers, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, len(numbers))
    found = isotonic(numbers, sizes.tolist())
    assert (np.diff(found) >= -1e-12).all()

    def distance(other):
        return (sizes * (np.asarray(other) - numbers) ** 2).sum()

    for _ in range(30):
        assert distance(found) <= distance(np.sort(rng.random(len(numbers)))) + 1e-9
    assert (sizes * found).sum() == pytest.approx((sizes * np.array(numbers)).sum())


def test_a_calibration_gives_back_what_it_was_fitted_to():
    margins = np.arange(1000.0)
    truth = np.clip(margins / 1000, 0.1, 0.9)
    calibration = Calibration.fit(margins, truth)
    assert calibration(margins) == pytest.approx(truth, abs=0.02)
    assert (np.diff(calibration(np.linspace(-10, 2000, 500))) >= 0).all()
    assert calibration([np.inf]) == pytest.approx([0.9], abs=0.01)


def test_few_words_are_enough():
    assert Calibration.fit([np.inf], [0.7])([3.0]) == pytest.approx([0.7])
    with pytest.raises(ValueError, match=r"margins of \(2,\) and probabilities of \(1,\) words"):
        Calibration.fit([1, 2], [0.5])
    with pytest.raises(ValueError, match="margins of"):
        Calibration.fit([], [])


def test_the_shift_moves_log_odds():
    p = np.array([0.2, 0.5, 0.8])
    moved = shifted(p, -0.7)
    assert np.log(moved / (1 - moved)) - np.log(p / (1 - p)) == pytest.approx(-0.7)
    assert Calibration.fit([1, 2, 3], p, -0.7)([1, 2, 3]) == pytest.approx(moved)
    assert 0 < shifted(np.array([0.0]), 0)[0] < shifted(np.array([1.0]), 0)[0] < 1


def test_the_best_shift_is_found():
    rng = np.random.default_rng(1)
    said = rng.uniform(0.2, 0.95, 20_000)
    right = rng.random(20_000) < shifted(said, -1.0)
    assert best_shift(said, right) == pytest.approx(-1.0, abs=0.05)
    assert calibration_error(said, right) > 0.1
    assert calibration_error(shifted(said, best_shift(said, right)), right) < 0.02


def test_what_was_said_and_what_was_right():
    said, right = np.repeat([0.1, 0.9], 50), np.repeat([0, 1], 50)
    assert calibration_error(said, right) == pytest.approx(0.1)
    assert deciles(said, right)[0] == pytest.approx((0.1, 0))
    assert deciles(said, right)[-1] == pytest.approx((0.9, 1))


def test_probabilities_of_arcs_are_those_of_the_heads():
    marginals = [np.array([[0.1, 0.9], [0.0, 0.1], [0.9, 0.0]]), np.array([[1.0]]), np.zeros((1, 0))]
    assert arc_probabilities(marginals, [(2, 0), (0,), ()]).tolist() == [0.9, 0.9, 1.0]


def test_arrays_bring_the_calibration_back():
    calibration = Calibration.fit([1, 2, 3], [0.3, 0.2, 0.9], -0.4)
    again = Calibration.from_arrays(calibration.arrays())
    assert (again([0, 2, 9]) == calibration([0, 2, 9])).all()
    arrays = calibration.arrays()
    with pytest.raises(ModelError, match="missing confidence/edges"):
        Calibration.from_arrays({})
    with pytest.raises(ModelError, match="values of"):
        Calibration.from_arrays({**arrays, "confidence/values": np.zeros(1)})
    with pytest.raises(ModelError, match="not all numbers are finite"):
        Calibration.from_arrays({**arrays, "confidence/shift": np.array([np.nan])})

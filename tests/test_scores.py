"""Score functions against numbers worked out by hand, in the paper's and in the released code's form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.variational.scores import leave_one_out, rl_c, rl_pc, rl_sn

FORMS = ("paper", "released")
EITHER = pytest.mark.parametrize("form", FORMS)

EIGHTHS = st.lists(st.integers(-800, 800), min_size=2, max_size=24).map(lambda x: np.array(x) / 8)
"""Values whose sums and differences are exact, so that equal ones are equal however they are computed."""

COUNTS = st.lists(st.integers(0, 12), min_size=2, max_size=60)


def array(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.float64)


# Hand-computed


def test_rl_sn_divides_by_the_population_std() -> None:
    # Mean 4, centred -3 -2 1 4, squares 9 + 4 + 1 + 16 = 30: variance 30 / 4.
    assert rl_sn(array(1, 2, 5, 8)) == pytest.approx(array(-3, -2, 1, 4) / np.sqrt(7.5), rel=1e-12)


def test_the_released_rl_sn_divides_by_the_std_of_a_sample() -> None:
    assert rl_sn(array(1, 2, 5, 8), "released") == pytest.approx(array(-3, -2, 1, 4) / np.sqrt(10), rel=1e-12)


@pytest.mark.parametrize(
    ("values", "paper", "released"),
    [
        ((1.0, 1.5), (-0.25, 0.25), (-np.sqrt(0.5), np.sqrt(0.5))),  # std .25
        ((0.0, 1.8), (-0.9, 0.9), (-np.sqrt(0.5), np.sqrt(0.5))),  # std .9, with M - 1 1.27
        ((-7.0, -5.0), (-1.0, 1.0), (-np.sqrt(0.5), np.sqrt(0.5))),  # std 1
        ((-2.0, 2.0), (-1.0, 1.0), (-np.sqrt(0.5), np.sqrt(0.5))),  # std 2
    ],
)
def test_only_the_papers_rl_sn_leaves_small_differences_small(
    values: tuple[float, ...], paper: tuple[float, ...], released: tuple[float, ...]
) -> None:
    assert rl_sn(array(*values)) == pytest.approx(array(*paper), rel=1e-12)
    assert rl_sn(array(*values), "released") == pytest.approx(array(*released), rel=1e-12)


def test_rl_c_is_divided_by_the_population_std_however_small() -> None:
    # Mean 1, variance 1 / 2: no max(1, std) here.
    assert rl_c(array(0, 1, 1, 2)) == pytest.approx(array(-np.sqrt(2), 0, 0, np.sqrt(2)), rel=1e-12)
    # Mean 2, variance (4 + 1 + 0 + 9) / 4.
    assert rl_c(array(0, 1, 2, 5)) == pytest.approx(array(-2, -1, 0, 3) / np.sqrt(3.5), rel=1e-12)


def test_the_released_rl_c_is_only_centred() -> None:
    assert rl_c(array(0, 1, 1, 2), "released").tolist() == [-1, 0, 0, 1]
    assert rl_c(array(0, 1, 2, 5), "released").tolist() == [-2, -1, 0, 3]


def test_rl_pc_has_the_size_of_rl_sn_and_the_sign_of_the_rules() -> None:
    elbo, rules = array(1, 2, 5, 8), array(3, 1, 0, 2)  # the mean number of rules is 1.5
    assert rl_pc(elbo, rules) == pytest.approx(array(3, -2, -1, 4) / np.sqrt(7.5), rel=1e-12)
    assert rl_pc(elbo, rules, "released") == pytest.approx(array(3, -2, -1, 4) / np.sqrt(10), rel=1e-12)


def test_exactly_the_mean_is_positive_in_the_paper_and_negative_in_the_released_code() -> None:
    elbo, rules = array(1, 2, 5, 8), array(2, 1, 0, 1)  # the mean number of rules is 1
    assert rl_pc(elbo, rules) == pytest.approx(array(3, 2, -1, 4) / np.sqrt(7.5), rel=1e-12)
    assert rl_pc(elbo, rules, "released") == pytest.approx(array(3, -2, -1, -4) / np.sqrt(10), rel=1e-12)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_where_all_have_equally_many_rules_all_have_one_sign(count: int) -> None:
    elbo, rules = array(1, 2, 5, 8), np.full(4, float(count))
    assert rl_pc(elbo, rules) == pytest.approx(array(3, 2, 1, 4) / np.sqrt(7.5), rel=1e-12)
    assert rl_pc(elbo, rules, "released") == pytest.approx(array(-3, -2, -1, -4) / np.sqrt(10), rel=1e-12)
    for form in FORMS:
        assert rl_c(rules, form).tolist() == [0, 0, 0, 0]


def test_leave_one_out_by_hand() -> None:
    # 1 - (2 + 6) / 2, 2 - (1 + 6) / 2, 6 - (1 + 2) / 2.
    assert leave_one_out(array(1, 2, 6)).tolist() == [-3, -1.5, 4.5]
    assert leave_one_out(array(3, 5)).tolist() == [-2, 2]


# Samples that are all alike: a short sentence without dropout often has them


@EITHER
def test_equal_values_score_zero(form: str) -> None:
    for value in (0.0, 2.0, -0.5, -12.25):
        for size in (2, 3, 7, 20):
            same = np.full(size, value)
            assert rl_sn(same, form).tolist() == [0.0] * size
            assert np.abs(rl_pc(same, np.arange(size, dtype=float), form)).tolist() == [0.0] * size
            assert leave_one_out(same).tolist() == [0.0] * size


@pytest.mark.parametrize("form", ["paper", "released"])
def test_rounding_makes_no_differences_between_equal_values(form: str) -> None:
    for value in (0.1, -3.7, -7.321, -20.02, 1 / 3):
        for size in (3, 5, 7, 20, 50):
            same = np.full(size, value)
            assert np.abs(rl_sn(same, form)).max() < 1e-9
            assert np.abs(rl_pc(same, np.arange(size, dtype=float), form)).max() < 1e-9
            assert np.abs(leave_one_out(same)).max() < 1e-9


# Invariants


@EITHER
@given(values=EIGHTHS, shift=st.integers(-4000, 4000))
def test_a_constant_added_to_the_elbo_changes_nothing(form: str, values: Any, shift: int) -> None:
    expected = rl_sn(values, form)
    assert rl_sn(values + shift / 4, form) == pytest.approx(expected, abs=1e-9)
    assert leave_one_out(values + shift / 4) == pytest.approx(leave_one_out(values), abs=1e-9)
    rules = np.arange(len(values), dtype=float)
    assert rl_pc(values + shift / 4, rules, form) == pytest.approx(rl_pc(values, rules, form), abs=1e-9)


@EITHER
@given(counts=COUNTS, shift=st.integers(0, 50))
def test_a_rule_arc_more_in_every_sample_changes_nothing(form: str, counts: list[int], shift: int) -> None:
    rules = np.array(counts, dtype=float)
    elbo = np.cos(np.arange(len(rules)))
    assert rl_c(rules + shift, form) == pytest.approx(rl_c(rules, form), abs=1e-9)
    assert rl_pc(elbo, rules + shift, form).tolist() == rl_pc(elbo, rules, form).tolist()


@EITHER
@given(values=EIGHTHS, data=st.data())
def test_rl_pc_has_the_size_of_rl_sn(form: str, values: Any, data: st.DataObject) -> None:
    size = len(values)
    counts = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    scores = rl_pc(values, np.array(counts, dtype=float), form)
    assert np.abs(scores).tolist() == np.abs(rl_sn(values, form)).tolist()


@EITHER
@given(counts=COUNTS)
def test_rounding_decides_no_tie(form: str, counts: list[int]) -> None:
    """Whether a count is above the mean is a matter of whole numbers."""
    rules = np.array(counts, dtype=float)
    elbo = np.where(np.arange(len(rules)) % 2, 5.25, -1.5)
    signs = np.sign(rl_pc(elbo, rules, form))
    centred = rl_c(rules, form)
    for count, sign, deviation in zip(counts, signs.tolist(), centred.tolist()):
        above = len(counts) * count - sum(counts)
        assert sign == (1 if above > 0 or (above == 0 and form == "paper") else -1)
        assert (deviation > 0) == (above > 0)
        assert (deviation < 0) == (above < 0)


@pytest.mark.parametrize("mean", [3, 5, 7])
def test_a_count_at_the_mean_is_a_tie_whatever_one_part_in_m_is_in_binary(mean: int) -> None:
    for size in range(3, 130, 2):
        rules = np.full(size, float(mean))
        rules[: size // 2] += 3
        rules[size // 2 + 1 :] -= 3
        elbo = np.arange(size, dtype=float) ** 2
        assert rl_pc(elbo, rules)[size // 2] > 0
        assert rl_pc(elbo, rules, "released")[size // 2] < 0
        assert rl_c(rules)[size // 2] == 0
    assert 105 * mean * (1 / 105) != mean  # the mean as one might compute it


@given(EIGHTHS)
def test_leave_one_out_is_the_difference_from_the_mean_of_the_others(values: Any) -> None:
    expected = []
    for m, value in enumerate(values):
        others = [other for k, other in enumerate(values) if k != m]
        expected.append(value - sum(others) / len(others))
    assert leave_one_out(values) == pytest.approx(expected, abs=1e-9)


@EITHER
@given(values=EIGHTHS, counts=COUNTS)
def test_scores_of_one_sentence_sum_to_zero_and_have_their_spread(
    form: str, values: Any, counts: list[int]
) -> None:
    rules = np.array(counts, dtype=float)
    for scores in (rl_sn(values, form), leave_one_out(values), rl_c(rules, form)):
        assert abs(scores.sum()) < 1e-8
    if form == "paper":
        assert rl_sn(values).std() == pytest.approx(min(1.0, values.std()), abs=1e-9)
        assert rl_c(rules).std() == pytest.approx(float(len(set(counts)) > 1), abs=1e-9)
    else:
        several = float(len(set(values.tolist())) > 1)
        assert rl_sn(values, form).std(ddof=1) == pytest.approx(several, abs=1e-9)
        assert rl_c(rules, form).std() == pytest.approx(rules.std(), abs=1e-9)


@EITHER
@given(values=EIGHTHS, seed=st.integers(0, 1000))
def test_scores_go_with_their_samples(form: str, values: Any, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(values))
    rules = np.random.default_rng([seed, 1]).integers(0, 4, len(values)).astype(float)
    assert rl_sn(values, form)[order] == pytest.approx(rl_sn(values[order], form), abs=1e-9)
    assert rl_c(rules, form)[order] == pytest.approx(rl_c(rules[order], form), abs=1e-9)
    expected = rl_pc(values[order], rules[order], form)
    assert rl_pc(values, rules, form)[order] == pytest.approx(expected, abs=1e-9)
    assert leave_one_out(values)[order] == pytest.approx(leave_one_out(values[order]), abs=1e-9)


@EITHER
def test_what_is_given_stays_as_it_is(form: str) -> None:
    elbo, rules = array(1, 2, 5, 8), array(2, 1, 0, 1)
    for scores in (rl_sn(elbo, form), rl_c(rules, form), rl_pc(elbo, rules, form), leave_one_out(elbo)):
        scores += 1.0
    assert elbo.tolist() == [1, 2, 5, 8]
    assert rules.tolist() == [2, 1, 0, 1]

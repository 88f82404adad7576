"""Bootstrap intervals and tests: against all resamples of tiny inputs, on simulated data, by their
laws."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynet_vdgi.evaluation import significance
from dynet_vdgi.evaluation.significance import compare, compare_measures

# Four sentences of two systems: words right and words.
OURS, THEIRS, WORDS = [3, 1, 4, 2], [1, 2, 3, 0], [5, 2, 6, 4]


def interval(correct, words, **options):
    return compare([correct], words, **options)[0][0]


def difference(correct, other, words, **options):
    return compare([other, correct], words, **options)[1][0]


def all_resamples(correct: list[int], words: list[int]) -> np.ndarray:
    """The score of each of the n^n ways to draw n sentences."""
    draws = itertools.product(range(len(words)), repeat=len(words))
    return np.array([sum(correct[k] for k in d) / sum(words[k] for k in d) for d in draws])


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("correct", [OURS, THEIRS])
def test_interval_is_that_of_all_resamples(correct: list[int], level: float) -> None:
    exact = all_resamples(correct, WORDS)
    found = interval(correct, WORDS, draws=40_000, level=level)
    assert found.estimate == sum(correct) / sum(WORDS)
    for limit, quantile in ((found.low, (1 - level) / 2), (found.high, (1 + level) / 2)):
        # The limit must be a quantile up to the error of 40,000 draws: 4 standard errors are below
        # 0.01.
        assert np.mean(exact < limit - 1e-9) <= quantile + 0.01
        assert np.mean(exact <= limit + 1e-9) >= quantile - 0.01


def test_p_is_that_of_all_resamples() -> None:
    gaps = all_resamples(OURS, WORDS) - all_resamples(THEIRS, WORDS)
    gap = (sum(OURS) - sum(THEIRS)) / sum(WORDS)
    exact = np.mean(np.abs(gaps - gap) >= gap - 1e-12)
    assert 0.01 < exact < 0.5
    found = difference(OURS, THEIRS, WORDS, draws=40_000)
    assert found.estimate == pytest.approx(gap)
    assert found.p == pytest.approx(exact, abs=0.01)


def test_drawn_together_not_apart() -> None:
    # Sentences are hard or easy for both systems alike; scored on separate draws, the gap would
    # vary.
    ours, theirs = [9, 0] * 20, [8, 0] * 20
    found = difference(ours, theirs, [10] * 40)
    assert found.low > 0
    assert interval(ours, [10] * 40).low < interval(theirs, [10] * 40).high
    assert found.p < 0.01


def simulated(rng: np.random.Generator, n: int, skill: float) -> tuple[np.ndarray, np.ndarray]:
    """Words right and words of n sentences, some of which are easier than others."""
    words = rng.integers(1, 21, n)
    return rng.binomial(words, rng.beta(6 * skill, 6 * (1 - skill), n)), words


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(400):
        found = interval(*simulated(rng, 80, 0.6), draws=500, seed=seed)
        hits += found.low <= 0.6 <= found.high
    # 3 standard errors are 0.033; a percentile interval is a little narrow
    assert 0.91 <= hits / 400 <= 0.98


def sentences() -> st.SearchStrategy[list[tuple[int, int, int]]]:
    """Words right of two systems, and words."""
    one = st.integers(1, 30).flatmap(
        lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))
    )
    return st.lists(one, min_size=1, max_size=30)


@settings(max_examples=40)
@given(sentences(), st.sampled_from([0.5, 0.9, 0.95]))
def test_limits(rows: list[tuple[int, int, int]], level: float) -> None:
    ours, theirs, words = map(list, zip(*rows))
    found = interval(ours, words, draws=200, level=level)
    shares = [right / n for right, _, n in rows]
    assert min(shares) - 1e-9 <= found.low <= found.high <= max(shares) + 1e-9
    wider = interval(ours, words, draws=200, level=0.99)
    assert wider.low <= found.low
    assert found.high <= wider.high
    gap = difference(ours, theirs, words, draws=200, level=level)
    assert gap.estimate == pytest.approx(found.estimate - interval(theirs, words, draws=1).estimate)
    assert -1 <= gap.low <= gap.high <= 1
    assert 1 / 201 <= gap.p <= 1


@settings(max_examples=40)
@given(sentences())
def test_laws(rows: list[tuple[int, int, int]]) -> None:
    ours, theirs, words = (np.array(column) for column in zip(*rows))
    gap, turned = (
        difference(ours, theirs, words, draws=200),
        difference(theirs, ours, words, draws=200),
    )
    assert (turned.estimate, turned.low, turned.high) == pytest.approx(
        (-gap.estimate, -gap.high, -gap.low)
    )
    assert turned.p == gap.p
    same = difference(ours, ours, words, draws=200)
    assert (same.estimate, same.low, same.high, same.p) == (0, 0, 0, 1)
    many = difference(3 * ours, 3 * theirs, 3 * words, draws=200)
    assert (many.low, many.high, many.p) == pytest.approx((gap.low, gap.high, gap.p))
    intervals, gaps = compare([theirs, ours], words, draws=200)
    assert intervals == [interval(theirs, words, draws=200), interval(ours, words, draws=200)]
    assert gaps == [gap]


def test_means_over_runs_one_sentence_and_none() -> None:
    assert interval([1.5, 2.25], [3, 3]).estimate == 0.625
    assert interval([2], [4]).low == interval([2], [4]).high == 0.5
    intervals, gaps = compare([[], []], [])
    assert all(math.isnan(value) for value in (intervals[0].estimate, intervals[1].low, gaps[0].p))
    assert gaps[0].to_dict() == {"estimate": None, "low": None, "high": None, "p": None}


def test_many_equal_sentences_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """As precisely as one by one, whatever is drawn in one go, and pairs of systems remain pairs."""
    right, words = np.tile([4, 1, 2, 3], 200), np.tile([5, 2, 4, 3], 200)
    found = compare([right, right - 1], words)
    monkeypatch.setattr(significance, "_CELLS", 37)
    assert compare([right, right - 1], words) == found
    monkeypatch.setattr(significance, "_AS_LONG", len(words))
    for one, other in zip(found[0], compare([right, right - 1], words)[0]):
        assert dataclasses.astuple(one) == pytest.approx(dataclasses.astuple(other), abs=0.002)
        assert one != other
    rows = np.column_stack([right, words]).astype(float)
    (sums,) = significance._resampled_sums([rows[:, :1].T], rows[:, 1], 4000, seed=2)
    assert np.cov(sums.T) == pytest.approx(np.cov(rows.T) * len(rows), rel=0.1)


def test_measures_are_compared_as_each_alone_on_sentences_drawn_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    words = rng.integers(5, 60, 150)
    heads, arcs = rng.binomial(words, 0.7, (3, 150)), rng.binomial(words, 0.5, (2, 150)) / 3
    equal = np.stack([words - 1, words // 2])  # few kinds of sentences
    measures = [heads, arcs, equal, heads[:1]]
    alone = [compare(each, words, draws=700) for each in measures]
    drawn = 0

    class Counting(np.random.Generator):
        def integers(self, *arguments, size, **options):
            nonlocal drawn
            drawn += size[0]
            return super().integers(*arguments, size=size, **options)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Counting(np.random.PCG64(seed)))
    assert compare_measures(measures, words, draws=700) == alone
    assert drawn == 700

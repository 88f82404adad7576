"""How much a score depends on the choice of test sentences: bootstrap intervals, tests of two
systems.

Each draw takes as many whole sentences as there are, with replacement, because the words of one
sentence are not independent. A draw's DDA is its number of right words over its number of words, as
in `Tally`.

Interval: between the (1 - level) / 2 and (1 + level) / 2 quantiles of the draws' DDA (percentile
interval, Efron & Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). It is somewhat
too narrow for few sentences, and says nothing for one.

Test (paired: both systems are scored on the same draws, Koehn, EMNLP 2004): p is the share of
draws whose difference d* is as far from the observed difference d as d is from 0, |d* - d| >= |d|.
This is the two-sided form of the test of Berg-Kirkpatrick, Burkett & Klein, EMNLP 2012, who move
the draws to the null hypothesis of no difference; Koehn counts the draws in which the order is
reversed, which gives half of p if the draws are symmetric. The observed sentences count as one
more draw, so p is never below 1 / (draws + 1).

All this is about the choice of test sentences. It does not cover the variation between training
runs: with several seeds, give each its own row and look at their spread as well. Counts of right
words may be means over runs; the interval is then for the mean over exactly these runs.

Of four sentences of five words each, one system has 3, 4, 2 and 5 heads right, another 4, 4, 3 and
5. The second is better in two sentences of four, which is too little to tell them apart:

>>> right = [[3, 4, 2, 5], [4, 4, 3, 5]]
>>> (first, second), (difference,) = compare(right, [5, 5, 5, 5], draws=1000)
>>> first.estimate, first.low, first.high
(0.7, 0.5, 0.9)
>>> round(difference.estimate, 2), round(difference.p, 2)
(0.1, 0.12)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

DRAWS, LEVEL, SEED = 10_000, 0.95, 1

_CELLS = 1 << 17  # sentences drawn at once, few enough for a cache

_AS_LONG = 13  # number of sentences drawn in the time of one draw of a sentence's count

_ROUNDING = 1e-12  # differences closer than this are equal

Counts = Sequence[float] | npt.NDArray[Any]

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A score and its interval, as fractions; all NaN if there is nothing to score."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference(Interval):
    """A score minus another, its interval, and the two-sided p of no difference; NaN as in
    `Interval`."""

    p: float

    def to_dict(self) -> dict[str, float | None]:
        """Ready for JSON: null for NaN."""
        return {name: None if np.isnan(value) else value for name, value in asdict(self).items()}


def compare(
    correct: Sequence[Counts] | npt.NDArray[Any],
    words: Counts,
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = SEED,
) -> tuple[list[Interval], list[Difference]]:
    """Intervals of S systems, and the differences from the first of all others (S - 1), on the same
    draws.

    `correct` (S, n) counts the right words of each sentence, `words` (n,) all its words.
    """
    return compare_measures([correct], words, draws=draws, level=level, seed=seed)[0]


def compare_measures(
    measures: Sequence[Sequence[Counts] | npt.NDArray[Any]],
    words: Counts,
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = SEED,
) -> list[tuple[list[Interval], list[Difference]]]:
    """What `compare` gives for each measure, such as right heads and right relations of some
    systems (S, n), in the time of little more than one of them."""
    counts_of = [np.asarray(correct, dtype=float) for correct in measures]
    lengths = np.asarray(words, dtype=float)
    if not lengths.size:
        return [_of_nothing(len(counts)) for counts in counts_of]
    sums_of = _resampled_sums(counts_of, lengths, draws, seed)
    return [
        _intervals(counts.sum(axis=1) / lengths.sum(), sums, level)
        for counts, sums in zip(counts_of, sums_of)
    ]


def _of_nothing(n_systems: int) -> tuple[list[Interval], list[Difference]]:
    nan = float("nan")
    others = [Difference(nan, nan, nan, nan)] * (n_systems - 1)
    return [Interval(nan, nan, nan)] * n_systems, others


def _intervals(
    observed: _Floats, sums: _Floats, level: float
) -> tuple[list[Interval], list[Difference]]:
    """Those of systems with observed scores (S,) and sums (draws, S + 1) of right words and of
    words."""
    drawn = sums[:, :-1] / sums[:, -1:]  # (draws, S)
    intervals = [Interval(float(score), *_limits(d, level)) for score, d in zip(observed, drawn.T)]
    gaps, drawn_gaps = observed[1:] - observed[0], (drawn[:, 1:] - drawn[:, :1]).T
    differences = []
    for gap, d in zip(gaps, drawn_gaps):
        as_far = np.count_nonzero(np.abs(d - gap) >= abs(gap) - _ROUNDING)
        p = float((1 + as_far) / (1 + len(d)))
        differences.append(Difference(float(gap), *_limits(d, level), p))
    return intervals, differences


def _resampled_sums(
    measures: Sequence[_Floats], lengths: _Floats, draws: int, seed: int
) -> list[_Floats]:
    """For each measure (S, n), sums (draws, S + 1) of its counts and of the lengths (n,) of
    sentences, n of which are drawn each time.

    In a large test set many sentences are equal. Then it is enough to draw the number of sentences
    of each kind; measures for which they are not equal share their draws.
    """
    sums_of: dict[int, _Floats] = {}
    others = []
    for k, counts in enumerate(measures):
        rows = np.column_stack([*counts, lengths])
        kinds, times = np.unique(rows, axis=0, return_counts=True)
        if len(kinds) * _AS_LONG < len(rows):
            sums_of[k] = _sums_by_kind(kinds, times, draws, seed)
        else:
            others.append(k)
    if others:
        sums = _sums_by_sentence(np.vstack([*(measures[k] for k in others), lengths]), draws, seed)
        start = 0
        for k in others:
            end = start + len(measures[k])
            sums_of[k] = np.column_stack([sums[:, start:end], sums[:, -1]])
            start = end
    return [sums_of[k] for k in range(len(measures))]


def _sums_by_kind(kinds: _Floats, times: npt.NDArray[np.intp], draws: int, seed: int) -> _Floats:
    """Column sums (draws, K) of as many rows as `times` has in all; of each of the different rows
    `kinds` (D, K) there are as many as `times` (D,) says."""
    rng, n_rows = np.random.default_rng(seed), times.sum()
    at_once = max(1, _CELLS // len(kinds))
    sums = np.zeros((draws, kinds.shape[1]))
    for start in range(0, draws, at_once):
        n_draws = min(at_once, draws - start)
        sums[start : start + n_draws] = rng.multinomial(n_rows, times / n_rows, n_draws) @ kinds
    return sums


def _sums_by_sentence(columns: _Floats, draws: int, seed: int) -> _Floats:
    """Sums (draws, K) of the values of n sentences in each of the columns (K, n)."""
    rng, n_rows = np.random.default_rng(seed), columns.shape[1]
    at_once = max(1, _CELLS // n_rows)
    picked = np.empty((at_once, n_rows), dtype=np.intp)
    values = np.empty((at_once, n_rows))
    sums = np.zeros((draws, len(columns)))
    for start in range(0, draws, at_once):
        n_draws = min(at_once, draws - start)
        rows, drawn = picked[:n_draws], values[:n_draws]
        rows[:] = rng.integers(n_rows, size=rows.shape, dtype=np.int32)
        for k, column in enumerate(columns):
            column.take(rows, out=drawn, mode="clip")  # no row is outside; other modes copy `out`
            sums[start : start + n_draws, k] = drawn.sum(axis=1)
    return sums


def _limits(drawn: _Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)

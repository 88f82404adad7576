"""How many heads a universal parser will find, before there is a tree to count them with.

The log-odds of the share of right heads are a line in the log-odds of the mean marginal probability of the
heads found. Wrong tags lower the log-odds in proportion to their share. For gold trees of the language, the
log-odds with k of them are a line in those without. All of this comes from languages whose branch was kept
from the parser (benchmarks/expect.py).

Letters: S treebanks learnt from, U numbers of a text, K numbers of trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ModelError

Floats = NDArray[np.float64]

PREFIX, SOURCES = "expectation/", "sources/numbers"
"""How the names of arrays begin; standardised numbers (S, U) of the treebanks learnt from."""

FARTHEST = 8.0
"""Log-odds are kept this far from 0."""


class ExpectedShare(NamedTuple):
    """A share of right heads and its standard error, from 0 to 1, with this many gold trees."""

    trees: int
    share: float
    error: float


@dataclass(frozen=True, eq=False)
class Expectation:
    """Predicts shares of right heads from mean marginal probabilities."""

    line: Floats  # (2,): constant and slope
    error: float  # standard error, from 0 to 1, on languages whose branch was kept from the parser
    trees: Floats  # (K, 4): number of trees, constant and slope, standard error
    tags: Floats  # (2,): log-odds lost if all tags were wrong, and how much this differs between languages

    def __call__(self, mean_marginal: float, n_words: int, tag_accuracy: float = 1.0) -> ExpectedShare:
        """The share without trees, if this share of the tags is right.

        Its error also has that of counting in a text of `n_words` words, and that of what wrong tags cost.
        """
        loss, spread = (1 - tag_accuracy) * self.tags
        share = float(sigmoid(log_odds(float(on_line(self.line, mean_marginal))) - loss))
        variance = share * (1 - share)
        errors = self.error, np.sqrt(variance / max(1, n_words)), variance * spread
        return ExpectedShare(0, share, float(np.linalg.norm(errors)))

    def with_trees(self, without: ExpectedShare) -> list[ExpectedShare]:
        """The shares with gold trees of the language, given the share without."""
        result = []
        for trees, constant, slope, error in self.trees.tolist():
            low, share, high = (
                float(on_line(np.array([constant, slope]), without.share + step))
                for step in (-without.error, 0.0, without.error)
            )
            result.append(ExpectedShare(int(trees), share, float(np.hypot(error, (high - low) / 2))))
        return result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back."""
        return {
            PREFIX + "line": self.line,
            PREFIX + "error": np.array([self.error]),
            PREFIX + "trees": self.trees,
            PREFIX + "tags": self.tags,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Expectation | None:
        """The expectation in a model's arrays; None: there is none. Raises: ModelError, it is damaged."""
        if PREFIX + "line" not in arrays:
            return None
        names = "line", "error", "trees", "tags"
        line, error, trees, tags = (arrays.get(PREFIX + name, np.zeros(0)) for name in names)
        shapes = line.shape, error.shape, trees.shape[1:], tags.shape
        is_sound = shapes == ((2,), (1,), (4,), (2,))
        numbers = np.concatenate([each.ravel() for each in (line, error, trees, tags)])
        if not is_sound or not np.isfinite(numbers).all() or not 0 <= error[0] <= 1:
            raise ModelError("the expected share of right heads cannot be computed: its numbers are damaged")
        return cls(line, float(error[0]), trees, tags)


def log_odds(share: float | Floats) -> Floats:
    """The log-odds of shares from 0 to 1, in nats."""
    with np.errstate(divide="ignore"):
        odds = np.log(share) - np.log1p(-np.asarray(share))
    return np.asarray(np.clip(odds, -FARTHEST, FARTHEST))


def on_line(line: Floats, share: float | Floats) -> Floats:
    """The shares whose log-odds are on the line (2,) at those of the given shares."""
    return sigmoid(line[0] + line[1] * log_odds(np.clip(share, 0.0, 1.0)))


def sigmoid(odds: float | Floats) -> Floats:
    """The shares with these log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.asarray(odds))))


def fitted(x: Floats, y: Floats, weights: Floats) -> Floats:
    """The line (2,) of least squares between the log-odds of shares."""
    x, y = log_odds(x), log_odds(y)
    mean_x, mean_y = (float(np.average(each, weights=weights)) for each in (x, y))
    slope = float(weights @ ((x - mean_x) * (y - mean_y)) / (weights @ (x - mean_x) ** 2))
    return np.array([mean_y - slope * mean_x, slope])


def nearest(numbers: Floats, sources: Floats, names: Sequence[str]) -> list[tuple[str, float]]:
    """The treebanks by their distance: the root mean square of differences between standardised numbers.

    numbers (U,); sources (S, U).
    """
    distances = np.sqrt(((sources.astype(np.float64) - numbers) ** 2).mean(1))
    return [(names[k], float(distances[k])) for k in np.argsort(distances, kind="stable").tolist()]

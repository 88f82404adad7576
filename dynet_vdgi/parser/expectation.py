"""How many heads a universal parser will find, before there is a tree to count them with.

The log-odds of the share of right heads are a line in the log-odds of the mean marginal probability
of the heads found. Wrong tags lower the log-odds in proportion to their share. For gold trees of
the language, the log-odds with k of them are a line in those without. All of this comes from
languages whose branch was kept from the parser (experiments/expect.py).

Letters: S treebanks learnt from, U numbers of a text, K numbers of trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ModelError
from dynet_vdgi.system.array_types import Floats

EXPECTATION, SOURCES = "expectation/", "sources/numbers"
"""How the names of arrays begin; standardised numbers (S, U) of the treebanks learnt from."""

FARTHEST = 8.0
"""Log-odds are kept this far from 0."""

LOW_SHARE = 0.75
"""Where a smaller share of heads is expected to be right, messages say what gold trees would
give."""

WIDTH_OF_90_PERCENT = 1.645
"""Nine of ten draws of a normal distribution are within this many standard deviations."""

WIDTH_OF_STANDARD_ERROR = WIDTH_OF_90_PERCENT / (0.75 * 0.25)
"""What turns a standard error of a share, as earlier files have it, into a width, near a share of
.75."""


class ExpectedShare(NamedTuple):
    """A share of right heads, from 0 to 1, with this many gold trees."""

    trees: int
    share: float
    width: float  # 9 of 10 languages are within this much of it, in nats of log-odds

    @property
    def interval(self) -> tuple[float, float]:
        """The shares between which 9 of 10 languages are."""
        odds = float(log_odds(self.share))
        return float(sigmoid(odds - self.width)), float(sigmoid(odds + self.width))


@dataclass(frozen=True, eq=False)
class Expectation:
    """Predicts shares of right heads from mean marginal probabilities."""

    line: Floats  # (2,): constant and slope
    width: float  # 9 of 10 languages whose branch was kept from the parser are within it
    trees: Floats  # (K, 4): number of trees, constant, slope, and the width of this line
    tags: Floats  # (2,): log-odds lost if all tags were wrong, and the width of this loss

    def __call__(
        self, mean_marginal: float, n_words: int, tag_accuracy: float = 1.0
    ) -> ExpectedShare:
        """The share without trees, if this share of the tags is right.

        Its width also has that of counting in a text of `n_words` words, and that of what wrong
        tags cost.
        """
        loss, spread = (1 - tag_accuracy) * self.tags
        share = float(sigmoid(log_odds(float(on_line(self.line, mean_marginal))) - loss))
        counting = WIDTH_OF_90_PERCENT / np.sqrt(max(1, n_words) * share * (1 - share))
        return ExpectedShare(0, share, float(np.linalg.norm([self.width, counting, spread])))

    def with_trees(self, without: ExpectedShare) -> list[ExpectedShare]:
        """The shares with gold trees of the language, given the share without."""
        return [
            ExpectedShare(
                int(trees),
                float(on_line(np.array([constant, slope]), without.share)),
                float(np.hypot(width, slope * without.width)),
            )
            for trees, constant, slope, width in self.trees.tolist()
        ]

    def advice(self, without: ExpectedShare) -> str:
        """What trees that somebody corrects would give where few heads are right without; ""
        elsewhere."""
        some = [each for each in self.with_trees(without) if each.trees in (10, 50)]
        if without.share >= LOW_SHARE or not some:
            return ""
        with_more_trees = ", ".join(
            f"with {each.trees} trees of yours {100 * each.share:.0f} %" for each in some
        )
        return f"; {with_more_trees}: vdgi choose writes the sentences to correct"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back."""
        return {
            EXPECTATION + "line": self.line,
            EXPECTATION + "width": np.array([self.width]),
            EXPECTATION + "trees": self.trees,
            EXPECTATION + "tags": self.tags,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Expectation | None:
        """The expectation in a model's arrays; None: there is none. Raises: ModelError, it is
        damaged."""
        if EXPECTATION + "line" not in arrays:
            return None
        is_earlier = EXPECTATION + "error" in arrays
        names = "line", "error" if is_earlier else "width", "trees", "tags"
        line, width, trees, tags = (arrays.get(EXPECTATION + name, np.zeros(0)) for name in names)
        shapes = line.shape, width.shape, trees.shape[1:], tags.shape
        is_sound = shapes == ((2,), (1,), (4,), (2,))
        numbers = np.concatenate([each.ravel() for each in (line, width, trees, tags)])
        if not is_sound or not np.isfinite(numbers).all() or width[0] < 0:
            raise ModelError(
                "the expected share of right heads cannot be computed: its numbers are damaged"
            )
        if is_earlier:
            width = WIDTH_OF_STANDARD_ERROR * width
            trees = trees * [1, 1, 1, WIDTH_OF_STANDARD_ERROR]
            tags = tags * [1, WIDTH_OF_90_PERCENT]
        return cls(line, float(width[0]), trees, tags)


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


def nearest(numbers: Floats, sources: Floats, names: Sequence[str]) -> list[tuple[str, float]]:
    """The treebanks by their distance: the root mean square of differences between standardised
    numbers.

    numbers (U,); sources (S, U).
    """
    distances = np.sqrt(((sources.astype(np.float64) - numbers) ** 2).mean(1))
    return [(names[k], float(distances[k])) for k in np.argsort(distances, kind="stable").tolist()]

"""How sure a parser is of each head, as a probability, without a single tree to learn that from.

The parser's margin, how far its least sure decision was above the alternative, only orders words. Isotonic
regression of the teacher's probability of the parser's own arc on the margin makes it a probability. As
parser and teacher share their errors that is too high, so a shift of its log-odds, the same for all languages
and learnt from treebanks of others, corrects it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynet_vdgi.errors import ModelError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PREFIX = "confidence/"
N_BINS = 50
MOST = 1e6  # margins above this, infinite ones too, are taken for it
CLIP = 1e-3  # probabilities are kept this far from 0 and 1

SHIFT_WITHOUT_TREES, SHIFT_WITH_TREES = -1.63, -0.47
"""Log-odds, in nats, measured on treebanks of UD 2: of six; and on texts and dev files of sixteen, with ten
to a hundred trees, where it is from -0.46 to -0.48 whatever their number."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A step function from margins to probabilities: values (bins,) up to the margins in edges (bins,)."""

    edges: Floats
    values: Floats
    shift: float = 0.0

    @classmethod
    def fit(cls, margins: ArrayLike, probabilities: ArrayLike, shift: float = 0.0) -> Calibration:
        """The best function that never falls, over bins of equally many words.

        margins (words,) of the parser, and the teacher's probabilities (words,) of the same arcs. `shift` is
        added to log-odds afterwards.

        Raises:
            ValueError: there is no word, or the numbers of words differ.
        """
        x, y = (np.asarray(array, np.float64) for array in (margins, probabilities))
        if not len(x) or x.shape != y.shape:
            raise ValueError(f"margins of {x.shape} and probabilities of {y.shape} words")
        x = np.minimum(x, MOST)
        order = np.argsort(x, kind="stable")
        bins = np.array_split(order, min(N_BINS, len(x)))
        values = isotonic([float(y[words].mean()) for words in bins], [len(words) for words in bins])
        return cls(np.array([x[words[-1]] for words in bins]), values, shift)

    @classmethod
    def of_parses(
        cls, parses: Iterable[tuple[Sequence[int], Floats]], marginals: Iterable[Floats], shift: float
    ) -> Calibration:
        """The same, of trees, heads (n,) and margins (n,), and a teacher's marginals (n + 1, n)."""
        trees, margins = zip(*parses)
        return cls.fit(np.concatenate(margins), arc_probabilities(marginals, trees), shift)

    def __call__(self, margins: ArrayLike) -> Floats:
        """Probabilities (words,) that heads with these margins (words,) are right."""
        return self.levels[self.level_of(margins)]

    @property
    def levels(self) -> Floats:
        """The probabilities (bins,) that there are."""
        return shifted(self.values, self.shift)

    def level_of(self, margins: ArrayLike) -> Ints:
        """Which of them margins (words,) have."""
        x = np.minimum(np.asarray(margins, np.float64), MOST)
        return np.minimum(np.searchsorted(self.edges, x), len(self.values) - 1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` reads back."""
        return {
            PREFIX + "edges": self.edges,
            PREFIX + "values": self.values,
            PREFIX + "shift": np.array([self.shift]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration:
        """The calibration whose `arrays` these are; others are ignored. Raises: ModelError, they are not."""
        try:
            edges, values, shift = (arrays[PREFIX + name] for name in ("edges", "values", "shift"))
        except KeyError as error:
            raise ModelError(f"no calibration: missing {error.args[0]}") from None
        if edges.ndim != 1 or not len(edges) or edges.shape != values.shape or shift.shape != (1,):
            raise ModelError(f"no calibration: edges of {edges.shape}, values of {values.shape}")
        if not all(np.isfinite(array).all() for array in (edges, values, shift)):
            raise ModelError("no calibration: not all numbers are finite")
        return cls(edges, values, float(shift[0]))


def isotonic(values: Sequence[float], sizes: Sequence[int]) -> Floats:
    """The never falling numbers nearest to these, weighted by sizes: pool adjacent violators.

    >>> isotonic([0.2, 0.6, 0.4, 0.9], [1, 1, 1, 1]).tolist()
    [0.2, 0.5, 0.5, 0.9]
    """
    blocks: list[tuple[float, int, int]] = []  # mean, size, number of values
    for value, size in zip(values, sizes):
        mean, weight, count = float(value), size, 1
        while blocks and blocks[-1][0] > mean:
            before, its_weight, its_count = blocks.pop()
            mean = (mean * weight + before * its_weight) / (weight + its_weight)
            weight, count = weight + its_weight, count + its_count
        blocks.append((mean, weight, count))
    return np.array([mean for mean, _, count in blocks for _ in range(count)])


def shifted(probabilities: Floats, shift: float) -> Floats:
    """Probabilities whose log-odds are higher by so much, in nats."""
    p = np.clip(probabilities, CLIP, 1 - CLIP)
    with np.errstate(over="ignore"):  # of a shift without measure, as of a damaged model: 0
        return np.asarray(1 / (1 + (1 - p) / p * np.exp(-shift)))


def best_shift(probabilities: ArrayLike, right: ArrayLike, steps: int = 50) -> float:
    """The shift under which heads that are right or not (words,) are likeliest, by Newton's method."""
    p = np.clip(np.asarray(probabilities, np.float64), CLIP, 1 - CLIP)
    truth, shift = np.asarray(right, np.float64), 0.0
    for _ in range(steps):
        q = shifted(p, shift)
        change = (truth - q).sum() / max(float((q * (1 - q)).sum()), 1e-9)
        shift += float(np.clip(change, -1, 1))
        if abs(change) < 1e-9:
            break
    return shift


def calibration_error(probabilities: ArrayLike, right: ArrayLike, n_bins: int = 10) -> float:
    """Expected calibration error: mean distance of said and right in bins of equal width, from 0 to 1.

    >>> calibration_error([0.95, 0.95], [True, False])
    0.45
    """
    p, truth = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    off = np.bincount(bins, p - truth, n_bins)
    return round(float(np.abs(off).sum() / max(1, len(p))), 12)


def deciles(probabilities: ArrayLike, right: ArrayLike) -> list[tuple[float, float]]:
    """What was said and what was right, as means of ten parts of the words, the least sure first."""
    p, truth = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    parts = np.array_split(np.argsort(p, kind="stable"), 10)
    return [(float(p[part].mean()), float(truth[part].mean())) for part in parts if len(part)]


def arc_probabilities(marginals: Iterable[Floats], heads: Iterable[Sequence[int]]) -> Floats:
    """What marginals (n + 1, n) of sentences say about these heads, of all words (words,)."""
    rows = [matrix[list(tree), range(len(tree))] for matrix, tree in zip(marginals, heads)]
    return np.concatenate([np.zeros(0), *rows])

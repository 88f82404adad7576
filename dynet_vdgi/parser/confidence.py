"""The probability that a parser's head is right, learnt without a single tree.

The log-odds that an arc is right are a sum of three numbers, looked up in tables: one for the
parser's margin, which is how far its least sure decision was above the alternative; one for the
tags of the arc's two words; one for the arc's length. Their relative weights are learnt once, from
treebanks of other languages (WEIGHTS). The tables of margins and of tag pairs are learnt from the
language's own text: from how the parser's arcs rank by margin, and from how probable the arcs of a
pair are under the teacher. A logistic regression of the teacher's probabilities on the sum sets the
scale. The results are too high, because parser and teacher share their errors; a shift of the
log-odds, which is the same for all languages and learnt from treebanks of other languages, corrects
them.

Letters: N words of all sentences, S sentences, T tags, K knots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynet_vdgi.errors import ModelError
from dynet_vdgi.system.array_types import Floats, Ints

PREFIX = "confidence/"

N_KNOTS = 51

FARTHEST = 20  # words from a head; longer arcs count as this long

CALIBRATION_SENTENCES = 500  # from which confidence is learnt

MOST_TAGS = 100  # distinguished, the most frequent ones

STRENGTH = 5.0  # pseudo-words with which a pair backs off to its tag, and a tag to the mean

CLIP = 1e-3  # probabilities are kept this far from 0 and 1

STEPS = 10_000  # confidences are whole numbers of these parts, from 1 to STEPS - 1

MOST_SHIFTED = 8.0  # nats

DECIMALS = 6  # of learnt numbers: further ones depend on processor and NumPy version

SHIFT_WITHOUT_TREES, SHIFT_WITH_TREES = -1.73, -0.47
"""Log-odds, in nats, measured on treebanks of UD 2: without trees on sixteen
(experiments/confidence.py); and with ten to a hundred trees on texts and dev files of sixteen,
under an earlier calibration."""

WRONG_TAGS = 2.0
"""With a share w of wrong tags, log-odds are divided by 1 + WRONG_TAGS w, as sure heads are wrong
as well, and lose WRONG_TAGS w nats; learnt with taggers of a hundred sentences of languages left
out (experiments/expect.py errors)."""


class Weights(NamedTuple):
    """The change in log-odds for a difference of one."""

    forced: float  # the parser had no alternative
    rank: float  # of the margin among those of the text, from 0 to 1
    pair: float  # log-odds of the pair of tags under the teacher
    frequency: float  # log(1 + number of arcs of the text with this pair)
    length: float  # log of the arc's length in words
    root: float  # the word is the root


WEIGHTS = Weights(0.596, 0.647, 0.508, 0.222, -0.704, -1.036)
"""As printed by `experiments/confidence.py --learn` for dev files of sixteen treebanks of UD 2."""


class Arcs(NamedTuple):
    """The words of sentences, concatenated, with their heads and the parser's margins."""

    tags: Ints  # (N,), numbers of a calibration's `number`
    heads: Ints  # (N,): 0 for the root, else 1..n
    margins: Floats  # (N,); infinite where the parser had no alternative
    first: Ints  # (S + 1,): sentence k is first[k]:first[k + 1]


@dataclass(frozen=True, eq=False)
class Calibration:
    """Tables of log-odds; `margin_odds` already include the shift."""

    knots: Floats  # (K,) margins, ascending
    margin_odds: Floats  # (K,), between them linear
    forced_odds: float  # on top of them, where the parser had no alternative
    tags: tuple[str, ...]  # (T,)
    pair_odds: Floats  # (T + 1, T + 2, 2): dependent; head, ROOT last; head before it or after it
    length_odds: Floats  # (FARTHEST + 1,), of the root first
    shift: float = 0.0
    _numbers: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {tag: k for k, tag in enumerate(self.tags)})

    @classmethod
    def fit(
        cls,
        tags: Sequence[Sequence[str]],
        parses: Iterable[tuple[Sequence[int], Floats]],
        marginals: Iterable[Floats],
        shift: float = 0.0,
        weights: Weights = WEIGHTS,
    ) -> Calibration:
        """Learns from sentences with tags (n,), the parser's heads (n,) and margins (n,), and a
        teacher's marginals (n + 1, n). `shift` is added to log-odds.

        Raises: ValueError, there is no word, or numbers of words differ.
        """
        trees, margins = zip(*parses) if tags else ((), ())
        probabilities = arc_probabilities(marginals, trees)
        if not len(probabilities):
            raise ValueError("no words to learn confidence from")
        bare = cls.fit_unscaled(tags, trees, margins, probabilities, weights)
        scores = bare.odds(bare.arcs(tags, trees, margins))
        base, slope = logistic(scores, probabilities)
        return cls(
            bare.knots,
            round_learnt(base + shift + slope * bare.margin_odds),
            float(round_learnt(slope * bare.forced_odds)),
            bare.tags,
            round_learnt(slope * bare.pair_odds),
            round_learnt(slope * bare.length_odds),
            shift,
        )

    @classmethod
    def fit_unscaled(
        cls,
        tags: Sequence[Sequence[str]],
        trees: Sequence[Sequence[int]],
        margins: Sequence[Floats],
        probabilities: Floats,
        weights: Weights,
    ) -> Calibration:
        """The calibration that `fit` makes, before its scale is set. Its tables are linear in the
        weights.

        probabilities (N,): the teacher's probabilities of the trees' arcs.
        """
        counts = Counter(chain.from_iterable(tags))
        names = tuple(sorted(sorted(counts), key=lambda tag: -counts[tag])[:MOST_TAGS])
        arcs = _arcs({tag: k for k, tag in enumerate(names)}, tags, trees, margins)
        pairs = _pair_table(arcs, len(names), probabilities, weights)
        return cls(*_margin_table(arcs.margins, weights), names, *pairs)

    def arcs(
        self,
        tags: Iterable[Sequence[str]],
        trees: Sequence[Sequence[int]],
        margins: Sequence[Floats],
    ) -> Arcs:
        """Sentences with tags (n,), heads (n,) and margins (n,). Raises: ValueError, lengths
        differ."""
        return _arcs(self._numbers, tags, trees, margins)

    def odds(self, arcs: Arcs) -> Floats:
        """Log-odds (N,) that heads are right."""
        margins, forced = arcs.margins, np.flatnonzero(np.isinf(arcs.margins))
        if len(forced):
            # A decision without alternative is as sure as the other decisions of its sentence,
            # because they led to it.
            begins = arcs.first[:-1][np.diff(arcs.first) > 0]
            least = np.minimum.reduceat(margins, begins)
            margins = margins.copy()
            margins[forced] = least[np.searchsorted(begins, forced, "right") - 1]
        pairs, lengths = _pairs_and_lengths(arcs, len(self.tags))
        odds = np.interp(margins, self.knots, self.margin_odds)
        odds[forced] += self.forced_odds
        odds += self.pair_odds.ravel()[pairs]
        odds += self.length_odds[lengths]
        return np.asarray(odds)

    def __call__(self, arcs: Arcs) -> Floats:
        """Probabilities (N,) that heads are right, in steps of 1 / STEPS, between 0 and 1."""
        with np.errstate(over="ignore"):  # enormous odds, as in a damaged model, give 0
            parts = np.rint(STEPS / (1 + np.exp(-self.odds(arcs)))).astype(np.int64)
        parts[arcs.first[:-1][np.diff(arcs.first) == 1]] = STEPS  # the only word is the root
        return np.clip(parts, 1, STEPS - 1) / STEPS

    def with_shift(self, shift: float) -> Calibration:
        """This calibration with log-odds that are higher by `shift`, in nats."""
        return replace(self, margin_odds=self.margin_odds + shift, shift=self.shift + shift)

    def with_wrong_tags(self, share: float) -> Calibration:
        """This calibration where this share of the tags is wrong: log-odds are nearer to 0, and
        lower."""
        odds: dict[str, Any] = {
            k: x / (1 + WRONG_TAGS * share) for k, x in vars(self).items() if k.endswith("_odds")
        }
        return replace(self, **odds).with_shift(-WRONG_TAGS * share) if share else self

    def shift_to(self, mean: float, arcs: Arcs) -> float:
        """The shift, of at most MOST_SHIFTED, after which the probabilities of these arcs have this
        mean."""
        odds = self.odds(arcs)
        low, high = -MOST_SHIFTED, MOST_SHIFTED
        while high - low > 0.1**DECIMALS:
            middle = (low + high) / 2
            is_low = (1 / (1 + np.exp(-odds - middle))).mean() < mean
            low, high = (middle, high) if is_low else (low, middle)
        return float(round_learnt(low))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back."""
        return {
            PREFIX + "knots": self.knots,
            PREFIX + "margins": self.margin_odds,
            PREFIX + "forced": np.array([self.forced_odds]),
            PREFIX + "tags": np.frombuffer("\n".join(self.tags).encode(), np.uint8),
            PREFIX + "pairs": self.pair_odds,
            PREFIX + "lengths": self.length_odds,
            PREFIX + "shift": np.array([self.shift]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Calibration:
        """The calibration with these `arrays`; others are ignored. Raises: ModelError, they are
        invalid."""
        knots, margins, forced, tags, pairs, lengths, shift = _take(
            arrays, "knots", "margins", "forced", "tags", "pairs", "lengths", "shift"
        )
        try:
            names = tuple(filter(None, tags.astype(np.uint8).tobytes().decode().split("\n")))
        except UnicodeDecodeError:
            raise ModelError("no calibration: its tags are not UTF-8") from None
        expected = (len(names) + 1, len(names) + 2, 2)
        if (
            knots.ndim != 1
            or not len(knots)
            or (np.diff(knots) < 0).any()
            or knots.shape != margins.shape
        ):
            raise ModelError(f"no calibration: knots of {knots.shape}, margins of {margins.shape}")
        if (forced.shape, pairs.shape, lengths.shape, shift.shape) != (
            (1,),
            expected,
            (FARTHEST + 1,),
            (1,),
        ):
            raise ModelError(f"no calibration: pairs of {pairs.shape}, lengths of {lengths.shape}")
        return cls(knots, margins, float(forced[0]), names, pairs, lengths, float(shift[0]))


def is_in(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """If a model with these arrays has a calibration."""
    return any(name.startswith(PREFIX) for name in arrays)


def _take(arrays: Mapping[str, NDArray[Any]], *names: str) -> list[NDArray[Any]]:
    """The arrays of these names. Raises: ModelError, one is missing or has a value that is not
    finite."""
    try:
        taken = [arrays[PREFIX + name] for name in names]
    except KeyError as error:
        raise ModelError(f"no calibration: missing {error.args[0]}") from None
    if not all(array.dtype.kind in "fiu" and np.isfinite(array).all() for array in taken):
        raise ModelError("no calibration: not all numbers are finite")
    return taken


def _arcs(
    numbers: Mapping[str, int],
    tags: Iterable[Sequence[str]],
    trees: Sequence[Sequence[int]],
    margins: Sequence[Floats],
) -> Arcs:
    first = np.cumsum([0, *map(len, trees)])
    tag_numbers = np.array(
        [numbers.get(tag, len(numbers)) for tag in chain.from_iterable(tags)], np.int64
    )
    heads = np.array(list(chain.from_iterable(trees)), np.int64)
    flat = np.concatenate([np.zeros(0), *margins])
    if not len(tag_numbers) == len(heads) == len(flat):
        raise ValueError(f"{len(tag_numbers)} tags, {len(heads)} heads, {len(flat)} margins")
    return Arcs(tag_numbers, heads, flat, first)


def _pairs_and_lengths(arcs: Arcs, n_tags: int) -> tuple[Ints, Ints]:
    """Indices of arcs (N,) in the flattened table of pairs, and in the table of lengths."""
    root = np.flatnonzero(arcs.heads == 0)
    before = np.repeat(arcs.first[:-1] - 1, np.diff(arcs.first))  # the word before the sentence
    above = before + arcs.heads
    offsets = above - np.arange(len(above))
    head_tags, lengths = arcs.tags[above], np.minimum(np.abs(offsets), FARTHEST)
    head_tags[root], lengths[root] = n_tags + 1, 0
    return 2 * ((n_tags + 2) * arcs.tags + head_tags) + (offsets > 0), lengths


def _margin_table(margins: Floats, weights: Weights) -> tuple[Floats, Floats, float]:
    """Knots (K,), the log-odds at them (K,), and the log-odds of decisions without alternative."""
    x = np.sort(round_learnt(margins[np.isfinite(margins)]))
    if not len(x):
        x = np.zeros(1)
    places = np.linspace(0, len(x) - 1, min(N_KNOTS, len(x))).astype(np.int64)
    knots, which = np.unique(x[places], return_index=True)
    return knots, weights.rank * places[which] / max(1, len(x) - 1), weights.forced


def _pair_table(
    arcs: Arcs, n_tags: int, probabilities: Floats, weights: Weights
) -> tuple[Floats, Floats]:
    """Log-odds of pairs of tags (T + 1, T + 2, 2), and of lengths (FARTHEST + 1,)."""
    shape = n_tags + 1, n_tags + 2, 2
    pairs = _pairs_and_lengths(arcs, n_tags)[0]
    sums, counts = (
        np.bincount(pairs, of_word, int(np.prod(shape))).reshape(shape)
        for of_word in (probabilities, np.ones(len(pairs)))
    )
    mean = sums.sum() / max(1.0, counts.sum())
    of_tag = (sums.sum((1, 2)) + STRENGTH * mean) / (counts.sum((1, 2)) + STRENGTH)
    of_pair = (sums + STRENGTH * of_tag[:, None, None]) / (counts + STRENGTH)
    lengths = weights.length * np.log(np.maximum(np.arange(FARTHEST + 1), 1))
    lengths[0] = weights.root
    return weights.pair * log_odds(of_pair) + weights.frequency * np.log1p(counts), lengths


def logistic(scores: Floats, probabilities: Floats, steps: int = 20) -> tuple[float, float]:
    """The a and b >= 0 for which 1 / (1 + exp(-a - b score)) is nearest to probabilities, by
    Newton's method.

    Nearest means with the least cross entropy, with a slight preference for b = 1.
    """
    base, slope = 0.0, 1.0
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(base + slope * scores, -30, 30)))
        off, weight = probabilities - p, p * (1 - p) + 1e-9
        gradient = np.array([off.sum(), (off * scores).sum() - (slope - 1)])
        cross = (weight * scores).sum()
        curvature = np.array(
            [[weight.sum() + 1e-6, cross], [cross, (weight * scores**2).sum() + 1]]
        )
        step = np.clip(np.linalg.solve(curvature, gradient), -2, 2)
        base, slope = base + float(step[0]), max(0.0, slope + float(step[1]))
    return base, slope


def round_learnt(numbers: ArrayLike) -> Floats:
    """Learnt numbers, rounded so that they are equal on all processors; 0 has no sign."""
    return np.asarray(np.round(np.asarray(numbers, np.float64), DECIMALS) + 0.0)


def log_odds(probabilities: ArrayLike) -> Floats:
    """The log-odds of probabilities, in nats."""
    p = np.clip(np.asarray(probabilities, np.float64), CLIP, 1 - CLIP)
    return np.asarray(np.log(p / (1 - p)))


def shift_probabilities(probabilities: Floats, shift: float) -> Floats:
    """Probabilities whose log-odds are higher by `shift`, in nats."""
    p = np.clip(probabilities, CLIP, 1 - CLIP)
    with np.errstate(over="ignore"):  # an enormous shift, as in a damaged model, gives 0
        return np.asarray(1 / (1 + (1 - p) / p * np.exp(-shift)))


def arc_probabilities(marginals: Iterable[Floats], heads: Iterable[Sequence[int]]) -> Floats:
    """The probabilities (words,) of these heads under the sentences' marginals (n + 1, n)."""
    rows = [matrix[list(tree), range(len(tree))] for matrix, tree in zip(marginals, heads)]
    return np.concatenate([np.zeros(0), *rows])

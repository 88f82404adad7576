"""A parser that reads tags once from left to right, learnt from a teacher's trees.

A greedy arc-hybrid parser with an averaged perceptron (Collins 2002, with a dynamic oracle) over hashed
features of tags; see `arc_hybrid`. It costs a second to train, parses about a million words a second, and
gives up little of its teacher's accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from dynet_vdgi.compiled import sparse_weights
from dynet_vdgi.compiled.machine_code import ALWAYS, Kernel
from dynet_vdgi.compiled.sparse_weights import MOST_LOG2_BUCKETS
from dynet_vdgi.data.vocabulary import UNKNOWN
from dynet_vdgi.errors import ModelError, VdgiError
from dynet_vdgi.settings.config import Section
from dynet_vdgi.students import arc_hybrid
from dynet_vdgi.students.arc_hybrid import COARSE_BITS, N_ACTIONS
from dynet_vdgi.system import memory, side_by_side
from dynet_vdgi.system.arrays import Floats, Ints

FORMAT = 1
"""Version of the arrays; raised when features or hashing change."""

PREFIX = "linear/"


_Rows = tuple[NDArray[np.int32], Floats]
"""Numbers (k,) of the rows of weights that are not zero, and these rows (k, 3)."""

_AT_ONCE = 1 << 16
"""Words for which random numbers are drawn at a time."""

_NOTHING: Ints = np.zeros(0, np.int64)
_NO_MARGINS: Floats = np.zeros(0)
_PARSE = Kernel(arc_hybrid.parse_all, "the perceptron")
_TRAIN = Kernel(arc_hybrid.train_epoch, "the perceptron")


class PerceptronSettings(Section, frozen=True):
    """The perceptron that learns from trees and parses in linear time, see `students.perceptron`."""

    epochs: Annotated[int, Meta(ge=1, le=10_000, description="passes over the trees")] = 6
    explore_from: Annotated[
        int, Meta(ge=1, le=10_001, description="epoch from which training follows the parser's own actions")
    ] = 3
    log2_buckets: Annotated[
        int, Meta(ge=1, le=26, description="features are hashed into 2 to this power rows of weights")
    ] = 21
    unknown: Annotated[float, Meta(ge=0, le=1, description="share of words whose tag is hidden")] = 0.03
    orders: Annotated[
        int,
        Meta(ge=1, le=100, description="perceptrons that see the trees in other orders; theirs is the mean"),
    ] = 3


@dataclass(frozen=True, eq=False)
class PerceptronModel:
    """Weights (buckets, 3), a column an action, of features of tags: 1..n_tags, and 0, the unknown tag.

    With two `levels`, tags are codes of a coarse and a fine one, see `code_of`; either may be 0.
    """

    n_tags: int
    weights: NDArray[np.float32]
    levels: int = 1

    def parse(self, sentences: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Heads (n,) of each sentence, given its tags (n,): projective trees with one root.

        Raises: ValueError, a tag is outside 0..n_tags.
        """
        tags, first = _packed(sentences)
        words, ends = self.packed(tags, first).tolist(), first.tolist()
        return [tuple(words[start:end]) for start, end in zip(ends, ends[1:])]

    def packed(self, tags: Ints, first: Ints) -> Ints:
        """The heads (N,) of concatenated sentences, of which sentence k is first[k]:first[k + 1].

        Raises: ValueError, a tag is outside 0..n_tags.
        """
        return self._parsed(tags, first, _NOTHING, _NO_MARGINS)

    def with_margins(
        self, sentences: Sequence[Sequence[int]], given: Sequence[Sequence[int]] | None = None
    ) -> list[tuple[tuple[int, ...], Floats]]:
        """Heads of each sentence, with the margins (n,) of its words.

        A margin is how far the least sure decision about a head was above its alternative, in units of
        scores; it is infinite where there was no alternative.

        `given` are heads (n,) of each sentence; all but FREE ones are kept, and must fit into a
        projective tree.
        """
        tags, first = _packed(sentences)
        kept, first_given = _packed(given or [])
        if given is not None and not np.array_equal(first, first_given):
            raise ValueError("tags and given heads differ in their numbers of sentences or words")
        heads, margins = self.packed_with_margins(tags, first, kept)
        words, ends = heads.tolist(), first.tolist()
        return [(tuple(words[start:end]), margins[start:end]) for start, end in zip(ends, ends[1:])]

    def packed_with_margins(self, tags: Ints, first: Ints, given: Ints = _NOTHING) -> tuple[Ints, Floats]:
        """Heads (N,) and margins (N,) of concatenated sentences; heads may be given (N,), or none."""
        margins = np.full(len(tags), np.inf)
        return self._parsed(tags, first, given, margins), margins

    def _parsed(self, tags: Ints, first: Ints, given: Ints, margins: Floats, work: int = 0) -> Ints:
        """The heads (N,); lowers the margins, if there are any."""
        _check_range(tags, self.n_tags, "tag")
        heads, room = np.zeros(len(tags), np.int64), arc_hybrid.Room.to_parse(first, self.levels)
        work = max(work, (1 + self.levels) * len(tags))
        _PARSE(tags, first, self.n_tags, self.weights, given, heads, margins, self.levels, room, work=work)
        return heads

    def make_ready(self) -> None:
        """Compiles the code that parsing needs, or loads it from disk."""
        nothing, first = _packed([])
        self._parsed(nothing, first, nothing, _NO_MARGINS, work=ALWAYS)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back: the rows of weights that are not zero."""
        levels = [self.levels] if self.levels > 1 else []
        shape = [FORMAT, self.n_tags, len(self.weights), *levels]
        return sparse_weights.with_rows(PREFIX, shape, self.weights)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> PerceptronModel:
        """The parser with these `arrays`; others are ignored.

        Raises: ModelError, an array is missing, or they are not those of a perceptron of this version.
        """
        shape, buckets, rows = sparse_weights.stored(arrays, PREFIX, "perceptron")
        if shape.shape not in ((3,), (4,)) or shape.dtype.kind != "i":
            raise ModelError(f"no perceptron: {PREFIX}shape is not three or four whole numbers")
        version, n_tags, n_buckets = map(int, shape[:3])
        levels = int(shape[3]) if len(shape) > 3 else 1
        sparse_weights.check_version("perceptron", version, FORMAT)
        is_power = n_buckets > 1 and n_buckets & (n_buckets - 1) == 0
        if n_tags < 0 or not is_power or n_buckets > 1 << MOST_LOG2_BUCKETS or levels not in (1, 2):
            raise ModelError(f"no perceptron: {n_tags} tags, {n_buckets} buckets, {levels} levels")
        sparse_weights.check_rows("perceptron", buckets, rows, n_buckets, (N_ACTIONS,))
        weights = np.zeros((n_buckets, N_ACTIONS), np.float32)
        weights[buckets] = rows
        return cls(n_tags, weights, levels)


def train(
    tags: Sequence[Sequence[int]],
    heads: Sequence[Sequence[int]],
    n_tags: int,
    settings: PerceptronSettings,
    seed: int,
    levels: int = 1,
) -> PerceptronModel:
    """The parser learnt from sentences with tags (n,), from 0 to n_tags, and heads (n,), 0 the root.

    The trees should be projective with one root, as a teacher's are; from others it learns the reachable
    arcs. Equal arguments give equal parsers.

    Raises: VdgiError, there are no words; ValueError, tags and heads do not match, or a number is out of its
    range.
    """
    flat, first = _packed(tags)
    gold, first_head = _packed(heads)
    if not np.array_equal(first, first_head):
        raise ValueError("tags and heads differ in their numbers of sentences or words")
    if not len(flat):
        raise VdgiError("no trees to train the perceptron on")
    _check_range(flat, n_tags, "tag")
    _check_range(gold, np.repeat(np.diff(first), np.diff(first)), "head")
    del tags, heads  # frees them if nobody else has them, because they need more memory than all the rest
    memory.give_back()
    numbers = flat.astype(np.int32), gold.astype(np.int32), first, n_tags, settings
    del flat, gold
    # The seed alone gives the first order.
    orders = [[seed, which] if which else [seed] for which in range(settings.orders)]
    found: list[_Rows] = []
    at_once = side_by_side.n_allowed()
    for start in range(0, len(orders), at_once):
        some = orders[start : start + at_once]
        found += side_by_side.each(_averaged, [(*numbers, seeds, levels) for seeds in some])
    total = np.zeros((1 << settings.log2_buckets, N_ACTIONS))
    for rows, weights in found:
        total[rows] += weights
    total /= settings.orders
    return PerceptronModel(n_tags, total.astype(np.float32), levels)


def _averaged(
    flat: NDArray[np.int32],
    gold: NDArray[np.int32],
    first: Ints,
    n_tags: int,
    settings: PerceptronSettings,
    seeds: Sequence[int],
    levels: int,
) -> _Rows:
    """The weights of one perceptron, averaged over its actions."""
    n_buckets = 1 << settings.log2_buckets
    weights, totals = np.zeros((n_buckets, N_ACTIONS), np.float32), np.zeros((n_buckets, N_ACTIONS))
    step, room = np.zeros(1, np.int64), arc_hybrid.Room.to_parse(first, levels)
    for epoch in range(1, settings.epochs + 1):
        rng = np.random.default_rng([*seeds, epoch])
        order, seen = rng.permutation(len(first) - 1), _seen(flat, rng, settings.unknown, levels)
        exploring = epoch >= settings.explore_from
        numbers = n_tags, weights, totals, step, exploring, levels
        _TRAIN(seen, gold, first, order, *numbers, room, work=2 * len(flat))
    totals /= step  # in place, because these arrays take the most memory in training
    np.subtract(weights, totals, out=totals)
    del weights, seen
    rows = np.flatnonzero(totals.any(axis=1)).astype(np.int32)
    return rows, totals[rows]


def _seen(
    flat: NDArray[np.int32], rng: np.random.Generator, unknown: float, levels: int
) -> NDArray[np.int32]:
    """The tags (N,) as one pass sees them: some are hidden; with two levels the fine one, or both."""
    seen: NDArray[np.int32] = flat.copy()
    for start in range(0, len(seen), _AT_ONCE):
        part = seen[start : start + _AT_ONCE]
        chance = rng.random(len(part))
        if levels == 1:
            part[chance < unknown] = UNKNOWN
        else:
            part[chance < unknown] &= -1 << COARSE_BITS
            part[chance < unknown / 4] = UNKNOWN
    return seen


def code_of(coarse: int, fine: int) -> int:
    """A coarse and a fine tag in one number, for a parser of two levels."""
    return (coarse << COARSE_BITS) + fine


def _packed(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """All numbers in one array (N,), and where each row begins and the last one ends (S + 1,)."""
    first = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=first[1:])
    return np.fromiter(chain.from_iterable(rows), np.int64, int(first[-1])), first


def _check_range(numbers: Ints, high: int | Ints, name: str) -> None:
    wrong = (numbers < 0) | (numbers > high)
    if wrong.any():
        place = int(wrong.argmax())
        limit = int(np.broadcast_to(high, numbers.shape)[place])
        raise ValueError(f"{name} {numbers[place]} is outside 0..{limit}")

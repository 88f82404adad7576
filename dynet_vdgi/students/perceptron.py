"""A parser that reads tags once from left to right, learnt from trees that a teacher made.

A greedy arc-hybrid parser with an averaged perceptron (Collins 2002, with a dynamic oracle) over hashed
features of tags; see `arc_hybrid`. It costs a second to train, parses about a million words a second, and
gives up little of its teacher's accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.config import PerceptronSettings, checked, checked_seed
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import UNKNOWN, Vocabulary, build_vocabulary
from dynet_vdgi.errors import ModelError, VdgiError

FORMAT = 1
"""Of the arrays; goes up when features or hashing change."""

PREFIX = "linear/"
N_ACTIONS = 3
LOG2_BUCKETS_AT_MOST = 26

Ints = NDArray[np.int64]
Kernel = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class PerceptronModel:
    """Weights (buckets, 3), a column an action, of features of tags: 1..n_tags, and 0, the unknown tag."""

    n_tags: int
    weights: NDArray[np.float32]

    def parse(self, sentences: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Heads (n,) of each sentence, given its tags (n,): projective trees with one root.

        Raises:
            ValueError: a tag is outside 0..n_tags.
        """
        tags, first = _packed(sentences)
        _check_range(tags, self.n_tags, "tag")
        heads = np.zeros(len(tags), np.int64)
        _parse_kernel()(tags, first, self.n_tags, self.weights, heads)
        words, ends = heads.tolist(), first.tolist()
        return [tuple(words[start:end]) for start, end in zip(ends, ends[1:])]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` reads back: the rows of weights that are not zero."""
        buckets = np.flatnonzero(self.weights.any(axis=1))
        return {
            PREFIX + "shape": np.array([FORMAT, self.n_tags, len(self.weights)], np.int64),
            PREFIX + "buckets": buckets.astype(np.int32),  # (k,), ascending
            PREFIX + "weights": self.weights[buckets],  # (k, 3)
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> PerceptronModel:
        """The parser whose `arrays` these are; others are ignored.

        Raises:
            ModelError: an array is missing, or they are not those of a perceptron of this version.
        """
        try:
            shape, buckets, rows = (arrays[PREFIX + name] for name in ("shape", "buckets", "weights"))
        except KeyError as error:
            raise ModelError(f"no perceptron: missing {error.args[0]}") from None
        if shape.shape != (3,) or shape.dtype.kind != "i":
            raise ModelError(f"no perceptron: {PREFIX}shape is not three whole numbers")
        version, n_tags, n_buckets = map(int, shape)
        if version != FORMAT:
            raise ModelError(
                f"the perceptron has format {version}, this program reads {FORMAT}; "
                "train it again, or use the version of dynet_vdgi that made it"
            )
        is_power = n_buckets > 1 and n_buckets & (n_buckets - 1) == 0
        if n_tags < 0 or not is_power or n_buckets > 1 << LOG2_BUCKETS_AT_MOST:
            raise ModelError(f"no perceptron: {n_tags} tags, {n_buckets} buckets")
        if buckets.dtype.kind != "i" or buckets.ndim != 1 or rows.shape != (len(buckets), N_ACTIONS):
            raise ModelError(f"no perceptron: {rows.shape} weights in {buckets.shape} buckets")
        if len(buckets) and not 0 <= buckets.min() <= buckets.max() < n_buckets:
            raise ModelError(f"no perceptron: a bucket is outside 0..{n_buckets - 1}")
        if rows.dtype != np.float32 or not np.isfinite(rows).all():
            raise ModelError("no perceptron: weights are not finite float32 numbers")
        weights = np.zeros((n_buckets, N_ACTIONS), np.float32)
        weights[buckets] = rows
        return cls(n_tags, weights)


def train(
    tags: Sequence[Sequence[int]],
    heads: Sequence[Sequence[int]],
    n_tags: int,
    settings: PerceptronSettings,
    seed: int,
) -> PerceptronModel:
    """The parser learnt from sentences with tags (n,), from 0 to n_tags, and heads (n,), 0 the root.

    The trees should be projective with one root, as a teacher's are; of others it learns what it can. The
    same arguments give the same parser.

    Raises:
        VdgiError: there are no words.
        ValueError: tags and heads do not go together, or a number is out of its range.
    """
    flat, first = _packed(tags)
    gold, first_head = _packed(heads)
    if not np.array_equal(first, first_head):
        raise ValueError("tags and heads differ in their numbers of sentences or words")
    if not len(flat):
        raise VdgiError("no trees to train the perceptron on")
    _check_range(flat, n_tags, "tag")
    _check_range(gold, np.repeat(np.diff(first), np.diff(first)), "head")
    n_buckets = 1 << settings.log2_buckets
    weights, totals = np.zeros((n_buckets, N_ACTIONS)), np.zeros((n_buckets, N_ACTIONS))
    kernel, step = _train_kernel(), 0
    for epoch in range(1, settings.epochs + 1):
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(tags))
        seen = np.where(rng.random(len(flat)) < settings.unknown, UNKNOWN, flat)
        exploring = epoch >= settings.explore_from
        step = kernel(seen, gold, first, order, n_tags, weights, totals, step, exploring)
    return PerceptronModel(n_tags, (weights - totals / step).astype(np.float32))


class Perceptron:
    """The linear-time student: `Perceptron(epochs=3).fit(trees)`, with the numbers of `PerceptronSettings`.

    After `fit`: `model`, the weights; `vocabulary`, the tags.

    Raises:
        ConfigError: a number is unknown or out of its range; settings and numbers exclude each other.
    """

    def __init__(
        self, settings: PerceptronSettings | None = None, *, seed: int = 1, **numbers: float
    ) -> None:
        self.settings = checked(PerceptronSettings, numbers, settings)
        self.seed = checked_seed(seed, "perceptron")
        self._model: PerceptronModel | None = None
        self.vocabulary = Vocabulary(())

    @property
    def model(self) -> PerceptronModel:
        """What was learnt. Raises: VdgiError, nothing yet."""
        if self._model is None:
            raise VdgiError("this perceptron has not learnt yet: call fit(trees) first")
        return self._model

    def fit(self, trees: Iterable[Sentence], vocabulary: Vocabulary | None = None) -> Perceptron:
        """Learns from sentences with heads; the tags are those of the vocabulary, or else of the trees.

        Raises:
            VdgiError: there are no words, or a sentence has no heads.
        """
        given = list(trees)
        if any(tree.heads is None for tree in given):
            raise VdgiError("the perceptron learns from trees, and a sentence has none")
        vocabulary = vocabulary or build_vocabulary(given, lexicalised=False)
        tags = [_ids(tree, vocabulary) for tree in given]
        heads = [tree.heads or () for tree in given]
        self._model = train(tags, heads, len(vocabulary.tags), self.settings, self.seed)
        self.vocabulary = vocabulary
        return self

    def heads(self, sentences: Iterable[Sentence]) -> list[tuple[int, ...]]:
        """The tree of each sentence: projective, with one root."""
        return self.model.parse([_ids(sentence, self.vocabulary) for sentence in sentences])

    def predict(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences with these trees."""
        given = list(sentences)
        return [replace(s, heads=heads, source=None) for s, heads in zip(given, self.heads(given))]


def _ids(sentence: Sentence, vocabulary: Vocabulary) -> tuple[int, ...]:
    return vocabulary.encode(sentence.forms, sentence.tags).tags


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


@cache
def _parse_kernel() -> Kernel:
    """`arc_hybrid.parse_all`, compiled. Importing numba takes a while, so it is done here."""
    from dynet_vdgi.students import arc_hybrid  # says so where numba is missing

    # isort: split
    from dynet_vdgi.jit import announced

    with announced("the perceptron"):
        nothing, first = _packed([])
        arc_hybrid.parse_all(nothing, first, 0, np.zeros((2, N_ACTIONS), np.float32), nothing)
    return arc_hybrid.parse_all


@cache
def _train_kernel() -> Kernel:
    """`arc_hybrid.train_epoch`, compiled."""
    from dynet_vdgi.students import arc_hybrid  # says so where numba is missing

    # isort: split
    from dynet_vdgi.jit import announced

    with announced("the perceptron"):
        nothing, first = _packed([])
        weights = np.zeros((2, N_ACTIONS))
        arc_hybrid.train_epoch(nothing, nothing, first, nothing, 0, weights, weights, 0, False)
    return arc_hybrid.train_epoch

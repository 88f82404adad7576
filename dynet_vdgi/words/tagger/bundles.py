"""Which of several bundles of features a word has: a log-linear model whose labels share parts.

A bundle belongs to a group, such as the FEATS seen with a tag; a word's group is known or has a
probability of its own. The score of a bundle is the sum of the scores of its parts, such as
`Case=Gen`, which other bundles have, too, and of the bundle itself, so that rare bundles profit
from frequent ones.

The groups NOUN, with the bundles Case=Gen and Case=Nom, and VERB, with Case=Gen, share two parts:

>>> parts = Parts(np.array([0, 2, 3]), np.array([0, 1, 2, 3]), np.array([0, 1, 0], np.int32))
>>> items = Items(np.array([0, 1, 2]), np.array([7, 8], np.uint64))  # two words, one feature each
>>> tokens = Tokens.of_items(items, first=[0, 2])
>>> model = Bundles.fit(tokens, gold=np.array([0, 1]), parts=parts)  # both NOUN
>>> bundles, chances = model.best(tokens, of_groups=np.array([[1.0, 0.0], [0.0, 1.0]]))
>>> bundles.tolist(), chances.round(2).tolist()  # the second word as VERB has one choice
([0, 2], [0.84, 1.0])

Letters: N words, B bundles, P parts, G groups; the others as in `chain`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ModelError
from dynet_vdgi.system.array_types import Floats, Floats32, Ints
from dynet_vdgi.system.jit import Kernel, as_python, compiled
from dynet_vdgi.words.tagger.chain import Numbers, Sparse
from dynet_vdgi.words.tagger.crf import (
    FeatureWeights,
    Items,
    Tokens,
    labels_of_features,
    minimise,
    sparse_of,
    weights_from_arrays,
    weights_to_arrays,
)

LEAST_CHANCE = 1e-3
"""Less probable tags do not count in expectations of features."""

WORK_OF_A_WORD = 20
"""Of choosing its bundle, in the units of `jit.Kernel`."""


class Parts(NamedTuple):
    """Bundles, sorted by group, and what they consist of."""

    groups: Ints  # (G + 1,): group g has the bundles groups[g] to groups[g + 1]
    first: Ints  # (B + 1,): bundle b has the parts of_bundle[first[b]:first[b + 1]]
    of_bundle: Numbers


class WeightedText(NamedTuple):
    """Words, the features of their items, and weights of these features by parts."""

    first: Ints  # (I + 1,): item i has the features first[i] to first[i + 1]
    features: Numbers  # (C,): their numbers; -1: without weights
    uses: Numbers  # (N, K): the items of each word
    entries: Sparse
    weights: Floats  # (Q,)


class BundleRoom(NamedTuple):
    """Workspace: scores of a word's parts and bundles."""

    of_parts: Floats  # (P,)
    of_bundles: Floats  # (B,)

    @classmethod
    def of(cls, n_parts: int, n_bundles: int) -> BundleRoom:
        return cls(np.zeros(n_parts), np.zeros(max(1, n_bundles)))


@compiled
def add_part_scores(text: WeightedText, items: Numbers, scores: Floats) -> None:
    """Adds the weights of the features of one word's items (K,) to the scores (P,) of parts."""
    entries = text.entries
    for item in items:
        for c in range(text.first[item], text.first[item + 1]):
            f = text.features[c]
            if f >= 0:
                for q in range(entries.starts[f], entries.starts[f + 1]):
                    scores[entries.labels[q]] += text.weights[q]


@compiled
def bundle_scores(parts: Parts, scores: Floats, start: int, end: int, of_bundles: Floats) -> None:
    """Writes the scores of the bundles from `start` to `end` to `of_bundles`, given those of parts
    (P,)."""
    for b in range(start, end):
        total = 0.0
        for m in range(parts.first[b], parts.first[b + 1]):
            total += scores[parts.of_bundle[m]]
        of_bundles[b - start] = total


@compiled
def softmax(row: Floats, n: int) -> float:
    """Makes probabilities of the first n scores; returns the logarithm of the sum of their
    exponentials."""
    highest, total = row[0], 0.0
    for b in range(1, n):
        highest = max(highest, row[b])
    for b in range(n):
        row[b] = math.exp(row[b] - highest)
        total += row[b]
    for b in range(n):
        row[b] /= total
    return float(highest + math.log(total))


@compiled
def add_bundle_loss(
    text: WeightedText,
    parts: Parts,
    groups: Ints,
    gold: Ints,
    gradients: Floats,
    room: BundleRoom,
    loss: Floats,
) -> None:
    """Adds -log p of the bundles (N,), given their groups (N,), to loss (1,), and the gradients
    (Q,).

    Words whose bundle is below 0 are left out.
    """
    for i in range(len(text.uses)):
        start, end = parts.groups[groups[i]], parts.groups[groups[i] + 1]
        if gold[i] < 0 or end - start < 2:
            continue
        room.of_parts[:] = 0.0
        add_part_scores(text, text.uses[i], room.of_parts)
        bundle_scores(parts, room.of_parts, start, end, room.of_bundles)
        loss[0] -= room.of_bundles[gold[i] - start]
        loss[0] += softmax(room.of_bundles, end - start)
        room.of_bundles[gold[i] - start] -= 1.0
        room.of_parts[:] = 0.0
        for b in range(start, end):
            for m in range(parts.first[b], parts.first[b + 1]):
                room.of_parts[parts.of_bundle[m]] += room.of_bundles[b - start]
        for item in text.uses[i]:
            for c in range(text.first[item], text.first[item + 1]):
                f = text.features[c]
                for q in range(text.entries.starts[f], text.entries.starts[f + 1]):
                    gradients[q] += room.of_parts[text.entries.labels[q]]


@compiled
def best_bundles(
    text: WeightedText,
    parts: Parts,
    of_groups: Floats,
    best: Ints,
    chances: Floats,
    room: BundleRoom,
) -> None:
    """The most probable bundle (N,) of each word and its probability (N,).

    of_groups (N, G) are the probabilities of groups.
    """
    for i in range(len(text.uses)):
        room.of_parts[:] = 0.0
        add_part_scores(text, text.uses[i], room.of_parts)
        best[i], chances[i] = 0, -1.0
        for g in range(len(parts.groups) - 1):
            start, end = parts.groups[g], parts.groups[g + 1]
            if of_groups[i, g] <= chances[i] or start == end:
                continue
            bundle_scores(parts, room.of_parts, start, end, room.of_bundles)
            softmax(room.of_bundles, end - start)
            for b in range(start, end):
                chance = of_groups[i, g] * room.of_bundles[b - start]
                if chance > chances[i]:
                    best[i], chances[i] = b, chance


@compiled
def expected_parts(
    text: WeightedText,
    parts: Parts,
    of_groups: Floats,
    column: Ints,
    expected: Floats32,
    room: BundleRoom,
) -> None:
    """Adds to expected (N, F) the probabilities of parts; part m is in column[m], or not wanted if
    that is below 0.

    The other arguments are those of `best_bundles`.
    """
    for i in range(len(text.uses)):
        room.of_parts[:] = 0.0
        add_part_scores(text, text.uses[i], room.of_parts)
        for g in range(len(parts.groups) - 1):
            start, end = parts.groups[g], parts.groups[g + 1]
            if of_groups[i, g] < LEAST_CHANCE or start == end:
                continue
            bundle_scores(parts, room.of_parts, start, end, room.of_bundles)
            softmax(room.of_bundles, end - start)
            for b in range(start, end):
                for m in range(parts.first[b], parts.first[b + 1]):
                    if column[parts.of_bundle[m]] >= 0:
                        expected[i, column[parts.of_bundle[m]]] += (
                            of_groups[i, g] * room.of_bundles[b - start]
                        )


_LOSS = Kernel(add_bundle_loss, "the tagger")

_BEST = Kernel(best_bundles, "the tagger")

_EXPECTED = Kernel(expected_parts, "the tagger")


@dataclass(frozen=True, eq=False)
class Bundles:
    """The model with its weights; `fit` learns one."""

    parts: Parts
    n_parts: int
    weights: FeatureWeights

    @classmethod
    def fit(
        cls, tokens: Tokens, gold: Ints, parts: Parts, *, l2: float = 0.1, iterations: int = 60
    ) -> Bundles:
        """Learns from words with bundles (N,), or FREE."""
        n_parts = int(parts.of_bundle.max(initial=-1)) + 1
        n_bundles = len(parts.first) - 1
        group_of = np.repeat(np.arange(len(parts.groups) - 1), np.diff(parts.groups))
        groups = (
            np.where(gold < 0, 0, group_of[gold]) if n_bundles else np.zeros(len(gold), np.int64)
        )
        keys, features = np.unique(tokens.items.codes, return_inverse=True)
        width = np.diff(parts.first)
        pairs = [np.zeros(0, np.int64)]
        for m in range(int(width.max(initial=0))):
            has = (gold >= 0) & (width[gold] > m)
            part = np.where(has, parts.of_bundle[np.where(has, parts.first[gold] + m, 0)], -1)
            pairs.append(labels_of_features(tokens, features, part, n_parts))
        entries = sparse_of(keys, np.unique(np.concatenate(pairs)), n_parts)
        items, uses, _ = tokens
        numbers, room = features.astype(np.int32), BundleRoom.of(n_parts, n_bundles)
        work = len(uses) * WORK_OF_A_WORD

        def loss(x: Floats) -> tuple[float, Floats]:
            gradient, total = np.zeros_like(x), np.zeros(1)
            text = WeightedText(items.first, numbers, uses, entries, x)
            _LOSS(text, parts, groups, gold, gradient, room, total, work=work)
            return float(total[0]), gradient

        x = minimise(loss, len(entries.labels), l2, iterations)
        return cls(parts, n_parts, FeatureWeights(entries, x.astype(np.float32).astype(np.float64)))

    def best(self, tokens: Tokens, of_groups: Floats) -> tuple[Ints, Floats]:
        """The most probable bundle (N,) of each word, and its probability, given that of groups (N,
        G)."""
        n_words = len(tokens.uses)
        best, chances = np.zeros(n_words, np.int64), np.zeros(n_words)
        text, room = self._weighted(tokens), self._room()
        _BEST(text, self.parts, of_groups, best, chances, room, work=n_words * WORK_OF_A_WORD)
        return best, chances

    def expected(self, tokens: Tokens, of_groups: Floats, column: Ints) -> Floats32:
        """The probabilities (N, F) that a word's bundle has certain parts: part m is in column[m],
        if that is not -1.

        of_groups (N, G) are the probabilities of groups.
        """
        n_words = len(tokens.uses)
        expected = np.zeros((n_words, int(column.max(initial=-1)) + 1), np.float32)
        text, room = self._weighted(tokens), self._room()
        work = n_words * WORK_OF_A_WORD
        _EXPECTED(text, self.parts, of_groups, column, expected, room, work=work)
        return expected

    def _weighted(self, tokens: Tokens) -> WeightedText:
        """What the kernels read of the words and of the weights."""
        items, uses, _ = tokens
        features = self.weights.feature_numbers(items)
        return WeightedText(items.first, features, uses, self.weights.entries, self.weights.values)

    def _room(self) -> BundleRoom:
        return BundleRoom.of(self.n_parts, len(self.parts.first))

    def chances(self, tokens: Tokens, word: int, group: int) -> Floats:
        """The probabilities of the bundles of a group, for one of the words."""
        (first, codes), uses, _ = tokens
        entries, parts = self.weights.entries, self.parts
        at = np.concatenate([np.arange(*first[item : item + 2]) for item in uses[word].tolist()])
        features = self.weights.feature_numbers(Items(first, codes[at])).tolist()
        weight_numbers = np.concatenate(
            [at[:0], *(np.arange(*entries.starts[f : f + 2]) for f in features if f >= 0)]
        )
        scores = np.bincount(
            entries.labels[weight_numbers],
            self.weights.values[weight_numbers],
            max(1, self.n_parts),
        )
        start, end = parts.groups[group : group + 2].tolist()
        ends = parts.first[start : end + 1]
        bundle_of_part = np.repeat(np.arange(end - start), np.diff(ends))
        part_scores = scores[parts.of_bundle[ends[0] : ends[-1]]]
        chances = np.bincount(bundle_of_part, part_scores, end - start).astype(np.float64)
        as_python(softmax)(chances, end - start)
        return chances

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads; the bundles are not part of them."""
        return weights_to_arrays(prefix, self.weights, max(1, self.n_parts))

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], prefix: str, parts: Parts, what: str = "tagger"
    ) -> Bundles:
        """The model of these bundles with these arrays. Raises: ModelError, they do not fit
        together."""
        weights, n_labels = weights_from_arrays(arrays, prefix, what)
        n_parts = int(parts.of_bundle.max(initial=-1)) + 1
        if n_labels != max(1, n_parts):
            raise ModelError(
                f"no {what}: {prefix}weights are of {n_labels} parts, not of {n_parts}"
            )
        return cls(parts, n_parts, weights)

"""Which of several bundles of features a word has: a log-linear model whose labels share parts.

A bundle belongs to a group, such as the FEATS seen with a tag; a word's group is known or has a
probability of its own. The score of a bundle is the sum of the scores of its parts, such as
`Case=Gen`, which other bundles have, too, and of the bundle itself, so that rare bundles profit
from frequent ones.

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
    minimised,
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


@compiled
def add_part_scores(
    first: Ints, features: Numbers, items: Numbers, known: Sparse, weights: Floats, scores: Floats
) -> None:
    """Adds the weights of the features of one word's items (K,) to the scores (P,) of parts."""
    for item in items:
        for c in range(first[item], first[item + 1]):
            f = features[c]
            if f >= 0:
                for q in range(known.starts[f], known.starts[f + 1]):
                    scores[known.labels[q]] += weights[q]


@compiled
def bundle_scores(parts: Parts, scores: Floats, start: int, end: int, found: Floats) -> None:
    """The scores of the bundles from `start` to `end`, in `found`, given those of parts (P,)."""
    for b in range(start, end):
        total = 0.0
        for m in range(parts.first[b], parts.first[b + 1]):
            total += scores[parts.of_bundle[m]]
        found[b - start] = total


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
    first: Ints,
    features: Numbers,
    uses: Numbers,
    known: Sparse,
    weights: Floats,
    parts: Parts,
    groups: Ints,
    gold: Ints,
    gradients: Floats,
    scores: Floats,
    found: Floats,
    loss: Floats,
) -> None:
    """Adds -log p of the bundles (N,), given their groups (N,), to loss (1,), and the gradients
    (Q,).

    Words whose bundle is below 0 are left out. scores (P,) and found (B,) are workspace.
    """
    for i in range(len(uses)):
        start, end = parts.groups[groups[i]], parts.groups[groups[i] + 1]
        if gold[i] < 0 or end - start < 2:
            continue
        scores[:] = 0.0
        add_part_scores(first, features, uses[i], known, weights, scores)
        bundle_scores(parts, scores, start, end, found)
        loss[0] -= found[gold[i] - start]
        loss[0] += softmax(found, end - start)
        found[gold[i] - start] -= 1.0
        scores[:] = 0.0
        for b in range(start, end):
            for m in range(parts.first[b], parts.first[b + 1]):
                scores[parts.of_bundle[m]] += found[b - start]
        for item in uses[i]:
            for c in range(first[item], first[item + 1]):
                for q in range(known.starts[features[c]], known.starts[features[c] + 1]):
                    gradients[q] += scores[known.labels[q]]


@compiled
def best_bundles(
    first: Ints,
    features: Numbers,
    uses: Numbers,
    known: Sparse,
    weights: Floats,
    parts: Parts,
    of_groups: Floats,
    best: Ints,
    chances: Floats,
    scores: Floats,
    found: Floats,
) -> None:
    """The most probable bundle (N,) of each word and its probability (N,).

    of_groups (N, G) are the probabilities of groups; scores (P,) and found (B,) are workspace.
    """
    for i in range(len(uses)):
        scores[:] = 0.0
        add_part_scores(first, features, uses[i], known, weights, scores)
        best[i], chances[i] = 0, -1.0
        for g in range(len(parts.groups) - 1):
            start, end = parts.groups[g], parts.groups[g + 1]
            if of_groups[i, g] <= chances[i] or start == end:
                continue
            bundle_scores(parts, scores, start, end, found)
            softmax(found, end - start)
            for b in range(start, end):
                chance = of_groups[i, g] * found[b - start]
                if chance > chances[i]:
                    best[i], chances[i] = b, chance


@compiled
def expected_parts(
    first: Ints,
    features: Numbers,
    uses: Numbers,
    known: Sparse,
    weights: Floats,
    parts: Parts,
    of_groups: Floats,
    column: Ints,
    expected: Floats32,
    scores: Floats,
    found: Floats,
) -> None:
    """Adds to expected (N, F) the probabilities of parts; part m is in column[m], or not wanted if
    that is below 0.

    The other arguments are those of `best_bundles`.
    """
    for i in range(len(uses)):
        scores[:] = 0.0
        add_part_scores(first, features, uses[i], known, weights, scores)
        for g in range(len(parts.groups) - 1):
            start, end = parts.groups[g], parts.groups[g + 1]
            if of_groups[i, g] < LEAST_CHANCE or start == end:
                continue
            bundle_scores(parts, scores, start, end, found)
            softmax(found, end - start)
            for b in range(start, end):
                for m in range(parts.first[b], parts.first[b + 1]):
                    if column[parts.of_bundle[m]] >= 0:
                        expected[i, column[parts.of_bundle[m]]] += (
                            of_groups[i, g] * found[b - start]
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
        known = sparse_of(keys, np.unique(np.concatenate(pairs)), n_parts)
        items, uses, _ = tokens
        data = items.first, features.astype(np.int32), uses, known
        room = np.zeros(n_parts), np.zeros(max(1, n_bundles))
        work = len(uses) * WORK_OF_A_WORD

        def loss(x: Floats) -> tuple[float, Floats]:
            gradient, total = np.zeros_like(x), np.zeros(1)
            _LOSS(*data, x, parts, groups, gold, gradient, *room, total, work=work)
            return float(total[0]), gradient

        x = minimised(loss, len(known.labels), l2, iterations)
        return cls(parts, n_parts, FeatureWeights(known, x.astype(np.float32).astype(np.float64)))

    def best(self, tokens: Tokens, of_groups: Floats) -> tuple[Ints, Floats]:
        """The most probable bundle (N,) of each word, and its probability, given that of groups (N,
        G)."""
        n_words = len(tokens.uses)
        best, chances = np.zeros(n_words, np.int64), np.zeros(n_words)
        data, room = self._data_and_room(tokens)
        _BEST(*data, of_groups, best, chances, *room, work=n_words * WORK_OF_A_WORD)
        return best, chances

    def expected(self, tokens: Tokens, of_groups: Floats, column: Ints) -> Floats32:
        """The probabilities (N, F) that a word's bundle has certain parts: part m is in column[m],
        if that is not -1.

        of_groups (N, G) are the probabilities of groups.
        """
        n_words = len(tokens.uses)
        expected = np.zeros((n_words, int(column.max(initial=-1)) + 1), np.float32)
        data, room = self._data_and_room(tokens)
        _EXPECTED(*data, of_groups, column, expected, *room, work=n_words * WORK_OF_A_WORD)
        return expected

    def _data_and_room(self, tokens: Tokens) -> tuple[tuple[Any, ...], tuple[Floats, Floats]]:
        """What the kernels read of the words and of this model, and their workspace."""
        items, uses, _ = tokens
        data = (
            items.first,
            self.weights.found(items),
            uses,
            self.weights.known,
            self.weights.values,
            self.parts,
        )
        return data, (np.zeros(self.n_parts), np.zeros(max(1, len(self.parts.first))))

    def chances(self, tokens: Tokens, word: int, group: int) -> Floats:
        """The probabilities of the bundles of a group, for one of the words."""
        (first, codes), uses, _ = tokens
        known, parts = self.weights.known, self.parts
        at = np.concatenate([np.arange(*first[item : item + 2]) for item in uses[word].tolist()])
        features = self.weights.found(Items(first, codes[at])).tolist()
        own = np.concatenate(
            [at[:0], *(np.arange(*known.starts[f : f + 2]) for f in features if f >= 0)]
        )
        scores = np.bincount(known.labels[own], self.weights.values[own], max(1, self.n_parts))
        start, end = parts.groups[group : group + 2].tolist()
        ends = parts.first[start : end + 1]
        of_bundles = np.repeat(np.arange(end - start), np.diff(ends))
        found = np.bincount(
            of_bundles, scores[parts.of_bundle[ends[0] : ends[-1]]], end - start
        ).astype(np.float64)
        as_python(softmax)(found, end - start)
        return found

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

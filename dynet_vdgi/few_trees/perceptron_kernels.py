"""The compiled part of the linear parser: it takes the action whose features weigh most, and learns
the weights.

Letters: n words, N words of all sentences, S sentences, B buckets of weights, p word atoms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.features.atoms import EXTRA_ROWS, PackedRows
from dynet_vdgi.features.hashing import shift_of
from dynet_vdgi.few_trees.state_features import (
    N_PLACES,
    StateFeatures,
    fill_numbers,
    find_features,
    look,
)
from dynet_vdgi.inference.arc_hybrid import (
    HEADS,
    LEFT,
    N_ACTIONS,
    RIGHT,
    SHIFT,
    STACK,
    advance,
    best,
    best_of_cheapest,
    forced,
    forget_children,
    margin_of,
)
from dynet_vdgi.system.array_types import Codes, Floats, Ints
from dynet_vdgi.system.jit import compiled

Weights = NDArray[Any]  # float32 to parse with, float64 in training


@compiled
def score(weights: Weights, buckets: Codes, scores: Floats) -> None:
    """The sum of the weights (B, 3) in these buckets: scores (3,)."""
    shift = left = right = 0.0
    for bucket in buckets:
        shift += float(weights[bucket, SHIFT])
        left += float(weights[bucket, LEFT])
        right += float(weights[bucket, RIGHT])
    scores[SHIFT], scores[LEFT], scores[RIGHT] = shift, left, right


class AveragedWeights(NamedTuple):
    """Weights that learn; those of a model are their means over steps, weights - totals / step."""

    weights: Weights  # (B, 3)
    totals: Weights  # (B, 3): of all changes, each times the number of its step
    step: Ints  # (1,): the number of steps so far

    @classmethod
    def zeros_like(cls, weights: Weights) -> AveragedWeights:
        """Before the first step; of this shape and type."""
        return cls(np.zeros_like(weights), np.zeros_like(weights), np.zeros(1, np.int64))


class WordRoom(NamedTuple):
    """The kernel's workspace: a state, places, atoms and buckets of features, scores and costs."""

    state: Ints  # (6, n + 4) for the longest sentence
    places: Ints  # (N_PLACES,)
    atoms: Codes  # (2 a,)
    buckets: Codes  # (templates,)
    scores: Floats  # (3,)
    costs: Ints  # (3,)

    @classmethod
    def of(cls, first: Ints, features: StateFeatures) -> WordRoom:
        """A workspace for sentences that begin and end at `first` (S + 1,)."""
        return cls(
            np.zeros((6, int(np.diff(first).max(initial=0)) + 4), np.int64),
            np.zeros(N_PLACES, np.int64),
            np.zeros(2 * len(features.templates.of_atom), np.uint64),
            np.zeros(len(features.templates.parts), np.uint64),
            np.zeros(N_ACTIONS),
            np.zeros(N_ACTIONS, np.int64),
        )


@compiled
def parse_words(
    packed: PackedRows,
    features: StateFeatures,
    weights: Weights,
    given: Ints,
    heads: Ints,
    margins: Floats,
    room: WordRoom,
) -> None:
    """Greedy trees of packed sentences: heads (N,), and for each word its least sure decision.

    Decisions about its head are the attachment, and every SHIFT while it was on top of the stack;
    margins (N,) are differences of scores. `given` (N,) heads, -1 where there is none, are kept, if
    they fit into a projective tree; of length 0: none is given.
    """
    first = packed.first
    state, places, atoms, buckets, scores, costs = room
    shift, numbers = shift_of(len(weights)), len(features.places) + 1
    for word in range(len(margins)):
        margins[word] = np.inf
    for k in range(len(first) - 1):
        start, end = first[k], first[k + 1]
        n = end - start
        sentence_rows = packed.rows[start + EXTRA_ROWS * k : end + EXTRA_ROWS * (k + 1)]
        forget_children(state, n)
        size, front = 0, 1
        for _ in range(2 * n):
            action = forced(size, front, n)
            if action >= 0:  # without an alternative there is no margin
                size, front = advance(state, action, size, front, n)
                continue
            look(state, size, front, places)
            fill_numbers(state, size, front, sentence_rows, atoms[numbers:])
            n_found = find_features(sentence_rows, features, shift, places, atoms, buckets)
            score(weights, buckets[:n_found], scores)
            if len(given):
                action = best_of_cheapest(
                    scores, costs, state[STACK], size, front, n, given[start:end]
                )
            else:
                action = best(scores, size, front, n)
            top = state[STACK, size + 2]
            if top:
                at = start + top - 1
                margins[at] = min(margins[at], margin_of(scores, action, size, front, n))
            size, front = advance(state, action, size, front, n)
        for word in range(n):
            heads[start + word] = state[HEADS, word + 1]


@compiled
def learn_words(
    packed: PackedRows,
    gold: Ints,
    order: Ints,
    amounts: Floats,
    features: StateFeatures,
    learning: AveragedWeights,
    exploring: bool,
    room: WordRoom,
) -> None:
    """Trains for an epoch on packed sentences, whose gold heads (N,) are in a row.

    Sentences come in this order; sentence k changes weights by amounts[k]. `exploring`: the parser
    goes on from its own action, even if that is wrong.
    """
    first, weights, totals = packed.first, learning.weights, learning.totals
    state, places, atoms, all_buckets, scores, costs = room
    shift, numbers, step = shift_of(len(weights)), len(features.places) + 1, learning.step[0]
    for k in order:
        n, heads = first[k + 1] - first[k], gold[first[k] : first[k + 1]]
        begin, end = first[k] + EXTRA_ROWS * k, first[k + 1] + EXTRA_ROWS * (k + 1)
        sentence_rows = packed.rows[begin:end]
        forget_children(state, n)
        size, front = 0, 1
        for _ in range(2 * n):
            look(state, size, front, places)
            fill_numbers(state, size, front, sentence_rows, atoms[numbers:])
            buckets = all_buckets[
                : find_features(sentence_rows, features, shift, places, atoms, all_buckets)
            ]
            score(weights, buckets, scores)
            action = best(scores, size, front, n)
            target = best_of_cheapest(scores, costs, state[STACK], size, front, n, heads)
            if costs[action] > costs[target]:
                for bucket in buckets:
                    weights[bucket, target] += amounts[k]
                    weights[bucket, action] -= amounts[k]
                    totals[bucket, target] += amounts[k] * step
                    totals[bucket, action] -= amounts[k] * step
                if not exploring:
                    action = target
            step += 1
            size, front = advance(state, action, size, front, n)
    learning.step[0] = step

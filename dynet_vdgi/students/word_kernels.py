"""Kernels of the linear parser that sees every column of `data.atoms`, through templates.

The transitions, their oracle and the choice of actions are those of `arc_hybrid`.

In packed sentences word i is row i, nothing is 0, and ROOT is n + 1.

Letters: n words, N words of all sentences, S sentences, B buckets of weights, c columns, p word atoms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynet_vdgi.data.atoms import AGREEING, AGREEMENT, EXTRA_ROWS, GAPS
from dynet_vdgi.data.templates import Templates, shift_of
from dynet_vdgi.students.arc_hybrid import (
    HEADS,
    LEFTMOST,
    N_ACTIONS,
    N_CHILDREN,
    RIGHTMOST,
    STACK,
    Weights,
    advance,
    best,
    best_of_cheapest,
    forced,
    margin_of,
    numbers_of,
    score,
)
from dynet_vdgi.system.arrays import Codes, Floats, Ints
from dynet_vdgi.system.jit import compiled

N_PLACES = 13
"""The places of atoms: nothing, then the next twelve of `arc_hybrid.ATOMS`, s0 to b0_left."""

NUMBERS = ("s0_children", "s1_children", "gap", "span", "depth", "gaps0", "gaps1")
"""As there; gaps0 and gaps1: in how many places there is punctuation from s0 to b0, and from s1 to s0.
These two, and agreement, may be absent: 0."""

FARTHEST_GAP = 2  # more places with punctuation count as these


class StateFeatures(NamedTuple):
    """A model's atoms: columns of words, then NUMBERS, then whether s0 agrees with b0, and s0 with s1."""

    places: Ints  # (p,) of words
    columns: Ints  # (p,): which columns of these; atoms 1..p
    templates: Templates


@compiled
def forget_children(state: Ints, n: int) -> None:
    """Resets the state to before the first action on n words."""
    for word in range(n + 2):
        state[LEFTMOST, word] = state[RIGHTMOST, word] = state[N_CHILDREN, word] = 0


@compiled
def look(state: Ints, size: int, front: int, places: Ints) -> None:
    """The rows of the words in all places, N_PLACES of them."""
    s0, s1 = state[STACK, size + 2], state[STACK, size + 1]
    places[0], places[1], places[2], places[3] = 0, s0, s1, state[STACK, size]
    places[4], places[5], places[6], places[7] = front, front + 1, front + 2, front - 1
    places[8], places[9] = state[LEFTMOST, s0], state[RIGHTMOST, s0]
    places[10], places[11] = state[LEFTMOST, s1], state[RIGHTMOST, s1]
    places[12] = state[LEFTMOST, front]


@compiled
def fill_numbers(state: Ints, size: int, front: int, rows: Codes, numbers: Codes) -> None:
    """NUMBERS and agreement, numbers (7 + 8,)."""
    s0, s1 = state[STACK, size + 2], state[STACK, size + 1]
    numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] = numbers_of(state, size, front)
    has_gaps = rows[len(rows) - 3, GAPS] > 0
    most = np.uint64(FARTHEST_GAP)
    numbers[5] = 1 + min(rows[front, GAPS] - rows[s0, GAPS], most) if has_gaps and s0 else 0
    numbers[6] = 1 + min(rows[s0, GAPS] - rows[s1, GAPS], most) if has_gaps and s1 else 0
    k = 7
    for other in (front, s1):
        for column in range(AGREEMENT, AGREEMENT + len(AGREEING)):
            mine, its = rows[s0, column], rows[other, column]
            numbers[k] = 0 if not mine or not its else 1 if mine == its else 2
            k += 1


@compiled
def find_features(
    rows: Codes, features: StateFeatures, shift: int, places: Ints, atoms: Codes, buckets: Codes
) -> int:
    """Fills in the buckets of the features, given `places` and the numbers among `atoms`.

    Returns the number of features: those with an absent atom do not exist. `atoms` (2 a,) are words and
    numbers, and after them workspace for their addends to hashes.
    """
    parts, of_template, of_atom, certain = features.templates
    n_words, n_atoms = len(features.places), len(of_atom)
    for k in range(n_words):
        atoms[k + 1] = rows[places[features.places[k]], features.columns[k]]
    for k in range(n_atoms):
        atoms[n_atoms + k] = atoms[k] * of_atom[k]
    width, down = parts.shape[1], np.uint64(shift)
    for t in range(certain):
        code = of_template[t]
        for k in range(width):
            atom = parts[t, k]
            if not atom:
                break
            code += atoms[n_atoms + atom]
        buckets[t] = code >> down
    found = certain
    for t in range(certain, len(parts)):
        code, exists = of_template[t], True
        for k in range(width):
            atom = parts[t, k]
            if not atom or not exists:
                break
            exists = atoms[atom] != 0
            code += atoms[n_atoms + atom]
        if exists:
            buckets[found] = code >> down
            found += 1
    return found


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
    rows: Codes,
    first: Ints,
    features: StateFeatures,
    weights: Weights,
    given: Ints,
    heads: Ints,
    margins: Floats,
    room: WordRoom,
) -> None:
    """Greedy trees of packed sentences: heads (N,), and for each word its least sure decision.

    Decisions about its head are the attachment, and every SHIFT while it was on top of the stack; margins
    (N,) are differences of scores. `given` (N,) heads, -1 where there is none, are kept, if they fit into a
    projective tree; of length 0: none is given.
    """
    state, places, atoms, buckets, scores, costs = room
    shift, numbers = shift_of(len(weights)), len(features.places) + 1
    for word in range(len(margins)):
        margins[word] = np.inf
    for k in range(len(first) - 1):
        start, end = first[k], first[k + 1]
        n, own = end - start, rows[first[k] + EXTRA_ROWS * k : end + EXTRA_ROWS * (k + 1)]
        forget_children(state, n)
        size, front = 0, 1
        for _ in range(2 * n):
            action = forced(size, front, n)
            if action >= 0:  # without an alternative there is no margin
                size, front = advance(state, action, size, front, n)
                continue
            look(state, size, front, places)
            fill_numbers(state, size, front, own, atoms[numbers:])
            found = find_features(own, features, shift, places, atoms, buckets)
            score(weights, buckets[:found], scores)
            if len(given):
                action = best_of_cheapest(scores, costs, state[STACK], size, front, n, given[start:end])
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
    rows: Codes,
    gold: Ints,
    first: Ints,
    order: Ints,
    amounts: Floats,
    features: StateFeatures,
    weights: Weights,
    totals: Weights,
    step: Ints,
    exploring: bool,
    room: WordRoom,
) -> None:
    """Trains for an epoch on packed sentences; sentence k changes weights by amounts[k]."""
    state, places, atoms, all_buckets, scores, costs = room
    shift, numbers, at = shift_of(len(weights)), len(features.places) + 1, step[0]
    for k in order:
        n, heads = first[k + 1] - first[k], gold[first[k] : first[k + 1]]
        own = rows[first[k] + EXTRA_ROWS * k : first[k + 1] + EXTRA_ROWS * (k + 1)]
        forget_children(state, n)
        size, front = 0, 1
        for _ in range(2 * n):
            look(state, size, front, places)
            fill_numbers(state, size, front, own, atoms[numbers:])
            buckets = all_buckets[: find_features(own, features, shift, places, atoms, all_buckets)]
            score(weights, buckets, scores)
            action = best(scores, size, front, n)
            target = best_of_cheapest(scores, costs, state[STACK], size, front, n, heads)
            if costs[action] > costs[target]:
                for bucket in buckets:
                    weights[bucket, target] += amounts[k]
                    weights[bucket, action] -= amounts[k]
                    totals[bucket, target] += amounts[k] * at
                    totals[bucket, action] -= amounts[k] * at
                if not exploring:
                    action = target
            at += 1
            size, front = advance(state, action, size, front, n)
    step[0] = at

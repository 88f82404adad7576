"""The arc-hybrid transition system and its oracle, and the kernels of the linear parser that chooses actions.

Arc-hybrid: Kuhlmann, Gomez-Rodriguez & Satta (2011), "Dynamic programming algorithms for transition-based dependency
parsers". Dynamic oracle: Goldberg & Nivre (2013), "Training deterministic parsers with non-deterministic oracles".

Words are 1..n. ROOT stands behind them, at n + 1, the last of the buffer, and is never shifted; it takes the
bottom of the stack when that is the only word left, so there is exactly one root. The 2n actions are:
  SHIFT  the front of the buffer goes onto the stack
  LEFT   the front of the buffer becomes the head of the top of the stack, which is popped
  RIGHT  the word below the top becomes the head of the top, which is popped
In `heads` the root has head 0. Below the bottom of the stack lies 0: no word, but also the head that the
bottom, and no word above it, can still get from ROOT.

Letters: n words, N words of all sentences, S sentences, T tags, B buckets of weights, p word atoms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.features.atoms import AGREEING, AGREEMENT, EXTRA_ROWS, GAPS
from dynet_vdgi.features.hashing import shift_of
from dynet_vdgi.features.templates import Templates
from dynet_vdgi.system.array_types import Codes, Floats, Ints
from dynet_vdgi.system.jit import compiled

Weights = NDArray[Any]  # float32 to parse with, float64 in training

SHIFT, LEFT, RIGHT = 0, 1, 2

N_ACTIONS = 3

_IN_ORDER = """
nothing s0 s1 s2 b0 b1 b2 before s0_left s0_right s1_left s1_right b0_left
s0_children s1_children gap span depth
"""

ATOMS = tuple(_IN_ORDER.split())
"""The atoms of a state. Tags: s0 s1 s2 the top of the stack and the items below, b0 b1 b2 the front of the buffer and
the words after it, `before` the word before the front, X_left and X_right the outermost dependents of X on that side.
Numbers: dependents of s0 and s1 so far, gap from s0 to b0, span from s1 to s0, words on the stack."""

TEMPLATES = (
    "s0",
    "s0 b0",
    "s0 s1",
    "b0 b1",
    "b0 b1 b2",
    "s0 s1 b0",
    "s0 b0 b1",
    "s0 s1 b0 b1",
    "s0 s1 s2 b0",
    "s0 b0 b1 b2",
    "s0 before b0 b1",
    "s0 s0_left s0_right b0",
    "s0 s1 s0_left b0",
    "s0 s1 s0_right b0",
    "s0 s0_right b0 b1",
    "s0 s1 s1_left b0",
    "s0 s1 s1_right b0",
    "s0 b0 b0_left",
    "s0 gap b0",
    "s0 s1 span b0",
    "s0 s0_children b0",
    "s0 s1 s1_children b0",
    "s0 depth b0",
)
"""The atoms of each feature, up to four. A change here makes model files unreadable: FORMAT."""

MOST_CHILDREN, MOST_DEPTH, FARTHEST = 3, 3, 5  # larger numbers are taken for these

TAGS, STACK, HEADS, LEFTMOST, RIGHTMOST, N_CHILDREN = range(6)
"""Rows of a state, an array (6, n + 4), which says where a derivation is, but for two numbers: the `size` of
the stack and the `front` of the buffer. One array, because numba pays for each that is handed on.
  TAGS       NONE, the words' tags, ROOT, NONE, NONE
  STACK      0, 0, 0 and the words on the stack
  HEADS      of the words, found so far
  LEFTMOST   dependent of each word and ROOT, so far; 0 is none
  RIGHTMOST  the same on the other side
  N_CHILDREN how many dependents"""


@compiled
def is_legal(action: int, size: int, front: int, n: int) -> bool:
    """Whether the action is legal; none is at the end, with an empty stack before ROOT."""
    if action == SHIFT:
        return front <= n
    if action == LEFT:
        return size == 1 or (size > 1 and front <= n)
    return size > 1


@compiled
def forced(size: int, front: int, n: int) -> int:
    """The only legal action, for which no scores are needed; -1 if there are several."""
    if size == 0:
        return SHIFT
    if front > n:
        return LEFT if size == 1 else RIGHT
    return -1


@compiled
def advance(state: Ints, action: int, size: int, front: int, n: int) -> tuple[int, int]:
    """Takes a legal action; returns the new size and front."""
    if action == SHIFT:
        state[STACK, size + 3] = front
        return size + 1, front + 1
    top = state[STACK, size + 2]
    if action == LEFT:
        head = front
        state[LEFTMOST, head] = top
    else:
        head = state[STACK, size + 1]
        state[RIGHTMOST, head] = top
    state[N_CHILDREN, head] += 1
    state[HEADS, top] = head if head <= n else 0
    return size - 1, front


@compiled
def cost(action: int, stack: Ints, size: int, front: int, n: int, gold: Ints) -> int:
    """The number of arcs of the gold tree, heads (n,), that this legal action makes unreachable.

    Exact for projective trees with one root. In other trees, some arcs may not be reachable together.
    """
    lost = 0
    if action == SHIFT:
        for place in range(3, size + 3):  # words on the stack cannot get the front as head any more
            lost += gold[stack[place] - 1] == front
        for place in range(2, size + 2):  # nor can the front get a head from below the top, or ROOT
            lost += stack[place] == gold[front - 1]
        return lost
    top, below = stack[size + 2], stack[size + 1]
    head = gold[top - 1]
    if action == RIGHT:
        lost += head >= front
    elif front <= n:
        lost += head == below or head > front
    for word in range(front, n + 1):  # dependents that the top would have got from the buffer
        lost += gold[word - 1] == top
    return lost


@compiled
def numbers_of(state: Ints, size: int, front: int) -> tuple[int, int, int, int, int]:
    """The numbers among the atoms of a state, in their order."""
    s0, s1 = state[STACK, size + 2], state[STACK, size + 1]
    return (
        min(state[N_CHILDREN, s0], MOST_CHILDREN),
        min(state[N_CHILDREN, s1], MOST_CHILDREN),
        min(front - s0, FARTHEST) if s0 else 0,
        min(s0 - s1, FARTHEST) if s1 else 0,
        min(size, MOST_DEPTH),
    )


@compiled
def score(weights: Weights, buckets: Codes, scores: Floats) -> None:
    """The sum of the weights (B, 3) in these buckets: scores (3,)."""
    shift = left = right = 0.0
    for bucket in buckets:
        shift += float(weights[bucket, SHIFT])
        left += float(weights[bucket, LEFT])
        right += float(weights[bucket, RIGHT])
    scores[SHIFT], scores[LEFT], scores[RIGHT] = shift, left, right


@compiled
def best(scores: Floats, size: int, front: int, n: int) -> int:
    """The legal action with the highest score, the first one of equals."""
    chosen = -1
    for action in range(N_ACTIONS):
        if is_legal(action, size, front, n) and (chosen < 0 or scores[action] > scores[chosen]):
            chosen = action
    return chosen


@compiled
def best_of_cheapest(scores: Floats, costs: Ints, stack: Ints, size: int, front: int, n: int, gold: Ints) -> int:
    """The legal action with the highest score among those of the lowest cost; fills in the costs (3,)."""
    chosen = -1
    for action in range(N_ACTIONS):
        if not is_legal(action, size, front, n):
            continue
        costs[action] = cost(action, stack, size, front, n, gold)
        if (
            chosen < 0
            or costs[action] < costs[chosen]
            or (costs[action] == costs[chosen] and scores[action] > scores[chosen])
        ):
            chosen = action
    return chosen


@compiled
def margin_of(scores: Floats, action: int, size: int, front: int, n: int) -> float:
    """How far the action's score is above the best other legal action; infinite if there is no other."""
    margin = np.inf
    for other in range(N_ACTIONS):
        if other != action and is_legal(other, size, front, n):
            margin = min(margin, scores[action] - scores[other])
    return margin


# In packed sentences word i is row i, nothing is 0, and ROOT is n + 1.
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
def find_features(rows: Codes, features: StateFeatures, shift: int, places: Ints, atoms: Codes, buckets: Codes) -> int:
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

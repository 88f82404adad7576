"""The arc-hybrid transition system, its dynamic oracle, and a linear model that chooses actions.

Arc-hybrid: Kuhlmann, Gomez-Rodriguez & Satta (2011), "Dynamic programming algorithms for transition-based
dependency parsers". Dynamic oracle: Goldberg & Nivre (2013), "Training deterministic parsers with
non-deterministic oracles".

Words are 1..n. ROOT stands behind them, at n + 1, the last of the buffer, and is never shifted; it takes the
bottom of the stack when that is the only word left, so there is exactly one root. The 2n actions are:
  SHIFT  the front of the buffer goes onto the stack
  LEFT   the front of the buffer becomes the head of the top of the stack, which is popped
  RIGHT  the word below the top becomes the head of the top, which is popped
In `heads` the root has head 0. Below the bottom of the stack lies 0: no word, but also the head that the
bottom, and no word above it, can still get from ROOT.

Letters: n words, N words of all sentences, S sentences, T tags, B buckets of weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.templates import random_words, shift_of
from dynet_vdgi.system.arrays import Codes, Floats, Ints
from dynet_vdgi.system.jit import compiled

Weights = NDArray[Any]  # float32 to parse with, float64 in training

SHIFT, LEFT, RIGHT = 0, 1, 2
N_ACTIONS = 3

_IN_ORDER = """
nothing s0 s1 s2 b0 b1 b2 before s0_left s0_right s1_left s1_right b0_left
s0_children s1_children gap span depth
"""
ATOMS = tuple(_IN_ORDER.split())
"""The atoms of a state. Tags: s0 s1 s2 the top of the stack and the items below, b0 b1 b2 the front of the
buffer and the words after it, `before` the word before the front, X_left and X_right the outermost dependents
of X on that side. Numbers: dependents of s0 and s1 so far, gap from s0 to b0, span from s1 to s0, words on
the stack."""

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

N_ATOMS, N_TEMPLATES = len(ATOMS), len(TEMPLATES)
COARSE_BITS = 12
"""With two levels a tag is coarse * 2 ** COARSE_BITS + fine, and every template is there twice: with whole
tags, and with their coarse parts alone."""
MOST_CHILDREN, MOST_DEPTH, FARTHEST = 3, 3, 5  # larger numbers are taken for these

_ADDENDS = np.array(random_words(len(ATOMS) + 2 * len(TEMPLATES)), np.uint64)
_OF_ATOM, _OF_TEMPLATE = _ADDENDS[: len(ATOMS)].copy(), _ADDENDS[len(ATOMS) :].copy()  # one of each level
_FIRST_TAG, _LAST_TAG = ATOMS.index("s0"), ATOMS.index("b0_left")
"""Multiply-shift hashing (Dietzfelbinger 1996): the highest bits of a sum of random numbers, one of the
template and, for each of its atoms, one times the atom."""


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
def begin(state: Ints, tags: Ints, n_tags: int, levels: int) -> None:
    """Resets the state to before the first action, on words with these tags (n,)."""
    n = len(tags)
    root, none = n_tags + 1, n_tags + 2
    if levels > 1:  # two more coarse tags
        root = ((n_tags >> COARSE_BITS) + 1) << COARSE_BITS
        none = root + (1 << COARSE_BITS)
    for word in range(n + 2):
        state[LEFTMOST, word] = state[RIGHTMOST, word] = state[N_CHILDREN, word] = 0
    for word in range(1, n + 1):
        state[TAGS, word] = tags[word - 1]
    state[TAGS, n + 1] = root
    state[TAGS, 0] = state[TAGS, n + 2] = state[TAGS, n + 3] = none


# ------------------------------------------------------------------------------------------- transitions
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


# ------------------------------------------------------------------------------------------- model
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
def find_buckets(state: Ints, size: int, front: int, shift: int, atoms: Codes, buckets: Codes) -> None:
    """Sets the bucket of each feature, buckets (levels * templates,); atoms (atoms,) is workspace."""
    s0, s1, s2 = state[STACK, size + 2], state[STACK, size + 1], state[STACK, size]
    atoms[1], atoms[2], atoms[3] = state[TAGS, s0], state[TAGS, s1], state[TAGS, s2]
    atoms[4], atoms[5], atoms[6] = state[TAGS, front], state[TAGS, front + 1], state[TAGS, front + 2]
    atoms[7] = state[TAGS, front - 1]
    atoms[8], atoms[9] = state[TAGS, state[LEFTMOST, s0]], state[TAGS, state[RIGHTMOST, s0]]
    atoms[10], atoms[11] = state[TAGS, state[LEFTMOST, s1]], state[TAGS, state[RIGHTMOST, s1]]
    atoms[12] = state[TAGS, state[LEFTMOST, front]]
    atoms[13], atoms[14], atoms[15], atoms[16], atoms[17] = numbers_of(state, size, front)
    for level in range(len(buckets) // N_TEMPLATES):
        if level:
            for k in range(_FIRST_TAG, _LAST_TAG + 1):
                atoms[k] >>= np.uint64(COARSE_BITS)
        codes = codes_of(atoms)
        for template in range(N_TEMPLATES):
            number = level * N_TEMPLATES + template
            buckets[number] = (codes[template] + _OF_TEMPLATE[number]) >> np.uint64(shift)


@compiled
def codes_of(atoms: Codes) -> tuple[np.uint64, ...]:
    """The sums of the random numbers of atoms (atoms,), times these, in the order of TEMPLATES."""
    s0, s1, s2 = atoms[1] * _OF_ATOM[1], atoms[2] * _OF_ATOM[2], atoms[3] * _OF_ATOM[3]
    b0, b1, b2 = atoms[4] * _OF_ATOM[4], atoms[5] * _OF_ATOM[5], atoms[6] * _OF_ATOM[6]
    before = atoms[7] * _OF_ATOM[7]
    s0_left, s0_right = atoms[8] * _OF_ATOM[8], atoms[9] * _OF_ATOM[9]
    s1_left, s1_right = atoms[10] * _OF_ATOM[10], atoms[11] * _OF_ATOM[11]
    b0_left = atoms[12] * _OF_ATOM[12]
    s0_children, s1_children = atoms[13] * _OF_ATOM[13], atoms[14] * _OF_ATOM[14]
    gap, span, depth = atoms[15] * _OF_ATOM[15], atoms[16] * _OF_ATOM[16], atoms[17] * _OF_ATOM[17]
    s0b0, s0s1, b0b1 = s0 + b0, s0 + s1, b0 + b1  # without loops, which take half as long again
    s0s1b0, s0b0b1 = s0s1 + b0, s0b0 + b1
    return (
        s0,
        s0b0,
        s0s1,
        b0b1,
        b0b1 + b2,
        s0s1b0,
        s0b0b1,
        s0s1b0 + b1,
        s0s1b0 + s2,
        s0b0b1 + b2,
        s0b0b1 + before,
        s0b0 + s0_left + s0_right,
        s0s1b0 + s0_left,
        s0s1b0 + s0_right,
        s0b0b1 + s0_right,
        s0s1b0 + s1_left,
        s0s1b0 + s1_right,
        s0b0 + b0_left,
        s0b0 + gap,
        s0s1b0 + span,
        s0b0 + s0_children,
        s0s1b0 + s1_children,
        s0b0 + depth,
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
def best_of_cheapest(
    scores: Floats, costs: Ints, stack: Ints, size: int, front: int, n: int, gold: Ints
) -> int:
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


# ------------------------------------------------------------------------------------------- kernels
class Room(NamedTuple):
    """A kernel's workspace: a state, atoms and buckets of features, scores and costs of actions."""

    state: Ints  # (6, n + 4) for the longest sentence
    atoms: Codes  # (atoms,)
    buckets: Codes  # (levels * templates,)
    scores: Floats  # (3,)
    costs: Ints  # (3,)

    @classmethod
    def to_parse(cls, first: Ints, levels: int) -> Room:
        """A workspace for sentences that begin and end at `first` (S + 1,) in an array of words."""
        longest = int(np.diff(first).max(initial=0))
        return cls(
            np.zeros((6, longest + 4), np.int64),
            np.zeros(N_ATOMS, np.uint64),
            np.zeros(levels * N_TEMPLATES, np.uint64),
            np.zeros(N_ACTIONS),
            np.zeros(N_ACTIONS, np.int64),
        )


@compiled
def parse_all(
    tags: Ints,
    first: Ints,
    n_tags: int,
    weights: Weights,
    given: Ints,
    heads: Ints,
    margins: Floats,
    levels: int,
    room: Room,
) -> None:
    """Greedy trees of sentences with tags (N,), sentence k being tags[first[k]:first[k + 1]]: heads (N,).

    Lowers margins (N,) to each word's least sure decision, a difference of scores; (0,): not requested.
    Decisions about its head are the attachment, and every SHIFT while it was on top of the stack. `given`
    (N,) heads, FREE where there is none, are kept if they fit into a projective tree; (0,): there are none.
    """
    state, atoms, buckets, scores, costs = room
    shift = shift_of(len(weights))
    for k in range(len(first) - 1):
        start, end = first[k], first[k + 1]
        n = end - start
        begin(state, tags[start:end], n_tags, levels)
        size, front = 0, 1
        for _ in range(2 * n):
            action = forced(size, front, n)
            if action >= 0:  # without an alternative there is no margin
                size, front = advance(state, action, size, front, n)
                continue
            find_buckets(state, size, front, shift, atoms, buckets)
            score(weights, buckets, scores)
            if len(given):
                action = best_of_cheapest(scores, costs, state[STACK], size, front, n, given[start:end])
            else:
                action = best(scores, size, front, n)
            if len(margins):
                at = start + state[STACK, size + 2] - 1
                margins[at] = min(margins[at], margin_of(scores, action, size, front, n))
            size, front = advance(state, action, size, front, n)
        for word in range(n):
            heads[start + word] = state[HEADS, word + 1]


@compiled
def train_epoch(
    tags: Ints,
    gold: Ints,
    first: Ints,
    order: Ints,
    n_tags: int,
    weights: Weights,
    totals: Weights,
    step: Ints,
    exploring: bool,
    levels: int,
    room: Room,
) -> None:
    """One pass of the perceptron over sentences, as in `parse_all`, in this order (S,), with gold heads (N,).

    Adds to the weights (B, 3), and to totals (B, 3) each addition times the number of the action, counted
    from step (1,) on, which becomes the next one: the average over T actions then is weights - totals / T.
    Where the best action loses gold arcs that another action keeps, learns; then takes that other action, or,
    when exploring, its own.
    """
    state, atoms, buckets, scores, costs = room
    shift, at = shift_of(len(weights)), step[0]
    for k in order:
        n, heads = first[k + 1] - first[k], gold[first[k] : first[k + 1]]
        begin(state, tags[first[k] : first[k + 1]], n_tags, levels)
        size, front = 0, 1
        for _ in range(2 * n):
            action = forced(size, front, n)
            if action >= 0:  # nothing to learn
                at += 1
                size, front = advance(state, action, size, front, n)
                continue
            find_buckets(state, size, front, shift, atoms, buckets)
            score(weights, buckets, scores)
            action = best(scores, size, front, n)
            target = best_of_cheapest(scores, costs, state[STACK], size, front, n, heads)
            if costs[action] > costs[target]:
                for bucket in buckets:
                    weights[bucket, target] += 1
                    weights[bucket, action] -= 1
                    totals[bucket, target] += at
                    totals[bucket, action] -= at
                if not exploring:
                    action = target
            at += 1
            size, front = advance(state, action, size, front, n)
    step[0] = at

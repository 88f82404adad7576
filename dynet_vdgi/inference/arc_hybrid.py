"""The arc-hybrid transition system and its dynamic oracle, for kernels.

Arc-hybrid: Kuhlmann, Gomez-Rodriguez & Satta (2011), "Dynamic programming algorithms for
transition-based dependency parsers". Dynamic oracle: Goldberg & Nivre (2013), "Training
deterministic parsers with non-deterministic oracles".

Words are 1..n. ROOT stands behind them, at n + 1, the last of the buffer, and is never shifted; it
takes the bottom of the stack when that is the only word left, so there is exactly one root. The 2n
actions are:
  SHIFT  the front of the buffer goes onto the stack
  LEFT   the front of the buffer becomes the head of the top of the stack, which is popped
  RIGHT  the word below the top becomes the head of the top, which is popped
In `heads` the root has head 0. Below the bottom of the stack lies 0: no word, but also the head
that the bottom, and no word above it, can still get from ROOT.

>>> from dynet_vdgi.system.jit import as_python
>>> state, size, front = np.zeros((6, 3 + 4), np.int64), 0, 1  # of 3 words
>>> for action in (SHIFT, LEFT, SHIFT, SHIFT, RIGHT, LEFT):
...     size, front = as_python(advance)(state, action, size, front, 3)
>>> state[HEADS, 1:4].tolist()  # word 2 is the root, whose head is 0
[2, 0, 2]

Letters: n words.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.jit import compiled

SHIFT, LEFT, RIGHT = 0, 1, 2

N_ACTIONS = 3


TAGS, STACK, HEADS, LEFTMOST, RIGHTMOST, N_CHILDREN = range(6)
"""Rows of a state, an array (6, n + 4), which says where a derivation is, but for two numbers: the
`size` of the stack and the `front` of the buffer. One array, because numba pays for each that is
handed on.
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

    Exact for projective trees with one root. In other trees, some arcs may not be reachable
    together.
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
    """The legal action with the highest score among those of the lowest cost; fills in the costs
    (3,)."""
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
    """How far the action's score is above the best other legal action; infinite if there is no
    other."""
    margin = np.inf
    for other in range(N_ACTIONS):
        if other != action and is_legal(other, size, front, n):
            margin = min(margin, scores[action] - scores[other])
    return margin


@compiled
def forget_children(state: Ints, n: int) -> None:
    """Resets the state to before the first action on n words."""
    for word in range(n + 2):
        state[LEFTMOST, word] = state[RIGHTMOST, word] = state[N_CHILDREN, word] = 0

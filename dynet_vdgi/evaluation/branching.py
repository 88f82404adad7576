"""Trees of parsers that learn nothing: left and right branching, and random transitions."""

from __future__ import annotations

import numpy as np

from dynet_vdgi.conllu.sentence import Tree


def left_branching(n_words: int) -> Tree:
    """The head is the next word; the last word is the root.

    >>> left_branching(4)
    (2, 3, 4, 0)
    """
    return tuple((word + 1) % (n_words + 1) for word in range(1, n_words + 1))


def right_branching(n_words: int) -> Tree:
    """The head is the previous word; the first word is the root.

    >>> right_branching(4)
    (0, 1, 2, 3)
    """
    return tuple(range(n_words))


def random_transitions(n_words: int, rng: np.random.Generator) -> Tree:
    """A tree from arc-standard actions drawn uniformly from the legal ones; the last word left is
    the root.

    SHIFT is legal while words remain, LEFT and RIGHT while two are on the stack, and no root symbol
    is on it: the paper's transition system and its "random" baseline. Not uniform over trees. Takes
    2n - 1 numbers from `rng` (none for n = 0).
    """
    heads = [0] * n_words
    stack: list[int] = []
    next_word = 1
    for draw in rng.random(max(0, 2 * n_words - 1)).tolist():
        can_shift = next_word <= n_words
        can_reduce = len(stack) >= 2
        # 0 SHIFT, 1 LEFT, 2 RIGHT
        action = int(draw * (can_shift + 2 * can_reduce)) + (not can_shift)
        if action == 0:
            stack.append(next_word)
            next_word += 1
        else:
            dependent = stack.pop(-2 if action == 1 else -1)
            heads[dependent - 1] = stack[-1]
    return tuple(heads)

"""Ways of choosing actions: the best one, or a random one. B rows of a batch, T steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.grammar.transitions import Action
from dynet_vdgi.system.arrays import Flags

Array = NDArray[np.float32]
Ints = NDArray[np.intp]

Choose = Callable[[int, Array, Flags, Flags], "tuple[Flags, Flags]"]
"""(step, logits (3, b), rows that can shift (b,), that can reduce (b,)) -> rows that reduce (b,), and whether
a reduction there would be LEFT_REDUCE (b,)."""

NEVER = -1e9  # score of an illegal SHIFT


def greedy(logits: Array, can_shift: Flags, can_reduce: Flags) -> tuple[Flags, Flags]:
    """Takes the best legal action; SHIFT before LEFT_REDUCE before RIGHT_REDUCE where they tie."""
    shift, left, right = logits
    reduces = np.maximum(left, right) > shift
    reduces |= ~can_shift
    reduces &= can_reduce
    return reduces, left >= right


class Sampler:
    """Draws actions from q; `log_q` (B,) are the log-probabilities of the derivations so far.

    As in the reference engine, a model that does not mask draws from the legal actions only, but scores with
    all three.
    """

    def __init__(self, rng: np.random.Generator, rows: int, masked: bool) -> None:
        self.rng, self.masked = rng, masked
        self.log_q = np.zeros(rows)

    def __call__(self, step: int, logits: Array, can_shift: Flags, can_reduce: Flags) -> tuple[Flags, Flags]:
        scores = logits.astype(np.float64)
        log_total = np.logaddexp.reduce(scores, axis=0)
        scores[0][~can_shift] = NEVER
        if self.masked:
            log_total = np.logaddexp.reduce(scores, axis=0)
        weights = np.exp(scores - scores.max(axis=0))
        cumulative = weights.cumsum(axis=0)
        drawn = self.rng.random(len(can_shift)) * cumulative[2]
        reduces = can_reduce & (drawn >= cumulative[0])
        left = drawn < cumulative[1]
        taken = np.where(reduces, np.where(left, scores[1], scores[2]), scores[0])
        self.log_q[: len(taken)] += np.where(can_reduce, taken - log_total, 0.0)
        return reduces, left


class Recorder:
    """Chooses as `choose` does and records the actions (B, T) of a batch; T: of its longest sentence."""

    def __init__(self, choose: Choose, rows: int, steps: int) -> None:
        self.choose = choose
        self.actions = np.full((rows, steps), Action.SHIFT, np.int8)

    def __call__(self, step: int, logits: Array, can_shift: Flags, can_reduce: Flags) -> tuple[Flags, Flags]:
        reduces, left = self.choose(step, logits, can_shift, can_reduce)
        reduction = np.where(left, Action.LEFT_REDUCE, Action.RIGHT_REDUCE)
        self.actions[: len(left), step] = np.where(reduces, reduction, Action.SHIFT)
        return reduces, left

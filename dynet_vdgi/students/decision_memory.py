"""Decisions of a perceptron, kept because text repeats itself, and done without where it does not.

A state that was met before takes a quarter of the time. That pays from one such state in five on: large
texts of one domain have so many, a treebank has fewer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.students.arc_hybrid import MOST_SMALL, WAYS, Decisions

Ints = NDArray[np.int64]

LEAST = 2_000
"""Words of a call from which on decisions are kept."""

ROWS = 1 << 14
TRIALS, PAUSE = 4, 15
"""Calls before the first judgement, and calls without decisions after a bad one."""

WORTH_IT = 0.2
"""Share of states that are known from which on knowing them saves time."""

_FIRST = 3  # small number of the first tag
_NOTHING: Ints = np.zeros(0, np.int64)


class DecisionMemory:
    """Small numbers of tags 0..n_tags, and what was decided about words with these."""

    def __init__(self, n_tags: int) -> None:
        self.none = Decisions(np.zeros((0, WAYS, 2), np.int64), np.zeros((0, WAYS)), np.zeros(2, np.int64))
        self._numbers = np.zeros(n_tags + 1, np.int64)
        self._size, self._decisions = _FIRST, self.none
        self._trials, self._pause = TRIALS, 0

    def decisions_for(self, tags: Ints) -> tuple[Ints, Decisions]:
        """The small numbers (N,) of tags (N,), and decisions; without rows where they are not worth it."""
        if len(tags) < LEAST:
            return _NOTHING, self.none
        if self._pause:
            self._pause -= 1
            return _NOTHING, self.none
        new = np.unique(tags[self._numbers[tags] == 0])
        if self._size + len(new) > MOST_SMALL:  # begins anew with these
            new = np.unique(tags)
            self._numbers[:] = 0
            self._size, self._decisions = _FIRST, self.none
            if _FIRST + len(new) > MOST_SMALL:
                return _NOTHING, self.none
        if not len(self._decisions.states):
            states, margins = np.zeros((ROWS, WAYS, 2), np.int64), np.zeros((ROWS, WAYS))
            self._decisions = Decisions(states, margins, np.zeros(2, np.int64))
        self._numbers[new] = np.arange(self._size, self._size + len(new))
        self._size += len(new)
        self._decisions.counts[:] = 0
        return self._numbers[tags], self._decisions

    def judge(self, used: Decisions) -> None:
        """Decides from what was just used whether decisions are worth it."""
        if len(used.states):
            self._trials = max(self._trials - 1, 0)
            asked, found = used.counts.tolist()
            if not self._trials and found < WORTH_IT * asked:
                self._pause = PAUSE

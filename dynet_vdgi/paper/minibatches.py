"""Mini-batches: every sentence once an epoch, with others of the same length, in random order.

Sentences of one length, so that the samples of all of them advance together (`lockstep`). Here the
kind of a sentence is its length; none of the five is left out or comes twice:

>>> batches = minibatches([2, 3, 2, 3, 2], size=2, rng=np.random.default_rng(1))
>>> sorted(sorted(batch) for batch in batches)
[[0, 4], [1, 3], [2]]
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np


def minibatches(kinds: Sequence[Hashable], size: int, rng: np.random.Generator) -> list[list[int]]:
    """One epoch: the number of every sentence once, in random batches of at most `size` of equal
    kind.

    A sentence's kind is its length and whatever else must agree within a batch.
    """
    by_kind: dict[Hashable, list[int]] = {}
    for k in rng.permutation(len(kinds)).tolist():
        by_kind.setdefault(kinds[k], []).append(k)
    batches = [ids[i : i + size] for ids in by_kind.values() for i in range(0, len(ids), size)]
    return [batches[k] for k in rng.permutation(len(batches)).tolist()]

"""The paper's phases: weights of samples under lambda, score functions, the baseline of RL-BL."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np


def minibatches(kinds: Sequence[Hashable], size: int, rng: np.random.Generator) -> list[list[int]]:
    """One epoch: the number of every sentence once, in random batches of at most `size` of equal kind.

    A sentence's kind is its length and whatever else must agree within a batch.
    """
    by_kind: dict[Hashable, list[int]] = {}
    for k in rng.permutation(len(kinds)).tolist():
        by_kind.setdefault(kinds[k], []).append(k)
    batches = [ids[i : i + size] for ids in by_kind.values() for i in range(0, len(ids), size)]
    return [batches[k] for k in rng.permutation(len(batches)).tolist()]

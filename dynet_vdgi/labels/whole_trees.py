"""Trees with punctuation in them, as a labeller sees them: without it, many at once.

What `data.punctuation.without_punctuation` does to one sentence, for all words of many in a few operations on
arrays, since parsing labels every sentence.

Letters: N words of all sentences, S sentences, K words of all sentences that are no punctuation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


class BareTrees(NamedTuple):
    """Trees without punctuation, one after the other."""

    words: Ints  # (K,), which of the N words they are, from 0
    first: Ints  # (S + 1,), how many there are before each sentence
    heads: Ints  # (K,), 0 for a root, below 0 where not known
    gaps: Ints  # (K,), in how many places up to the word there was punctuation


def bare_trees(is_punctuation: Flags, heads: Ints, first: Ints) -> BareTrees:
    """The trees of sentences with heads (N,) that begin at first (S + 1,).

    A word whose head is taken away goes to its nearest ancestor that stays, or else to the root.
    """
    sentence = np.repeat(np.arange(len(first) - 1), np.diff(first))
    begin = first[sentence]
    target = np.where(heads > 0, begin + heads - 1, np.minimum(heads, 0) - 1)  # -1: ROOT, below: not known
    above = target.copy()
    while True:
        climbing = np.flatnonzero((target >= 0) & is_punctuation[target])
        if not len(climbing):
            break
        target[climbing] = above[target[climbing]]
    kept_before = np.concatenate([[0], np.cumsum(~is_punctuation)])
    number = kept_before[1:] - kept_before[begin]  # of a word that stays, within its sentence
    begins = is_punctuation.copy()  # a place of punctuation
    begins[1:] &= ~is_punctuation[:-1] | (sentence[1:] != sentence[:-1])
    places_before = np.concatenate([[0], np.cumsum(begins)])
    words = np.flatnonzero(~is_punctuation)
    own = target[words]
    return BareTrees(
        words,
        kept_before[first],
        np.where(own >= 0, number[own], own + 1),
        (places_before[1:] - places_before[begin])[words],
    )

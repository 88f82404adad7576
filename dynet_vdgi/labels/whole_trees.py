"""Trees with punctuation as a labeller sees them: without it, many at once.

Does the same as `data.punctuation.without_punctuation`, but for all words of many sentences in a few array
operations, because parsing labels every sentence.

Letters: N words of all sentences, S sentences, K words of all sentences that are not punctuation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynet_vdgi.system.arrays import Flags, Ints


class BareTrees(NamedTuple):
    """Trees without punctuation, one after the other."""

    words: Ints  # (K,), the words' numbers among the N, from 0
    first: Ints  # (S + 1,), number of these words before each sentence
    heads: Ints  # (K,), 0 for a root, below 0 if unknown
    gaps: Ints  # (K,), number of places with punctuation up to the word


def bare_trees(is_punctuation: Flags, heads: Ints, first: Ints) -> BareTrees:
    """The trees of sentences with heads (N,) that begin at first (S + 1,).

    A word whose head is removed moves to its nearest remaining ancestor, or else to the root.
    """
    sentence = np.repeat(np.arange(len(first) - 1), np.diff(first))
    begin = first[sentence]
    target = np.where(heads > 0, begin + heads - 1, np.minimum(heads, 0) - 1)  # -1: ROOT, below: unknown
    above = target.copy()
    while True:
        climbing = np.flatnonzero((target >= 0) & is_punctuation[target])
        if not len(climbing):
            break
        target[climbing] = above[target[climbing]]
    kept_before = np.concatenate([[0], np.cumsum(~is_punctuation)])
    number = kept_before[1:] - kept_before[begin]  # of a remaining word, within its sentence
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

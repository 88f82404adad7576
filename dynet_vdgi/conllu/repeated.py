"""Sentences that are given twice, such as those of a text whose trees were corrected in another
file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")


def without_superseded(
    groups: Sequence[Sequence[T]], words_of: Callable[[T], Hashable]
) -> list[list[T]]:
    """The sentences of each group that do not come again, with the same words, in a later group.

    Each sentence of a later group takes the place of one, so a sentence that occurs more often in a
    text than among its corrected trees keeps its other occurrences; within a group all stay.

    >>> without_superseded([["Yes", "Yes", "No"], ["Yes", "Perhaps"]], str.lower)
    [['Yes', 'No'], ['Yes', 'Perhaps']]
    """
    remaining: list[list[T]] = []
    later: Counter[Hashable] = Counter()
    for group in reversed(groups):
        keys = [words_of(sentence) for sentence in group]
        left, rest = Counter(later), []
        for sentence, key in zip(group, keys):
            if left[key]:
                left[key] -= 1
            else:
                rest.append(sentence)
        remaining.insert(0, rest)
        later |= Counter(keys)
    return remaining

"""Heads that cannot all be in one tree: of which words, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

FREE = -1
"""Stands in heads for one that is not specified: the word may have any head. A tree with it is
partial."""

MOST_LISTED = 8
"""Words that a message names."""


def cycle(heads: Sequence[int]) -> list[int]:
    """The words of a cycle, sorted; empty when every word leads to the root, or to a FREE one.
    O(n)."""
    visit = [-1] + [0] * len(heads)  # the word from which the climb came, -1 for the root
    # may be the root
    above = [0, *heads] if FREE not in heads else [0, *(max(head, 0) for head in heads)]
    for start in range(1, len(heads) + 1):
        word = start
        while not visit[word]:
            visit[word] = start
            word = above[word]
        if visit[word] == start:
            circle = [word]
            while heads[circle[-1] - 1] != word:
                circle.append(heads[circle[-1] - 1])
            return sorted(circle)
    return []


class TreeFault(NamedTuple):
    """Words whose heads cannot be together in a tree, in ascending order, and the reason."""

    words: tuple[int, ...]
    text: str


def tree_faults(heads: Sequence[int]) -> list[TreeFault]:
    """All faults of the heads (n,) of a sentence; [] if a tree can have them. Some may be FREE.

    No word is in two faults.

    >>> for fault in tree_faults([0, 2, 0, 9, FREE]):
    ...     print(fault.words, fault.text)
    (4,) HEAD 9 of word 4 is outside the sentence (1..5)
    (2,) word 2 is its own head
    (1, 3) 2 roots: words 1, 3
    """
    n = len(heads)
    rest, faults = list(heads), []
    for word, head in enumerate(heads, 1):
        if head > n:
            text = f"HEAD {head} of word {word} is outside the sentence (1..{n})"
            faults.append(TreeFault((word,), text))
    for word, head in enumerate(heads, 1):
        if head == word:
            faults.append(TreeFault((word,), f"word {word} is its own head"))
    roots = tuple([word for word, head in enumerate(heads, 1) if head == 0])
    if len(roots) > 1:
        faults.append(TreeFault(roots, f"{len(roots)} roots: words {listed(roots)}"))
    for fault in faults:
        for word in fault.words:
            rest[word - 1] = FREE
    while circle := cycle(rest):
        faults.append(TreeFault(tuple(circle), f"cycle of heads through words {listed(circle)}"))
        for word in circle:
            rest[word - 1] = FREE
    return faults


def renumbered(text: str, places: Mapping[str, str]) -> str:
    """The text of a fault with other numbers of its words; words missing from `places` are left
    out.

    >>> renumbered("2 roots: words 1, 3", {"1": "1", "3": "4"})
    '2 roots: words 1, 4'
    >>> renumbered("word 2 is its own head", {"2": "5"})
    'word 5 is its own head'
    """

    def changed(match: re.Match[str]) -> str:
        words = [word if word == "..." else places.get(word, "") for word in match[2].split(", ")]
        return match[1] + ", ".join(filter(None, words))

    return re.sub(r"(\bwords? )(\d+(?:, (?:\d+|\.\.\.))*)", changed, text)


def listed(words: Sequence[int]) -> str:
    """The numbers of words, the first of many."""
    more = ", ..." if len(words) > MOST_LISTED else ""
    return ", ".join(str(word) for word in words[:MOST_LISTED]) + more


def drawable(heads: Sequence[int]) -> tuple[list[int], list[str]]:
    """The heads (n,), FREE where no arc can be shown, and why they are no tree, in words.

    >>> drawable([2, 2, FREE])
    ([2, -1, -1], ['not a tree: word 2 is its own head', 'no head: word 3'])
    """
    n = len(heads)
    faults = [fault.text for fault in tree_faults(heads)]
    missing = [word for word, head in enumerate(heads, 1) if head == FREE]
    if not missing and 0 not in heads:
        faults.append("no root")
    lines = [f"not a tree: {'; '.join(faults)}"] if faults else []
    if len(missing) == n:
        lines.append("no word has a head")
    elif missing:
        lines.append(f"no head: {'word' if len(missing) == 1 else 'words'} {listed(missing)}")
    return [FREE if head > n or head == word else head for word, head in enumerate(heads, 1)], lines

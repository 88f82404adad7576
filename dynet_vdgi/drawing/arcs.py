"""Shared by the drawings of trees: arcs and their kinds, the heights of arcs, and printable letters.

Words are numbered 1..n, head 0 is the root. Heads need not be a tree: the output of any parser can be drawn.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

PLAIN, RIGHT, WRONG, MISSED = "plain", "right", "wrong", "missed"
"""Kinds of arcs: all plain without gold heads; `MISSED` are the gold arcs replaced by a wrong one."""

MEANING = {RIGHT: "right", WRONG: "wrong", MISSED: "gold, missed"}

SURE, UNSURE, DOUBTFUL = "sure", "unsure", "doubtful"
"""Kinds of arcs without gold heads, if the probabilities of the heads are known."""

LEAST_SURE = {SURE: 0.8, UNSURE: 0.5, DOUBTFUL: 0.0}
CONFIDENCE = {SURE: "80 % sure or more", UNSURE: "50 to 80 %", DOUBTFUL: "less than 50 %"}


class Arc(NamedTuple):
    """An arc from the head (0: the root) to its dependent."""

    head: int
    dependent: int
    kind: str


def arcs_of(
    forms: Sequence[str],
    tags: Sequence[str],
    heads: Sequence[int],
    gold: Sequence[int] | None,
    sure: Sequence[float | None] | None = None,
) -> list[Arc]:
    """The arcs to draw, by dependent; a wrong one is followed by the gold arc that was missed.

    `sure`: probability that each head is right, None if it is unknown; not together with gold heads.

    Raises: ValueError if the lengths differ, or a head is outside 0..n or the word itself.
    """
    for name, values in (("tags", tags), ("heads", heads), ("gold heads", gold)):
        if values is not None and len(values) != len(forms):
            raise ValueError(f"{len(values)} {name} for {len(forms)} words")
    for word, head in (pair for values in (heads, gold or ()) for pair in enumerate(values, 1)):
        if not 0 <= head <= len(forms) or head == word:
            raise ValueError(f"head {head} of word {word} in a sentence of {len(forms)} words")
    arcs = []
    for word, head in enumerate(heads, 1):
        kind = PLAIN if gold is None else RIGHT if gold[word - 1] == head else WRONG
        if gold is None and sure is not None and (known := sure[word - 1]) is not None:
            kind = next(kind for kind, least in LEAST_SURE.items() if known >= least)
        arcs.append(Arc(head, word, kind))
        if gold is not None and kind == WRONG:
            arcs.append(Arc(gold[word - 1], word, MISSED))
    return arcs


def levels(spans: Sequence[tuple[int, int]], *, may_touch: bool) -> list[int]:
    """The level of each span, from 0: above all spans under it, and clear of all that cross it.

    A span is (first, last) with first < last. With `may_touch`, two may meet in a point at the same level.

    >>> levels([(1, 2), (2, 3), (1, 3), (4, 6), (5, 7)], may_touch=True)
    [0, 0, 1, 0, 1]
    >>> levels([(1, 2), (2, 3), (3, 4)], may_touch=False)
    [0, 1, 0]
    """
    n_places = max((last for _, last in spans), default=0)
    above = [0] * n_places  # above[p]: the first free level between p and p + 1
    ends: defaultdict[int, set[int]] = defaultdict(set)  # levels taken at a point
    result = [0] * len(spans)
    for k in sorted(range(len(spans)), key=lambda k: spans[k][1] - spans[k][0]):
        first, last = spans[k]
        level = max(above[first:last])
        while not may_touch and level in ends[first] | ends[last]:
            level += 1
        above[first:last] = [level + 1] * (last - first)
        ends[first].add(level)
        ends[last].add(level)
        result[k] = level
    return result


def in_order(spans: Sequence[tuple[int, int]], word: int) -> list[int]:
    """The order, from left to right, of the arcs at a word that avoids needless crossings.

    `spans` (first, last) are the spans that the ends belong to. First come arcs to the left, the shortest
    outermost, then arcs that go up (first == last), then arcs to the right. Of equal spans the later one
    counts as longer, as in `levels`. Returns indices.

    >>> in_order([(3, 9), (3, 3), (3, 4), (1, 3), (2, 3)], word=3)
    [4, 3, 1, 0, 2]
    """

    def place(k: int) -> tuple[int, int, int]:
        first, last = spans[k]
        if first == last:
            return 1, 0, k
        return (2, first - last, -k) if first == word else (0, last - first, k)

    return sorted(range(len(spans)), key=place)


def clean(text: str) -> str:
    """The text without characters that would spoil a terminal or an XML file: controls, reordering marks."""
    # By distinct letters, because a form may be long.
    return text.translate(dict.fromkeys(map(ord, filter(_is_unfit, set(text))), "\N{REPLACEMENT CHARACTER}"))


def _is_unfit(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in "\ufffe\uffff":
        return True
    return "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069"

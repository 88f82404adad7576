"""What a drawing of a tree holds, and on which level each of its arcs lies; no pixels and no
letters yet.

Words are numbered 1..n, head 0 is the root. Heads need not be a tree: the output of any parser can
be drawn.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

NO_ARC = -1
"""Stands in heads for one that is not drawn; sentences call it FREE."""

PLAIN, RIGHT, WRONG, MISSED = "plain", "right", "wrong", "missed"
"""Kinds of arcs: all plain without gold heads;
`MISSED` are the gold arcs replaced by a wrong one."""

MEANING = {RIGHT: "right", WRONG: "wrong", MISSED: "gold, missed"}

SURE, UNSURE, DOUBTFUL = "sure", "unsure", "doubtful"
"""Kinds of arcs without gold heads, if the probabilities of the heads are known."""

_LEAST_CHANCE = {SURE: 0.8, UNSURE: 0.5, DOUBTFUL: 0.0}  # probability

CONFIDENCE = {SURE: "80 % sure or more", UNSURE: "50 to 80 %", DOUBTFUL: "less than 50 %"}


class Arc(NamedTuple):
    """An arc from the head (0: the root) to its dependent."""

    head: int
    dependent: int
    kind: str

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last word; the same one for an arc from the root."""
        other = self.head or self.dependent
        return min(other, self.dependent), max(other, self.dependent)


class MultiwordToken(NamedTuple):
    """A token of several words, from the first to the last."""

    first: int
    last: int
    form: str

    @property
    def number(self) -> str:
        return f"{self.first}-{self.last}"


class EmptyNode(NamedTuple):
    """An empty node after a word; 0: before all words."""

    after: int
    number: str
    form: str
    tag: str


class DrawnTree(NamedTuple):
    """The contents of a drawing: a tree, a caption above it and, if there are gold heads, a note
    below it.

    Heads may be NO_ARC, which draws no arc, and need not be a tree. `relations` are written over
    the arcs; empty: none. `sure`: probability that each head is right, None if it is unknown; it
    has no effect with gold heads. `tokens` are multiword tokens, `empty` empty nodes, and `faults`
    say why the heads are no tree.
    """

    forms: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]
    gold: Sequence[int] | None = None
    caption: str = ""
    note: str | None = None  # None: the number of right heads and of all heads
    relations: Sequence[str] = ()
    sure: Sequence[float | None] | None = None
    tokens: Sequence[MultiwordToken] = ()
    empty: Sequence[EmptyNode] = ()
    faults: Sequence[str] = ()

    def arcs(self) -> list[Arc]:
        """The arcs to draw, by dependent; a wrong one is followed by the gold arc that was missed.

        Raises: ValueError if the lengths differ, or a head that is not NO_ARC is outside 0..n or
        the word itself.
        """
        n, gold = len(self.forms), self.gold
        for name, values in (("tags", self.tags), ("heads", self.heads), ("gold heads", gold)):
            if values is not None and len(values) != n:
                raise ValueError(f"{len(values)} {name} for {n} words")
        heads = [(word, head) for word, head in enumerate(self.heads, 1) if head != NO_ARC]
        for word, head in [*heads, *enumerate(gold or (), 1)]:
            if not 0 <= head <= n or head == word:
                raise ValueError(f"head {head} of word {word} in a sentence of {n} words")
        arcs = []
        for word, head in enumerate(self.heads, 1):
            if head == NO_ARC:
                arcs += [Arc(gold[word - 1], word, MISSED)] if gold is not None else []
                continue
            if gold is not None:
                arcs.append(Arc(head, word, RIGHT if gold[word - 1] == head else WRONG))
                if gold[word - 1] != head:
                    arcs.append(Arc(gold[word - 1], word, MISSED))
                continue
            chance = self.sure[word - 1] if self.sure is not None else None
            arcs.append(Arc(head, word, PLAIN if chance is None else _kind_of(chance)))
        return arcs

    def note_on(self, arcs: Sequence[Arc]) -> str:
        """The note, or its default."""
        n_right = sum(arc.kind == RIGHT for arc in arcs)
        return f"{n_right} of {len(self.forms)} heads right" if self.note is None else self.note


def _kind_of(chance: float) -> str:
    """The kind of an arc whose head has this probability."""
    return next(kind for kind, least in _LEAST_CHANCE.items() if chance >= least)


def levels(spans: Sequence[tuple[int, int]], *, may_touch: bool) -> list[int]:
    """The level of each span, from 0: above all spans under it, and clear of all that cross it.

    A span is (first, last) with first < last. With `may_touch`, two may meet in a point at the same
    level.

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


def clean(text: str) -> str:
    """The text without characters that would spoil a terminal or an XML file: controls, reordering
    marks."""
    unfit = [
        letter
        for letter in set(text)  # a form may be long
        if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
        or letter in "\ufffe\uffff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    ]
    return text.translate(dict.fromkeys(map(ord, unfit), "\N{REPLACEMENT CHARACTER}"))

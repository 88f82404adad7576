"""One sentence, as the parts of a rule table see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.patterns import Group
from dynet_vdgi.system.array_types import Flags, Ints

NO_VALUE = "_"

WORDS_AT_ONCE = 1_500
"""Words that the parts look at together: few enough for arrays of all their arcs to stay in a
cache."""

WordType = tuple[str, str, str]
"""Tag, FEATS and XPOS of a word."""

Reading = tuple[str, str]
"""The tag that a table reads, and the FEATS of a word."""


def last_morph(xpos: str) -> str:
    """The text after the last + of an XPOS; "" without a +."""
    return xpos.rpartition("+")[2] if "+" in xpos else ""


@lru_cache(maxsize=1 << 16)
def with_morph(feats: str, xpos: str) -> str:
    """A FEATS column with the last morph of the XPOS as the feature Morph.

    >>> with_morph("_", "VV+EC")
    'Morph=EC'
    """
    morph = f"Morph={last_morph(xpos) or xpos}"
    return morph if feats == NO_VALUE else f"{feats}|{morph}"


class View:
    """Words 0..n-1 of a sentence, in the order of the original if the text is a mirror image.

    `tags` are those of the text, `read` the tags that the table reads, `symbols` those of the
    dependency model; parts change the last two. `gaps[i]`: punctuation was removed between words i
    - 1 and i; False for the first word.
    """

    def __init__(
        self, sentence: Sentence, is_mirrored: bool = False, has_feats: bool = True
    ) -> None:
        n = self.n = len(sentence)
        step = -1 if is_mirrored else 1
        self.tags: list[str] = list(sentence.tags[::step])
        self._own_forms = sentence.forms[::step]
        self.feats: Sequence[str] = (
            sentence.feats[::step] if sentence.feats and has_feats else [NO_VALUE] * n
        )
        self.xpos: Sequence[str] = sentence.xpos[::step] if sentence.xpos else [NO_VALUE] * n
        if "+" in "".join(self.xpos):
            self.feats = [with_morph(*pair) for pair in zip(self.feats, self.xpos)]
        gaps = sentence.gaps[::step] if sentence.gaps else ()
        self.gaps: list[bool] = [False, *map(bool, gaps[1:n])] if gaps else [False] * n
        self.read: list[str] = list(self.tags)
        self.symbols: list[str] = list(self.tags)
        self.predicates: dict[int, int] = {}  # predicate without a verb: its copula
        self.linked: dict[int, tuple[int, list[int]]] = {}
        """Linkers: their verbs, and nouns that the verb may depend on."""
        self.runs: dict[int, int] = {}  # other words of a run of nominals: its first
        self.run_ends: dict[int, int] = {}  # first word of such a run: its last
        self.placed: set[int] = set()  # verbs whose head a part has found

    @cached_property
    def words(self) -> list[WordType]:
        """Tag, FEATS and XPOS of each word (n,)."""
        return list(zip(self.tags, self.feats, self.xpos))

    @cached_property
    def forms(self) -> list[str]:
        """The words (n,) in lower case."""
        return [form.lower() for form in self._own_forms]

    def form(self, word: int) -> str:
        """The lower-case form of one word; most sentences need few of them."""
        return self._own_forms[word].lower()

    def has(self, group: Group, word: int) -> bool:
        """Whether a word belongs to a group."""
        return group.has(self.read[word], self.feats[word])

    def first(self, group: Group, start: int, end: int | None = None, step: int = 1) -> int:
        """The first word of a group from `start` on, before `end`; -1: none."""
        end = (self.n if step > 0 else -1) if end is None else end
        for word in range(start, end, step):
            if group.has(self.read[word], self.feats[word]):
                return word
        return -1


class SideBySide:
    """Views (k,) that the parts of a table look at together. n words are those of the longest.

    Shorter ones end with words of no tag, which are in no group.
    """

    def __init__(self, views: Sequence[View]) -> None:
        self.views, self.n = views, max(view.n for view in views)
        # of the words' present readings
        self._numbers: dict[bool, tuple[list[tuple[str, ...]], Ints]] = {}
        self._flags: dict[int, tuple[Group, Flags]] = {}

    @classmethod
    def of(cls, views: Sequence[View]) -> Iterator[tuple[list[int], SideBySide]]:
        """Views with words, those of similar length together, about WORDS_AT_ONCE words at a time,
        and their places."""
        some: list[int] = []
        for k in sorted((k for k, view in enumerate(views) if view.n), key=lambda k: views[k].n):
            n = views[k].n
            if some and (n > 1.2 * views[some[0]].n + 1 or n * len(some) >= WORDS_AT_ONCE):
                yield some, cls([views[j] for j in some])
                some = []
            some.append(k)
        if some:
            yield some, cls([views[k] for k in some])

    def array(self, rows: Iterable[Sequence[Any]], rest: Any) -> NDArray[Any]:
        """The array (k, n) of what the views' words have, with the rest for words that are none."""
        return np.array([[*row, *[rest] * (self.n - len(row))] for row in rows], type(rest))

    @cached_property
    def are_gaps(self) -> Flags:
        """The words (k, n) just after removed punctuation; never the first word of a sentence."""
        return self.array((view.gaps for view in self.views), False)

    def flags(self, group: Group) -> Flags:
        """The words (k, n) in a group, by the tags that the table reads. The result must not be
        changed."""
        cached = self._flags.get(id(group))
        if cached is not None:
            return cached[1]
        readings, numbers = self.numbered(with_feats=bool(group.special))
        flags = np.array([reading[0] != "" and group.has(*reading) for reading in readings])[
            numbers
        ]
        flags.flags.writeable = False
        self._flags[id(group)] = group, flags
        return flags

    def places(self, group: Group) -> list[tuple[int, int]]:
        """The words in a group: sentence and place in it."""
        sentences, words = np.nonzero(self.flags(group))
        return list(zip(sentences.tolist(), words.tolist()))

    def numbered(self, *, with_feats: bool = False) -> tuple[list[tuple[str, ...]], Ints]:
        """The different tags that the table reads, perhaps each with FEATS, and the number (k, n)
        of each word's."""
        if with_feats not in self._numbers:
            seen: dict[tuple[str, ...], int] = {}
            rows = (
                zip(view.read, view.feats) if with_feats else zip(view.read) for view in self.views
            )
            numbers = [[seen.setdefault(reading, len(seen)) for reading in row] for row in rows]
            rest = seen.setdefault(("", "") if with_feats else ("",), len(seen))
            self._numbers[with_feats] = list(seen), self.array(numbers, rest)
        return self._numbers[with_feats]

    def rename(self, s: int, word: int, tag: str, symbol: str) -> None:
        """Makes the table read a word of sentence s as another tag, with a symbol of its own."""
        view = self.views[s]
        view.read[word], view.symbols[word] = tag, symbol
        self._flags.clear()
        self._numbers.clear()


def last_before(flags: Flags) -> Ints:
    """For each word (k, n) the last flagged word before it; -1: none.

    >>> last_before(np.array([[False, True, False, True]])).tolist()
    [[-1, -1, 1, 1]]
    """
    last = np.full(flags.shape, -1)
    last[:, 1:] = np.maximum.accumulate(np.where(flags, np.arange(flags.shape[1]), -1), axis=1)[
        :, :-1
    ]
    return last

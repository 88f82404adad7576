"""Two annotations of one text: which words stand for each other, in what they differ, how far they
agree.

Both files must hold the same characters; their sentences, tokens and words may differ. Words are
aligned as in `raw_scores`. A column of two words is comparable if both have a value in it. `_` in
FEATS is a value (no features), unless a whole file has nothing else there. Heads agree if they are
aligned words, or both ROOT.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from dynet_vdgi.conllu.sentence import sent_id_of
from dynet_vdgi.conllu.tag_sets import is_punctuation
from dynet_vdgi.evaluation.raw_scores import Side, aligned_words, check_same_characters, read
from dynet_vdgi.system.files import AnyPath

COLUMNS = {"upos": 3, "xpos": 4, "feats": 5, "lemma": 2, "head": 6, "deprel": 7}
"""What is compared, with the place of the column in a line."""

_HEAD, _FEATS = COLUMNS["head"], COLUMNS["feats"]

ROOT = -1  # as in `Side.heads`


class Pair(NamedTuple):
    """Two words that stand for each other, by their numbers in the files, from 0."""

    one: int
    other: int


class Stretch(NamedTuple):
    """The shortest stretch of text that is whole sentences in both files: mostly one sentence of
    each."""

    ones: range  # sentences of the first file, from 0
    others: range
    pairs: tuple[Pair, ...]
    same_words: bool  # one sentence each, with the same tokens and words


class TwoValues(NamedTuple):
    """What both files have in a column of two words; heads are numbers in their sentences, `_` for
    none."""

    column: str
    pair: Pair
    one: str
    other: str
    is_same: bool


@dataclass(frozen=True)
class TwoFiles:
    """Two files of one text; see the module."""

    one: Side
    other: Side
    pairs: tuple[Pair, ...]

    @classmethod
    def read(cls, first: AnyPath, second: AnyPath) -> TwoFiles:
        """Raises: DataError, a file is malformed, or the texts differ."""
        one, other = read(first), read(second)
        check_same_characters(one, other)
        return cls(one, other, tuple(Pair(*pair) for pair in aligned_words(one, other)))

    @cached_property
    def empty(self) -> frozenset[str]:
        """The columns that one of the files leaves empty."""
        sides = self.one.columns, self.other.columns
        return frozenset(
            name
            for name, k in COLUMNS.items()
            if any(all(w[k] == "_" for w in side) for side in sides)
        )

    @cached_property
    def _partner(self) -> dict[int, int]:
        """The word of the first file for each aligned word of the other."""
        return {other: one for one, other in self.pairs}

    def is_comparable(self, pair: Pair, column: str) -> bool:
        """Whether both words have a value in the column."""
        return column not in self.empty and (
            column == "feats" or "_" not in self.values(pair, column)
        )

    def is_same(self, pair: Pair, column: str) -> bool:
        """Whether both words have the same value; two without one have."""
        if column == "head":
            # a word without a partner is like no word of the first file
            head = self.other.heads[pair.other]
            return self.one.heads[pair.one] == (self._partner.get(head) if head >= 0 else head)
        one, other = self.values(pair, column)
        return _sorted_feats(one) == _sorted_feats(other) if column == "feats" else one == other

    def values(self, pair: Pair, column: str) -> tuple[str, str]:
        """What both files have in a column, as it stands there."""
        k = COLUMNS[column]
        return self.one.columns[pair.one][k], self.other.columns[pair.other][k]

    def compared(self, pair: Pair) -> list[TwoValues]:
        """Two words, column by column: what people agree about is counted from it, and what they
        decide."""
        return [
            TwoValues(name, pair, *self.values(pair, name), self.is_same(pair, name))
            for name in COLUMNS
        ]

    def sent_id(self, stretch: Stretch) -> str:
        """The name of the first sentence of a stretch in the first file that has one; "" without
        one."""
        one, other = self.one.blocks[stretch.ones[0]], self.other.blocks[stretch.others[0]]
        return sent_id_of(one.lines) or sent_id_of(other.lines) or ""

    def is_punctuation(self, pair: Pair) -> bool:
        """Whether either file says so by UPOS, or has no UPOS and says so by XPOS."""
        return any(
            upos == "PUNCT" or (upos == "_" != xpos and is_punctuation(xpos))
            for upos, xpos in zip(self.values(pair, "upos"), self.values(pair, "xpos"))
        )

    def stretches(self) -> Iterator[Stretch]:
        """The whole text, cut wherever a sentence ends in both files."""
        other_ends = {end: n for n, (_, end) in enumerate(self.other.sentences, 1)}
        first = second = place = 0
        for n, (_, end) in enumerate(self.one.sentences, 1):
            if end not in other_ends:
                continue
            ones, others = range(first, n), range(second, other_ends[end])
            begun, words = place, self.one.words_in(ones)
            while place < len(self.pairs) and self.pairs[place].one < words.stop:
                place += 1
            pairs = self.pairs[begun:place]
            lengths = {len(words), len(self.other.words_in(others))}
            has_same = len(ones) == len(others) == 1 and lengths == {len(pairs)}
            same_words = has_same and all(
                self.one.words[a] == self.other.words[b]
                and self.one.columns[a][1] == self.other.columns[b][1]
                for a, b in pairs
            )
            yield Stretch(ones, others, pairs, same_words)
            first, second = ones.stop, others.stop


@lru_cache(maxsize=1 << 12)
def _sorted_feats(feats: str) -> str:
    """Features in one order, because the order has no meaning."""
    return "|".join(sorted(feats.split("|")))

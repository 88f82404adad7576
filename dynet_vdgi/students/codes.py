"""The words as a linear student reads them: two symbols in one number, made by a rule table and a text.

The coarse one is the dependency model's symbol (see `grammar.symbols`), the fine one adds the marks that
parts of the table make for students: whether punctuation stood before the word, and the meaning of its
adposition. A symbol that was not seen in training falls back: a fine one to the coarse one, a coarse one to
its tag, and an unknown tag to 0.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any

import msgspec
import numpy as np

from dynet_vdgi.data.numbering import Numbering
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.grammar.symbols import coarse
from dynet_vdgi.students.arc_hybrid import COARSE_BITS
from dynet_vdgi.students.perceptron import code_of
from dynet_vdgi.system import side_by_side
from dynet_vdgi.system.arrays import Ints

_Seen = tuple[tuple[str, ...], ...]
_Pair = tuple[str, str]


LEVELS = 2
SEEN_OFTEN = 3
"""Fine symbols less frequent in the trees than this are not distinguished."""


@dataclass(frozen=True, eq=False)
class Codes:
    """The symbols that a student knows, numbered from 1: `coarse[k]` and `fine[k]` have the number k + 1."""

    prior: Prior
    coarse: tuple[str, ...]
    fine: tuple[str, ...]

    _known: dict[_Pair, int] = field(default_factory=dict, init=False, repr=False)
    _of_trees: array[int] = field(default_factory=lambda: array("i"), init=False, repr=False)
    _places: dict[_Seen, int] = field(default_factory=dict, init=False, repr=False)
    """Where in `_of_trees` are the numbers of a sentence that a student learns from and asks about again."""

    @classmethod
    def of_trees(cls, prior: Prior, trees: Sequence[Sentence]) -> Codes:
        """The symbols of the sentences that a student will learn from."""
        pairs: Numbering[_Pair] = Numbering()
        numbers: list[Ints] = []
        calls = zip(repeat(prior), side_by_side.parts_of(trees))
        for found, read in side_by_side.by_processes(_pairs_of, calls):
            numbers.append(np.array([pairs(pair) for pair in found], np.int64)[read])
        flat = np.concatenate([np.zeros(0, np.int64), *numbers])
        times: Counter[str] = Counter()
        seen, first, counts = np.unique(flat, return_index=True, return_counts=True)
        for place in np.argsort(first).tolist():  # among equally frequent ones, the first
            times[pairs.known[seen[place]][1]] += int(counts[place])
        frequent = [
            symbol for symbol, count in times.most_common((1 << COARSE_BITS) - 2) if count >= SEEN_OFTEN
        ]
        known = {symbol for symbol, _ in pairs.known}
        every = known | set(map(coarse, known))
        codes = cls(prior, tuple(sorted(every)), tuple(sorted({*frequent, *every})))
        numbered = np.array([codes.code(*pair) for pair in pairs.known], np.int64)[flat]
        ends = np.cumsum([0, *map(len, trees)]).tolist()
        codes._of_trees.frombytes(numbered.astype(np.intc).tobytes())
        codes._places.update({_seen_of(tree): start for tree, start in zip(trees, ends)})
        return codes

    @property
    def n_tags(self) -> int:
        """The highest number of a word."""
        return code_of(len(self.coarse) + 1, 0) - 1

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        return (
            {symbol: k for k, symbol in enumerate(self.coarse, 1)},
            {symbol: k for k, symbol in enumerate(self.fine, 1)},
        )

    def __call__(self, sentence: Sentence) -> Sequence[int]:
        """The numbers (n,) of a sentence's words, for a parser of two levels."""
        if self._places and (place := self._places.get(_seen_of(sentence))) is not None:
            return self._of_trees[place : place + len(sentence)]
        return self._numbered(list(zip(*self.prior.student_symbols(sentence))))

    def _numbered(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        known = self._known
        try:
            return list(map(known.__getitem__, pairs))
        except KeyError:
            known.update({pair: self.code(*pair) for pair in set(pairs) if pair not in known})
            return list(map(known.__getitem__, pairs))

    def code(self, symbol: str, marked: str) -> int:
        """The number of a word with these symbols."""
        by_coarse, by_fine = self._numbers
        number = by_coarse.get(symbol) or by_coarse.get(coarse(symbol), 0)
        return code_of(number, by_fine.get(marked) or by_fine.get(symbol) or by_fine.get(coarse(symbol), 0))

    def to_json(self) -> dict[str, Any]:
        """The data that `from_json` reads back; the rules are stored separately."""
        return {"text": self.prior.text.to_json(), "coarse": list(self.coarse), "fine": list(self.fine)}

    @classmethod
    def from_json(cls, rules: RuleSet, data: Mapping[str, Any]) -> Codes:
        """The codes saved by `to_json`. Raises: ModelError, they are damaged."""
        try:
            stored = msgspec.convert(data, _StoredCodes)
        except msgspec.ValidationError as error:
            raise ModelError(f"the model's symbols are damaged: {error}") from None
        return cls(Prior.from_json(rules, stored.text), stored.coarse, stored.fine)


class _StoredCodes(msgspec.Struct):
    """The form of `Codes.to_json`, for the validation library."""

    text: dict[str, Any]
    coarse: tuple[str, ...]
    fine: tuple[str, ...]


def _seen_of(sentence: Sentence) -> _Seen:
    """Everything that the symbols of a sentence's words depend on."""
    return sentence.forms, sentence.tags, sentence.xpos, sentence.feats, sentence.gaps


def _pairs_of(prior: Prior, sentences: Sequence[Sentence]) -> tuple[list[_Pair], Ints]:
    """The different pairs of symbols that the sentences' words have, and the number of each word's."""
    pairs: Numbering[_Pair] = Numbering()
    read = [pairs(pair) for sentence in sentences for pair in zip(*prior.student_symbols(sentence))]
    return pairs.known, np.array(read, np.int64)

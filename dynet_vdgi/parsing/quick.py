"""Parsing of sound text by the window, on columns of bytes instead of objects: many times faster.

The reference is `stream._parse_window`, whose output this gives, byte for byte; what has no columns (see
`data.columns`) or asks for more than the greedy tree is left to it.

What depends on tags and FEATS alone is found once for each different triple of them, which is a *type* here.

Letters: N words, K of them that the protocol keeps, S sentences, R types.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.column_kernels import FEATS, FORM
from dynet_vdgi.data.columns import Columns, Names, Texts, Types, columns_of, restored, with_trees
from dynet_vdgi.labels.label_table import LABELS, OTHERWISE
from dynet_vdgi.parsing.engines import SymbolEngine
from dynet_vdgi.parsing.parser import How, Parser
from dynet_vdgi.parsing.relations import ModelLabeller
from dynet_vdgi.students.joined_codes import JoinedCodes

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

NOTE = "HeadConf"
_ODD_MISC = (f"{NOTE}=".encode(), b"\t_|", b"|_|", b"|_\n")
"""What makes a note more than another part of MISC."""

_NAMES = Names(LABELS)
_ROOT, _OTHER = LABELS.index("root"), LABELS.index(OTHERWISE)


class QuickParsed(NamedTuple):
    """A window, as `stream.Parsed` has it."""

    content: bytes
    n_sentences: int
    n_words: int
    unknown_tags: Counter[str]


class QuickParser:
    """A parser that keeps what it has learnt of types from window to window."""

    def __init__(self, parser: Parser, labeller: ModelLabeller | None) -> None:
        engine = parser.engine
        assert isinstance(engine, SymbolEngine)
        self._parser, self._engine, self._labeller = parser, engine, labeller
        data = parser.model.settings.data
        self._ignored = data.ignore
        self._types, self._words = Types(data.tags == "xpos"), Texts(FORM, FEATS)
        self._numbers = {tag: k for k, tag in enumerate(parser.model.vocabulary.tags, 1)}
        codes = engine.codes
        self._codes = None if codes is None else JoinedCodes(codes, self._types, self._ignored)
        self._lock = threading.Lock()  # one window at a time: threads of a cluster's worker share it

    @staticmethod
    def can(parser: Parser, how: How) -> bool:
        """Whether this kind of parser can be asked for such trees here."""
        return isinstance(parser.engine, SymbolEngine) and not (how.exact or how.keep_heads)

    def parse(self, text: bytes, how: How, verb_final: bool | None) -> QuickParsed | None:
        """The parsed text of some whole sentences; None: it may be odd."""
        columns = columns_of(text)
        if columns is None or (how.confidence and any(odd in text for odd in _ODD_MISC)):
            return None
        with self._lock:
            types = self._types.numbers(columns)
            return None if types is None else self._parsed(columns, types, how, verb_final)

    def _parsed(self, columns: Columns, types: Ints, how: How, verb_final: bool | None) -> QuickParsed:
        is_removed = self._types.are_tagged(self._parser.protocol.removed_tags)[types]
        kept = np.flatnonzero(~is_removed)
        before = np.concatenate([[0], np.cumsum(~is_removed)])
        first = before[columns.first]
        symbols = self._symbols(columns, types, kept, first)
        notes, known = np.zeros(0, np.int64), Names(())
        if how.confidence:
            bare, margins = self._engine.model.packed_with_margins(symbols, first)
            calibration = self._parser.calibration
            known = Names([f"{NOTE}={sure:.2f}" for sure in calibration.levels.tolist()])
            notes = np.full(len(types), -1)
            notes[kept] = calibration.level_of(margins)
        else:
            bare = self._engine.model.packed(symbols, first)
        heads = restored(bare, is_removed, columns.first)
        relations = np.where(heads == 0, _ROOT, _OTHER)
        if self._labeller is not None:
            relations = self._relations(columns, types, heads, verb_final)
        content = with_trees(columns, heads, relations, _NAMES, notes, known)
        return QuickParsed(content, len(columns.first) - 1, len(types), self._unknown(types[kept]))

    def _unknown(self, kept: Ints) -> Counter[str]:
        is_unknown = self._types.table("unknown", lambda row: row.tag not in self._numbers, np.bool_)
        times: Counter[str] = Counter()
        for k in kept[is_unknown[kept]].tolist():
            times[self._types.known[k].tag] += 1
        return times

    def _symbols(self, columns: Columns, types: Ints, kept: Ints, first: Ints) -> Ints:
        """What the perceptron is told of the words (K,) that are kept."""
        if self._codes is not None:
            return self._codes(columns, types, kept, first)
        tag_numbers: Ints = self._types.table("tag", lambda row: self._numbers.get(row.tag, 0))
        return tag_numbers[types[kept]]

    def _relations(self, columns: Columns, types: Ints, heads: Ints, verb_final: bool | None) -> Ints:
        """The relations (N,), by number in LABELS."""
        assert self._labeller is not None
        sees_forms = self._labeller.sees_forms
        numbers = self._words.numbers(columns) if sees_forms else types
        is_there = np.zeros(numbers.max() + 1, np.bool_)
        is_there[numbers] = True
        of_words = (np.cumsum(is_there) - 1)[numbers]
        present = np.flatnonzero(is_there).tolist()
        if sees_forms:
            words = [self._word(self._words.known[k]) for k in present]
        else:
            known = self._types.known
            words = [(known[k].upos, self._seen(known[k].feats)) for k in present]
        return self._labeller.labels(words, of_words, heads, columns.first, verb_final)

    def _word(self, text: str) -> tuple[str, ...]:
        """UPOS, FEATS, FORM and LEMMA, as a labeller knows them."""
        form, lemma, upos, _, feats = text.split("\t")
        if "forms" in self._ignored:
            form = lemma = "_"
        return upos, self._seen(feats), form, lemma

    def _seen(self, feats: str) -> str:
        """FEATS as the model may see them."""
        return "_" if "feats" in self._ignored else feats

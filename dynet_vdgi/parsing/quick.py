"""Parsing of well-formed text by the window, on columns of bytes instead of objects: many times faster.

The output equals that of the reference, `stream._parse_blocks`, byte for byte. The reference also parses the
text that has no columns (see `data.columns`), and makes all trees but greedy ones.

Values that depend on tags and FEATS alone are computed once for each different triple of them, called a
*type*.

Letters: N words, K of them that the protocol keeps, S sentences, R types.
"""

from __future__ import annotations

import threading
from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np

from dynet_vdgi.data import guesses
from dynet_vdgi.data.column_atoms import ColumnAtoms
from dynet_vdgi.data.column_kernels import FORM
from dynet_vdgi.data.columns import (
    Columns,
    Names,
    Texts,
    Types,
    columns_of,
    has_notes,
    restored,
    with_trees,
)
from dynet_vdgi.data.punctuation import FAMILIES
from dynet_vdgi.labels.inventory import OTHER_LABEL, ROOT_LABEL
from dynet_vdgi.labels.label_table import LABELS
from dynet_vdgi.parsing.confidence import STEPS, Arcs
from dynet_vdgi.parsing.engines import SymbolEngine, WordEngine, universal
from dynet_vdgi.parsing.parser import GREEDY, How, Parser
from dynet_vdgi.parsing.relations import ModelLabeller
from dynet_vdgi.students.joined_codes import JoinedCodes
from dynet_vdgi.system.arrays import Flags, Floats, Ints

NOTE = "HeadConf"


@cache
def _notes() -> Names:
    """A note for each possible confidence."""
    return Names([f"{NOTE}=0.%04d" % step for step in range(STEPS)])


class QuickParsed(NamedTuple):
    """A parsed window in the form of `stream.Parsed`."""

    content: bytes
    n_sentences: int
    n_words: int
    unknown_tags: Counter[str]


class QuickParser:
    """A parser that keeps the values of types from window to window."""

    def __init__(self, parser: Parser, labeller: ModelLabeller | None) -> None:
        engine = parser.engine
        self._parser, self._engine, self._labeller = parser, engine, labeller
        data = parser.model.settings.data
        self._ignored = data.ignore
        self._names = Names(LABELS if labeller is None else labeller.names)
        self._types = Types(data.tags == "xpos")
        self._atoms = ColumnAtoms(self._types, data.ignore)
        self._marks = Texts(FORM)  # forms of words that the protocol removes
        self._numbers = {tag: k for k, tag in enumerate(parser.model.vocabulary.tags, 1)}
        self._codes = self._universal = None
        if (own := universal(engine)) is not None:
            from dynet_vdgi.parsing.universal_columns import UniversalColumns

            self._universal = UniversalColumns(own, self._types, data.ignore)
        elif isinstance(engine, SymbolEngine) and engine.codes is not None:
            self._codes = JoinedCodes(engine.codes, self._types, data.ignore)
        self._lock = threading.Lock()  # one window at a time: threads of a cluster's worker share it

    @staticmethod
    def can(parser: Parser, how: How) -> bool:
        """Whether such trees of this kind of parser can be found here; a text's teacher reads sentences."""
        if (own := universal(parser.engine)) is not None:
            return how == GREEDY and (own.measures is None or own.measures.teacher is None)
        return isinstance(parser.engine, (SymbolEngine, WordEngine)) and not (how.exact or how.keep_heads)

    def parse(self, text: bytes, how: How, verb_order: int | None) -> QuickParsed | None:
        """The parsed text of some whole sentences; None: it may be malformed, or have notes about heads."""
        if guesses.may_be_noted(text):
            return None
        columns = columns_of(text, "ignored")
        if columns is None or (how.confidence and has_notes(columns, NOTE)):
            return None
        with self._lock:
            types = self._types.numbers(columns)
            return None if types is None else self._parsed(columns, types, how, verb_order)

    def _parsed(self, columns: Columns, types: Ints, how: How, verb_order: int | None) -> QuickParsed | None:
        is_removed = self._types.are_tagged(self._parser.protocol.removed_tags)[types]
        kept = np.flatnonzero(~is_removed)
        before = np.concatenate([[0], np.cumsum(~is_removed)])
        first = before[columns.first]
        log_p = np.zeros((0, 0))
        if self._universal is not None:
            with_relations = self._labeller is not None and self._labeller.has_log_p
            found = self._universal.parse(columns, types, is_removed, first, with_relations=with_relations)
            if found is None:
                return None
            (bare, log_p), margins = found, np.zeros(0)
        else:
            bare, margins = self._trees(columns, types, is_removed, first, how.confidence)
        notes, known = np.zeros(0, np.int64), Names(())
        if how.confidence:
            known, calibration = _notes(), self._parser.calibration
            tags = self._types.table("calibration", lambda row: calibration.number(row.tag), np.int64)
            notes = np.full(len(types), -1)
            notes[kept] = calibration.steps(Arcs(tags[types[kept]], bare, margins, first))
        marks, families = np.flatnonzero(is_removed), np.zeros(len(types), np.int64)
        if "forms" not in self._ignored:
            numbers = self._marks.numbers(columns, marks)
            families[marks] = self._marks.table("family", lambda form: FAMILIES.get(form, 0))[numbers]
        heads = restored(bare, is_removed, families, columns.first)
        relations = np.where(heads == 0, ROOT_LABEL, OTHER_LABEL)
        if self._labeller is not None:
            relations = self._relations(columns, types, heads, verb_order, log_p)
        content = with_trees(columns, heads, relations, self._names, notes, known)
        return QuickParsed(content, len(columns.first) - 1, len(types), self._unknown(types[kept]))

    def _unknown(self, kept: Ints) -> Counter[str]:
        is_unknown = self._types.table("unknown", lambda row: row.tag not in self._numbers, np.bool_)
        times: Counter[str] = Counter()
        for k in kept[is_unknown[kept]].tolist():
            times[self._types.known[k].tag] += 1
        return times

    def _trees(
        self, columns: Columns, types: Ints, is_removed: Flags, first: Ints, has_margins: bool
    ) -> tuple[Ints, Floats]:
        """Heads (K,) of the kept words, and margins (K,) if they are requested."""
        if isinstance(self._engine, WordEngine):
            return self._engine.model.packed(self._atoms.pack(columns, types, is_removed, first))
        assert isinstance(self._engine, SymbolEngine)
        kept = np.flatnonzero(~is_removed)
        if self._codes is not None:
            symbols = self._codes(columns, types, kept, first)
        else:
            symbols = self._types.table("tag", lambda row: self._numbers.get(row.tag, 0))[types[kept]]
        if has_margins:
            return self._engine.model.packed_with_margins(symbols, first)
        return self._engine.model.packed(symbols, first), np.zeros(0)

    def _relations(
        self, columns: Columns, types: Ints, heads: Ints, verb_order: int | None, log_p: Floats
    ) -> Ints:
        """The relations (N,), by number in the labeller's names."""
        assert self._labeller is not None
        hides_feats = "feats" in self._ignored
        return self._labeller.labels(
            self._types,
            lambda row: (row.upos, "_" if hides_feats else row.feats),
            types,
            heads,
            columns.first,
            verb_order,
            self._atoms.with_lemmas(columns, types) if self._labeller.sees_forms else None,
            log_p,
        )

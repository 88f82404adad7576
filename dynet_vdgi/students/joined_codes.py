"""The numbers that `Codes` give to words, for many sentences at once, on arrays.

Letters: N words, K of them kept, S sentences.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.column_kernels import FORM
from dynet_vdgi.data.columns import Columns, Texts, Types, WordColumns
from dynet_vdgi.data.numbering import Numbering, translated
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.joined_views import Forms, JoinedView, Lexicon, add_mark
from dynet_vdgi.grammar.views import NOTHING, WordType, last_morph, with_morph
from dynet_vdgi.students.codes import Codes
from dynet_vdgi.system.arrays import Ints


class JoinedCodes:
    """The numbers that `codes` give to words in columns; columns can be ignored, see `Sentence.ignoring`.

    Keeps the values of `types` from window to window, as `types` itself does.
    """

    def __init__(self, codes: Codes, types: Types, ignored: Collection[str]) -> None:
        self._codes, self._types, self._ignored = codes, types, ignored
        self._forms = Texts(FORM)
        self._lexicon, self._known = Lexicon(), types.known
        self._joins = codes.prior.joins

    def __call__(self, columns: Columns, types: Ints, kept: Ints, first: Ints) -> Ints:
        """The numbers (K,) of the kept words, given the types (N,) of all; first (S + 1,), among the kept."""
        if not self._joins:
            return self._one_by_one(columns, types, kept, first)
        if self._known is not self._types.known:
            self._lexicon, self._known = Lexicon(), self._types.known
        prior, own = self._codes.prior, self._words(types[kept], first)
        forms = self._forms_of(columns, kept)
        is_mirrored = prior.statistics.is_mirrored
        view = JoinedView(self._lexicon, own, first, self._gaps(kept), forms, is_mirrored)
        for _ in prior.reading(view):
            pass
        return self._numbers(view)

    def _numbers(self, view: JoinedView) -> Ints:
        symbols, marks, marked = self._lexicon.symbols.known, Numbering[str](), np.zeros(view.n, np.int64)
        marks("")
        for flags, mark in self._codes.prior.marks(view):
            add_mark(marks, marked, flags, mark)
        both = (marked * len(symbols) + view.symbols)[view.places]

        def code(number: int) -> int:
            mark, symbol = divmod(number, len(symbols))
            return self._codes.code(symbols[symbol], symbols[symbol] + marks.known[mark])

        return translated(both, len(symbols) * len(marks.known), code)

    def _word(self, row: WordColumns) -> WordType:
        """A word without the columns hidden from the table."""
        hides_feats = "feats" in self._ignored or not self._codes.prior.text.has_feats
        return row.tag, NOTHING if hides_feats else row.feats, self._xpos(row)

    def _xpos(self, row: WordColumns) -> str:
        """XPOS, without the morphs before the last, which no table reads; so there are fewer types."""
        morph = last_morph(row.xpos)
        return NOTHING if "xpos" in self._ignored else f"+{morph}" if morph else row.xpos

    def _words(self, types: Ints, first: Ints) -> Ints:
        """The types (K,) as the lexicon has them: with the last morph in sentences that show morphs."""

        def with_last_morph(number: int) -> int:
            tag, feats, xpos = self._word(self._types.known[number])
            return self._lexicon.types((tag, with_morph(feats, xpos), xpos))

        has_morphs = self._types.table("morphs", lambda row: "+" in self._xpos(row), np.bool_)[types]
        words = self._types.table("word", lambda row: self._lexicon.types(self._word(row)))[types]
        if has_morphs.any():
            before = np.concatenate([[0], np.cumsum(has_morphs)])
            in_sentence = np.repeat(np.diff(before[first]) > 0, np.diff(first))
            words[in_sentence] = translated(types[in_sentence], len(self._types.known), with_last_morph)
        return words

    def _gaps(self, kept: Ints) -> NDArray[np.bool_]:
        """Whether a word before each kept word (K,) is removed."""
        if "punctuation" in self._ignored:
            return np.zeros(len(kept), np.bool_)
        return np.diff(kept, prepend=-1) > 1

    def _forms_of(self, columns: Columns, kept: Ints) -> Forms:
        if "forms" in self._ignored:
            nothing = Numbering[str]()
            nothing(NOTHING)
            return Forms(nothing, np.zeros_like)
        return Forms(self._forms, lambda words: self._forms.numbers(columns, kept[words]))

    def _one_by_one(self, columns: Columns, types: Ints, kept: Ints, first: Ints) -> Ints:
        """The codes of all words, sentence by sentence, for tables that cannot work on columns."""
        forms = self._forms_of(columns, kept)
        form_numbers = forms.numbers(np.arange(len(kept))).tolist()
        all_forms = [forms.texts.known[k] for k in form_numbers]
        words = [self._word(self._types.known[k]) for k in types[kept].tolist()]
        gaps = ["." if is_gap else "" for is_gap in self._gaps(kept).tolist()]
        ends = first.tolist()
        codes: list[int] = []
        for start, end in zip(ends, ends[1:]):
            tags, feats, xpos = zip(*words[start:end]) if end > start else ((), (), ())
            own_forms, own_gaps = tuple(all_forms[start:end]), (*gaps[start:end], "")
            codes += self._codes(Sentence(own_forms, tags, xpos=xpos, feats=feats, gaps=own_gaps))
        return np.array(codes, np.int64)

"""Sentences from the columns of sound text: as from `conllu.read`, without lemmas, relations and lines."""

from __future__ import annotations

import sys

from dynet_vdgi.data.column_kernels import FORM
from dynet_vdgi.data.columns import Texts, Types, columns_of, is_worth_it
from dynet_vdgi.data.conllu import Heads
from dynet_vdgi.data.conllu_blocks import Passage
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.system.limits import limit


class LeanReader:
    """Reads passages, for `conllu.read_windows`; takes the arguments of `conllu.read`."""

    def __init__(self, heads: Heads, tags: str) -> None:
        self._heads, self._by_xpos = heads, tags == "xpos"
        self._types, self._forms = Types(self._by_xpos), Texts(FORM)
        self._n_chars = 0

    def __call__(self, passage: Passage) -> list[Sentence] | None:
        """The sentences of a passage; None: too little text, or a message may be needed."""
        self._n_chars += len(passage.content)
        columns = columns_of(passage.content, self._heads) if is_worth_it(self._n_chars) else None
        types = None if columns is None else self._types.numbers(columns)
        if columns is None or types is None or len({row.tag for row in self._types.known}) > limit("tags"):
            return None
        forms = self._forms.numbers(columns).tolist()
        texts, known = self._forms.known, [tuple(map(sys.intern, row)) for row in self._types.known]
        words, heads = types.tolist(), columns.heads.tolist()
        ends = columns.first.tolist()
        return [
            self._sentence(
                tuple([texts[k] for k in forms[i:j]]), [known[k] for k in words[i:j]], tuple(heads[i:j])
            )
            for i, j in zip(ends, ends[1:])
        ]

    def _sentence(
        self, forms: tuple[str, ...], words: list[tuple[str, ...]], heads: tuple[int, ...]
    ) -> Sentence:
        upos, tags, xpos, feats = zip(*words)
        return Sentence(
            forms,
            tags,
            None if self._heads == "ignored" or heads[0] < 0 else heads,
            upos=upos if self._by_xpos else (),
            xpos=xpos if xpos.count("_") < len(xpos) else (),
            feats=feats if feats.count("_") < len(feats) else (),
        )

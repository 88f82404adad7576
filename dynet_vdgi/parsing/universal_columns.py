"""The universal parser on columns of bytes: finds what `UniversalEngine` and its labeller find, but faster.

Letters: N words, K of them kept by the protocol, S sentences, R types (see `quick`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.data.column_kernels import FORM
from dynet_vdgi.data.columns import Columns, Texts, Types
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.labels.label_table import LABELS
from dynet_vdgi.parsing.exact_trees import LONGEST
from dynet_vdgi.parsing.universal_engine import UniversalEngine, best_heads
from dynet_vdgi.system.arrays import Bytes, Flags, Floats, Ints
from dynet_vdgi.universal.encoding import MIXED, NO_GAP, STRONG, WEAK, CodedText
from dynet_vdgi.universal.relations import batches, log_p_of


class UniversalColumns:
    """Parses the words of windows whose types are known, and keeps the bands of their forms."""

    def __init__(self, engine: UniversalEngine, types: Types, ignored: Sequence[str]) -> None:
        self._scorer, self._types, self._ignored = engine.text_scorer(()), types, ignored
        self._forms, self._marks = Texts(FORM), Texts(FORM)
        self._known, self._bands = self._forms.known, np.zeros(0, np.int8)

    def parse(
        self, columns: Columns, types: Ints, is_removed: Flags, first: Ints, *, with_relations: bool
    ) -> tuple[Ints, Floats] | None:
        """Heads (K,) of the kept words and, if wanted, log p (K, L) of relations.

        None: a sentence is too long. types (N,); first (S + 1,): kept words before each sentence.
        """
        lengths = np.diff(first)
        if lengths.max(initial=0) > LONGEST:
            return None
        kept, gaps = types[~is_removed], self._gaps(columns, is_removed, first)
        bands = self._bands_of(columns)[~is_removed]
        heads = np.zeros(len(kept), np.int64)
        log_p = np.zeros((len(kept), len(LABELS) * with_relations))
        for members in batches(lengths.tolist()):
            words = _ranges(first[members], lengths[members])
            around = _ranges(first[members] + members, lengths[members] + 1)
            start = np.concatenate([[0], np.cumsum(lengths[members])])
            encoded = self._encoded(start, kept[words], gaps[around], bands[words])
            heads[words] = found = best_heads(self._scorer, encoded)
            if with_relations:
                log_p[words] = log_p_of(self._scorer, encoded, found)
        return heads, log_p

    def _encoded(self, start: Ints, types: Ints, gaps: Bytes, bands: Bytes) -> CodedText:
        """The sentences as `encode` has them, which numbers values of FEATS as they come."""
        known, begins, of_word = np.unique(types, return_index=True, return_inverse=True)
        order = np.argsort(begins)
        rows = [self._types.known[k] for k in known[order].tolist()]
        feats = ("_",) * len(rows) if "feats" in self._ignored else tuple(row.feats for row in rows)
        tags = tuple(row.upos for row in rows)
        each = self._scorer.encode([Sentence(("_",) * len(rows), tags, feats=feats)])
        rank = np.argsort(order)[of_word]
        return CodedText(start, each.tags[rank], each.bundle[rank], each.features, each.agreeing, gaps, bands)

    def _gaps(self, columns: Columns, is_removed: Flags, first: Ints) -> Bytes:
        """The kinds of gaps (K + S,)."""
        gaps = np.full(int(first[-1]) + len(first) - 1, NO_GAP, np.int8)
        removed = np.flatnonzero(is_removed)
        if "punctuation" in self._ignored or not len(removed):
            return gaps
        numbers = self._marks.numbers(columns, removed)
        kinds = self._marks.table("gap", self._gap, np.int64)[numbers]
        kept_before = np.cumsum(~is_removed)[removed]
        places = kept_before + np.searchsorted(columns.first, removed, "right") - 1
        there, weak, strong = (
            np.bincount(places[chosen], minlength=len(gaps))
            for chosen in (kinds > NO_GAP, kinds == WEAK, kinds == STRONG)
        )
        gaps[there > 0] = MIXED
        gaps[strong > 0] = STRONG
        gaps[(there > 0) & (weak == there)] = WEAK
        return gaps

    def _gap(self, form: str) -> int:
        return int(self._scorer.encode([Sentence(("_",), ("X",), gaps=(form, ""))]).gaps[0])

    def _bands_of(self, columns: Columns) -> Bytes:
        """The bands (N,) of frequency of all words."""
        if "forms" in self._ignored:
            return np.zeros(len(columns.fields), np.int8)
        numbers = self._forms.numbers(columns)
        if self._forms.known is not self._known:
            self._known, self._bands = self._forms.known, np.zeros(0, np.int8)
        new = tuple(self._known[len(self._bands) :])
        if new:
            found = self._scorer.encode([Sentence(new, ("X",) * len(new))]).band
            self._bands = np.concatenate([self._bands, found])
        return self._bands[numbers]


def _ranges(begins: Ints, sizes: Ints) -> Ints:
    """The ranges that start at `begins` and have `sizes` numbers, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1])) + np.repeat(begins - ends + sizes, sizes)

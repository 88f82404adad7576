"""The atoms of many sentences' words at once, computed on columns; equal to `Atoms.pack` (the reference).

Letters: N words, K of them kept, S sentences, c columns of atoms.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from dynet_vdgi.data.atoms import EXTRA_ROWS, GAPS, P, PackedRows, code_of, of_type, packed_rows
from dynet_vdgi.data.column_kernels import FEATS, FORM, Flags, Ints
from dynet_vdgi.data.columns import Columns, Texts

_NO_TOKEN, _NOWHERE, _ABSENT = np.array([code_of("P", ""), code_of("P", "nothing"), 0], np.uint64)


class ColumnAtoms:
    """Makes atoms from columns and keeps those of each word type; leaves out what is `ignored`."""

    def __init__(self, by_xpos: bool, ignored: Collection[str]) -> None:
        self._by_xpos, self._ignored = by_xpos, ignored
        self._texts = Texts(FORM, FEATS)

    def pack(self, columns: Columns, is_removed: Flags, first: Ints) -> PackedRows:
        """The atoms of words, less those removed (N,); first (S + 1,): kept words before each sentence."""
        numbers, lengths = self._texts.numbers(columns), np.diff(first)
        kept, of_word = np.flatnonzero(~is_removed), np.repeat(np.arange(len(lengths)), lengths)
        atoms = self._texts.table("atoms", self._atoms, np.uint64)
        packed, words = packed_rows(atoms, numbers[kept], first)
        rows, roots = packed.rows, first[1:] + EXTRA_ROWS * np.arange(len(lengths)) + 1
        begins = np.zeros(len(numbers), np.bool_)
        begins[columns.first[:-1]] = True
        gaps = ~begins[kept] & is_removed[kept - 1]
        before = np.concatenate([[0], np.cumsum(gaps)])
        in_sentence = np.diff(before[first])  # gaps before words of each
        has = in_sentence > 0
        if "punctuation" in self._ignored or not has.any():
            return packed
        tokens = self._texts.table("token", _last_token, np.uint64)[numbers]
        of_words = np.where(gaps, tokens[kept - 1], _NO_TOKEN)
        rows[words, P] = np.where(has[of_word], of_words, _ABSENT)
        rows[words, GAPS] = before[1:] - before[first[:-1]][of_word]
        last = columns.first[1:] - 1
        rows[roots[has], P] = np.where(is_removed[last], tokens[last], _NO_TOKEN)[has]
        rows[roots[has], GAPS] = in_sentence[has] + 1
        for place in (roots - lengths - 1, roots + 1, roots + 2):
            rows[place[has], P] = _NOWHERE
        return packed

    def _atoms(self, text: str) -> list[int]:
        form, _, upos, xpos, feats = text.split("\t")
        return of_type(
            xpos if self._by_xpos else upos,
            "_" if "feats" in self._ignored else feats,
            "_" if "forms" in self._ignored else form,
            "_",  # parsers see no lemmas
            "_" if "xpos" in self._ignored else xpos,
        )


def _last_token(text: str) -> int:
    return code_of("P", text.partition("\t")[0].rpartition(" ")[2])

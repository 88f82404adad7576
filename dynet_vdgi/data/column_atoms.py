"""The atoms of many sentences' words at once, computed on columns; equal to `Atoms.pack` (the reference).

Tags and FEATS, forms, and lemmas are numbered apart, because a text has far fewer of each than of their
combinations.

Letters: N words, K of them kept, S sentences, c columns of atoms.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from dynet_vdgi.data.atoms import (
    AGREEMENT,
    COLUMNS,
    EXTRA_ROWS,
    GAPS,
    L,
    P,
    PackedRows,
    W,
    code_of,
    codes_of,
    of_form,
    of_forms,
    of_morphology,
    packed_rows,
)
from dynet_vdgi.data.column_kernels import FORM, LEMMA
from dynet_vdgi.data.columns import Columns, Texts, Types, WordColumns
from dynet_vdgi.system.arrays import Codes, Flags, Ints

_NO_TOKEN, _NOWHERE, _ABSENT = np.array([code_of("P", ""), code_of("P", "nothing"), 0], np.uint64)


class ColumnAtoms:
    """Makes atoms from columns and keeps those of each tag with FEATS, form and lemma.

    Leaves out what is `ignored`; `types` are those of the words.
    """

    def __init__(self, types: Types, ignored: Collection[str]) -> None:
        self._types, self._ignored = types, ignored
        self._forms, self._lemmas = Texts(FORM), Texts(LEMMA)

    def pack(self, columns: Columns, types: Ints, is_removed: Flags, first: Ints) -> PackedRows:
        """The atoms of words with types (N,), less those removed (N,), without lemmas, which parsers do not
        see; first (S + 1,): kept words before each sentence."""
        kept, lengths = np.flatnonzero(~is_removed), np.diff(first)
        of_word = np.repeat(np.arange(len(lengths)), lengths)
        morphology = self._types.table("atoms of tag", lambda row: self._morphology(row.tag, row), np.uint64)
        numbers = self._forms.numbers(columns)
        atoms = self._joined(morphology[types[kept]], numbers[kept])
        atoms[:, L] = code_of("L", "_")
        packed, words = packed_rows(atoms, first)
        rows, roots = packed.rows, first[1:] + EXTRA_ROWS * np.arange(len(lengths)) + 1
        begins = np.zeros(len(numbers), np.bool_)
        begins[columns.first[:-1]] = True
        gaps = ~begins[kept] & is_removed[kept - 1]
        before = np.concatenate([[0], np.cumsum(gaps)])
        in_sentence = np.diff(before[first])  # gaps before words of each
        has = in_sentence > 0
        if "punctuation" in self._ignored or not has.any():
            return packed
        tokens = np.zeros(len(numbers), np.uint64)
        tokens[is_removed] = self._tokens(numbers[is_removed])
        of_words = np.where(gaps, tokens[kept - 1], _NO_TOKEN)
        rows[words, P] = np.where(has[of_word], of_words, _ABSENT)
        rows[words, GAPS] = before[1:] - before[first[:-1]][of_word]
        last = columns.first[1:] - 1
        rows[roots[has], P] = np.where(is_removed[last], tokens[last], _NO_TOKEN)[has]
        rows[roots[has], GAPS] = in_sentence[has] + 1
        for place in (roots - lengths - 1, roots + 1, roots + 2):
            rows[place[has], P] = _NOWHERE
        return packed

    def with_lemmas(self, columns: Columns, types: Ints) -> Codes:
        """The atoms (N, c) of words with these types (N,), under their universal tags, without P and GAPS."""
        morphology = self._types.table("atoms", lambda row: self._morphology(row.upos, row), np.uint64)
        atoms = self._joined(morphology[types], self._forms.numbers(columns))
        if "forms" in self._ignored:
            atoms[:, L] = code_of("L", "_")
        else:
            lemmas = self._lemmas.numbers(columns)
            atoms[:, L] = self._lemmas.table_of_all("atoms", lambda texts: codes_of("L", texts))[lemmas]
        return atoms

    def _joined(self, morphology: Codes, forms: Ints) -> Codes:
        """Atoms (N, c) without lemmas, P and GAPS, from those of tags and FEATS (N, 3 + 4) and forms (N,)."""
        atoms = np.zeros((len(forms), len(COLUMNS)), np.uint64)
        atoms[:, :W], atoms[:, AGREEMENT:] = morphology[:, :W], morphology[:, W:]
        if "forms" in self._ignored:
            atoms[:, W:L] = of_form("_")
        else:
            atoms[:, W:L] = self._forms.table_of_all("atoms", of_forms)[forms]
        return atoms

    def _morphology(self, tag: str, row: WordColumns) -> tuple[int, ...]:
        feats = "_" if "feats" in self._ignored else row.feats
        return of_morphology(tag, feats, "_" if "xpos" in self._ignored else row.xpos)

    def _tokens(self, numbers: Ints) -> Codes:
        """The codes of the last tokens of removed words with these forms."""
        different, places = np.unique(numbers, return_inverse=True)
        texts = (self._forms.known[k].rpartition(" ")[2] for k in different.tolist())
        return codes_of("P", texts)[places]

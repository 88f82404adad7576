"""Atoms: what features see of a word, as 64-bit numbers.

An atom's number depends only on its text, so weights learnt from one text, or one language, mean
the same in another. The atoms of a word type (tag, FEATS, form, lemma, XPOS) are computed once and
kept.

Letters: N words, S sentences, c columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.features.hashing import code_of
from dynet_vdgi.system.array_types import Codes, Ints

SHORT_FEATS = ("Case", "VerbForm", "Mood", "PronType", "Degree")
"""The features whose values make the atom C; the others mostly repeat these by agreement."""

AGREEING = ("Case", "Number", "Gender", "Person")
"""Features in which two words agree: if both have one, they may have the same value."""

COLUMNS = ("T", "M", "C", "W", "S", "L", "P", "GAPS", *AGREEING)
"""T tag; M tag and all FEATS; C tag and SHORT_FEATS; W lower-cased form; S its last three
characters; L lemma; P the punctuation token directly before the word, 0 in a sentence without
punctuation between its words; GAPS not a code, but the number of places with punctuation up to
the word; then the values of AGREEING features, 0 where the word has none. For a word without
FEATS, M uses its XPOS, and C the last of the morphs joined by + in its XPOS."""

T, M, C, W, S, L, P, GAPS = range(8)

AGREEMENT = 8  # the first of the AGREEING columns

EXTRA_ROWS = 4
"""Rows of a sentence besides its n words: nothing at 0, ROOT at n + 1, and nothing twice."""

_NOTHING_TYPE, _ROOT_TYPE = 0, 1  # word types


class PackedRows(NamedTuple):
    """Sentences one after the other."""

    rows: Codes  # (N + 4 S, c): sentence k, `nothing` first, begins at first[k] + 4 k
    first: Ints  # (S + 1,): number of words before each sentence

    def of(self, k: int) -> Codes:
        """The rows (n + 4, c) of sentence k."""
        return self.rows[self.first[k] + EXTRA_ROWS * k : self.first[k + 1] + EXTRA_ROWS * (k + 1)]


def packed_rows(atoms: Codes, first: Ints) -> tuple[PackedRows, Ints]:
    """Packs sentences, given the atoms (N, c) of their words; also each word's row."""
    n_sentences = len(first) - 1
    rows = np.tile(
        np.array(special_atoms("nothing"), np.uint64), (len(atoms) + EXTRA_ROWS * n_sentences, 1)
    )
    number = np.arange(n_sentences)
    places = np.arange(len(atoms)) + EXTRA_ROWS * np.repeat(number, np.diff(first)) + 1
    rows[places] = atoms
    rows[first[1:] + EXTRA_ROWS * number + 1] = special_atoms("ROOT")
    return PackedRows(rows, first), places


class Atoms:
    """Makes atoms, and keeps those of each word type."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, ...], int] = {}
        self._types = np.zeros((64, len(COLUMNS)), np.uint64)
        self._types[_NOTHING_TYPE] = special_atoms("nothing")
        self._types[_ROOT_TYPE] = special_atoms("ROOT")
        self._size = 2

    def pack(self, sentences: Sequence[Sentence]) -> PackedRows:
        """The atoms of sentences."""
        first = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum([len(sentence) for sentence in sentences], out=first[1:])
        ids: list[int] = []
        ids_of_types = self._ids
        for sentence in sentences:
            ids.append(_NOTHING_TYPE)
            optional = (sentence.feats, sentence.lemmas, sentence.xpos)
            feats, lemmas, xpos = (column or ("_",) * len(sentence) for column in optional)
            keys = zip(sentence.tags, feats, sentence.forms, lemmas, xpos)
            ids += [ids_of_types[key] if key in ids_of_types else self._add(key) for key in keys]
            ids += (_ROOT_TYPE, _NOTHING_TYPE, _NOTHING_TYPE)
        packed = PackedRows(self._types[ids], first)
        for k, sentence in enumerate(sentences):
            gaps, rows = sentence.gaps, packed.of(k)
            if any(gaps[:-1]):
                rows[1 : len(gaps) + 1, P] = [code_of("P", gap.rpartition(" ")[2]) for gap in gaps]
                rows[(0, -1, -2), P] = code_of("P", "nothing")
                rows[1 : len(gaps), GAPS] = counts = list(accumulate(map(bool, gaps[:-1])))
                rows[len(gaps), GAPS] = counts[-1] + 1  # ROOT
        return packed

    def _add(self, key: tuple[str, ...]) -> int:
        if self._size == len(self._types):
            self._types = np.concatenate([self._types, np.zeros_like(self._types)])
        self._types[self._size] = of_type(*key)
        self._ids[key] = self._size
        self._size += 1
        return self._size - 1


@lru_cache(maxsize=30_000)
def of_type(tag: str, feats: str, form: str, lemma: str, xpos: str) -> tuple[int, ...]:
    """The atoms (c,) of a word type; "_" stands for a missing column. Kept: arcs and relations need
    the same."""
    morphology, lower = of_morphology(tag, feats, xpos), form.lower()
    of_form = code_of("W", lower), code_of("S", lower[-3:])
    return *morphology[:W], *of_form, code_of("L", lemma), 0, 0, *morphology[W:]


@lru_cache(maxsize=100_000)
def of_morphology(tag: str, feats: str, xpos: str) -> tuple[int, ...]:
    """The atoms T, M, C and those of AGREEING features."""
    values = values_of(feats)
    short = "|".join(values.get(name, "") for name in SHORT_FEATS)
    if feats == "_":
        feats, short = xpos, xpos.rpartition("+")[2]
    agreeing = [code_of(name, values[name]) if name in values else 0 for name in AGREEING]
    return code_of("T", tag), code_of("M", tag + feats), code_of("C", tag + short), *agreeing


@lru_cache(maxsize=100_000)
def values_of(feats: str) -> dict[str, str]:
    """FEATS by name, values unsplit; `rules.patterns.features_of` splits Case=Nom,Acc.

    >>> values_of("Case=Nom|Number=Sing")
    {'Case': 'Nom', 'Number': 'Sing'}
    """
    return dict(pair.split("=", 1) for pair in feats.split("|") if "=" in pair)


def special_atoms(text: str) -> list[int]:
    """The atoms (c,) of "nothing" and of "ROOT"."""
    return [code_of(kind, text + "\0") if k < P else 0 for k, kind in enumerate(COLUMNS)]

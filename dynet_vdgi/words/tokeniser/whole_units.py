"""Which units the rules of `whole` keep together or cut, and which of these rules a treebank does
not follow.

Letters: U units.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.raw_text import Document
from dynet_vdgi.system.array_types import Ints
from dynet_vdgi.words.tokeniser.symbols import Symbols
from dynet_vdgi.words.tokeniser.unit_labels import ENDS_SENTENCE, NO_END, TOKEN_END
from dynet_vdgi.words.tokeniser.whole import BRACKETS, RANGE, STOP, Whole, numbers_in, wholes

_HYPHEN = re.compile(r"[^\W\d_](?=[-–][^\W\d_])")
"""A letter before a hyphen before another letter."""

_CLOSED = re.compile(r"[^\W\d_](?=[)\]}])")
"""A letter before a closing bracket."""


def _units(symbols: Symbols, found: Whole) -> tuple[int, int]:
    first, end = np.searchsorted(symbols.places, [found.start, found.end]).tolist()
    return first, end


def guarded(
    symbols: Symbols, text: str, cut: Set[str], cuts_brackets: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """The units (U,) that end nothing, that end a token, and that end a sentence, by the rules of
    `whole`."""
    inside, borders, stops = (np.zeros(len(symbols.units), np.bool_) for _ in range(3))
    for found in wholes(text):
        if found.kind in cut:
            for start, end in numbers_in(text, found, cut):
                first, last = np.searchsorted(symbols.places, [start, end - 1]).tolist()
                inside[first:last] = True
            continue
        first, end = _units(symbols, found)
        inside[first : end - 1] = True
        cuts_edges = cuts_brackets if found.edge == BRACKETS else found.edge not in cut
        if cuts_edges:
            borders[first - 1 : first] |= found.cut_before
            borders[end - 1] |= found.cut_after and not found.ends_sentence
        if STOP not in cut and found.ends_sentence:
            borders[end - 1] = stops[end] = True
    return inside, borders, stops


def kinds_cut(learnt: Iterable[tuple[Document, Symbols, Ints]]) -> frozenset[str]:
    """The kinds of `whole` that documents, whose units have these labels, do not keep in most
    cases."""
    balance, n_hyphens = Counter[str](), 0
    for document, symbols, labels in learnt:
        for found in wholes(document.text):
            first, end = _units(symbols, found)
            is_whole = not labels[first : end - 1].any()
            if end - first > 1:
                balance[found.kind] += 1 if is_whole else -1
            if not is_whole:
                continue
            if found.ends_sentence:
                is_stop = labels[end - 1] >= TOKEN_END and labels[end] in ENDS_SENTENCE
                balance[STOP] += 1 if is_stop else -1
            elif found.cut_before or found.cut_after:
                is_cut = not found.cut_before or not first or labels[first - 1] >= TOKEN_END
                is_cut = is_cut and (not found.cut_after or labels[end - 1] >= TOKEN_END)
                balance[found.edge] += 1 if is_cut else -1
        if RANGE not in balance:  # hyphens between letters, for want of better
            hyphens = [found.end() for found in _HYPHEN.finditer(document.text)]
            places = np.searchsorted(symbols.places, hyphens)
            n_cut = int(np.sum((labels[places] > NO_END) | (labels[places - 1] > NO_END)))
            n_hyphens += 2 * n_cut - len(hyphens)
    if RANGE not in balance and n_hyphens > 0:
        balance[RANGE] = -1
    return frozenset(kind for kind, n in balance.items() if n <= 0 and kind != BRACKETS)


def brackets_are_cut(learnt: Sequence[tuple[Document, Symbols, Ints]]) -> bool:
    """Whether documents, whose units have these labels, cut brackets from words, and have none at
    digits."""
    balance = 0
    for document, symbols, labels in learnt:
        if any(found.edge == BRACKETS and found.cut_after for found in wholes(document.text)):
            return False  # there is something to learn from
        ends = [found.start() for found in _CLOSED.finditer(document.text)]
        is_cut = labels[np.searchsorted(symbols.places, ends)] >= TOKEN_END
        balance += int(is_cut.sum()) - int((~is_cut).sum())
    return balance > 0

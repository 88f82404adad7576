"""Which units the rules of `whole` keep together or cut, and which of these rules a treebank does
not follow.

The time in "at 12:30." is one token, the units 2 to 6, and the full stop ends a sentence:

>>> from dynet_vdgi.words.tokeniser.symbols import symbols_of
>>> text = "at 12:30."
>>> inside, ends_token, ends_sentence = fixed_units(symbols_of(text), text, frozenset(), False)
>>> [np.flatnonzero(units).tolist() for units in (inside, ends_token, ends_sentence)]
[[2, 3, 4, 5], [6], [7]]

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


def _units(symbols: Symbols, whole: Whole) -> tuple[int, int]:
    first, end = np.searchsorted(symbols.places, [whole.start, whole.end]).tolist()
    return first, end


def fixed_units(
    symbols: Symbols, text: str, cut: Set[str], cuts_brackets: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """The units (U,) that end nothing, that end a token, and that end a sentence, by the rules of
    `whole`."""
    inside, borders, stops = (np.zeros(len(symbols.units), np.bool_) for _ in range(3))
    for whole in wholes(text):
        if whole.kind in cut:
            for start, end in numbers_in(text, whole, cut):
                first, last = np.searchsorted(symbols.places, [start, end - 1]).tolist()
                inside[first:last] = True
            continue
        first, end = _units(symbols, whole)
        inside[first : end - 1] = True
        cuts_edges = cuts_brackets if whole.edge == BRACKETS else whole.edge not in cut
        if cuts_edges:
            borders[first - 1 : first] |= whole.cut_before
            borders[end - 1] |= whole.cut_after and not whole.ends_sentence
        if STOP not in cut and whole.ends_sentence:
            borders[end - 1] = stops[end] = True
    return inside, borders, stops


def kinds_cut(learnt: Iterable[tuple[Document, Symbols, Ints]]) -> frozenset[str]:
    """The kinds of `whole` that documents, whose units have these labels, do not keep in most
    cases."""
    balance, n_hyphens = Counter[str](), 0
    for document, symbols, labels in learnt:
        for whole in wholes(document.text):
            first, end = _units(symbols, whole)
            is_whole = not labels[first : end - 1].any()
            if end - first > 1:
                balance[whole.kind] += 1 if is_whole else -1
            if not is_whole:
                continue
            if whole.ends_sentence:
                is_stop = labels[end - 1] >= TOKEN_END and labels[end] in ENDS_SENTENCE
                balance[STOP] += 1 if is_stop else -1
            elif whole.cut_before or whole.cut_after:
                is_cut = not whole.cut_before or not first or labels[first - 1] >= TOKEN_END
                is_cut = is_cut and (not whole.cut_after or labels[end - 1] >= TOKEN_END)
                balance[whole.edge] += 1 if is_cut else -1
        if RANGE not in balance:  # hyphens between letters, for want of better
            hyphens = [hyphen.end() for hyphen in _HYPHEN.finditer(document.text)]
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
        if any(whole.edge == BRACKETS and whole.cut_after for whole in wholes(document.text)):
            return False  # there is something to learn from
        ends = [letter.start() for letter in _CLOSED.finditer(document.text)]
        is_cut = labels[np.searchsorted(symbols.places, ends)] >= TOKEN_END
        balance += int(is_cut.sum()) - int((~is_cut).sum())
    return balance > 0

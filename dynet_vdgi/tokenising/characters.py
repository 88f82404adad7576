"""Text as symbols: each character with its kind; each run of white space is one symbol.

Letters: C characters of the text, N symbols.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.raw_text import SPACES

Ints = NDArray[np.int32]

EDGE, SPACE, LINE, PARAGRAPH = range(4)
"""Symbols that are no characters: the ends of the text, a space, a line's end, an empty line."""

FIRST = 4
"""Added to the code of a character, for the symbols above."""

PADDING = 5
"""Symbols EDGE before the first and after the last one, so that a window always fits."""

_KINDS = ("", " ", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "N", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Pc", "S", "!", "")
_NUMBERS = {name: number for number, name in enumerate(_KINDS)}
_ENDS = frozenset("!?\u037e\u0589\u061f\u06d4\u0700\u0964\u0965\u104a\u104b\u1362\u1367\u17d4\u3002\uff01\uff0e\uff1f\uff61")
"""Characters that end sentences and hardly do anything else."""

OTHER = len(_KINDS) - 1
WHITE = 1


class Symbols(NamedTuple):
    """A text as symbols, PADDING at both ends included; no white space at its ends."""

    codes: Ints  # (N,): FIRST + the lower-cased character, or one of the symbols above
    kinds: Ints  # (N,)
    places: Ints  # (N,): where the character is in the text


def symbols_of(text: str) -> Symbols:
    """The symbols of a text. White space at its ends is left out."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int32)
    known, numbers = _distinct(codes)
    of_known = [_of_character(chr(code)) for code in known.tolist()]
    lower, kinds = (np.array(column, np.int32)[numbers] for column in zip(*of_known)) if of_known else (codes, codes)
    is_white = kinds == WHITE
    inside = np.flatnonzero(~is_white)
    begin, end = (inside[0], inside[-1] + 1) if len(inside) else (0, 0)
    first_white = is_white.copy()
    first_white[1:] &= ~is_white[:-1]
    kept = np.flatnonzero((~is_white | first_white)[begin:end]) + begin
    symbols, kinds = lower[kept], kinds[kept]
    runs = np.flatnonzero(kinds == WHITE)
    if len(runs):  # the last symbol is never white
        n_ends = np.concatenate([[0], np.cumsum((codes == ord("\n")) | (codes == 0x2029) * 2)])
        symbols[runs] = SPACE + np.minimum(n_ends[kept[runs + 1]] - n_ends[kept[runs]], 2)
    return Symbols(_padded(symbols), _padded(kinds), _padded(kept.astype(np.int32)))


def _padded(array: Ints) -> Ints:
    return np.pad(array, PADDING)


def _distinct(codes: Ints) -> tuple[Ints, Ints]:
    """The different codes, and the number of each code's one."""
    if len(codes) < 1 << 14:
        known, numbers = np.unique(codes, return_inverse=True)
        return known.astype(np.int32), numbers.astype(np.int32)
    known = np.flatnonzero(np.bincount(codes)).astype(np.int32)
    table = np.zeros(int(known[-1]) + 1, np.int32)
    table[known] = np.arange(len(known))
    return known, table[codes]


def _of_character(character: str) -> tuple[int, int]:
    """Symbol and kind."""
    if SPACES.match(character):
        return SPACE, WHITE
    lower = character.lower()
    category = unicodedata.category(character)
    kind = "!" if character in _ENDS else category if category in _NUMBERS else category[0]
    return FIRST + ord(lower if len(lower) == 1 else character), _NUMBERS.get(kind, OTHER)

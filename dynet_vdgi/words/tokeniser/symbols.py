r"""Text as symbols, and what the tokeniser sees of it. A symbol is a character, or a run of white
space.

A paragraph ends with an empty line, or with each line if the text's lines are sentences. Paragraphs
know nothing of each other: symbols EDGE are between them.

"Ab  c", an empty line and "d" are two paragraphs of four units; two spaces are one symbol:

>>> symbols = symbols_of("Ab  c\n\nd")
>>> [chr(code - FIRST_CODE) if code >= FIRST_CODE else code for code in symbols.codes[5:9].tolist()]
['a', 'b', 1, 'c']
>>> symbols.places.tolist(), symbols.first.tolist()
([0, 1, 4, 7], [0, 3, 4])

Letters: C characters, N symbols, D different symbols, U units, which are the characters that are
not white space, S paragraphs.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.raw_text import SPACES
from dynet_vdgi.system.array_types import Ints

Numbers = NDArray[np.int32]

EDGE, SPACE, LINE = range(3)
"""Codes of symbols that are no characters: around paragraphs, a space, white space with the end of
a line."""

FIRST_CODE = 3
"""Added to the code points of characters."""

PADDING = 5
"""Symbols EDGE before, between and after paragraphs, so that a window around a unit always fits."""

_LETTERS = ("Lu", "Ll", "Lt", "Lm", "Lo", "M")

_KINDS = ("", " ", *_LETTERS, "N", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Pc", "S", "!", "C")

_NUMBERS = {name: number for number, name in enumerate(_KINDS)}

_ENDS = frozenset(
    "!?\u0589\u061f\u06d4\u0700\u0964\u0965\u104a\u104b\u1362\u1367\u17d4"
    "\u3002\uff01\uff0e\uff1f\uff61"
)
"""Characters that hardly do anything but end sentences: kind "!"."""

WHITE, LETTERS, LAST_LETTER, NUMBER = (_NUMBERS[name] for name in (" ", "Lu", "M", "N"))
"""Some kinds; from LETTERS on come those of letters, the last one being that of marks."""

N_KINDS = len(_KINDS)


class Symbols(NamedTuple):
    """A text as symbols; white space at its ends is left out."""

    codes: Numbers  # (N,): FIRST_CODE + the lower-cased character, or one of the above
    kinds: Numbers  # (N,): by _KINDS; 0 is EDGE
    ids: Numbers  # (N,): numbers of different symbols
    distinct: Numbers  # (D,): a place of each in the arrays above
    units: Numbers  # (U,): symbols that are characters
    places: Numbers  # (U,): where these are in the text
    first: Ints  # (S + 1,): where paragraphs begin among the units, and U


def symbols_of(text: str, *, lines: bool = False) -> Symbols:
    """The symbols of a text, which is empty or has at least one unit; `lines`: each line is a
    paragraph."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int32)
    distinct_points, ids = np.unique(points, return_inverse=True)
    table = np.array(
        [code_and_kind(chr(point)) for point in distinct_points.tolist()], np.int32
    ).reshape(-1, 2)
    is_white = table[ids, 1] == WHITE
    positions = np.flatnonzero(~is_white | np.concatenate([is_white[:1], ~is_white[:-1]]))
    positions = positions[slice(int(is_white[:1].any()), len(positions) - int(is_white[-1:].any()))]
    codes, kinds = table[ids[positions], 0], table[ids[positions], 1]
    runs = np.flatnonzero(kinds == WHITE)  # the last symbol is a unit
    n_ends = np.concatenate([[0], np.cumsum((points == ord("\n")) + (points == 0x2029) * 2)])
    within = n_ends[positions[runs + 1]] - n_ends[positions[runs]] if len(runs) else runs
    codes[runs[within == 1]] = LINE
    times = np.ones(len(positions), np.int64)
    borders = runs[within > (0 if lines else 1)]
    times[borders] = PADDING
    codes[borders] = kinds[borders] = 0
    numbers = np.where(kinds == WHITE, codes, ids[positions] + FIRST_CODE)
    numbers[kinds == 0] = EDGE
    codes, kinds, symbols, places = (
        np.pad(np.repeat(array, times), PADDING).astype(np.int32)
        for array in (codes, kinds, numbers, positions)
    )
    units = np.flatnonzero(kinds > WHITE)
    first = np.append(np.flatnonzero(kinds[units - 1] == 0), len(units))
    distinct = np.zeros(len(distinct_points) + FIRST_CODE, np.int32)
    distinct[symbols] = np.arange(len(symbols))
    return Symbols(codes, kinds, symbols, distinct, units.astype(np.int32), places[units], first)


def code_and_kind(character: str) -> tuple[int, int]:
    """The code of a character and its kind."""
    if SPACES.match(character):
        return SPACE, WHITE
    lower = character.lower()
    category = unicodedata.category(character)
    if character in _ENDS:
        kind = "!"
    else:
        kind = category if category in _NUMBERS else category[0]
    return FIRST_CODE + ord(lower if len(lower) == 1 else character), _NUMBERS[kind]

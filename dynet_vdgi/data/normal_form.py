"""Whether text is in Unicode's normal form NFC, which UD asks for; quickly where letters are mostly Latin."""

from __future__ import annotations

import unicodedata

import numpy as np

_FIRST_COMBINING = "\u0300".encode()[0]
"""Letters whose first byte is below this one are their own normal form, in any context."""

_RARE = 0.02
"""Share of other letters below which checking each different letter is quicker than checking all the text."""

_SIZES = (2, 3, 4)  # of letters in UTF-8
_BEGIN = (0xC0, 0xE0, 0xF0, 0x100)  # their first bytes


def is_normalized(content: bytes) -> bool:
    """Whether this UTF-8 is in the form NFC."""
    data = np.frombuffer(content + bytes(3), np.uint8)
    places = np.flatnonzero(data >= _FIRST_COMBINING)
    if len(places) > _RARE * len(content):
        return unicodedata.is_normalized("NFC", content.decode())
    letters: set[bytes] = set()
    for size, least, above in zip(_SIZES, _BEGIN, _BEGIN[1:]):
        begins = places[(data[places] >= least) & (data[places] < above)]
        rows = data[begins[:, None] + np.arange(size)]
        letters.update(bytes(row) for row in np.unique(rows, axis=0))
    if all(_is_its_own(letter.decode()) for letter in letters):
        return True
    return unicodedata.is_normalized("NFC", content.decode())


def _is_its_own(letter: str) -> bool:
    """Whether a letter is unchanged in any context: neither a mark nor part of a Korean syllable."""
    is_mark = unicodedata.category(letter).startswith("M")
    return not is_mark and not 0x1100 <= ord(letter) < 0x1200 and unicodedata.is_normalized("NFC", letter)

"""Long texts in passages, which are labelled one after the other, so that memory stays bounded.

>>> text = "word " * 100_000
>>> [(start, len(passage)) for start, passage, _ in passages(text)]
[(0, 262145), (262145, 237855)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynet_vdgi.conllu.raw_text import GAP

PASSAGE = 1 << 18
"""Characters that are labelled at once, at least; at most twice as many."""

_BORDERS = (re.compile(r"\n[^\S\n]*\n"), re.compile("\n"), re.compile(r"\s"))
"""Where passages may end, in order of preference."""


def passages(text: str) -> Iterator[tuple[int, str, bool]]:
    """A text in passages of at least PASSAGE characters: where each begins, and whether with a
    paragraph.

    They end after an empty line; if none comes for as long again, after a line, a space, or
    anywhere. None begins with white space or format characters but the first; the last one may be
    shorter.
    """
    start, is_paragraph = 0, True
    gap = GAP.match(text)
    n_gap = gap.end() if gap else 0
    while start < len(text):
        earliest = max(start, n_gap) + PASSAGE
        latest = earliest + PASSAGE
        border = None
        for pattern in _BORDERS:
            border = border or pattern.search(text, earliest, latest)
        if earliest >= len(text):
            end = len(text)
        else:
            end = border.end() if border else latest
        if after := GAP.match(text, end):
            end = after.end()
        yield start, text[start:end], is_paragraph
        start, is_paragraph = end, border is not None and border.re is _BORDERS[0]

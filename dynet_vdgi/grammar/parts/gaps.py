"""Removed punctuation still separates.

    punctuation = 2 ; most 2 ; quotes 0 ; told 0

The weight is taken from an arc for each place of removed punctuation between its ends, at most `most` times.
Students see the words that punctuation preceded, unless `told` is 0; with `quotes` 0, quotation marks do not
count.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import View
from dynet_vdgi.system.arrays import Floats

QUOTES = frozenset({"``", "''", '"', "`", "'", "“", "”", "‘", "’"})


def is_cut(view: View, word: int) -> bool:
    """Whether punctuation other than quotation marks was removed before a word."""
    mark = view.marks[word]
    return bool(mark) and not QUOTES.issuperset(mark.split())


def _add(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    if any(view.gaps):
        places = view.gaps
        if not setting.number("quotes", 1.0):
            places = [gap and is_cut(view, word) for word, gap in enumerate(places)]
        segments = np.cumsum(places)
        crossed = np.abs(segments[:, None] - segments)
        arcs -= setting.weight * np.minimum(crossed, setting.number("most", 2))


KINDS = (
    Kind(
        "punctuation",
        Syntax((), {"most": "number", "quotes": "number"}),
        add=_add,
        needs_gaps=True,
    ),
)

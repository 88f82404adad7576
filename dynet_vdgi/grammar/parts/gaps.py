"""Removed punctuation still separates.

    punctuation = 2 ; most 2

The weight is taken from an arc for each place of removed punctuation between its ends, at most `most` times.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import View
from dynet_vdgi.system.arrays import Floats


def _add(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    if any(view.gaps):
        segments = np.cumsum(view.gaps)
        crossed = np.abs(segments[:, None] - segments)
        arcs -= setting.weight * np.minimum(crossed, setting.number("most", 2))


KINDS = (Kind("punctuation", Syntax((), {"most": "number"}), add=_add, needs_gaps=True),)

"""Parts of rule tables about order and symbols: punctuation, sides of heads, words, distinctions.

Removed punctuation still separates.

punctuation = 2 ; most 2

The weight is taken from an arc for each place of removed punctuation between its ends, at most
`most` times.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.views import SideBySide
from dynet_vdgi.system.array_types import Floats


def _add(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    if views.are_gaps.any():
        segments = np.cumsum(views.are_gaps, axis=1)
        crossed = np.abs(segments[:, :, None] - segments[:, None])
        arcs -= setting.weight * np.minimum(crossed, setting.number("most", 2))


GAPS_KINDS = (Kind("punctuation", Syntax((), {"most": "number"}), add=_add, needs_gaps=True),)

"""Punctuation that was removed still separates.

    punctuation = 2 ; most 2

Taken from an arc for each place of removed punctuation between its ends, at most so many times. Students
are told before which words it stood.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import Floats, View


def _add(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    if any(view.gaps):
        crossed = np.abs(view.segments[:, None] - view.segments)
        arcs -= setting.weight * np.minimum(crossed, setting.number("most", 2))


def _mark(view: View, setting: Setting, text: Text) -> list[str] | None:
    return ["," if gap else "" for gap in view.gaps] if True in view.gaps else None


KINDS = (Kind("punctuation", Syntax((), {"most": "number"}), add=_add, mark=_mark, needs_gaps=True),)

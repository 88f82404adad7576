"""The functions that make up a part of a rule table, for authors of new parts.

A kind of setting is up to three functions:

    measure(views, setting, text) -> plain data     what it finds in a text; kept in model files
    read(view, setting, text)                       changes how a sentence is read: `read`, `symbols`, ...
    add(view, setting, text, roots, arcs)           adds to log-potentials of the root arcs (n,) and of the
                                                    others (n, n), by head and dependent

`text.found[setting.name]` holds the setting's own findings. Order matters for `read` only, and is that of
`KINDS` in the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.table import Setting, Syntax
from dynet_vdgi.grammar.views import View
from dynet_vdgi.system.arrays import Floats

MeasureIn = Callable[[Sequence[View], Setting, Text], Any]
Read = Callable[[View, Setting, Text], None]
Add = Callable[[View, Setting, Text, Floats, Floats], None]


@dataclass(frozen=True)
class Kind:
    """A kind of setting.

    `needs_gaps`: it has no effect in a text without traces of punctuation.
    """

    name: str
    syntax: Syntax
    measure: MeasureIn | None = None
    read: Read | None = None
    add: Add | None = None
    needs_gaps: bool = False

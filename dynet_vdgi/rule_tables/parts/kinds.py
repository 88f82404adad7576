"""The functions that make up a part of a rule table, for authors of new parts.

A kind of setting is up to three functions:

    measure(views, setting, text) -> plain data  what it finds in a text; kept in model files
    read(views, setting, text)                   changes how sentences are read: `read`, `symbols`
    add(views, setting, text, roots, arcs)       adds to log-potentials of the root arcs (k, n) and
                                                 of the others (k, n, n), by head and dependent

The last two get k sentences at once, because NumPy is as quick with many as with one; so they loop
over the few words that they concern, not over sentences.

`text.findings[setting.name]` holds the setting's own findings. Order matters for `read` only, and
is that of `KINDS_BY_NAME` in the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.views import SideBySide, View
from dynet_vdgi.system.array_types import Floats

MeasureIn = Callable[[Sequence[View], Setting, Text], Any]

Read = Callable[[SideBySide, Setting, Text], None]

Add = Callable[[SideBySide, Setting, Text, Floats, Floats], None]


@dataclass(frozen=True)
class Kind:
    """A kind of setting.

    `needs_gaps`: it has no effect in a text without traces of punctuation. `only_symbols`: what it
    reads changes symbols only, not what others add.
    """

    name: str
    syntax: Syntax
    measure: MeasureIn | None = None
    read: Read | None = None
    add: Add | None = None
    needs_gaps: bool = False
    only_symbols: bool = False

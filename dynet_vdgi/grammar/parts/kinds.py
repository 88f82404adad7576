"""The functions that make up a part of a rule table, for authors of new parts.

A kind of setting is up to four functions:

    measure(views, setting, text) -> plain data     what it finds in a text; kept in model files
    read(view, setting, text)                       changes how a sentence is read: `read`, `symbols`, ...
    mark(view, setting, text) -> Marks              what a student sees of words, besides their symbols
    add(view, setting, text, roots, arcs)           adds to log-potentials of the root arcs (n,) and of the
                                                    others (n, n), by head and dependent

To save time, students read many sentences as one view, see `joined_views`, if all parts that read or mark
words allow it: they must use only the methods of an `AnyView`, and look no farther than to a word that
belongs to no group, to a gap, or to `end_of`.

`text.found[setting.name]` holds the setting's own findings. Order matters for `read` only, and is that of
`KINDS` in the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import AnyView, View
from dynet_vdgi.system.arrays import Flags, Floats

Marks = Sequence[tuple[Flags, str]]
"""The words (n,) that have each mark."""

MeasureIn = Callable[[Sequence[View], Setting, Text], Any]
Read = Callable[[Any, Setting, Text], None]  # a View, or any AnyView if the kind joins sentences
Mark = Callable[[AnyView, Setting, Text], Marks]
Add = Callable[[View, Setting, Text, Floats, Floats], None]


@dataclass(frozen=True)
class Kind:
    """A kind of setting.

    `needs_gaps`: it has no effect in a text without traces of punctuation. `joins`: `read` and `mark` also
    take many sentences at once.
    """

    name: str
    syntax: Syntax
    measure: MeasureIn | None = None
    read: Read | None = None
    add: Add | None = None
    mark: Mark | None = None
    needs_gaps: bool = False
    joins: bool = False

"""What a part of a rule table is made of, for those who write one.

A kind of setting is up to four functions:

    measure(views, setting, text) -> plain data     what it finds in a text; kept in model files
    read(view, setting, text)                       changes how a sentence is read: `read`, `symbols`, ...
    mark(view, setting, text) -> strings (n,)       what a student is told of each word, "" for nothing;
                                                    or None, nothing about any
    add(view, setting, text, roots, arcs)           adds to log-potentials of the root arcs (n,) and of the
                                                    others (n, n), by head and dependent

To save time students read many sentences as one view, with words between them that are tagged BOUNDARY and
belong to no group, and with a gap before each of these. So `read` and `mark` look no farther than to a word
that is none of theirs, or to `View.end_of`.

`text.found[setting.name]` are the setting's own findings. Order matters for `read` only: `KINDS` of the
package has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import Floats, View

MeasureIn = Callable[[Sequence[View], Setting, Text], Any]
Read = Callable[[View, Setting, Text], None]
Mark = Callable[[View, Setting, Text], "Sequence[str] | None"]
Add = Callable[[View, Setting, Text, Floats, Floats], None]


@dataclass(frozen=True)
class Kind:
    """A kind of setting. `needs_gaps`: it is silent in a text without traces of punctuation."""

    name: str
    syntax: Syntax
    measure: MeasureIn | None = None
    read: Read | None = None
    add: Add | None = None
    mark: Mark | None = None
    needs_gaps: bool = False

"""Symbols of the model: words that a table treats differently also differ for the model.

    distinguish = VERB AUX ; by VerbForm          VERB with VerbForm=Part is the symbol VERB+Part
    distinguish = PRON[PronType=Rel] ; as Rel     ... is PRON+Rel
    read = ADJ[VerbForm=Part] ; as VERB           is read as VERB, and the symbol is VERB+ADJ

Words that a part reads as another tag keep the symbol of that tag.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.patterns import features_of
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.symbols import MARK
from dynet_vdgi.grammar.views import NOTHING, View, WordType

HELD_FROM = 0.5
"""A line of `read` with a condition counts if the value of the condition is above this."""


def _read(view: View, setting: Setting, text: Text) -> None:
    view.distinguish(lambda word: _symbol(word, setting), setting.cache)


def _symbol(word: WordType, setting: Setting) -> str:
    """The symbol of a word; "" if it is its tag."""
    tag, feats, _ = word
    if feats == NOTHING or not setting.groups[0].has(tag, feats):
        return ""
    values = features_of(feats)
    found = [",".join(sorted(values[name])) for name in setting.names("by") if name in values]
    found += setting.names("as")
    return MARK.join((tag, *found)) if found else ""


def _read_as(view: View, setting: Setting, text: Text) -> None:
    if setting.weight > HELD_FROM:
        (tag,) = setting.names("as")
        for word in np.flatnonzero(view.flags(setting.groups[0])).tolist():
            view.rename(word, tag, tag + MARK + view.read[word])


KINDS = (
    Kind(
        "read",
        Syntax(("words",), {"as": "names"}, repeatable=True, weighed=False, needs=("as",)),
        read=_read_as,
    ),
    Kind(
        "distinguish",
        Syntax(("words",), {"by": "names", "as": "names"}, repeatable=True, weighed=False),
        read=_read,
    ),
)

"""Symbols of the model: words that a table treats differently are different words for the model, too.

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
from dynet_vdgi.grammar.views import NOTHING, View

ENOUGH = 0.5
"""A line with a condition counts, for `read`, where the condition is true rather than not."""


def _read(view: View, setting: Setting, text: Text) -> None:
    known, tags, symbols, pairs = setting.cache, view.tags, view.symbols, view.pairs
    found = list(map(known.get, pairs))
    if None in found:
        known.update({pair: _symbol(*pair, setting) for pair in set(pairs) if pair not in known})
        found = list(map(known.get, pairs))
    if any(found):
        symbols[:] = [new if new and old == tag else old for new, old, tag in zip(found, symbols, tags)]


def _symbol(tag: str, feats: str, setting: Setting) -> str:
    """The symbol of a word; "" if it is its tag."""
    if feats == NOTHING or not setting.groups[0].has(tag, feats):
        return ""
    values = features_of(feats)
    found = [",".join(sorted(values[name])) for name in setting.names("by") if name in values]
    found += setting.names("as")
    return MARK.join((tag, *found)) if found else ""


def _read_as(view: View, setting: Setting, text: Text) -> None:
    if setting.weight > ENOUGH:
        (tag,) = setting.names("as")
        for word in np.flatnonzero(view.flags(setting.groups[0])).tolist():
            view.symbols[word] = tag + MARK + view.read[word]
            view.read[word] = tag


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

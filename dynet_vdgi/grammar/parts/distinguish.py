"""Symbols of the model: words that a table treats differently are different words for the model, too.

    distinguish = VERB AUX ; by VerbForm          VERB with VerbForm=Part is the symbol VERB+Part
    distinguish = PRON[PronType=Rel] ; as Rel     ... is PRON+Rel

Words that a part reads as another tag keep the symbol of that tag.
"""

from __future__ import annotations

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.patterns import features_of
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.symbols import MARK
from dynet_vdgi.grammar.views import NOTHING, View


def _read(view: View, setting: Setting, text: Text) -> None:
    group, suffix = setting.groups[0], setting.names("as")
    for word in range(view.n):
        tag, feats = view.tags[word], view.feats[word]
        if feats == NOTHING or view.symbols[word] != tag or not group.has(tag, feats):
            continue
        if suffix:
            view.symbols[word] = tag + MARK + suffix[0]
            continue
        values = features_of(feats)
        found = [",".join(sorted(values[name])) for name in setting.names("by") if name in values]
        if found:
            view.symbols[word] = MARK.join((tag, *found))


KINDS = (
    Kind(
        "distinguish",
        Syntax(("words",), {"by": "names", "as": "names"}, repeatable=True, weighed=False),
        read=_read,
    ),
)

"""Symbols of the model: words that a table treats differently also differ for the model.

distinguish = VERB AUX ; by VerbForm VERB with VerbForm=Part is the symbol VERB+Part distinguish =
PRON[PronType=Rel] ; as Rel ... is PRON+Rel read = ADJ[VerbForm=Part] ; as VERB is read as VERB, and
the symbol is VERB+ADJ

Words that a part reads as another tag keep the symbol of that tag.
"""

from __future__ import annotations

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.patterns import features_of
from dynet_vdgi.rule_tables.symbol_levels import MARK
from dynet_vdgi.rule_tables.views import NO_VALUE, SideBySide, WordType

HELD_FROM = 0.5
"""A line of `read` with a condition counts if the value of the condition is above this."""


def _read(views: SideBySide, setting: Setting, text: Text) -> None:
    for s, word in views.places(setting.groups[0]):
        view = views.views[s]
        if view.symbols[word] == view.tags[word]:  # else it has a symbol of its own
            view.symbols[word] = _symbol(view.words[word], setting)


def _symbol(word: WordType, setting: Setting) -> str:
    """The symbol of a word of the group."""
    symbol = setting.cache.get(word)
    if symbol is None:
        tag, feats, _ = word
        values = features_of(feats)
        features = [
            ",".join(sorted(values[name])) for name in setting.names("by") if name in values
        ]
        features += setting.names("as") if feats != NO_VALUE else ()
        symbol = setting.cache[word] = MARK.join((tag, *features))
    return str(symbol)


def _read_as(views: SideBySide, setting: Setting, text: Text) -> None:
    if setting.weight > HELD_FROM:
        (tag,) = setting.names("as")
        for s, word in views.places(setting.groups[0]):
            views.rename(s, word, tag, tag + MARK + views.views[s].read[word])


DISTINGUISH_KINDS = (
    Kind(
        "read",
        Syntax(("words",), {"as": "names"}, repeatable=True, weighed=False, needs=("as",)),
        read=_read_as,
    ),
    Kind(
        "distinguish",
        Syntax(("words",), {"by": "names", "as": "names"}, repeatable=True, weighed=False),
        read=_read,
        only_symbols=True,
    ),
)

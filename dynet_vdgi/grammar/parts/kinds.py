"""Kinds of parts of a rule table, and the parts about order and symbols.

The functions that make up a part of a rule table, for authors of new parts.

A kind of setting is up to three functions:

    measure(views, setting, text) -> plain data     what it finds in a text; kept in model files
    read(views, setting, text)                      changes how sentences are read: `read`, `symbols`, ...
    add(views, setting, text, roots, arcs)          adds to log-potentials of the root arcs (k, n) and of the
                                                    others (k, n, n), by head and dependent

The last two get k sentences at once, because NumPy is as quick with many as with one; so they loop over the few
words that they concern, not over sentences.

`text.found[setting.name]` holds the setting's own findings. Order matters for `read` only, and is that of
`KINDS` in the package.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.table import Setting, Syntax
from dynet_vdgi.grammar.views import MARK, NOTHING, SideBySide, View, WordType, features_of, last_before
from dynet_vdgi.system.arrays import Floats

MeasureIn = Callable[[Sequence[View], Setting, Text], Any]
Read = Callable[[SideBySide, Setting, Text], None]
Add = Callable[[SideBySide, Setting, Text, Floats, Floats], None]


@dataclass(frozen=True)
class Kind:
    """A kind of setting.

    `needs_gaps`: it has no effect in a text without traces of punctuation. `only_symbols`: what it reads
    changes symbols only, not what others add.
    """

    name: str
    syntax: Syntax
    measure: MeasureIn | None = None
    read: Read | None = None
    add: Add | None = None
    needs_gaps: bool = False
    only_symbols: bool = False


# ----------------------------------------------------------------------------------------------------
# Parts of rule tables about order and symbols: punctuation, sides of heads, words, distinctions.
#
# Removed punctuation still separates.
#
# punctuation = 2 ; most 2
#
# The weight is taken from an arc for each place of removed punctuation between its ends, at most `most` times.


def _add(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    if views.are_gaps.any():
        segments = np.cumsum(views.are_gaps, axis=1)
        crossed = np.abs(segments[:, :, None] - segments[:, None])
        arcs -= setting.weight * np.minimum(crossed, setting.number("most", 2))


GAPS_KINDS = (Kind("punctuation", Syntax((), {"most": "number"}), add=_add, needs_gaps=True),)


# ----------------------------------------------------------------------------------------------------
# The side of their heads on which words stand, beyond the evidence of tags and edge statistics.
#
# after verb = 2 NOUN PROPN PRON | VERB | DET ADJ NUM ADV PART ADP
#
# A word of the first group gains this weight from the verb reached by going left over words of the third
# group, within a segment.
#
# left of head = 2.5 NOUN PROPN PRON | NOUN PROPN VERB ADJ ; conjunction CCONJ CONJ
#
# The weight is taken from arcs to words of the first group from heads of the second group further left; but for the
# first such word within 5 words after a conjunction, not from arcs whose heads precede the conjunction.
#
# from previous = 3 PART
#
# The word just before is the head.


CONJUNCT_WITHIN = 5


def _add_after_verb(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    nominals, verbs, inside = (views.flags(group) for group in setting.groups)
    segments, before = np.cumsum(views.are_gaps, axis=1), last_before(~inside)
    s, words = np.nonzero(nominals & (before >= 0))
    heads = before[s, words]
    fits = verbs[s, heads] & (segments[s, heads] == segments[s, words])
    arcs[s[fits], heads[fits], words[fits]] += setting.weight


def _add_left_of_head(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    nominals, heads = (views.flags(group) for group in setting.groups)
    word = np.arange(views.n)
    taken = setting.weight * ((heads[:, :, None] & nominals[:, None]) & (word[:, None] < word))
    for s, conjunction in views.places(setting.group("conjunction")):
        end = min(views.views[s].n, conjunction + 1 + CONJUNCT_WITHIN)
        second = views.views[s].first(setting.groups[0], conjunction + 1, end)
        if second >= 0:
            taken[s, :conjunction, second] = 0.0
    arcs -= taken


def _add_from_previous(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    s, before = np.nonzero(views.flags(setting.groups[0])[:, 1:])
    arcs[s, before, before + 1] += setting.weight


ORDER_KINDS = (
    Kind("after verb", Syntax(("words", "verbs", "words between")), add=_add_after_verb),
    Kind(
        "left of head",
        Syntax(("words", "heads"), {"conjunction": "tags"}, repeatable=True),
        add=_add_left_of_head,
    ),
    Kind("from previous", Syntax(("words",)), add=_add_from_previous),
)


# ----------------------------------------------------------------------------------------------------
# Words as symbols of the model's last stage.
#
# words = ADP PRON DET SCONJ CCONJ AUX ADV | NOUN PROPN ; most 8 ; least 15 ; iterations 10 ; backoff 100
#
# Words of the first group are distinguished by form, words of the second by the form of their adposition;
# but only by the `most` frequent forms. Forms seen fewer than `least` times are not distinguished. A third
# group, if any, is distinguished by the last two letters.


BETWEEN = frozenset({"DET", "ADJ", "NUM", "ADV", "PRON", "PART"})
OTHER = "*"


def _adposition(view: View, word: int, text: Text) -> str:
    """The form of the adposition beside a nominal; "" for none."""
    tags = view.tags
    if text.order.asymmetry("ADP") < 0 and word + 1 < view.n and tags[word + 1] == "ADP":
        return view.forms[word + 1]
    place = word - 1
    while place >= 0 and tags[place] in BETWEEN:
        place -= 1
    return view.forms[place] if place >= 0 and tags[place] == "ADP" else ""


def _key(view: View, word: int, setting: Setting, text: Text) -> tuple[str, str]:
    """The key that may distinguish a word, with its class of keys; "" for none."""
    tag, form = view.tags[word], view.forms[word]
    if form == NOTHING:
        return "", ""
    if setting.groups[0].has(tag):
        return tag, form
    if len(setting.groups) > 1 and setting.groups[1].has(tag):
        adposition = _adposition(view, word, text)
        if adposition:
            return "ADP", adposition
    if len(setting.groups) > 2 and setting.groups[2].has(tag):
        return "-" + tag, "-" + form[-2:]
    return "", ""


def _measure(views: Sequence[View], setting: Setting, text: Text) -> dict[str, list[str]]:
    times: dict[str, Counter[str]] = defaultdict(Counter)
    for view in views:
        for word in range(view.n):
            if setting.groups[0].has(view.tags[word]) or (
                len(setting.groups) > 2 and setting.groups[2].has(view.tags[word])
            ):
                kind, key = _key(view, word, setting, text)
                if kind:
                    times[kind][key] += 1
    most = int(setting.number("most", 8))
    return {kind: sorted(key for key, _ in counts.most_common(most)) for kind, counts in sorted(times.items())}


def split(view: View, setting: Setting, text: Text) -> list[str]:
    """The symbols (n,) of a sentence, each with its distinguishing key appended."""
    known = text.found[setting.name]
    finer = []
    for word, symbol in enumerate(view.symbols):
        kind, key = _key(view, word, setting, text)
        finer.append(f"{symbol}={key if key in known.get(kind, ()) else OTHER}" if kind else symbol)
    return finer


NUMBERS = {"most": "number", "least": "number", "iterations": "number", "backoff": "number"}
WORDS = Kind("words", Syntax(("by form",), NUMBERS, weighed=False, more=True), _measure)
WORDS_KINDS = (WORDS,)


# ----------------------------------------------------------------------------------------------------
# Symbols of the model: words that a table treats differently also differ for the model.
#
# distinguish = VERB AUX ; by VerbForm VERB with VerbForm=Part is the symbol VERB+Part distinguish =
# PRON[PronType=Rel] ; as Rel ... is PRON+Rel read = ADJ[VerbForm=Part] ; as VERB is read as VERB, and the
# symbol is VERB+ADJ
#
# Words that a part reads as another tag keep the symbol of that tag.


HELD_FROM = 0.5
"""A line of `read` with a condition counts if the value of the condition is above this."""


def _read(views: SideBySide, setting: Setting, text: Text) -> None:
    for s, word in views.places(setting.groups[0]):
        view = views.views[s]
        if view.symbols[word] == view.tags[word]:  # else it has a symbol of its own
            view.symbols[word] = _symbol(view.words[word], setting)


def _symbol(word: WordType, setting: Setting) -> str:
    """The symbol of a word of the group."""
    known = setting.cache.get(word)
    if known is None:
        tag, feats, _ = word
        values = features_of(feats)
        found = [",".join(sorted(values[name])) for name in setting.names("by") if name in values]
        found += setting.names("as") if feats != NOTHING else ()
        known = setting.cache[word] = MARK.join((tag, *found))
    return str(known)


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

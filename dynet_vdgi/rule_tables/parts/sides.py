"""The side of their heads on which words stand, beyond the evidence of tags and edge statistics.

after verb = 2 NOUN PROPN PRON | VERB | DET ADJ NUM ADV PART ADP

A word of the first group gains this weight from the verb reached by going left over words of the
third group, within a segment.

left of head = 2.5 NOUN PROPN PRON | NOUN PROPN VERB ADJ ; conjunction CCONJ CONJ

The weight is taken from arcs to words of the first group from heads of the second group further
left; but for the first such word within 5 words after a conjunction, not from arcs whose heads
precede the conjunction.

from previous = 3 PART

The word just before is the head.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.views import SideBySide, last_before
from dynet_vdgi.system.array_types import Floats

CONJUNCT_WITHIN = 5


def _add_after_verb(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    nominals, verbs, inside = (views.flags(group) for group in setting.groups)
    segments, before = np.cumsum(views.are_gaps, axis=1), last_before(~inside)
    s, words = np.nonzero(nominals & (before >= 0))
    heads = before[s, words]
    fits = verbs[s, heads] & (segments[s, heads] == segments[s, words])
    arcs[s[fits], heads[fits], words[fits]] += setting.weight


def _add_left_of_head(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    nominals, heads = (views.flags(group) for group in setting.groups)
    word = np.arange(views.n)
    taken = setting.weight * ((heads[:, :, None] & nominals[:, None]) & (word[:, None] < word))
    for s, conjunction in views.places(setting.group("conjunction")):
        end = min(views.views[s].n, conjunction + 1 + CONJUNCT_WITHIN)
        second = views.views[s].first(setting.groups[0], conjunction + 1, end)
        if second >= 0:
            taken[s, :conjunction, second] = 0.0
    arcs -= taken


def _add_from_previous(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
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

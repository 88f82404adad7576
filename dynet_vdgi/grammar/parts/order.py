"""Parts of rule tables about order: removed punctuation, and the sides of heads.

Removed punctuation still separates.

    punctuation = 2 ; most 2

The weight is taken from an arc for each place of removed punctuation between its ends, at most `most` times.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.table import Setting, Syntax
from dynet_vdgi.grammar.views import View
from dynet_vdgi.system.arrays import Floats


def _add(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    if any(view.gaps):
        segments = np.cumsum(view.gaps)
        crossed = np.abs(segments[:, None] - segments)
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
# The weight is taken from arcs to words of the first group from heads of the second group further left; but
# for the first such word within 5 words after a conjunction, not from arcs whose heads precede the
# conjunction.
#
# from previous = 3 PART
#
# The word just before is the head.


CONJUNCT_WITHIN = 5


def _add_after_verb(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    nominals, verbs, inside = setting.groups
    for word in np.flatnonzero(view.flags(nominals)).tolist():
        head = word
        while head > 0 and not view.gaps[head]:
            head -= 1
            if not view.has(inside, head):
                if view.has(verbs, head):
                    arcs[head, word] += setting.weight
                break


def _add_left_of_head(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    nominals, heads = (view.flags(group) for group in setting.groups)
    word = np.arange(view.n)
    taken = setting.weight * ((heads[:, None] & nominals) & (word[:, None] < word))
    for conjunction in np.flatnonzero(view.flags(setting.group("conjunction"))).tolist():
        end = min(view.n, conjunction + 1 + CONJUNCT_WITHIN)
        second = view.first(setting.groups[0], conjunction + 1, end)
        if second >= 0:
            taken[:conjunction, second] = 0.0
    arcs -= taken


def _add_from_previous(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    for word in np.flatnonzero(view.flags(setting.groups[0])).tolist():
        if word:
            arcs[word - 1, word] += setting.weight


ORDER_KINDS = (
    Kind("after verb", Syntax(("words", "verbs", "words between")), add=_add_after_verb),
    Kind(
        "left of head",
        Syntax(("words", "heads"), {"conjunction": "tags"}, repeatable=True),
        add=_add_left_of_head,
    ),
    Kind("from previous", Syntax(("words",)), add=_add_from_previous),
)

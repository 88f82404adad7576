"""Words that agree with their heads.

    agreement = 1 ADJ DET NUM | NOUN PROPN PRON ; by Case Gender Number

An arc to a word of the first group from a head of the second loses this weight if their FEATS share one of
these features but none of its values; if all shared features agree, the arc gains 0.3 of the weight.
"""

from __future__ import annotations

from functools import lru_cache

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.patterns import features_of
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import NOTHING, View
from dynet_vdgi.system.arrays import Floats

AGREES = 0.3


@lru_cache(maxsize=1 << 16)
def _agreement(one: str, other: str, names: tuple[str, ...]) -> float:
    """-1: they differ; AGREES: they share a feature and differ in none; 0: they share no feature."""
    left, right = features_of(one), features_of(other)
    shared = [name for name in names if name in left and name in right]
    if any(left[name].isdisjoint(right[name]) for name in shared):
        return -1.0
    return AGREES if shared else 0.0


def _add(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    words, heads = setting.groups
    names = setting.names("by")
    known = [i for i in range(view.n) if view.feats[i] != NOTHING]
    nominal = [i for i in known if view.has(heads, i)]
    if nominal:
        for word in [i for i in known if view.has(words, i)]:
            for head in nominal:
                arcs[head, word] += setting.weight * _agreement(view.feats[word], view.feats[head], names)


KINDS = (Kind("agreement", Syntax(("words", "heads"), {"by": "names"}), add=_add),)

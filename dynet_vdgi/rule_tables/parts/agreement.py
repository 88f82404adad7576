"""Words that agree with their heads.

agreement = 1 ADJ DET NUM | NOUN PROPN PRON ; by Case Gender Number

An arc to a word of the first group from a head of the second loses this weight if their FEATS share
one of these features but none of its values; if all shared features agree, the arc gains 0.3 of the
weight.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.patterns import features_of
from dynet_vdgi.rule_tables.views import NO_VALUE, SideBySide
from dynet_vdgi.system.array_types import Floats

GAIN_OF_AGREEMENT = 0.3


@lru_cache(maxsize=1 << 16)
def _agreement(one: str, other: str, names: tuple[str, ...]) -> float:
    """-1: they differ; GAIN_OF_AGREEMENT: they share a feature and differ in none; 0: they share no
    feature.

    >>> _agreement("Case=Nom|Number=Sing", "Number=Plur", ("Case", "Number"))
    -1.0
    >>> _agreement("Case=Nom|Number=Sing", "Number=Sing", ("Case", "Number"))
    0.3
    """
    left, right = features_of(one), features_of(other)
    shared = [name for name in names if name in left and name in right]
    if any(left[name].isdisjoint(right[name]) for name in shared):
        return -1.0
    return GAIN_OF_AGREEMENT if shared else 0.0


def _add_of_agreement(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    (readings, numbers), names = views.numbered(with_feats=True), setting.names("by")
    feats = [feats for _, feats in readings]
    has_feats = np.array([value != NO_VALUE for value in feats])[numbers]
    words, heads = (views.flags(group) & has_feats for group in setting.groups)
    s, head, word = np.nonzero(heads[:, :, None] & words[:, None])
    pairs = (numbers[s, word] * len(feats) + numbers[s, head]).tolist()
    agreements = {
        pair: _agreement(feats[pair // len(feats)], feats[pair % len(feats)], names)
        for pair in set(pairs)
    }
    arcs[s, head, word] += setting.weight * np.array([agreements[pair] for pair in pairs])


AGREEMENT_KINDS = (
    Kind("agreement", Syntax(("words", "heads"), {"by": "names"}), add=_add_of_agreement),
)

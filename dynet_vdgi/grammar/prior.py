"""What is believed about arcs before anything is learnt, as one score for every arc of a sentence.

One place for every consumer. At present: the universal rules, and a preference for short arcs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.grammar.rules import ROOT, RuleSet

SHORT_ARCS = 0.05
"""Penalty per word skipped by an arc; far below a rule, so that it decides among trees with equally many."""


def arc_potentials(tags: Sequence[str], rules: RuleSet, short: float = SHORT_ARCS) -> NDArray[np.float64]:
    """Scores (n + 1, n + 1) of arcs [head, dependent], ROOT at 0: [a rule fires] - short * (distance - 1).

    Arcs from ROOT carry no distance term. Expectations of the rules are not used.
    """
    pairs = rules.pairs()
    names = (ROOT, *tags)
    fires = np.array([[float((head, dependent) in pairs) for dependent in names] for head in names])
    position = np.arange(len(names))
    distance = np.maximum(np.abs(position[:, None] - position) - 1.0, 0.0)
    distance[0] = 0.0
    return np.asarray(fires - short * distance)

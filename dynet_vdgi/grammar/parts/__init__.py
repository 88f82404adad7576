"""The parts of a rule table that look at whole sentences.

To add a part, write its functions in a module here, and its `Kind` in one of the tuples below.
"""

from __future__ import annotations

from itertools import chain

from dynet_vdgi.grammar.parts.kinds import DISTINGUISH_KINDS, GAPS_KINDS, ORDER_KINDS, WORDS_KINDS, Kind
from dynet_vdgi.grammar.parts.nominals import (
    AGREEMENT_KINDS,
    COORDINATION_KINDS,
    MARKERS_KINDS,
    NOMINAL_RUNS_KINDS,
    PHRASES_KINDS,
)
from dynet_vdgi.grammar.parts.verbs import CLAUSES_KINDS, MAIN_VERBS_KINDS, PREDICATES_KINDS

_IN_ORDER = (
    PREDICATES_KINDS,
    DISTINGUISH_KINDS,
    NOMINAL_RUNS_KINDS,
    CLAUSES_KINDS,
    COORDINATION_KINDS,
    MARKERS_KINDS,
    MAIN_VERBS_KINDS,
    ORDER_KINDS,
    PHRASES_KINDS,
    AGREEMENT_KINDS,
    GAPS_KINDS,
    WORDS_KINDS,
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in chain.from_iterable(_IN_ORDER)}
"""By setting name, in the order in which parts read a sentence."""

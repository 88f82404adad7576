"""The parts of a rule table that look at whole sentences.

To add a part, write its functions in a module here, and its `Kind` in one of the tuples below.
"""

from __future__ import annotations

from itertools import chain

from dynet_vdgi.rule_tables.parts.agreement import AGREEMENT_KINDS
from dynet_vdgi.rule_tables.parts.clauses import CLAUSES_KINDS
from dynet_vdgi.rule_tables.parts.coordination import COORDINATION_KINDS
from dynet_vdgi.rule_tables.parts.distinctions import DISTINGUISH_KINDS
from dynet_vdgi.rule_tables.parts.gaps import GAPS_KINDS
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.parts.main_verbs import MAIN_VERBS_KINDS
from dynet_vdgi.rule_tables.parts.markers import MARKERS_KINDS
from dynet_vdgi.rule_tables.parts.nominal_runs import NOMINAL_RUNS_KINDS
from dynet_vdgi.rule_tables.parts.phrases import PHRASES_KINDS
from dynet_vdgi.rule_tables.parts.predicates import PREDICATES_KINDS
from dynet_vdgi.rule_tables.parts.sides import ORDER_KINDS
from dynet_vdgi.rule_tables.parts.words import WORDS_KINDS

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

KINDS_BY_NAME: dict[str, Kind] = {kind.name: kind for kind in chain.from_iterable(_IN_ORDER)}
"""By setting name, in the order in which parts read a sentence."""

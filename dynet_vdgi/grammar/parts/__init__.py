"""The parts of a rule table that look at whole sentences, one small module for each subject.

To add a part, write its functions in a module here, its `Kind` in the module's `KINDS`, and add the module to
the list below.
"""

from __future__ import annotations

from dynet_vdgi.grammar.parts import (
    agreement,
    clauses,
    coordination,
    distinguish,
    gaps,
    main_verbs,
    markers,
    nominal_runs,
    order,
    phrases,
    predicates,
    words,
)
from dynet_vdgi.grammar.parts.kinds import Kind

_MODULES = (
    predicates,
    distinguish,
    nominal_runs,
    clauses,
    coordination,
    markers,
    main_verbs,
    order,
    phrases,
    agreement,
    gaps,
    words,
)

KINDS: dict[str, Kind] = {kind.name: kind for module in _MODULES for kind in module.KINDS}
"""By setting name, in the order in which parts read a sentence."""

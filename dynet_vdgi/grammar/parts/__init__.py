"""The parts of a rule table that look at whole sentences, one small module for each subject.

To add a part, write its functions in a module here, its `Kind` in the module's `KINDS`, and add the module to
the list below. Parts for a single annotation scheme have a package of their own, such as `penn2malt`.
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
from dynet_vdgi.grammar.parts.penn2malt import (
    base_phrases,
    called,
    clause_frames,
    clause_words,
    joined_phrases,
    verb_groups,
)

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
    called,
    base_phrases,
    clause_words,
    verb_groups,
    joined_phrases,
    clause_frames,
    words,
)

KINDS: dict[str, Kind] = {kind.name: kind for module in _MODULES for kind in module.KINDS}
"""By setting name, in the order in which parts read a sentence."""

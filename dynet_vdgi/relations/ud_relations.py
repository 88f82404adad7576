"""The relations of UD 2, and what the name of any relation says.

>>> len(LABELS), relation_of("nsubj:pass")
(37, 'nsubj')
>>> fault_in("nsubj pass")
'has a character that CoNLL-U does not allow: a space or a control character'
"""

from __future__ import annotations

import unicodedata

OTHERWISE = "dep"
"""The label if no rule holds."""

_OF_UD2 = """
acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis
punct reparandum root vocative xcomp
"""

LABELS = tuple(_OF_UD2.split())
"""The universal relations of UD 2."""

LONGEST_RELATION = 200
"""Characters allowed in a relation."""


def fault_in(relation: str) -> str | None:
    """Why this relation cannot stand in the column DEPREL; None if it can."""
    if not relation or relation == "_" or relation.startswith(":"):
        return "is none: it has no name"
    if len(relation) > LONGEST_RELATION:
        return f"is longer than {LONGEST_RELATION} characters"
    if any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in relation):
        return "has a character that CoNLL-U does not allow: a space or a control character"
    return None


def relation_of(deprel: str) -> str:
    """The universal part of a relation.

    >>> relation_of("nsubj:pass")
    'nsubj'
    """
    return deprel.partition(":")[0]

"""Whether relations say anything: a tree without them has `root` and `dep`, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NO_LABELS = frozenset({"root", "dep", "_"})
"""Relations that only say whether a word is a root."""


def are_labels(relations: Iterable[Sequence[str]]) -> bool:
    """True if any of the relations says more than whether a word is a root.

    >>> are_labels([("root", "dep")]), are_labels([("root", "nsubj")])
    (False, True)
    """
    return any(not NO_LABELS.issuperset(row) for row in relations)

"""Keeping given heads: the best projective tree that contains them, or the reason why there is
none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE, cycle
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.inference import eisner
from dynet_vdgi.system.array_types import Floats

Heads = tuple[int, ...]


class KeepError(VdgiError):
    """Given heads that no projective tree contains (exit status 3)."""

    exit_status = 3


def complete(scores: Floats, heads: Sequence[int]) -> Heads:
    """The best tree, by expected right arcs, that contains the given heads (n,), FREE where none is
    given.

    `scores` (n + 1, n + 1) of arcs as `inference.eisner` has them.

    Raises:
        KeepError: no projective tree with one root contains them; the message gives the reason.
    """
    reason = conflict(heads)
    if reason:
        raise KeepError(reason)
    if FREE not in heads:
        return tuple(heads)

    return eisner.expected_best(eisner.marginals(eisner.constrained_scores(scores, heads)), heads)


def conflict(heads: Sequence[int]) -> str | None:
    """The reason why no projective tree with one root contains these heads (n,); None: one does.

    >>> conflict((3, -1, 0)), conflict((3, 4, 0, -1))
    (None, 'the arcs 3 -> 1 and 4 -> 2 cross')
    >>> conflict((2, 3, 1))
    'the words 1, 2, 3 form a circle'
    """
    outside = [d for d, head in enumerate(heads, 1) if head != FREE and not 0 <= head <= len(heads)]
    if outside:
        return f"the head of word {outside[0]}, {heads[outside[0] - 1]}, is no word of the sentence"
    roots = [str(d) for d, head in enumerate(heads, 1) if head == 0]
    if len(roots) > 1:
        return f"the words {', '.join(roots)} are roots, and there can be only one"
    if circle := cycle(heads):
        return f"the words {', '.join(map(str, circle))} form a circle"
    crossing = _crossing(heads)
    if crossing:
        (a, b), (c, d) = crossing
        return f"the arcs {_shown(a, b)} and {_shown(c, d)} cross"
    return None if _is_possible(heads) else f"there is no projective tree with {_culprit(heads)}"


def conflict_in(sentence: Sentence, removed_tags: frozenset[str]) -> str | None:
    """Why no projective tree contains the sentence's heads; None: one does, or no head is FREE.

    Words of the removed tags are attached afterwards, so only heads that are FREE among the others
    count.
    """
    heads = sentence.heads
    if heads is None or FREE not in heads:
        return None
    bare, _ = without_punctuation(sentence, removed_tags)
    return conflict(heads) if FREE in (bare.heads or ()) else None


def _crossing(heads: Sequence[int]) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Two arcs (head, dependent) that cross; ROOT stands before the first word."""
    arcs = [(head, d) for d, head in enumerate(heads, 1) if head != FREE]
    for k, one in enumerate(arcs):
        for other in arcs[k + 1 :]:
            (a, b), (c, d) = sorted((sorted(one), sorted(other)))
            if a < c < b < d:
                return one, other
    return None


def _is_possible(heads: Sequence[int]) -> bool:

    try:
        eisner.best(eisner.constrained_scores(np.zeros((len(heads) + 1, len(heads) + 1)), heads))
    except ValueError:
        return False
    return True


def _culprit(heads: Sequence[int]) -> str:
    """The first arc that cannot be in a tree with the arcs before it."""
    tried = [FREE] * len(heads)
    for d, head in enumerate(heads, 1):
        tried[d - 1] = head
        if head != FREE and not _is_possible(tried):
            break
    before = "what is given before it" if any(h != FREE for h in tried[: d - 1]) else "one root"
    return f"the arc {_shown(heads[d - 1], d)} and {before}"


def _shown(head: int, dependent: int) -> str:
    return f"{head or 'ROOT'} -> {dependent}"

"""Treebanks of invented languages: real trees whose words stand in the order of other languages.

There are more orders of words than treebanks, and few treebanks have the verb at the end. So
dependents of verbs, and those of nouns, are put to the left as often as in other treebanks. Of two
on the same side, the farther one stays farther; all trees become projective. The text is then
measured in its new order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from dynet_vdgi.settings.settings import Section
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.universal.encoding import N_TAGS, RELATION, RELATIONS, TAG, CodedText

_OF_NO_SIDE = """
root conj cc fixed flat goeswith parataxis discourse list reparandum orphan dep dislocated vocative
appos
"""

_FIXED = [RELATION[relation] for relation in _OF_NO_SIDE.split()]
"""Relations whose side does not depend on the language's word order, or of which too little is
known."""

_BY_TAG = [RELATION[relation] for relation in ["advmod", "obj", "obl", "nmod"]]
"""Relations whose side depends on the tag of the dependent, such as that of pronouns."""

_VERBAL = (TAG["VERB"], TAG["AUX"])

FEWEST_ARCS = 5
"""Arcs of a kind that another treebank must have to lend their order."""


class FaultSettings(Section, frozen=True):
    """Shares of sentences that are changed in learning, so that the parser can do without what they
    lack."""

    wrong_tags: Annotated[
        float,
        Meta(
            ge=0,
            le=0.5,
            description="share of words with a wrong tag; half of the sentences have them all",
        ),
    ] = 0.05
    no_features: Annotated[
        float, Meta(ge=0, le=1, description="share of sentences learnt from without features")
    ] = 0.15
    no_punctuation: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="share of sentences learnt from without the places of punctuation",
        ),
    ] = 0.05
    no_frequencies: Annotated[
        float,
        Meta(ge=0, le=1, description="share of sentences learnt from without frequencies of forms"),
    ] = 0.3


def kinds_of_arcs(text: CodedText) -> tuple[Ints, NDArray[np.bool_]]:
    """The kind (N,) of each word's arc, -1 where its order is fixed; whether the head is to the
    right."""
    assert text.heads is not None
    assert text.relations is not None
    first = np.repeat(text.start[:-1], text.lengths)
    head = first + text.heads - 1
    of_head = text.tags[np.maximum(head, 0)]
    is_verbal = np.isin(of_head, _VERBAL).astype(np.int64)
    tag = np.where(np.isin(text.relations, _BY_TAG), text.tags, N_TAGS)
    kind = (is_verbal * len(RELATIONS) + text.relations) * (N_TAGS + 1) + tag
    is_fixed = (text.heads == 0) | (text.relations < 0) | np.isin(text.relations, _FIXED)
    return np.where(is_fixed, -1, kind), head > np.arange(len(head))


def orders(text: CodedText) -> Floats:
    """Counts (2, kinds) of dependents to the right and to the left of their heads."""
    kind, is_left = kinds_of_arcs(text)
    size = 2 * len(RELATIONS) * (N_TAGS + 1)
    movable = kind >= 0
    sides = (is_left[movable] * size + kind[movable]).astype(np.int64)
    return np.bincount(sides, minlength=2 * size).reshape(2, size).astype(np.float64)


def reorder(
    text: CodedText, of_verbs: Floats, of_nouns: Floats, rng: np.random.Generator
) -> CodedText:
    """The text with dependents on the sides that the orders of two other treebanks have, by chance.

    A word changes its side no more often than is needed for the share of the other treebank.
    """
    assert text.heads is not None
    assert text.relations is not None
    kind, is_left = kinds_of_arcs(text)
    half = len(RELATIONS) * (N_TAGS + 1)
    other = np.concatenate([of_nouns[:, :half], of_verbs[:, half:]], 1)
    ours, theirs = _share_left(orders(text)), _share_left(other)
    usable = (kind >= 0) & (other.sum(0)[kind] >= FEWEST_ARCS)
    p, q = ours[kind], theirs[kind]
    keep = np.where(is_left, np.minimum(1, q / p), np.minimum(1, (1 - q) / (1 - p)))
    is_left = is_left ^ (usable & (rng.random(len(kind)) > keep))
    words, gaps, heads = [], [], []
    for s in range(len(text)):
        low, high = int(text.start[s]), int(text.start[s + 1])
        order = _in_order(text.heads[low:high].tolist(), is_left[low:high].tolist())
        place = np.zeros(high - low + 1, np.int64)
        place[order] = np.arange(1, high - low + 1)
        new = np.array(order) - 1
        heads.append(place[text.heads[low:high][new]])
        words.append(new + low)
        gaps.append(_moved_gaps(text.gaps_of(s), new))
    all_words = np.concatenate(words)
    return replace(
        text,
        tags=text.tags[all_words],
        bundle=text.bundle[all_words],
        band=text.band[all_words],
        gaps=np.concatenate(gaps),
        heads=np.concatenate(heads),
        relations=text.relations[all_words],
        sentences=(),
    )


def _share_left(counts: Floats) -> Floats:
    """Smoothed shares, strictly between 0 and 1."""
    return np.asarray((counts[1] + 0.1) / (counts.sum(0) + 0.2))


def _in_order(heads: list[int], is_left: list[bool]) -> list[int]:
    """The words of a tree, from 1, in their new order: on each side farther ones stay farther."""
    before: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    after: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, (head, left) in enumerate(zip(heads, is_left), 1):
        (before if left else after)[head].append(word)
    order: list[int] = []
    agenda: list[tuple[int, bool]] = [(0, False)]
    while agenda:
        word, is_open = agenda.pop()
        if is_open:
            order.append(word)
            continue
        agenda += [(child, False) for child in sorted(after[word], key=lambda c: -abs(c - word))]
        if word:
            agenda.append((word, True))
        agenda += [(child, False) for child in sorted(before[word], key=lambda c: abs(c - word))]
    return order


def _moved_gaps(gaps: NDArray[np.int8], words: Ints) -> NDArray[np.int8]:
    """The gaps in the new order: each goes with the word before it; the first and the last stay."""
    after = gaps[1:].copy()
    after[-1] = 0
    moved = after[words]
    moved[-1] = gaps[-1]
    return np.concatenate([gaps[:1], moved])

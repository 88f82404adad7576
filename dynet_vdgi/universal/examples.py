"""What the universal parser learns from: batches of trees, also with reordered words and with faults.

Treebanks of invented languages: real trees whose words stand in the order of other languages.

There are more orders of words than treebanks, and few treebanks have the verb at the end. So dependents of
verbs, and those of nouns, are put to the left as often as in other treebanks. Of two on the same side, the
farther one stays farther; all trees become projective. The text is then measured in its new order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from dynet_vdgi.settings.config import Section
from dynet_vdgi.system.arrays import Bytes, Floats, Floats32, Ints
from dynet_vdgi.system.jit import WORK_TO_COMPILE
from dynet_vdgi.universal.channels import (
    CODE_ARCS,
    DISTANCES,
    N_TAGS,
    RELATION,
    RELATIONS,
    TAG,
    CodedText,
    gap_pairs,
    workspace,
)
from dynet_vdgi.universal.typology import Profile

_OF_NO_SIDE = """
root conj cc fixed flat goeswith parataxis discourse list reparandum orphan dep dislocated vocative appos
"""
_FIXED = [RELATION[relation] for relation in _OF_NO_SIDE.split()]
"""Relations whose side does not depend on the language's word order, or of which too little is known."""

_BY_TAG = [RELATION[relation] for relation in ["advmod", "obj", "obl", "nmod"]]
"""Relations whose side depends on the tag of the dependent, such as that of pronouns."""

_VERBAL = (TAG["VERB"], TAG["AUX"])
FEWEST_ARCS = 5
"""Arcs of a kind that another treebank must have to lend their order."""


class FaultSettings(Section, frozen=True):
    """Shares of sentences that are changed in learning, so that the parser can do without what they lack."""

    wrong_tags: Annotated[
        float,
        Meta(ge=0, le=0.5, description="share of words with a wrong tag; half of the sentences have them all"),
    ] = 0.05
    no_features: Annotated[float, Meta(ge=0, le=1, description="share of sentences learnt from without features")] = (
        0.15
    )
    no_punctuation: Annotated[
        float,
        Meta(ge=0, le=1, description="share of sentences learnt from without the places of punctuation"),
    ] = 0.05
    no_frequencies: Annotated[
        float, Meta(ge=0, le=1, description="share of sentences learnt from without frequencies of forms")
    ] = 0.3


def kinds_of_arcs(text: CodedText) -> tuple[Ints, NDArray[np.bool_]]:
    """The kind (N,) of each word's arc, -1 where its order is fixed; whether the head is to the right."""
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


def reordered(text: CodedText, of_verbs: Floats, of_nouns: Floats, rng: np.random.Generator) -> CodedText:
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
    """The words of a tree, from 1, in their new order: on each side the farther ones stay farther."""
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


# ----------------------------------------------------------------------------------------------------
# Batches of equally long sentences to learn from, some with faults that taggers and annotators make.
#
# Letters: B sentences of n words in a batch; F features; U numbers of a text; K numbers of a pair of tags.


SHORTEST = 2
"""Words of the shortest sentence to learn from: the only word of a sentence is its root."""


@dataclass(frozen=True)
class LearningSource:
    """A treebank to learn from: its sentences, and profiles, with standardised numbers once all are measured.

    The first profile is that of the whole text, the others are of samples. `featureless` is that of the text
    without features.
    """

    text: CodedText
    profiles: Sequence[Profile]
    featureless: Profile
    targets: Sequence[NDArray[np.float16]] = ()  # (n, n + 1) for each sentence: probabilities of heads


@dataclass(frozen=True)
class ArcBatch:
    """The arcs of a batch in order of sentence, dependent, head; each distinct value is kept once."""

    flags: Ints  # (X,) distinct sets of flags, a bit each
    flags_of: Ints  # (B * n * (n + 1),)
    numbers: Floats32  # (K, Y) distinct columns of numbers of pairs of tags
    numbers_of: Ints  # (B * n * (n + 1),)
    rows: Ints  # (B * n * (n + 1),) of the table of pairs


@dataclass(frozen=True)
class LearningBatch:
    """B sentences of n words; word t of sentence b is column t * B + b of `features`."""

    tags: Ints  # (n, B)
    features: Floats32  # (F, n * B)
    gaps: Ints  # (n, B)
    band: Ints  # (n, B)
    numbers: Floats32  # (U, B)
    arcs: ArcBatch
    heads: Ints  # (B, n)
    relations: Ints  # (B, n), -1: unknown
    targets: Floats32 | None = None  # (n + 1, B * n): probabilities of heads that are learnt besides


def drawn(
    sources: Sequence[LearningSource], words: int, size: int, longest: int, rng: np.random.Generator
) -> Iterator[list[tuple[int, int]]]:
    """Batches of (source, sentence) in random order, about `size` words each.

    They go once through a sample of every treebank: sentences of up to `longest` words, at random, until
    they have this many `words`.
    """
    by_length: dict[int, list[tuple[int, int]]] = {}
    for k, source in enumerate(sources):
        lengths, n_words = source.text.lengths, 0
        for s in rng.permutation(len(lengths)).tolist():
            if SHORTEST <= lengths[s] <= longest:
                by_length.setdefault(int(lengths[s]), []).append((k, s))
                n_words += int(lengths[s])
                if n_words >= words:
                    break
    batches = []
    for n, members in sorted(by_length.items()):
        shuffled = [members[i] for i in rng.permutation(len(members))]
        step = max(1, size // n)
        batches += [shuffled[i : i + step] for i in range(0, len(shuffled), step)]
    for i in rng.permutation(len(batches)):
        yield batches[i]


@dataclass
class FaultyExample:
    """A sentence as it is learnt from, perhaps with faults."""

    tags: Bytes
    gaps: Bytes
    bundle: Ints
    band: Bytes
    profile: Profile


def with_faults(source: LearningSource, s: int, faults: FaultSettings, rng: np.random.Generator) -> FaultyExample:
    """A sentence of a source, with a profile of it, and faults at random."""
    text = source.text
    low, high = text.start[s], text.start[s + 1]
    tags, bundle, gaps, band = (
        text.tags[low:high],
        text.bundle[low:high],
        text.gaps_of(s),
        text.band[low:high],
    )
    profile = source.profiles[int(rng.integers(len(source.profiles)))]
    if rng.random() < 0.5:
        wrong = np.flatnonzero(rng.random(len(tags)) < 2 * faults.wrong_tags)
        tags, bundle = tags.copy(), bundle.copy()
        tags[wrong] = text.tags[rng.integers(0, len(text.tags), len(wrong))]
        bundle[wrong[rng.random(len(wrong)) < 0.5]] = 0
    if rng.random() < faults.no_features:
        bundle, profile = np.zeros_like(bundle), source.featureless
    if rng.random() < faults.no_punctuation:
        gaps = np.zeros_like(gaps)
    if rng.random() < faults.no_frequencies:
        band = np.zeros_like(band)
    return FaultyExample(tags, gaps, bundle, band, profile)


def batch_of(
    sources: Sequence[LearningSource],
    members: Sequence[tuple[int, int]],
    faults: FaultSettings,
    rng: np.random.Generator,
) -> LearningBatch:
    """The batch of these equally long sentences, each (source, sentence)."""
    examples = [with_faults(sources[k], s, faults, rng) for k, s in members]
    texts = [sources[k].text for k, _ in members]
    coded = [coded_arcs(e.tags, e.gaps, e.bundle, text.agreeing) for e, text in zip(examples, texts)]
    codes, rows = (np.stack(each) for each in zip(*coded))
    features = np.stack([text.features[e.bundle] for e, text in zip(examples, texts)])  # (B, n, F)
    gaps = np.stack([e.gaps.astype(np.int64) for e in examples])
    assert all(text.heads is not None and text.relations is not None for text in texts)
    places = [slice(text.start[s], text.start[s + 1]) for text, (_, s) in zip(texts, members)]
    targets = [sources[k].targets[s] for k, s in members if sources[k].targets]
    return LearningBatch(
        np.stack([e.tags.astype(np.int64) for e in examples], 1),
        features.transpose(2, 1, 0).reshape(features.shape[2], -1),
        gap_pairs(gaps[:, :-1], gaps[:, 1:]).T,
        np.stack([e.band.astype(np.int64) for e in examples], 1),
        np.stack([e.profile.numbers for e in examples], 1),
        together(codes, rows, [e.profile.pairs for e in examples]),
        np.stack([text.heads[place] for text, place in zip(texts, places)]),  # type: ignore[index]
        np.stack([text.relations[place] for text, place in zip(texts, places)]),  # type: ignore[index]
        np.concatenate(targets).T.astype(np.float32) if targets else None,
    )


def coded_arcs(tags: Bytes, gaps: Bytes, bundle: Ints, agreeing: Ints) -> tuple[Ints, Ints]:
    """A sentence's arcs (n, n + 1) by dependent and head: flags, a bit each; rows of the table of pairs."""
    n = len(tags)
    codes, rows = np.zeros((n, n + 1), np.int64), np.zeros((n, n + 1), np.int64)
    words = tuple(np.ascontiguousarray(array) for array in (tags, gaps, bundle))
    CODE_ARCS(*words, agreeing, *workspace(n), codes, rows, work=WORK_TO_COMPILE)
    return codes, rows


def together(codes: Ints, rows: Ints, pairs: Sequence[Floats32]) -> ArcBatch:
    """The arcs (B, n, n + 1) of sentences, each of which has its own numbers of pairs of tags."""
    flags, flags_of = np.unique(codes.ravel(), return_inverse=True)
    n_numbers = pairs[0].shape[-1]
    n_pairs = pairs[0].size // n_numbers
    of_sentence = rows // DISTANCES + n_pairs * np.arange(len(rows))[:, None, None]
    known, numbers_of = np.unique(of_sentence.ravel(), return_inverse=True)
    tables = np.concatenate([table.reshape(n_pairs, n_numbers) for table in pairs])
    return ArcBatch(flags, flags_of, tables[known].T, numbers_of, rows.ravel())

"""Batches of equally long sentences to learn from, some with faults that taggers and annotators
make.

Letters: B sentences of n words in a batch; F features; U numbers of a text; K numbers of a pair of
tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.system.array_types import Bytes, Floats32, Ints
from dynet_vdgi.system.jit import WORK_TO_COMPILE
from dynet_vdgi.universal.arc_flags import CODE_ARCS, DISTANCES, ArcWords, ArcWorkspace
from dynet_vdgi.universal.encoding import CodedText, gap_pairs
from dynet_vdgi.universal.learn.invented import FaultSettings
from dynet_vdgi.universal.typology import Profile

SHORTEST = 2
"""Words of the shortest sentence to learn from: the only word of a sentence is its root."""


@dataclass(frozen=True)
class LearningSource:
    """A treebank to learn from: its sentences, and profiles, with standardised numbers once all are
    measured.

    The first profile is that of the whole text, the others are of samples. `featureless` is that of
    the text without features.
    """

    text: CodedText
    profiles: Sequence[Profile]
    featureless: Profile
    # (n, n + 1) for each sentence: probabilities of heads
    targets: Sequence[NDArray[np.float16]] = ()


@dataclass(frozen=True)
class ArcBatch:
    """The arcs of a batch in order of sentence, dependent, head; each distinct value once."""

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
    # (n + 1, B * n): probabilities of heads that are learnt besides
    targets: Floats32 | None = None


def random_batches(
    sources: Sequence[LearningSource], words: int, size: int, longest: int, rng: np.random.Generator
) -> Iterator[list[tuple[int, int]]]:
    """Batches of (source, sentence) in random order, about `size` words each.

    They go once through a sample of every treebank: sentences of up to `longest` words, at random,
    until they have this many `words`.
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


def with_faults(
    source: LearningSource, s: int, faults: FaultSettings, rng: np.random.Generator
) -> FaultyExample:
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
    coded = [
        coded_arcs(e.tags, e.gaps, e.bundle, text.agreeing) for e, text in zip(examples, texts)
    ]
    codes, rows = (np.stack(each) for each in zip(*coded))
    features = np.stack([text.features[e.bundle] for e, text in zip(examples, texts)])  # (B, n, F)
    gaps = np.stack([e.gaps.astype(np.int64) for e in examples])
    heads, relations = [], []
    for text, (_, s) in zip(texts, members):
        assert text.heads is not None
        assert text.relations is not None
        words = slice(text.start[s], text.start[s + 1])
        heads.append(text.heads[words])
        relations.append(text.relations[words])
    targets = [sources[k].targets[s] for k, s in members if sources[k].targets]
    return LearningBatch(
        np.stack([e.tags.astype(np.int64) for e in examples], 1),
        features.transpose(2, 1, 0).reshape(features.shape[2], -1),
        gap_pairs(gaps[:, :-1], gaps[:, 1:]).T,
        np.stack([e.band.astype(np.int64) for e in examples], 1),
        np.stack([e.profile.numbers for e in examples], 1),
        batch_of_arcs(codes, rows, [e.profile.pairs for e in examples]),
        np.stack(heads),
        np.stack(relations),
        np.concatenate(targets).T.astype(np.float32) if targets else None,
    )


def coded_arcs(tags: Bytes, gaps: Bytes, bundle: Ints, agreeing: Ints) -> tuple[Ints, Ints]:
    """A sentence's arcs (n, n + 1) by dependent and head: flags, a bit each; rows of the table of
    pairs."""
    n = len(tags)
    codes, rows = np.zeros((n, n + 1), np.int64), np.zeros((n, n + 1), np.int64)
    words = ArcWords.of_certain(tags, bundle, agreeing, gaps)
    CODE_ARCS(words, ArcWorkspace.of(n), codes, rows, work=WORK_TO_COMPILE)
    return codes, rows


def batch_of_arcs(codes: Ints, rows: Ints, pairs: Sequence[Floats32]) -> ArcBatch:
    """The arcs (B, n, n + 1) of sentences, each of which has its own numbers of pairs of tags."""
    flags, flags_of = np.unique(codes.ravel(), return_inverse=True)
    n_numbers = pairs[0].shape[-1]
    n_pairs = pairs[0].size // n_numbers
    of_sentence = rows // DISTANCES + n_pairs * np.arange(len(rows))[:, None, None]
    distinct_pairs, numbers_of = np.unique(of_sentence.ravel(), return_inverse=True)
    tables = np.concatenate([table.reshape(n_pairs, n_numbers) for table in pairs])
    return ArcBatch(flags, flags_of, tables[distinct_pairs].T, numbers_of, rows.ravel())

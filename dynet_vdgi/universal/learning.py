"""Learning the universal parser from treebanks of many languages."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.compiled.machine_code import ALWAYS
from dynet_vdgi.universal.channels import CODE_ARCS, DISTANCES, MOST_FLAGS, PAIR_NUMBERS
from dynet_vdgi.universal.encoding import N_TAGS, Encoded
from dynet_vdgi.universal.typology import Profile

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
logger = logging.getLogger("dynet_vdgi")


@dataclass(frozen=True)
class LearningSettings:
    updates: int = 2000
    batch: int = 600
    words: int = 3000
    longest: int = 30
    rate: float = 3e-3
    relations: float = 0.3
    noise: float = 0.0
    featureless: float = 0.15
    unpunctuated: float = 0.05
    unlisted: float = 0.3
    dropout: bool = True
    power: float = 0.0


@dataclass(frozen=True)
class Source:
    """A treebank to learn from: its sentences and profiles of samples of its text, the first of all of it."""

    text: Encoded
    profiles: Sequence[Profile]  # numbers standardised
    featureless: Profile


def arcs_of(
    tags: NDArray[np.int8], gaps: NDArray[np.int8], bundle: Ints, agreeing: Ints
) -> tuple[Ints, Ints]:
    """Flags, a bit each, and rows of the table of pairs of a sentence's arcs, by dependent and head (n, n + 1)."""
    n = len(tags)
    codes, rows = np.zeros((n, n + 1), np.int64), np.zeros((n, n + 1), np.int64)
    room = np.zeros((n + 1, N_TAGS), np.int64), np.zeros((n + 2, 2), np.int64), np.zeros(MOST_FLAGS, np.int64)
    CODE_ARCS(tags, gaps, bundle, agreeing, *room, codes, rows, work=ALWAYS)
    return codes, rows


def together(codes: Ints, rows: Ints, pairs: Sequence[Floats]) -> Any:
    """The arcs (B, n, n + 1) of sentences, each of which has its own numbers of pairs of tags."""
    from dynet_vdgi.universal.network import Arcs

    flags, flags_of = np.unique(codes.ravel(), return_inverse=True)
    n_kinds = pairs[0].size // PAIR_NUMBERS
    kinds = rows // DISTANCES + n_kinds * np.arange(len(rows))[:, None, None]
    known, numbers_of = np.unique(kinds.ravel(), return_inverse=True)
    numbers = np.empty((PAIR_NUMBERS, len(known)), np.float32)
    for sentence, table in enumerate(pairs):
        its = known // n_kinds == sentence
        numbers[:, its] = table.reshape(-1, PAIR_NUMBERS)[known[its] % n_kinds].T
    return Arcs(flags, flags_of, numbers, numbers_of, rows.ravel())


def drawn(sources: Sequence[Source], settings: LearningSettings, rng: np.random.Generator) -> Iterator[list[tuple[int, int]]]:
    """Batches of (source, sentence), of equally long sentences, once through a sample of every treebank."""
    by_length: dict[int, list[tuple[int, int]]] = {}
    for k, source in enumerate(sources):
        lengths, n_words = source.text.lengths, 0
        total = lengths[(lengths >= 2) & (lengths <= settings.longest)].sum()
        most = settings.words * (max(1.0, total / settings.words) ** settings.power)
        for s in rng.permutation(len(lengths)):
            if 2 <= lengths[s] <= settings.longest:
                by_length.setdefault(int(lengths[s]), []).append((k, int(s)))
                n_words += lengths[s]
                if n_words >= most:
                    break
    batches = []
    for n, members in sorted(by_length.items()):
        members = [members[i] for i in rng.permutation(len(members))]
        size = max(1, settings.batch // n)
        batches += [members[i : i + size] for i in range(0, len(members), size)]
    for i in rng.permutation(len(batches)):
        yield batches[i]


def batch_of(
    sources: Sequence[Source],
    members: Sequence[tuple[int, int]],
    settings: LearningSettings,
    rng: np.random.Generator,
) -> Any:
    from dynet_vdgi.universal.network import Batch

    pairs: list[Floats] = []
    columns: dict[str, list[Any]] = {name: [] for name in ("tags", "features", "gaps", "band", "numbers", "codes", "rows", "heads", "relations")}
    for k, s in members:
        source = sources[k]
        text = source.text
        low, high = text.start[s], text.start[s + 1]
        tags, bundle, gaps, band = text.tags[low:high], text.bundle[low:high], text.gaps_of(s), text.band[low:high]
        profile = source.profiles[rng.integers(len(source.profiles))]
        numbers = profile.numbers
        if settings.noise and rng.random() < 0.5:
            hit = np.flatnonzero(rng.random(len(tags)) < 2 * settings.noise)
            tags, bundle = tags.copy(), bundle.copy()
            tags[hit] = text.tags[rng.integers(0, len(text.tags), len(hit))]
            bundle[hit[rng.random(len(hit)) < 0.5]] = 0
        if rng.random() < settings.featureless:
            bundle = np.zeros_like(bundle)
            if rng.random() < 0.7:
                numbers = source.featureless.numbers
        if rng.random() < settings.unpunctuated:
            gaps = np.zeros_like(gaps)
        if rng.random() < settings.unlisted:
            band = np.zeros_like(band)
        codes, rows = arcs_of(np.ascontiguousarray(tags), np.ascontiguousarray(gaps), np.ascontiguousarray(bundle), text.agreeing)
        pairs.append(profile.pairs)
        assert text.heads is not None and text.relations is not None
        for name, value in (("tags", tags), ("features", text.features[bundle]), ("gaps", gaps[:-1] * 4 + gaps[1:]), ("band", band), ("numbers", numbers), ("codes", codes), ("rows", rows), ("heads", text.heads[low:high]), ("relations", text.relations[low:high])):
            columns[name].append(value)
    a = {name: np.stack(values) for name, values in columns.items()}
    n, f = a["tags"].shape[1], a["features"].shape[2]
    return Batch(
        a["tags"].T.astype(np.int64),
        a["features"].transpose(2, 1, 0).reshape(f, -1),
        a["gaps"].T.astype(np.int64),
        a["band"].T.astype(np.int64),
        a["numbers"].T,
        together(a["codes"], a["rows"], pairs),
        a["heads"],
        a["relations"],
    )


def learn(
    sources: Sequence[Source],
    sizes: Any,
    settings: LearningSettings,
    seed: int,
    log: Callable[[str], None] = logger.info,
) -> Any:
    """The weights of a network."""
    import dynet as dy

    from dynet_vdgi.universal.network import Network, batched

    network = Network(sizes, seed)
    dy.reset_random_seed(seed)
    rng = np.random.default_rng(seed)
    trainer = dy.AdamTrainer(network.collection, settings.rate, 0.9, 0.98, 1e-8)
    trainer.set_clip_threshold(5.0)
    update, start = 0, time.process_time()
    total = n_words = 0.0
    while update < settings.updates:
        for members in drawn(sources, settings, rng):
            if update >= settings.updates:
                break
            batch = batch_of(sources, members, settings, rng)
            dy.renew_cg()
            scores, relations = network.scores(batch, drop=settings.dropout)
            count = batch.heads.size
            arcs = dy.sum_batches(dy.pickneglogsoftmax_batch(scores, batch.heads.ravel().tolist()))
            known = (batch.relations.ravel() >= 0).astype(np.float32)
            of_relations = dy.sum_batches(
                dy.cmult(
                    dy.pickneglogsoftmax_batch(relations, np.maximum(batch.relations.ravel(), 0).tolist()),
                    batched(known[None]),
                )
            )
            loss = (arcs + of_relations * settings.relations) * (1.0 / count)
            value = loss.value()
            loss.backward()
            left = 1 - update / settings.updates
            trainer.learning_rate = settings.rate * min(1.0, (update + 1) / 100) * max(0.02, left)
            trainer.update()
            update += 1
            total += value * count
            n_words += count
            if update % 100 == 0:
                log(f"update {update}: loss {total / n_words:.4f}, {time.process_time() - start:.0f} CPU s")
                total = n_words = 0.0
    return network

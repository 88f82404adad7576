"""Learning the universal parser from treebanks of many languages."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.messages import count
from dynet_vdgi.universal.encoding import CodedText, band_of_forms, encode, known_features
from dynet_vdgi.universal.layer_sizes import LayerSizes
from dynet_vdgi.universal.learn.batches import SHORTEST, LearningSource, batch_of, random_batches
from dynet_vdgi.universal.learn.invented import orders, reorder
from dynet_vdgi.universal.learn.learning_settings import LearningSettings
from dynet_vdgi.universal.model_table import table_to_learn_under
from dynet_vdgi.universal.scorer import Scorer, TextScorer, by_sentence
from dynet_vdgi.universal.text_teacher import decode, teach_text
from dynet_vdgi.universal.typology import Profile

if TYPE_CHECKING:
    from dynet_vdgi.universal.learn.arc_network import UniversalNetwork

logger = logging.getLogger("dynet_vdgi")

TEXT = 1_500
"""Sentences of a treebank that are measured and learnt from."""

SAMPLES, SAMPLE = 5, 250
"""Samples of a text that are measured besides the whole, and their sentences: few, because texts
may be small."""

LEAST_SCALE = 0.05
"""Added to the standard deviation of each number of a text."""

INVENTED, INVENTED_LONGEST, LENDERS = 200, 25, 80
"""Sentences of an invented treebank, their most words, and the fewest sentences of what it is made
from."""

TOGETHER = 100
"""Sentences that are scored together."""

WARMING = 100
"""Updates in which the rate rises to its height."""


@dataclass(frozen=True)
class GoldTreebank:
    """Gold trees of a language; treebanks of one branch do not lend one another their order of
    words."""

    name: str
    sentences: Sequence[Sentence]
    branch: str = ""


def check(treebanks: Sequence[GoldTreebank], settings: LearningSettings) -> None:
    """Raises: DataError, a treebank has no sentence of two words or more to learn from."""
    for treebank in treebanks:
        if not any(SHORTEST <= len(s) <= settings.longest for s in treebank.sentences):
            raise DataError(
                treebank.name, None, f"no sentence of {SHORTEST} to {settings.longest} words"
            )


def learn(treebanks: Sequence[GoldTreebank], settings: LearningSettings, seed: int = 1) -> Scorer:
    """The scorer that these treebanks teach. Equal arguments give equal weights, bit for bit.

    Raises: DataError, as `check`.
    """
    check(treebanks, settings)
    rng = np.random.default_rng([seed, 0])
    features = known_features(
        [treebank.sentences for treebank in treebanks], min(4, len(treebanks))
    )
    table = table_to_learn_under()
    real = [learning_source(treebank.sentences, features, rng, table) for treebank in treebanks]
    invented = [
        each
        for _ in range(settings.invented)
        for each in _invented(treebanks, real, features, rng, table)
    ]
    logger.info(
        "%s and %s, %s",
        count(len(real), "treebank"),
        count(len(invented), "invented one"),
        count(len(features), "feature"),
    )
    numbers = np.array([each.profiles[0].numbers for each in real])
    mean, scale = numbers.mean(0), numbers.std(0) + np.float32(LEAST_SCALE)
    start = Scorer(features, mean, scale, {}, table)
    sources = [
        replace(
            each,
            profiles=[start.standardised_profile(profile) for profile in each.profiles],
            featureless=start.standardised_profile(each.featureless),
        )
        for each in real + invented
    ]
    sizes = LayerSizes(len(features), len(mean), hidden=settings.hidden)
    return distil(start, sources, sizes, settings, seed)


def distil(
    start: Scorer,
    sources: Sequence[LearningSource],
    sizes: LayerSizes,
    settings: LearningSettings,
    seed: int,
) -> Scorer:
    """A scorer that has learnt from the gold heads and from the mean of networks that differ in
    their seeds.

    Single networks differ by many points in single languages. Their mean is steadier, but slower.
    """
    members = []
    for k in range(settings.members):
        logger.info("network %d of %d", k + 1, settings.members)
        member = train_network(sources, sizes, settings, seed + k)
        members.append(replace(start, weights=member.arrays()))
    if settings.members == 1:
        return members[0]
    logger.info("their mean")
    teachers = [replace(source, targets=_mean_probabilities(members, source)) for source in sources]
    network = train_network(teachers, sizes, settings, seed + settings.members)
    return replace(start, weights=network.arrays())


def _mean_probabilities(
    members: Sequence[Scorer], source: LearningSource
) -> list[NDArray[np.float16]]:
    """Probabilities (n, n + 1) of the heads of each sentence's words, by its whole text's
    profile."""
    parsers = [TextScorer(member, source.profiles[0]) for member in members]
    result: list[NDArray[np.float16]] = []
    for first in range(0, len(source.text), TOGETHER):
        part = source.text.part(np.arange(first, min(first + TOGETHER, len(source.text))))
        total = sum(np.exp(parser.log_probabilities(part)) for parser in parsers) / np.float32(
            len(parsers)
        )
        result += [matrix.T.astype(np.float16) for matrix in by_sentence(total, part.lengths)]
    return result


def learning_source(
    sentences: Sequence[Sentence], features: tuple[str, ...], rng: np.random.Generator, table: str
) -> LearningSource:
    """A sample of a treebank with the profiles of its text and of smaller texts, not standardised
    yet.

    `table` is the text of the rule table of the teachers of these texts.
    """
    bands = band_of_forms(sentences)
    chosen = np.sort(rng.permutation(len(sentences))[:TEXT])
    text = encode([sentences[k] for k in chosen], features, bands)
    samples = [rng.integers(0, len(text), min(len(text), SAMPLE)) for _ in range(SAMPLES)]
    _, arcs = teach_text(decode(text, features), text, table)
    profiles = [
        Profile.of(text.part(part), features, arcs[part].sum(0))
        for part in (np.arange(len(text)), *samples)
    ]
    return LearningSource(text, profiles, _featureless(text, features, table))


def _profile_of(text: CodedText, features: tuple[str, ...], table: str) -> Profile:
    _, arcs = teach_text(decode(text, features), text, table)
    return Profile.of(text, features, arcs.sum(0))


def _featureless(text: CodedText, features: tuple[str, ...], table: str) -> Profile:
    return _profile_of(replace(text, bundle=np.zeros_like(text.bundle)), features, table)


def _invented(
    treebanks: Sequence[GoldTreebank],
    real: Sequence[LearningSource],
    features: tuple[str, ...],
    rng: np.random.Generator,
    table: str,
) -> list[LearningSource]:
    """A treebank from each large one, in the orders of one or two others of other branches."""
    large = [k for k, each in enumerate(real) if len(each.text) >= LENDERS]
    lent = {k: orders(real[k].text) for k in large}
    result = []
    for k in large:
        others = [
            o
            for o in large
            if o != k and (not treebanks[k].branch or treebanks[o].branch != treebanks[k].branch)
        ]
        if not others:
            continue
        of_verbs = others[rng.integers(len(others))]
        of_nouns = of_verbs if rng.random() < 0.5 else others[rng.integers(len(others))]
        text = real[k].text
        short = [
            s for s in rng.permutation(len(text)) if SHORTEST <= text.lengths[s] <= INVENTED_LONGEST
        ]
        if not short:
            continue
        new = reorder(text.part(np.sort(short[:INVENTED])), lent[of_verbs], lent[of_nouns], rng)
        profile = _profile_of(new, features, table)
        result.append(LearningSource(new, [profile], _featureless(new, features, table)))
    return result


def train_network(
    sources: Sequence[LearningSource], sizes: LayerSizes, settings: LearningSettings, seed: int
) -> UniversalNetwork:
    """A network after the last update."""
    from dynet_vdgi.system.dynet_setup import dy
    from dynet_vdgi.universal.learn.arc_network import UniversalNetwork

    rng = np.random.default_rng([seed, 1])
    network = UniversalNetwork(sizes, seed)
    dy.reset_random_seed(seed)
    trainer = dy.AdamTrainer(network.collection, settings.rate, 0.9, 0.98, 1e-8)
    trainer.set_clip_threshold(5.0)
    update, start, total, n_words = 0, time.process_time(), 0.0, 0
    while update < settings.updates:
        for members in random_batches(
            sources, settings.words, settings.batch, settings.longest, rng
        ):
            if update == settings.updates:
                break
            batch = batch_of(sources, members, settings, rng)
            dy.renew_cg()
            loss = network.loss(batch, settings.relations, settings.soft)
            total += loss.value() * batch.heads.size
            loss.backward()
            falling = max(0.02, 1 - update / settings.updates)
            trainer.learning_rate = settings.rate * min(1.0, (update + 1) / WARMING) * falling
            trainer.update()
            update += 1
            n_words += batch.heads.size
            if update % 100 == 0:
                seconds = time.process_time() - start
                logger.info(
                    "update %d: loss %.4f a word, %.0f CPU s", update, total / n_words, seconds
                )
                total, n_words = 0.0, 0
    return network

"""The universal parser's network: DyNet in batches, DyNet arc by arc, and NumPy give the same
numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from dynet_vdgi.conllu import filtering, protocols, reading
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.universal.encoding import RELATIONS, band_of_forms, encode, known_features
from dynet_vdgi.universal.layer_sizes import LayerSizes
from dynet_vdgi.universal.learn.arc_network import UniversalNetwork, dy
from dynet_vdgi.universal.learn.batches import LearningSource, batch_of, random_batches, with_faults
from dynet_vdgi.universal.learn.invented import FaultSettings
from dynet_vdgi.universal.model_table import table_to_learn_under
from dynet_vdgi.universal.scorer import Scorer, TextScorer
from dynet_vdgi.universal.text_teacher import teach_text
from dynet_vdgi.universal.typology import Profile
from tests import universal_reference

NO_FAULTS = FaultSettings(wrong_tags=0.0, no_features=0.0, no_punctuation=0.0, no_frequencies=0.0)


@pytest.fixture(scope="module")
def sentences() -> list[Any]:
    read = reading.read(resources() / "demo" / "demo-ud-train.conllu", heads="required")
    return list(filtering.prepare(read, protocols.STANDARD).sentences)[:80]


@pytest.fixture(scope="module")
def source(sentences: list[Any]) -> LearningSource:
    features = known_features([sentences], 1)
    text = encode(sentences, features, band_of_forms(sentences))
    profile = Profile.of(
        text, features, teach_text(sentences, text, table_to_learn_under())[1].sum(0)
    )
    return LearningSource(text, [profile], profile)


@pytest.fixture(scope="module")
def network(source: LearningSource) -> UniversalNetwork:
    sizes = LayerSizes(
        source.text.features.shape[1], len(source.profiles[0].numbers), hidden=5, arc=6, relation=4
    )
    made = UniversalNetwork(sizes, seed=1)
    rng = np.random.default_rng(0)
    for name, array in made.arrays().items():
        if not array.any():  # so that every part counts
            made.set(name, rng.normal(0.0, 0.3, array.shape))
    return made


def of_length(source: LearningSource, n: int, most: int = 3) -> list[tuple[int, int]]:
    return [(0, int(s)) for s in np.flatnonzero(source.text.lengths == n)[:most]]


def gradients(network: UniversalNetwork) -> dict[str, np.ndarray]:
    found = {name: np.array(p.grad_as_array()) for name, p in network.parameters.items()}
    for parameter in network.parameters.values():
        parameter.scale_gradient(0.0)
    return found


@pytest.mark.parametrize("n", [2, 4, 6])
def test_batches_have_the_scores_and_gradients_of_single_arcs(source, network, n):
    members = of_length(source, n)
    assert len(members) > 1
    batch = batch_of([source], members, NO_FAULTS, np.random.default_rng(0))
    dy.renew_cg()
    scores, _ = network.scores(batch)
    found = scores.npvalue().T.reshape(len(members), n, n + 1)
    loss = network.loss(batch, 0.0, drop=False)
    value = loss.value()
    loss.backward()
    ours = gradients(network)

    dy.renew_cg(autobatching=True)
    rng = np.random.default_rng(0)
    examples = [with_faults(source, s, NO_FAULTS, rng) for _, s in members]
    expected = [universal_reference.scores(network, source.text, example) for example in examples]
    losses = [
        dy.pickneglogsoftmax(row, int(head))
        for rows, heads in zip(expected, batch.heads)
        for row, head in zip(rows, heads)
    ]
    reference = dy.esum(losses) * (1.0 / len(losses))
    assert value == pytest.approx(reference.value(), rel=1e-5)
    for k, rows in enumerate(expected):
        for d, row in enumerate(rows):
            np.testing.assert_allclose(found[k, d], row.npvalue(), atol=2e-5)
    reference.backward()
    theirs = gradients(network)
    for name, gradient in ours.items():
        scale = np.abs(theirs[name]).max()
        np.testing.assert_allclose(gradient, theirs[name], atol=1e-5 + 1e-4 * scale, err_msg=name)
        assert scale > 0 or name.startswith("relation"), name


def test_targets_are_learnt_beside_gold_heads(source, network):
    members = of_length(source, 4)
    batch = batch_of([source], members, NO_FAULTS, np.random.default_rng(0))
    dy.renew_cg()
    plain = network.loss(batch, 0.3, drop=False).value()
    as_gold = np.eye(5, dtype=np.float32)[batch.heads.ravel()].T
    same = network.loss(replace(batch, targets=as_gold), 0.3, 0.5, drop=False).value()
    assert same == pytest.approx(plain, rel=1e-5)
    scores, _ = network.scores(batch)
    log_p = dy.log_softmax(scores).npvalue().reshape(5, -1)
    others = np.tile(np.arange(1, 5), len(members))  # the word itself
    targets = np.full((5, log_p.shape[1]), 0.25, np.float32)
    targets[others, np.arange(len(others))] = 0.0
    possible = targets > 0
    expected = -(targets[possible] * log_p[possible]).sum() / log_p.shape[1]
    assert network.loss(
        replace(batch, targets=targets), 0.0, 1.0, drop=False
    ).value() == pytest.approx(expected, rel=1e-4)


def test_the_parser_has_the_probabilities_of_the_network(sentences, source, network):
    features = known_features([sentences], 1)
    zeros = np.zeros(len(source.profiles[0].numbers), np.float32)
    parser = TextScorer(
        Scorer(features, zeros, zeros + 1, network.arrays(), ""),
        source.profiles[0],
        band_of_forms(sentences),
    )
    for n in (1, 2, 5, 7):
        members = of_length(source, n)
        if not members:
            continue
        batch = batch_of([source], members, NO_FAULTS, np.random.default_rng(0))
        dy.renew_cg()
        scores, relations = network.scores(batch)
        expected = (
            dy.log_softmax(scores).npvalue().reshape(n + 1, -1).T.reshape(len(members), n, n + 1)
        )
        text = source.text.part(np.array([s for _, s in members]))
        found = parser.log_probabilities(text).reshape(len(members), n + 1, n)
        possible = expected > -20  # a word is not its own head
        np.testing.assert_allclose(
            found.transpose(0, 2, 1)[possible], expected[possible], atol=2e-5
        )
        assert text.heads is not None
        of_arcs = relations.npvalue().reshape(len(RELATIONS), -1).T
        np.testing.assert_allclose(parser.relations(text, text.heads), of_arcs, atol=2e-5)


def test_sentences_of_any_length_are_scored_together_as_alone(source, network, sentences):
    features = known_features([sentences], 1)
    zeros = np.zeros(len(source.profiles[0].numbers), np.float32)
    parser = TextScorer(
        Scorer(features, zeros, zeros + 1, network.arrays(), ""), source.profiles[0]
    )
    text = parser.encode(sentences[:20])
    together = parser.log_probabilities(text)
    alone = [parser.log_probabilities(parser.encode([sentence])) for sentence in sentences[:20]]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=2e-5)


def test_a_batch_goes_through_every_sentence_once(source):
    members = [
        m
        for batch in random_batches([source], 10**9, 40, 30, np.random.default_rng(1))
        for m in batch
    ]
    lengths = source.text.lengths
    assert sorted(s for _, s in members) == [
        s for s in range(len(lengths)) if 2 <= lengths[s] <= 30
    ]


def test_faults_change_what_they_say(source):
    rng = np.random.default_rng(0)
    sure = with_faults(
        source,
        3,
        FaultSettings(wrong_tags=0.0, no_features=1.0, no_punctuation=1.0, no_frequencies=1.0),
        rng,
    )
    for column in (sure.bundle, sure.gaps, sure.band):
        assert not column.any()
    plain = with_faults(source, 3, NO_FAULTS, rng)
    low, high = source.text.start[3], source.text.start[4]
    assert (plain.tags == source.text.tags[low:high]).all()
    n_words = n_wrong = 0
    for s in range(len(source.text)):
        for _ in range(20):
            found = with_faults(source, s, msgspec.structs.replace(NO_FAULTS, wrong_tags=0.25), rng)
            n_words += len(found.tags)
            n_wrong += int(
                (
                    found.tags != source.text.tags[source.text.start[s] : source.text.start[s + 1]]
                ).sum()
            )
    assert 0.12 < n_wrong / n_words < 0.25  # some are random_batches right

"""The lockstep engine computes what the reference engine does: scores, gradients, the law of its
samples."""

from __future__ import annotations

import brute_force
import dynet as dy
import numpy as np
import pytest
from networks import gradients, network, relative_difference, sentence

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.paper import lockstep, per_sentence
from dynet_vdgi.paper.network import forcing, new_graph, sample_actions
from dynet_vdgi.paper.settings import TrainSettings

EITHER = pytest.mark.parametrize("merge", [True, False])
LEXICALISED_OR_NOT = pytest.mark.parametrize("word_dim", [0, 3])


def reference(net, texts, actions, w, v, training=False):
    """Loss, scores (2, N) and gradients by the reference engine, sentence by sentence; `actions`
    (N, T)."""
    copies, loss, scores = len(actions) // len(texts), 0.0, []
    for b, text in enumerate(texts):
        m = slice(b * copies, (b + 1) * copies)
        new_graph(autobatch=False)
        drawn = per_sentence.derive_and_score(
            net, text, copies, forcing(actions[m]), training=training
        )
        loss += per_sentence.backward(drawn, w[m], v[m])
        scores.append((drawn.samples.log_q, drawn.samples.log_p))
    return loss, np.concatenate(scores, axis=1), gradients(net)


def in_lockstep(net, texts, actions, w, v, training=False, merge=True):
    """Loss, scores and gradients by the lockstep engine."""
    drawn = lockstep.derive_and_score(
        net, texts, len(actions) // len(texts), forcing(actions), training=training, merge=merge
    )
    loss = lockstep.backward(drawn, w, v)
    scores = np.concatenate([(samples.log_q, samples.log_p) for samples in drawn.samples], axis=1)
    return loss, scores, gradients(net)


def agree(one, two, tolerance=1e-4):
    """Losses, scores and the gradients of all parameters are the same."""
    assert two[0] == pytest.approx(one[0], rel=tolerance, abs=tolerance)
    assert np.allclose(one[1], two[1], rtol=0, atol=tolerance)
    assert relative_difference(one[2], two[2]) < tolerance


def some_actions(n, count, rng):
    """Random derivations (count, T) of sentences of n words, some of them equal."""
    every = brute_force.derivations(n)
    return [list(every[k][0]) for k in rng.integers(0, len(every), count)]


@pytest.mark.parametrize("mask_illegal", [True, False])
@LEXICALISED_OR_NOT
def test_scores_and_gradients_are_those_of_the_reference_engine(word_dim, mask_illegal):
    net = network(tag_dim=8, hidden_dim=8, word_dim=word_dim, mask_illegal=mask_illegal)
    for n in range(1, 8):
        rng = np.random.default_rng(n)
        texts = [sentence(n, seed) for seed in range(3)]
        actions = some_actions(n, 15, rng)
        w, v = rng.normal(size=15), rng.normal(size=15)
        expected = reference(net, texts, actions, w, v)
        for merge in (True, False):
            agree(expected, in_lockstep(net, texts, actions, w, v, merge=merge))


@LEXICALISED_OR_NOT
def test_dropout_is_that_of_the_reference_engine_given_the_same_random_numbers(word_dim):
    """Both engines draw one sample's masks in the same order, so that even its gradients can be
    compared."""
    net = network(hidden_dim=8, word_dim=word_dim, encoder_dropout=0.4, decoder_dropout=0.3)
    for n in (1, 2, 5):
        actions = some_actions(n, 1, np.random.default_rng(n))
        results = []
        for engine in (reference, in_lockstep, in_lockstep):
            dy.reset_random_seed(7 if len(results) < 2 else 8)
            results.append(
                engine(net, [sentence(n)], actions, np.ones(1), np.ones(1), training=True)
            )
        agree(*results[:2])
        assert abs(results[2][0] - results[1][0]) > 1e-3


@EITHER
def test_samples_are_scored_under_the_dropout_they_were_drawn_with(merge):
    net = network(encoder_dropout=0.5, decoder_dropout=0.5)
    choose, seen = sample_actions(np.random.default_rng(3)), np.zeros(20)

    def watched(step, samples, log_probabilities):
        values = log_probabilities()
        chosen = choose(step, samples, lambda: values)
        seen[samples] += values[np.arange(len(samples)), chosen]
        return chosen

    drawn = lockstep.derive_and_score(
        net, [sentence(5, 0), sentence(5, 1)], 10, watched, merge=merge
    )
    assert np.allclose(
        np.concatenate([samples.log_q for samples in drawn.samples]), seen, atol=1e-4
    )


def test_masks_are_bernoulli_scaled_and_independent():
    net = network(hidden_dim=16, decoder_dropout=0.25)
    layer, columns = net.decoder.state, 4000
    net.parameters.set("decoder/state/from_stack", np.zeros((16, 16)))
    dy.reset_random_seed(5)
    new_graph(autobatch=False)
    stack, ones = dy.zeros((16,), batch_size=columns), dy.zeros((16,), batch_size=columns) + 1.0
    embedded = [lockstep.state_embedding(layer, stack, ones, True) for _ in range(2)]
    first, second = (expression.npvalue() for expression in embedded)
    assert set(np.unique(first).tolist()) == {0.0, np.float32(1 / 0.75).item()}
    kept = first > 0
    assert kept.mean() == pytest.approx(0.75, abs=4.5 * np.sqrt(0.75 * 0.25 / first.size))
    assert kept.mean(axis=1) == pytest.approx(
        np.full(16, 0.75), abs=4.5 * np.sqrt(0.75 * 0.25 / columns)
    )
    # Independent: units of one column, neighbouring columns, and two nodes agree as often as chance
    # has it.
    chance = 0.75**2 + 0.25**2
    for one, other in ((kept[0], kept[1]), (kept[:, :-1], kept[:, 1:]), (kept, second > 0)):
        agreement = 4.5 * np.sqrt(chance * (1 - chance) / one.size)
        assert (one == other).mean() == pytest.approx(chance, abs=agreement)
    assert np.all(lockstep.state_embedding(layer, stack, ones, False).npvalue() == 1)


def test_samples_share_masks_where_they_share_rows_and_nowhere_else():
    net = network(encoder_dropout=0.5, decoder_dropout=0.5)
    dy.reset_random_seed(4)
    same = [list(brute_force.derivations(5)[60][0])] * 12
    weights = np.ones(12)
    merged = in_lockstep(net, [sentence(5)] * 2, same, weights, weights, training=True)[1]
    apart = in_lockstep(net, [sentence(5)] * 2, same, weights, weights, training=True, merge=False)[
        1
    ]
    for score in merged:
        assert len(set(score[:6].tolist())) == len(set(score[6:].tolist())) == 1
        assert score[0] != score[6]
    for score in apart:
        assert len(set(score.tolist())) > 9


@pytest.mark.parametrize("exponent", [1.0, 0.8])
@LEXICALISED_OR_NOT
def test_accumulate_is_that_of_the_reference_engine_for_one_sentence(word_dim, exponent):
    """From the same random numbers, without dropout: the same samples, scores and gradients."""
    net = network(word_dim=word_dim, encoder_dropout=0.0, decoder_dropout=0.0)
    settings = TrainSettings(samples=8, exponent=exponent)
    for n in (1, 2, 6):
        results = []
        for accumulate in (per_sentence.accumulate, lockstep.accumulate):
            samples = accumulate(net, [sentence(n)], rewards, np.random.default_rng(n), settings)[0]
            results.append((samples, gradients(net)))
        (one, first), (two, second) = results
        assert (one.actions, one.heads) == (two.actions, two.heads)
        assert np.allclose(one.log_q, two.log_q, atol=1e-4)
        assert np.allclose(one.log_p, two.log_p, atol=1e-4)
        assert relative_difference(first, second) < 1e-4


def rewards(text, samples):
    """Some phase: weights that depend on the sentence and on the scores."""
    score = samples.log_p - samples.log_q
    return (score - score.mean()) / 7 + text.tags[0], np.linspace(1, 2, len(score))


def test_accumulate_adds_the_mean_gradient_and_asks_the_phase_once_a_sentence_in_order():
    net = network(encoder_dropout=0.0, decoder_dropout=0.0)
    texts = [sentence(5, seed) for seed in (3, 1, 2)]
    asked = []

    def phase(text, samples):
        asked.append((text, samples, rewards(text, samples)))
        return asked[-1][2]

    result = lockstep.accumulate(
        net, texts, phase, np.random.default_rng(4), TrainSettings(samples=5)
    )
    together = gradients(net)
    assert [text for text, _, _ in asked] == texts
    assert all(samples is given for samples, (_, given, _) in zip(result, asked))
    actions = [a for samples in result for a in samples.actions]
    w, v = (np.concatenate([weights[k] for _, _, weights in asked]) for k in (0, 1))
    summed = reference(net, texts, actions, w, v)[2]
    mean = {name: gradient / 3 for name, gradient in summed.items()}
    assert relative_difference(mean, together) < 1e-4
    for _ in range(2):  # gradients add up
        lockstep.accumulate(net, texts, rewards, np.random.default_rng(4), TrainSettings(samples=5))
    assert (
        relative_difference({name: 2 * gradient for name, gradient in mean.items()}, gradients(net))
        < 1e-4
    )


@pytest.mark.parametrize("name", ["encoder/stack/lstm/input", "decoder/tags_bias"])
def test_what_is_not_finite_is_an_error_and_adds_no_gradient(name):
    net, rng = network(), np.random.default_rng(0)
    value = net.parameters.get(name)
    net.parameters.set(name, np.full_like(value, np.nan))
    with pytest.raises(VdgiError, match="training diverged"):
        lockstep.accumulate(net, [sentence(3)], rewards, rng, TrainSettings(samples=4))
    net.parameters.set(name, value)
    with pytest.raises(VdgiError, match="training diverged"):
        lockstep.accumulate(
            net,
            [sentence(3)],
            lambda *_: (np.full(4, np.inf), np.ones(4)),
            rng,
            TrainSettings(samples=4),
        )
    assert all(not gradient.any() for gradient in gradients(net).values())

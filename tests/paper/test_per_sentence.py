"""The reference engine: a distribution over derivations, the same by every path, with the right
gradients."""

from __future__ import annotations

import brute_force
import numpy as np
import pytest
from networks import WORDS, error_of_gradient, gradients, network, relative_difference, sentence

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.paper import per_sentence
from dynet_vdgi.paper.network import forcing, new_graph, sample_actions
from dynet_vdgi.paper.per_sentence import derive_and_score, greedy


@pytest.mark.parametrize("word_dim", [0, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_probabilities_of_all_derivations_sum_to_one(n, word_dim):
    net = network(word_dim=word_dim)
    actions = [a for a, _ in brute_force.derivations(n)]
    new_graph(autobatch=False)
    drawn = derive_and_score(net, sentence(n), len(actions), forcing(actions), training=False)
    assert np.exp(drawn.samples.log_q).sum() == pytest.approx(1.0, abs=1e-5)
    assert [tuple(h) for h in drawn.samples.heads] == [h for _, h in brute_force.derivations(n)]


def test_unmasked_softmax_loses_mass_as_the_released_code_does():
    net = network(scale=0.0, mask_illegal=False)
    for name in net.parameters.by_name:
        net.parameters.set(name, net.parameters.get(name) * 0)
    totals = []
    for n in range(1, 6):
        actions = [a for a, _ in brute_force.derivations(n)]
        new_graph(autobatch=False)
        totals.append(
            np.exp(
                derive_and_score(
                    net, sentence(n), len(actions), forcing(actions), training=False
                ).samples.log_q
            ).sum()
        )
    assert totals == pytest.approx([1, 0.667, 0.593, 0.560, 0.541], abs=5e-4)


@pytest.mark.parametrize("word_dim", [0, 3])
def test_joint_probabilities_of_all_sentences_and_derivations_sum_to_one(word_dim):
    n, tags = 3, ("N", "V")
    net = network(tags=tags, word_dim=word_dim)
    words = range(len(WORDS) + 1) if word_dim else [0]
    actions = [a for a, _ in brute_force.derivations(n)]
    total = 0.0
    for index in np.ndindex(*[2] * n, *[len(words)] * n):
        text = Encoded(tuple(t + 1 for t in index[:n]), tuple(words[w] for w in index[n:]))
        new_graph(autobatch=True)
        total += np.exp(
            derive_and_score(
                net, text, len(actions), forcing(actions), training=False
            ).samples.log_p
        ).sum()
    assert total == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("autobatch", [False, True])
def test_sampled_scores_are_those_of_the_forced_derivation(autobatch):
    net = network()
    for n in (2, 5, 9):
        new_graph(autobatch)
        drawn = derive_and_score(
            net, sentence(n), 20, sample_actions(np.random.default_rng(n)), training=False
        ).samples
        new_graph(False)
        again = derive_and_score(
            net, sentence(n), 20, forcing(drawn.actions), training=False
        ).samples
        assert again.actions == drawn.actions
        assert again.heads == drawn.heads
        assert np.allclose(again.log_q, drawn.log_q, rtol=1e-5, atol=1e-5)
        assert np.allclose(again.log_p, drawn.log_p, rtol=1e-5, atol=1e-5)


def test_sampling_follows_q():
    net, n, times = network(), 3, 4000
    actions = [a for a, _ in brute_force.derivations(n)]
    new_graph(False)
    q = np.exp(
        derive_and_score(
            net, sentence(n), len(actions), forcing(actions), training=False
        ).samples.log_q
    )
    new_graph(False)
    drawn = derive_and_score(
        net, sentence(n), times, sample_actions(np.random.default_rng(0)), training=False
    ).samples
    counts = np.array([sum(tuple(a) == b for a in drawn.actions) for b in actions])
    assert np.all(np.abs(counts - times * q) < 4.5 * np.sqrt(times * q * (1 - q)) + 1)


def test_tempered_sampling_follows_the_renormalised_power_at_every_step():
    net, times = network(scale=0.5), 4000
    new_graph(False)
    two = derive_and_score(
        net, sentence(2), 2, forcing([[0, 0, 1], [0, 0, 2]]), training=False
    ).samples
    power = np.exp(0.5 * two.log_q)
    expected = power / power.sum()
    new_graph(False)
    drawn = derive_and_score(
        net, sentence(2), times, sample_actions(np.random.default_rng(0), 0.5), training=False
    ).samples
    share = np.mean([a[2] == 1 for a in drawn.actions])
    assert share == pytest.approx(expected[0], abs=0.03)
    assert abs(expected[0] - np.exp(two.log_q[0])) > 0.06  # the power makes a difference here


def test_greedy_takes_the_best_legal_action_at_every_step():
    net, n = network(), 5
    text = sentence(n)
    best = per_sentence.parse(net.encoder, text)
    new_graph(False)
    derivation = per_sentence.derive(net.encoder, text, 1, greedy)[0][0]
    assert tuple(derivation[-1].state.heads) == best
    # Every one-step deviation has a lower local probability: compare prefixes by enumeration.
    prefix = [int(prefix.action) for prefix in derivation[1:]]
    all_actions = [a for a, _ in brute_force.derivations(n)]
    new_graph(False)
    log_q = derive_and_score(
        net, text, len(all_actions), forcing(all_actions), training=False
    ).samples.log_q
    mass = {}
    for actions, value in zip(all_actions, np.exp(log_q)):
        for t in range(len(actions)):
            mass[actions[: t + 1]] = mass.get(actions[: t + 1], 0.0) + value
    for t in range(len(prefix)):
        siblings = [mass.get((*prefix[:t], a), 0.0) for a in range(3)]
        assert siblings[prefix[t]] == max(siblings)


@pytest.mark.parametrize("word_dim", [0, 3])
def test_gradients_by_finite_differences(word_dim):
    # In float32 central differences are best at a step of about 1e-2, where they are good to about
    # 1e-2.
    net = network(scale=1.0, word_dim=word_dim)
    text, rng = sentence(4), np.random.default_rng(5)
    actions = [brute_force.derivations(4)[k][0] for k in (3, 17, 30)]
    w, v = rng.normal(size=3), rng.normal(size=3)

    def loss(add_gradient):
        new_graph(False)
        drawn = derive_and_score(net, text, 3, forcing(actions), training=False)
        if add_gradient:
            return per_sentence.backward(drawn, w, v)
        return float(-(w @ drawn.samples.log_q + v @ drawn.samples.log_p))

    loss(True)
    analytic = gradients(net)
    checked = set()
    for name, value in net.parameters.arrays().items():
        scale = max(np.abs(analytic[name]).max(), 0.05)
        largest = np.argsort(-np.abs(analytic[name].ravel()))[:2].tolist()
        for i in (*largest, int(rng.integers(value.size))):
            error = error_of_gradient(
                net, name, i, float(analytic[name].ravel()[i]), lambda: loss(False)
            )
            assert error < 1e-2 * scale, (name, i, error)
        checked.add(name)
    assert checked == set(net.parameters.by_name)


@pytest.mark.parametrize("word_dim", [0, 3])
def test_autobatching_changes_neither_scores_nor_gradients(word_dim):
    """Random sentences; equal losses alone would prove nothing."""
    net = network(tag_dim=8, hidden_dim=8, word_dim=word_dim)
    rng = np.random.default_rng(1)
    worst_score = worst_gradient = 0.0
    for k in range(12):
        text = sentence(int(rng.integers(2, 11)), seed=k)
        new_graph(False)
        actions = derive_and_score(
            net, text, 6, sample_actions(rng), training=False
        ).samples.actions
        w, v = rng.normal(size=6), rng.normal(size=6)
        results = []
        for autobatch in (False, True):
            new_graph(autobatch)
            drawn = derive_and_score(net, text, 6, forcing(actions), training=False)
            loss = per_sentence.backward(drawn, w, v)
            results.append(
                (np.concatenate([[loss], drawn.samples.log_q, drawn.samples.log_p]), gradients(net))
            )
        (scores, one), (batched_scores, two) = results
        worst_score = max(
            worst_score, np.max(np.abs(scores - batched_scores) / np.maximum(np.abs(scores), 1))
        )
        worst_gradient = max(worst_gradient, relative_difference(one, two))
    assert worst_score < 1e-4
    assert worst_gradient < 1e-4


@pytest.mark.parametrize("word_dim", [0, 3])
@pytest.mark.parametrize("autobatch", [False, True])
def test_what_derivations_share_changes_neither_scores_nor_gradients(autobatch, word_dim):
    """Derivations that begin alike, some of them equal, together and each in a graph of its own."""
    net, rng = network(tag_dim=8, hidden_dim=8, word_dim=word_dim), np.random.default_rng(2)
    for n in (1, 2, 5, 6):
        every = [list(actions) for actions, _ in brute_force.derivations(n)]
        actions = [every[k] for k in rng.integers(0, len(every), 12)]
        # of one sign, so that no gradient is small by cancellation
        w, v = rng.uniform(0.5, 1.5, (2, 12))
        new_graph(autobatch)
        together = derive_and_score(net, sentence(n), 12, forcing(actions), training=False)
        loss, shared = per_sentence.backward(together, w, v), gradients(net)
        apart, scores = 0.0, []
        for k in range(12):
            new_graph(False)
            alone = derive_and_score(net, sentence(n), 1, forcing([actions[k]]), training=False)
            apart += per_sentence.backward(alone, w[k : k + 1], v[k : k + 1])
            scores.append((alone.samples.log_q[0], alone.samples.log_p[0]))
        assert loss == pytest.approx(apart, rel=1e-4, abs=1e-4)
        assert np.allclose(
            (together.samples.log_q, together.samples.log_p), np.transpose(scores), atol=1e-4
        )
        assert relative_difference(gradients(net), shared) < 1e-4


@pytest.mark.parametrize("autobatch", [False, True])
def test_every_sample_draws_masks_of_its_own(autobatch):
    net = network(hidden_dim=16, encoder_dropout=0.5, decoder_dropout=0.5)
    new_graph(autobatch)
    same = [list(brute_force.derivations(5)[60][0])] * 12
    drawn = derive_and_score(net, sentence(5), 12, forcing(same), training=True).samples
    assert len(set(drawn.log_q.tolist())) == len(set(drawn.log_p.tolist())) == 12


def test_unknown_tags_can_be_parsed_but_not_generated():
    net = network()
    text = Encoded((1, 0, 2), (0, 0, 0))
    assert brute_force.is_tree(per_sentence.parse(net.encoder, text))
    new_graph(False)
    with pytest.raises(ValueError, match="unknown tag"):
        derive_and_score(net, text, 2, sample_actions(np.random.default_rng(0)))

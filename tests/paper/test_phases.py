"""Phases: the weights of samples written out, lambda and baseline updated with the networks,
REINFORCE."""

from __future__ import annotations

import math
import statistics
from itertools import product
from typing import Any

import brute_force
import networks
import numpy as np
import pytest
import tiny
from networks import (
    PARAMETERS,
    SENTENCE,
    assert_unbiased,
    enumerated,
    error_of_gradient,
    estimates,
    flat_network,
    gradients,
    written_out,
)

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.paper import lockstep, per_sentence
from dynet_vdgi.paper.baseline import Baseline
from dynet_vdgi.paper.layers import Parameters
from dynet_vdgi.paper.optimiser import AdaGrad
from dynet_vdgi.paper.per_sentence import Samples
from dynet_vdgi.paper.phases import Finetuning, Pretraining
from dynet_vdgi.paper.posterior import FixedLambda, RuleCounts, dual_gradient
from dynet_vdgi.paper.released import JointAdaGrad, JointBaseline, JointLambda
from dynet_vdgi.paper.scores import SCORES
from dynet_vdgi.paper.settings import FinetuneSettings, NeuralSettings, PosteriorSettings
from dynet_vdgi.paper.stages import Stage, first_lambda, optimiser_of, rule_counts, score_function
from dynet_vdgi.rule_tables.rules import parse_rules

TAGS = ("DET", "NOUN", "VERB")
RULES = parse_rules("ROOT VERB 0.75\nVERB NOUN 0.5\nNOUN DET 0.25\nNOUN NOUN 0.125")
M = 6

Floats = Any


def text(seed: int = 0, n: int = 4) -> Encoded:
    tags = np.random.default_rng([seed, 7]).permutation([3, 2, 1, 2, 1][:n])
    return Encoded(tuple(tags.tolist()), (0,) * n)


def made_up(seed: int = 0, n: int = 4, copies: int = M) -> Samples:
    """Samples of a sentence of n words with random trees and scores."""
    rng = np.random.default_rng(seed)
    trees = brute_force.projective_trees(n)
    heads = [trees[k] for k in rng.integers(0, len(trees), copies)]
    return Samples([], heads, rng.normal(-3, 1.5, copies), rng.normal(-12, 3, copies))


def counted(sentence: Encoded, samples: Samples) -> Floats:
    """Rule arcs (M, K), one after the other."""
    counts = np.zeros((len(samples.heads), len(RULES)))
    for m, heads in enumerate(samples.heads):
        for dependent, head in enumerate(heads):
            tags = [
                "ROOT" if not head else TAGS[sentence.tags[head - 1] - 1],
                TAGS[sentence.tags[dependent] - 1],
            ]
            for k, rule in enumerate(RULES.rules):
                counts[m, k] += tags == [rule.head, rule.dependent]
    return counts


def gammas(counts: Floats, lam: Floats) -> list[float]:
    tilted = [math.exp(sum(float(a) * float(b) for a, b in zip(row, lam))) for row in counts]
    return [value / statistics.fmean(tilted) for value in tilted]


FEATURES = RuleCounts(RULES, TAGS)


def lambda_at(dynamics: str, phase: str = "pretrain", **changes: Any) -> FixedLambda:
    return first_lambda(FEATURES, PosteriorSettings(dynamics=dynamics, **changes), phase)


def finetuning(lam: FixedLambda | None = None, nll: Any = None, **changes: Any) -> Finetuning:
    settings = FinetuneSettings(**changes)
    lam = lam or lambda_at("fixed", "finetune")
    return Finetuning(FEATURES, lam, score_function(settings, nll or {}), settings.decoder)


def optimiser(phase: Any, dynamics: str, form: str) -> AdaGrad:
    """That of the phase's stage, over no parameters of networks but one."""
    parameters = Parameters(np.random.default_rng(0))
    parameters.bias("encoder/bias", 2)
    settings = NeuralSettings(
        posterior=PosteriorSettings(dynamics=dynamics), finetune=FinetuneSettings(form=form)
    )
    return optimiser_of(Stage(phase.name, 0, 1, lr=0.1, clip=0.0), settings, parameters, phase)


# Pretraining


@pytest.mark.parametrize("dynamics", ["off", "fixed", "released"])
def test_pretraining_weights_are_gamma_over_the_number_of_samples(dynamics):
    lam = lambda_at(dynamics, strength=1.5)
    start = lam.value.copy()
    assert (
        start.tolist()
        == {
            "off": [0, 0, 0, 0],
            "fixed": [2.25, 1.5, 0.75, 0.375],  # 1.5 where .5 is expected, and in proportion
            "released": [0.75, 0.5, 0.25, 0.125],
        }[dynamics]
    )
    phase = Pretraining(FEATURES, lam)
    for_encoder, for_decoder = phase(text(), made_up())
    expected = [gamma / M for gamma in gammas(counted(text(), made_up()), start)]
    assert for_encoder == pytest.approx(expected)
    assert for_decoder == pytest.approx(expected)
    assert sum(expected) == pytest.approx(1.0)
    if dynamics == "off":
        assert for_encoder.tolist() == [1 / M] * M
    assert (phase.lam.value != start).any() == (dynamics == "released")  # after the sentence
    after = phase.lam.value.copy()
    phase.end_batch(1)
    assert phase.lam.value.tolist() == after.tolist()  # only that of the dual moves here
    assert type(optimiser(phase, dynamics, "released")) is AdaGrad


def test_lambda_of_the_dual_moves_at_the_end_of_a_mini_batch_only():
    """Counting, gamma and what lambda sees of a sentence leave it where it is."""
    settings = PosteriorSettings(dynamics="dual", expectations="rates")
    features = rule_counts(RULES, TAGS, settings)
    for phase in (
        Pretraining(features, first_lambda(features, settings, "pretrain")),
        Finetuning(features, first_lambda(features, settings, "finetune"), SCORES["rl-pc"]),
    ):
        for seed in range(3):
            phase(text(seed), made_up(seed))
            assert phase.lam.value.tolist() == [0, 0, 0, 0]
        phase.end_batch(3)
        assert phase.lam.value.max() > 0
        assert phase.lam.value.min() == 0


# Fine-tuning


@pytest.mark.parametrize("dynamics", ["off", "fixed", "released"])
@pytest.mark.parametrize("kind", ["rl-sn", "rl-c", "rl-pc", "rl-bl"])
@pytest.mark.parametrize("form", ["paper", "released"])
@pytest.mark.parametrize("decoder", ["score", "plain"])
def test_finetuning_weights(kind, form, decoder, dynamics):
    lam = lambda_at(dynamics, "finetune", strength=0.6)
    start = lam.value.copy()
    sentence, samples = text(), made_up()
    phase = finetuning(lam, {sentence: 4.5}, score=kind, form=form, decoder=decoder)
    counts = counted(sentence, samples)
    gamma = gammas(counts, start)
    value = [float(p - q) for p, q in zip(samples.log_p, samples.log_q)]
    if kind == "rl-bl":
        score = [v + 4.5 for v in value]  # alpha 1, tau 0
    else:
        score = written_out(kind, form, value, counts.sum(axis=1).tolist())
    of_encoder = [s * g / M for s, g in zip(score, gamma)]
    of_decoder = of_encoder if decoder == "score" else [g / M for g in gamma]
    for_encoder, for_decoder = phase(sentence, samples)
    assert for_encoder == pytest.approx(of_encoder, rel=1e-9, abs=1e-12)
    assert for_decoder == pytest.approx(of_decoder, rel=1e-9, abs=1e-12)
    figures = phase.diagnostics.averages()
    assert figures["score_mean"] == pytest.approx(statistics.fmean(score), abs=1e-9)
    assert figures["score_std"] == pytest.approx(statistics.pstdev(score), abs=1e-9)
    assert phase.lam.value.tolist() == start.tolist()  # moves with the networks only
    joint = optimiser(phase, dynamics, form).others.numbers["value"]
    assert ("lambda" in joint) == (dynamics == "released")
    assert ("baseline" in joint) == (kind == "rl-bl" and form == "released")


def test_a_tie_among_the_rules_reaches_the_weights():
    """All samples with the same tree: pulled towards in the paper, all pushed away from when
    released."""
    samples = made_up()
    samples.heads = [samples.heads[0]] * M
    for form, sign in (("paper", 1), ("released", -1)):
        weights, _ = finetuning(score="rl-pc", form=form)(text(), samples)
        assert (sign * weights > 0).all()


# Lambda that the networks' optimiser updates


def test_the_joint_gradient_is_the_mean_gradient_of_the_dual():
    lam = lambda_at("released", "finetune")
    assert isinstance(lam, JointLambda)
    phase = finetuning(lam)
    at = np.array([0.4, 1.3, 0.2, 0.7])
    lam.value = at.copy()
    every = []
    for seed in range(3):
        phase(text(seed), made_up(seed))
        every.append(counted(text(seed), made_up(seed)))

    def total(value: Floats) -> float:
        return sum(brute_force.dual(counts, value, RULES.expectations, 0.1) for counts in every)

    numeric = [(total(at + step) - total(at - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    assert lam.mean_gradient() == pytest.approx(np.array(numeric) / 3, abs=1e-6)
    assert lam.mean_gradient().tolist() == [0, 0, 0, 0]  # told once
    assert lam.value.tolist() == at.tolist()
    phase(Encoded((1, 1, 1, 1), (0,) * 4), made_up())  # determiners only: no rule holds
    assert lam.mean_gradient().tolist() == [0, 0, 0, 0]


JOINT: dict[str, dict[str, Any]] = {
    "train": {"updates": 0, "l2": 0.01},
    "posterior": {"dynamics": "released"},
    "finetune": {"updates": 6, "score": "rl-bl", "form": "released", "decoder": "score", "lr": 0.6},
    "language_model": {"hidden_dim": 4, "epochs": 1},
}


def test_training_updates_lambda_and_baseline_jointly(tmp_path, monkeypatch):
    """With gradients recomputed from the samples of each update; steps and clipping are the
    optimiser's."""
    trainer = tiny.trainer(tmp_path, JOINT)
    e = trainer.data.rules.expectations
    drawn: list[tuple[Encoded, Samples, Floats]] = []
    given: list[dict[str, Floats]] = []
    weigh, update = Finetuning.__call__, AdaGrad.update

    def watched(self: Finetuning, sentence: Encoded, samples: Samples) -> Any:
        drawn.append((sentence, samples, self.features.count(sentence, samples.heads)))
        return weigh(self, sentence, samples)

    def updated(self: AdaGrad, rows: Any, extra: Any) -> float:
        given.append(extra)
        return update(self, rows, extra)

    monkeypatch.setattr(Finetuning, "__call__", watched)
    monkeypatch.setattr(AdaGrad, "update", updated)
    phase, projected = trainer.phase, 0
    assert isinstance(phase, Finetuning)
    assert isinstance(phase.lam, JointLambda)
    assert isinstance(phase.baseline, JointBaseline)
    assert isinstance(trainer.optimiser, JointAdaGrad)
    for batch in (trainer._epoch(0) + trainer._epoch(1))[:6]:
        drawn.clear()
        lam, (alpha, tau) = phase.lam.value.copy(), phase.baseline.value.copy()
        trainer.update(batch)
        assert len(drawn) == len(batch)
        wanted = {"lambda": np.zeros(len(e)), "baseline": np.zeros(2)}
        for sentence, samples, counts in drawn:
            if counts.any():
                wanted["lambda"] += dual_gradient(counts, lam, e, 0.1) / len(batch)
            nll = phase.baseline.nll[sentence]
            error = samples.log_p - samples.log_q + alpha * nll + tau
            wanted["baseline"] += 2 * error.sum() * np.array([nll, 1.0]) / len(batch)
        for name, part in (("lambda", phase.lam), ("baseline", phase.baseline)):
            assert given[-1][name] == pytest.approx(wanted[name], rel=1e-9)
            assert part.value.tolist() == trainer.optimiser.read("value")[name].tolist()
            assert not part.gradient.any()
        assert (phase.lam.value != lam).any()
        assert (phase.lam.value >= 0).all()
        projected += int((phase.lam.value == 0).sum())
    assert projected  # the step is large enough for the projection to matter


# Figures for the log


def test_figures_are_averages_over_words_or_sentences():
    phase = finetuning(lambda_at("fixed", "finetune", strength=0.6), score="rl-sn")
    every = [(text(seed, n), made_up(seed, n)) for seed, n in ((0, 4), (1, 3), (2, 5))]
    counts = [counted(*both) for both in every]
    weights = [gammas(each, phase.lam.value) for each in counts]
    for both in every:
        phase(*both)
    samples = [each for _, each in every]
    kl = [statistics.fmean(g * math.log(g) for g in gamma) for gamma in weights]
    expected = {
        "entropy": [-float(each.log_q.mean()) for each in samples],
        "kl": kl,
        "rules_per_sentence": [float(each.sum()) / M for each in counts],
        "gamma_ess": [sum(gamma) ** 2 / sum(g * g for g in gamma) for gamma in weights],
    }
    figures = phase.diagnostics.averages()
    for name, values in expected.items():
        assert figures[name] == pytest.approx(statistics.fmean(values)), name
    elbo = sum(float((each.log_p - each.log_q).mean()) for each in samples)
    assert figures["elbo_per_word"] == pytest.approx(elbo / 12)
    assert min(kl) > 0
    assert (phase.diagnostics.sentences, phase.diagnostics.words) == (3, 12)


# REINFORCE

NET_RULES = parse_rules("ROOT VERB 0.5\nROOT NOUN 0.25\nVERB NOUN 0.5\nNOUN ADJ 0.4")


def reinforce_case() -> tuple[Any, Finetuning]:
    """Network and phase without rules."""
    lam = FixedLambda(np.zeros(len(NET_RULES)))
    phase = Finetuning(
        RuleCounts(NET_RULES, networks.TAGS), lam, Baseline({SENTENCE: 4.0}), "plain"
    )
    return flat_network(), phase


def exact_gradients(network_: Any) -> dict[str, Floats]:
    """Of -E_q[log p - log q] in all parameters: sums over all derivations, weights q(a) l(a)."""
    drawn, q, elbo = enumerated(network_)
    assert q.sum() == pytest.approx(1.0, abs=1e-5)
    per_sentence.backward(drawn, q * (elbo - 1.0), q)
    return gradients(network_)


def test_the_enumerated_gradient_is_that_of_the_enumerated_objective():
    """By finite differences; it is what the estimates below are compared with."""
    network_, _ = reinforce_case()
    exact = exact_gradients(network_)

    def objective_now() -> float:
        _, q, elbo = enumerated(network_)
        return -float(q @ elbo)

    for part, name in product(("encoder", "decoder"), (*PARAMETERS, "embed/from_tag")):
        full = f"{part}/{name}"
        for i in np.argsort(-np.abs(exact[full].ravel()))[:2].tolist():
            error = error_of_gradient(
                network_, full, i, float(exact[full].ravel()[i]), objective_now
            )
            assert error < 1e-2 * max(np.abs(exact[full]).max(), 0.1), (full, i, error)


def test_a_score_that_only_shifts_estimates_the_gradient_of_the_objective():
    """The baseline is fitted to a sentence's samples only after it has scored them."""
    network_, phase = reinforce_case()
    exact = exact_gradients(network_)
    found = estimates(lockstep, network_, phase, times=30, batch=50)
    assert_unbiased(found, exact, [f"encoder/{name}" for name in PARAMETERS])
    # The decoder's part needs no score: log p is inside the expectation.
    assert_unbiased(
        found, exact, ["decoder/state/actions", "decoder/tags", "decoder/stack/lstm/bias"]
    )

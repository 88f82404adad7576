"""The stages of a run, and what each is made of: the one place that chooses by settings between the
forms.

A stage is the paper's pretraining (Algorithm 1) or fine-tuning (Algorithm 2). The paper's lambda,
scores and baseline are in `posterior`, `scores` and `baseline`; `posterior.dynamics = "released"`
and `finetune.form = "released"` put those of `released` in their places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.paper import released, scores
from dynet_vdgi.paper.baseline import Baseline
from dynet_vdgi.paper.layers import Parameters
from dynet_vdgi.paper.optimiser import AdaGrad
from dynet_vdgi.paper.phases import Finetuning, Pretraining
from dynet_vdgi.paper.posterior import (
    CappedCounts,
    FixedLambda,
    Lambda,
    RateOfPairs,
    RuleCounts,
    ShareOfEachRule,
    ShareOfRuleArcs,
)
from dynet_vdgi.paper.scores import Score
from dynet_vdgi.paper.settings import FinetuneSettings, NeuralSettings, PosteriorSettings
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.system.array_types import Floats


@dataclass(frozen=True)
class Stage:
    """A part of the training with a phase and an optimiser of its own: updates `first` to `last` -
    1."""

    phase: str
    first: int
    last: int
    lr: float
    clip: float


def stages(settings: NeuralSettings, per_epoch: int) -> list[Stage]:
    """The stages of a run, in their order, given the number of batches in an epoch."""
    result: list[Stage] = []
    for phase, part in (("pretrain", settings.train), ("finetune", settings.finetune)):
        if part.updates or part.epochs:
            ends = [end for end in (part.updates, part.epochs * per_epoch) if end]
            first = result[-1].last if result else 0
            result.append(Stage(phase, first, first + min(ends), part.lr, part.clip))
    return result


def posterior_of(stage: str, settings: NeuralSettings) -> PosteriorSettings:
    """The posterior settings of a stage: the second may ask for a share of its own."""
    if stage == "finetune" and settings.finetune.share:
        return msgspec.structs.replace(settings.posterior, share=settings.finetune.share)
    return settings.posterior


def rule_counts(rules: RuleSet, tags: Sequence[str], settings: PosteriorSettings) -> RuleCounts:
    """The rules, and what is expected of them in a sentence."""
    if settings.dynamics != "dual":
        return RuleCounts(rules, tags)
    if settings.expectations == "rules":
        return ShareOfRuleArcs(rules, tags, settings.share)
    if settings.expectations == "each_rule":
        return ShareOfEachRule(rules, tags, settings.share)
    if settings.expectations == "capped":
        return CappedCounts(rules, tags)
    return RateOfPairs(rules, tags)


def first_lambda(
    features: RuleCounts, settings: PosteriorSettings, phase: str, carried: Floats | None = None
) -> FixedLambda:
    """The lambda of a stage as it begins; that of the dual at `carried`, or else at 0."""
    e = features.rule_file_expectations
    if settings.dynamics == "dual":
        start = np.zeros(features.constraints.shape[1]) if carried is None else carried
        return Lambda(start, settings.lr, settings.epsilon)
    if settings.dynamics == "fixed":  # `strength` where .5 is expected
        return FixedLambda(2.0 * settings.strength * e)
    if settings.dynamics == "off":
        return FixedLambda(0.0 * e)
    if phase == "pretrain":
        return released.MomentumLambda(e, settings.lr, settings.momentum, settings.epsilon)
    return released.JointLambda(e, settings.epsilon)


def score_function(settings: FinetuneSettings, nll: Mapping[Encoded, float]) -> Score | Baseline:
    """The score of fine-tuning; `nll` are the -log p(x) of sentences by a language model, for RL-BL
    only."""
    is_released = settings.form == "released"
    if settings.score == "rl-bl":
        return released.JointBaseline(nll) if is_released else Baseline(nll)
    if (settings.score, settings.form, settings.ties) == ("rl-pc", "paper", "rl-sn"):
        return scores.rl_pc_or_sn
    return (released.SCORES if is_released else scores.SCORES)[settings.score]


def phase_of(
    stage: str,
    settings: NeuralSettings,
    features: RuleCounts,
    nll: Mapping[Encoded, float],
    lambda_before: Floats | None = None,
) -> Pretraining | Finetuning:
    """The phase of a stage as it begins; `nll` as in `score_function`.

    `lambda_before` is where lambda was at the end of the stage before, in this run or in the model
    that it starts from.
    """
    if stage == "pretrain":
        return Pretraining(features, first_lambda(features, settings.posterior, stage))
    carried = lambda_before if settings.finetune.first_lambda == "carried" else None
    lam = first_lambda(features, settings.posterior, stage, carried)
    return Finetuning(
        features, lam, score_function(settings.finetune, nll), settings.finetune.decoder
    )


def optimiser_of(
    stage: Stage, settings: NeuralSettings, parameters: Parameters, phase: Pretraining | Finetuning
) -> AdaGrad:
    """The optimiser of a stage as it begins."""
    train = msgspec.structs.replace(settings.train, lr=stage.lr, clip=stage.clip)
    if stage.phase == "finetune" and "released" in (
        settings.posterior.dynamics,
        settings.finetune.form,
    ):
        return released.JointAdaGrad(parameters, train, phase.lam, phase.baseline)
    return AdaGrad(parameters, train)

"""Posterior regularisation with universal rules (paper, Eqs. 8-16).

The paper's features phi and bounds b are NEGATIVE counts; here counts = -phi and expectations e = -b, so

    q(a) = q_omega(a|x) exp(lambda . counts) / Z(lambda)                             Eq. 12
    Z(lambda) = E_{q_omega}[exp(lambda . counts)], estimated from M samples          Eqs. 13, 15
    gamma(a) = exp(lambda . counts) / Z(lambda), so that its mean over samples is 1  Eq. 14

and lambda >= 0 minimises, for one sentence, O(lambda) = -lambda . e + log Z(lambda) + epsilon |lambda|_2
(Eq. 11 with the sign reversed). Shapes: M samples, K features; counts (M, K), lambda (K,), gamma (M,).

The features are K rules or, unlike in the paper, a single one: the sum of a prior's log-potentials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Encoded
from dynet_vdgi.grammar import rules as rules_module
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.settings.neural_settings import PosteriorSettings
from dynet_vdgi.system.arrays import Floats


class Features(Protocol):
    """The features counted in trees. `figure` is the name that the log gives to their sum."""

    figure: str
    expectations: Floats  # (K,)

    def __call__(self, sentence: Encoded, heads: Sequence[Sequence[int]]) -> Floats:
        """Counts (M, K) in trees (M, n) of a sentence."""


class RuleCounts:
    """How often each of K rules holds."""

    figure = "rules_per_sentence"

    def __init__(self, rules: RuleSet, tags: Sequence[str]) -> None:
        self.expectations, self._index = rules.expectations, rules.index(tags)

    def __call__(self, sentence: Encoded, heads: Sequence[Sequence[int]]) -> Floats:
        tags = [tag - 1 for tag in sentence.tags]
        return rules_module.count(self._index, len(self.expectations), tags, heads)


class Potentials:
    """The sum of the prior's log-potentials over a tree's arcs, in nats: one feature.

    So the regularised posterior is q_omega times the prior to the power lambda. The feature has no
    expectation of its own; its number makes a fixed lambda equal `PosteriorSettings.strength`.
    """

    figure = "prior_per_sentence"

    def __init__(self, prior: Prior, tags: Sequence[str]) -> None:
        self.expectations, self._prior, self._tags = np.array([0.5]), prior, tags

    def __call__(self, sentence: Encoded, heads: Sequence[Sequence[int]]) -> Floats:
        tags = Sentence.of_tags(self._tags[tag - 1] for tag in sentence.tags)
        potentials = self._prior.potentials(tags)
        trees = np.asarray(heads, dtype=np.int64)
        of_arcs: Floats = potentials[trees, np.arange(1, len(sentence) + 1)]  # (M, n)
        return np.asarray(of_arcs.sum(axis=1, keepdims=True))


def log_z(counts: Floats, lam: Floats) -> float:
    """Monte-Carlo estimate of log Z(lambda), in nats (Eq. 15)."""
    score = counts @ lam
    peak = score.max()
    return float(peak + np.log(np.exp(score - peak).mean()))


def gamma(counts: Floats, lam: Floats) -> Floats:
    """Multipliers (M,) of the samples, mean 1 (Eq. 14)."""
    return np.asarray(np.exp(counts @ lam - log_z(counts, lam)))


def dual_gradient(counts: Floats, lam: Floats, expectations: Floats, epsilon: float) -> Floats:
    """Gradient (K,) of O(lambda), the dual, to be minimised over lambda >= 0 (Eq. 11).

    It is each rule's count under the regularised posterior, minus its expectation, plus the slack. At lambda
    = 0, where the norm has no gradient, the norm's part is taken as 0.
    """
    expected = gamma(counts, lam) @ counts / len(counts)
    norm = float(np.linalg.norm(lam))
    slack = epsilon * lam / norm if norm > 0 else np.zeros_like(lam)
    return np.asarray(expected - expectations + slack)


def effective_samples(weights: Floats) -> float:
    """The effective number of M samples with these weights: (sum w)^2 / sum w^2, from 1 to M."""
    return float(weights.sum() ** 2 / (weights**2).sum())


@dataclass
class Lambda:
    """The dual variables (K,) of a run, one vector for all sentences, and how they move.

    `off`: no regularisation; every lambda is 0.
    `fixed`: every lambda stays where it starts, in proportion to the rule's expectation: at
    `settings.strength` where that is .5, the expectation of all universal rules. `released`: as in the
    released code. lambda starts at the expectations and takes one projected gradient step with momentum after
    each sentence. The constraint compares a rate per pair of words with a count per sentence, most rules
    cannot meet it, and lambda grows without bound: training turns into choosing the best of M samples by a
    weighted rule count. In fine-tuning (`joint`) lambda starts again, and the networks' optimiser takes the
    steps, with the sums in `gradient`.
    """

    settings: PosteriorSettings
    expectations: Floats
    joint: bool = False
    value: Floats = field(init=False)
    velocity: Floats = field(init=False)
    gradient: Floats = field(init=False)

    def __post_init__(self) -> None:
        per_expectation = {"off": 0.0, "fixed": 2.0 * self.settings.strength, "released": 1.0}
        self.value = per_expectation[self.settings.dynamics] * self.expectations
        self.velocity, self.gradient = np.zeros_like(self.value), np.zeros_like(self.value)

    def gamma(self, counts: Floats) -> Floats:
        """Multipliers (M,) of one sentence's samples at the present lambda."""
        return gamma(counts, self.value)

    def update(self, counts: Floats) -> None:
        """One step after a sentence with these counts (M, K).

        Where no rule holds in any sample there is no gradient, but momentum goes on, as in the released code.
        """
        if self.settings.dynamics != "released":
            return
        gradient = np.zeros_like(self.value)
        if counts.any():
            gradient = dual_gradient(counts, self.value, self.expectations, self.settings.epsilon)
        if self.joint:
            self.gradient += gradient
            return
        self.velocity = self.settings.momentum * self.velocity + gradient
        self.value = np.maximum(0.0, self.value - self.settings.lr * self.velocity)

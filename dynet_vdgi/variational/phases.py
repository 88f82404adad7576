"""Posterior regularisation (paper, Eqs. 8 to 15), and the phases of learning that weigh samples.

The paper's features phi and bounds b are NEGATIVE counts; here counts = -phi and expectations e = -b, so

    q(a) = q_omega(a|x) exp(lambda . counts) / Z(lambda)                             Eq. 12
    Z(lambda) = E_{q_omega}[exp(lambda . counts)], estimated from M samples          Eqs. 13, 15
    gamma(a) = exp(lambda . counts) / Z(lambda), so that its mean over samples is 1  Eq. 14

and lambda >= 0 minimises, for one sentence, O(lambda) = -lambda . e + log Z(lambda) + epsilon |lambda|_2
(Eq. 11 with the sign reversed). Shapes: M samples, K features; counts (M, K), lambda (K,), gamma (M,).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.vocabulary import Encoded
from dynet_vdgi.grammar import rules as rules_module
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.model.per_sentence import Samples
from dynet_vdgi.settings.neural_settings import FinetuneSettings, PosteriorSettings
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.variational import critic
from dynet_vdgi.variational.critic import Baseline


class RuleCounts:
    """How often each of K rules holds."""

    def __init__(self, rules: RuleSet, tags: Sequence[str]) -> None:
        self.expectations, self._index = rules.expectations, rules.index(tags)

    def __call__(self, sentence: Encoded, heads: Sequence[Sequence[int]]) -> Floats:
        """Counts (M, K) in trees (M, n) of a sentence."""
        tags = [tag - 1 for tag in sentence.tags]
        return rules_module.count(self._index, len(self.expectations), tags, heads)


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


# ----------------------------------------------------------------------------------------------------
# Training phases: functions from the samples of a sentence to their weights in the loss.
#
# The weights are constants for the networks' gradients. A phase may keep state of its own, such as lambda.
# Part of it may be updated jointly with the networks: `joint_values` gives this part, `joint_gradients` its
# gradients since the last update, and `take` receives the new values.


State = dict[str, NDArray[Any]]

_OF_BASELINE = ("value", "moments", "products")
"""The arrays of a baseline that a checkpoint keeps."""


@dataclass
class Diagnostics:
    """Sums over the sentences since the last evaluation; `averages` gives the logged figures."""

    sentences: int = 0
    words: int = 0
    sums: dict[str, float] = field(default_factory=dict)

    def add(self, sentence: Encoded, **figures: float) -> None:
        """Takes in the figures of one sentence."""
        self.sentences += 1
        self.words += len(sentence)
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def averages(self) -> dict[str, float]:
        """Means by name: over words where the name ends in `_per_word`, otherwise over sentences."""
        return {
            name: total / (self.words if name.endswith("_per_word") else self.sentences)
            for name, total in self.sums.items()
        }


class Regularised:
    """The common part of pretraining and fine-tuning: counts of features, gamma, figures of each sentence."""

    def __init__(self, features: RuleCounts, lam: Lambda) -> None:
        self.features, self.lam = features, lam
        self.diagnostics = Diagnostics()

    def regularise(self, sentence: Encoded, samples: Samples) -> tuple[Floats, Floats]:
        """Counts (M, K) and gamma (M,); lambda takes its step afterwards."""
        counts = self.features(sentence, samples.heads)
        gamma = self.lam.gamma(counts)
        self.lam.update(counts)
        return counts, gamma

    def record(
        self, sentence: Encoded, samples: Samples, counts: Floats, gamma: Floats, **figures: float
    ) -> None:
        """Notes ELBO, entropy of q, KL(q(a) | q_omega) in nats; features; effective samples of gamma."""
        self.diagnostics.add(
            sentence,
            elbo_per_word=float((samples.log_p - samples.log_q).mean()),
            entropy=float(-samples.log_q.mean()),
            kl=float((gamma * np.log(np.maximum(gamma, 1e-300))).mean()),
            gamma_ess=effective_samples(gamma),
            rules_per_sentence=float(counts.sum(axis=1).mean()),
            **figures,
        )

    def joint_values(self) -> State:
        """Values that the networks' optimiser updates with the networks."""
        return {}

    def joint_gradients(self, sentences: int) -> State:
        """The mean gradients of `joint_values` over the sentences since the last call."""
        return {}

    def take(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Receives the values after an update; the phase may change them in place."""

    def state(self) -> State:
        """Everything that `load_state` needs to go on."""
        return {"lambda": self.lam.value, "lambda_velocity": self.lam.velocity}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes over a state from `state`. Raises: KeyError where something is missing."""
        self.lam.value, self.lam.velocity = arrays["lambda"], arrays["lambda_velocity"]


class Pretraining(Regularised):
    """Weighted maximum likelihood on the encoder's own samples, weights gamma / M (paper, Algorithm 1).

    Encoder and decoder are trained in one loop on the same samples, neither by the other's score.
    """

    name = "pretrain"

    def __call__(self, sentence: Encoded, samples: Samples) -> tuple[Floats, Floats]:
        """Weights (M,) for the encoder's and for the decoder's loss."""
        counts, gamma = self.regularise(sentence, samples)
        self.record(sentence, samples, counts, gamma)
        weights = gamma / len(gamma)
        return weights, weights


class Finetuning(Regularised):
    """Variational inference with a score function, weights score * gamma / M (paper, Algorithm 2, Eq. 16).

    With the decoder `plain` the decoder's weights are those of pretraining, gamma / M.
    """

    name = "finetune"

    def __init__(
        self, features: RuleCounts, lam: Lambda, settings: FinetuneSettings, baseline: Baseline | None = None
    ) -> None:
        super().__init__(features, lam)
        self.settings, self.baseline = settings, baseline

    def __call__(self, sentence: Encoded, samples: Samples) -> tuple[Floats, Floats]:
        """Weights (M,) for the encoder's and for the decoder's loss."""
        counts, gamma = self.regularise(sentence, samples)
        score = self.score(sentence, samples.log_p - samples.log_q, counts.sum(axis=1))
        weights = score * gamma / len(score)
        moments = {"score_mean": float(score.mean()), "score_std": float(score.std())}
        self.record(sentence, samples, counts, gamma, **moments)
        return weights, weights if self.settings.decoder == "score" else gamma / len(gamma)

    def score(self, sentence: Encoded, value: Floats, rules: Floats) -> Floats:
        """The score (M,) of each sample, from its l and its number of rule arcs."""
        kind, form = self.settings.score, self.settings.form
        if kind == "rl-bl":
            assert self.baseline is not None
            return self.baseline.score(sentence, value)
        if kind == "rl-sn":
            return critic.rl_sn(value, form)
        if kind == "rl-c":
            return critic.rl_c(rules, form)
        return critic.rl_pc(value, rules, form)

    def _jointly(self) -> dict[str, Lambda | Baseline]:
        parts: dict[str, Lambda | Baseline] = {}
        if self.lam.joint and self.lam.settings.dynamics == "released":
            parts["lambda"] = self.lam
        if self.baseline is not None and self.baseline.joint:
            parts["baseline"] = self.baseline
        return parts

    def joint_values(self) -> State:
        return {name: part.value for name, part in self._jointly().items()}

    def joint_gradients(self, sentences: int) -> State:
        result = {}
        for name, part in self._jointly().items():
            result[name] = part.gradient / sentences
            part.gradient = np.zeros_like(part.gradient)
        return result

    def take(self, values: Mapping[str, NDArray[Any]]) -> None:
        for name, part in self._jointly().items():
            if part is self.lam:
                np.maximum(values[name], 0.0, out=values[name])
            part.value = values[name].astype(np.float64)

    def state(self) -> State:
        of_baseline = {name: getattr(self.baseline, name) for name in _OF_BASELINE if self.baseline}
        return {**super().state(), **{f"baseline_{name}": array for name, array in of_baseline.items()}}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().load_state(arrays)
        for name in _OF_BASELINE if self.baseline else ():
            setattr(self.baseline, name, arrays[f"baseline_{name}"])


class Supervised:
    """Maximum likelihood of gold derivations, weight 1 for the one sample that each sentence has."""

    def __init__(self) -> None:
        self.diagnostics = Diagnostics()

    def __call__(self, sentence: Encoded, samples: Samples) -> tuple[Floats, Floats]:
        """Weights (1,), (1,)."""
        self.diagnostics.add(
            sentence, tree_log_q_per_word=float(samples.log_q[0]), tree_log_p_per_word=float(samples.log_p[0])
        )
        return np.ones(1), np.ones(1)

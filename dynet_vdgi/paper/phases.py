"""Training phases: functions from the samples of a sentence to their weights in the loss.

The weights are constants for the networks' gradients. A phase may keep state of its own, such as lambda.
Part of it may be updated jointly with the networks: `joint_values` gives this part, `joint_gradients` its
gradients since the last update, and `take` receives the new values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.paper.baseline import Baseline
from dynet_vdgi.paper.per_sentence import Samples
from dynet_vdgi.paper.posterior import Lambda, RuleCounts, effective_samples
from dynet_vdgi.paper.scores import rl_c, rl_pc, rl_sn
from dynet_vdgi.paper.settings import FinetuneSettings
from dynet_vdgi.system.array_types import Floats

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
        constrained = counts @ self.features.constraints
        gamma = self.lam.gamma(constrained)
        self.lam.update(constrained, self.features.expected(sentence))
        return counts, gamma

    def record(self, sentence: Encoded, samples: Samples, counts: Floats, gamma: Floats, **figures: float) -> None:
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
        """Ends a mini-batch of this many sentences; the mean gradients of `joint_values` over them."""
        self.lam.end_batch(sentences)
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
            return rl_sn(value, form)
        if kind == "rl-c":
            return rl_c(rules, form)
        return rl_pc(value, rules, form)

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
        result = super().joint_gradients(sentences)
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

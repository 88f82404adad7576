"""Training phases: functions from the samples of a sentence to their weights in the loss
(Algorithms 1 and 2).

The weights are constants for the networks' gradients. A phase holds what else is learnt, lambda and
the baseline. Each step is a call of its own: the rules are counted, the samples get gamma and a
score at the present lambda and baseline, and both then learn from it; `end_batch`
moves lambda, after a mini-batch of text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.paper.baseline import Baseline
from dynet_vdgi.paper.diagnostics import Diagnostics
from dynet_vdgi.paper.per_sentence import Samples
from dynet_vdgi.paper.posterior import FixedLambda, RuleCounts, effective_samples
from dynet_vdgi.paper.scores import Score
from dynet_vdgi.system.array_types import Floats


class Regularised:
    """The common part of pretraining and fine-tuning: rules, lambda, figures of each sentence."""

    def __init__(self, features: RuleCounts, lam: FixedLambda) -> None:
        self.features, self.lam = features, lam
        self.diagnostics = Diagnostics()

    def gamma(self, counts: Floats) -> Floats:
        """Multipliers (M,) of samples with these counts (M, K) of the rules, at the present lambda
        (Eq. 14)."""
        return self.lam.gamma(counts @ self.features.constraints)

    def end_sentence(self, sentence: Encoded, counts: Floats) -> None:
        """Shows lambda the samples of a sentence, with counts (M, K)."""
        expectations = self.features.expectations(sentence)
        self.lam.end_sentence(counts @ self.features.constraints, expectations)

    def end_batch(self, n_sentences: int) -> None:
        """Moves lambda, after a mini-batch of `n_sentences`."""
        self.lam.end_batch(n_sentences)

    def record(
        self, sentence: Encoded, samples: Samples, counts: Floats, gamma: Floats, **figures: float
    ) -> None:
        """Notes ELBO, entropy of q, KL(q(a) | q_omega) in nats; rule arcs; effective samples of
        gamma."""
        self.diagnostics.add(
            sentence,
            elbo_per_word=float((samples.log_p - samples.log_q).mean()),
            entropy=float(-samples.log_q.mean()),
            kl=float((gamma * np.log(np.maximum(gamma, 1e-300))).mean()),
            gamma_ess=effective_samples(gamma),
            rules_per_sentence=float(counts.sum(axis=1).mean()),
            **figures,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that `load_state` needs to go on."""
        return self.lam.state()

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes over a state from `state`. Raises: KeyError where something is missing."""
        self.lam.load_state(arrays)


class Pretraining(Regularised):
    """Weighted maximum likelihood on the encoder's own samples, weights gamma / M (paper, Algorithm
    1).

    Encoder and decoder are trained in one loop on the same samples, neither by the other's score.
    """

    name = "pretrain"
    baseline: Baseline | None = None

    def __call__(self, sentence: Encoded, samples: Samples) -> tuple[Floats, Floats]:
        """Weights (M,) for the encoder's and for the decoder's loss."""
        counts = self.features.count(sentence, samples.heads)
        gamma = self.gamma(counts)
        self.end_sentence(sentence, counts)
        self.record(sentence, samples, counts, gamma)
        weights = gamma / len(gamma)
        return weights, weights


class Finetuning(Regularised):
    """Variational inference with a score function, weights score * gamma / M (paper, Algorithm 2,
    Eq. 16).

    The score is Eq. 17 with a baseline, else one of Eqs. 18 to 20. With the decoder `plain` the
    decoder's weights are those of pretraining, gamma / M, as Algorithm 2 has them.
    """

    name = "finetune"

    def __init__(
        self,
        features: RuleCounts,
        lam: FixedLambda,
        score: Score | Baseline,
        decoder_weights: Literal["score", "plain"] = "score",
    ) -> None:
        super().__init__(features, lam)
        self.scoring, self.decoder_weights = score, decoder_weights

    @property
    def baseline(self) -> Baseline | None:
        """The baseline of RL-BL."""
        return self.scoring if isinstance(self.scoring, Baseline) else None

    def score(self, sentence: Encoded, log_ratio: Floats, rule_arcs: Floats) -> Floats:
        """The score (M,) of each sample, from its l and its number of rule arcs."""
        if isinstance(self.scoring, Baseline):
            return self.scoring.score(sentence, log_ratio)
        return self.scoring(log_ratio, rule_arcs)

    def __call__(self, sentence: Encoded, samples: Samples) -> tuple[Floats, Floats]:
        """Weights (M,) for the encoder's and for the decoder's loss."""
        counts = self.features.count(sentence, samples.heads)
        gamma = self.gamma(counts)
        self.end_sentence(sentence, counts)
        log_ratio = samples.log_p - samples.log_q  # l(x, a), Eq. 7
        score = self.score(sentence, log_ratio, counts.sum(axis=1))
        if self.baseline is not None:
            self.baseline.fit(sentence, log_ratio)
        weights = score * gamma / len(score)  # Eq. 16
        moments = {"score_mean": float(score.mean()), "score_std": float(score.std())}
        self.record(sentence, samples, counts, gamma, **moments)
        return weights, weights if self.decoder_weights == "score" else gamma / len(gamma)

    def state(self) -> dict[str, NDArray[Any]]:
        return {**super().state(), **(self.baseline.state() if self.baseline else {})}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().load_state(arrays)
        if self.baseline:
            self.baseline.load_state(arrays)


class Supervised:
    """Maximum likelihood of gold derivations, weight 1 for the one sample of each sentence."""

    def __init__(self) -> None:
        self.diagnostics = Diagnostics()

    def __call__(self, sentence: Encoded, samples: Samples) -> tuple[Floats, Floats]:
        """Weights (1,), (1,)."""
        self.diagnostics.add(
            sentence,
            tree_log_q_per_word=float(samples.log_q[0]),
            tree_log_p_per_word=float(samples.log_p[0]),
        )
        return np.ones(1), np.ones(1)

"""Training phases: functions from the samples of a sentence to their weights in the loss.

The weights are constants for the networks' gradients. A phase may keep state of its own, as lambda is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.vocabulary import Encoded
from dynet_vdgi.grammar import rules as rules_module
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.learning.posterior import Lambda, effective_samples
from dynet_vdgi.model.samples import Samples

Floats = NDArray[np.float64]


@dataclass
class Diagnostics:
    """Sums over the sentences since the last evaluation; `averages` gives what is logged."""

    sentences: int = 0
    words: int = 0
    sums: dict[str, float] = field(default_factory=dict)

    def add(self, sentence: Encoded, samples: Samples, counts: Floats, gamma: Floats) -> None:
        """Takes in one sentence."""
        self.sentences += 1
        self.words += len(sentence)
        per_sentence = {
            "elbo": float((samples.log_p - samples.log_q).mean()),
            "entropy": float(-samples.log_q.mean()),
            "rules": float(counts.sum(axis=1).mean()),
            "gamma_ess": effective_samples(gamma),
        }
        for name, value in per_sentence.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def averages(self) -> dict[str, float]:
        """ELBO in nats a word; entropy of q (nats), rule arcs and gamma's effective samples a sentence."""
        if not self.sentences:
            return {}
        return {
            "elbo_per_word": self.sums["elbo"] / self.words,
            "entropy": self.sums["entropy"] / self.sentences,
            "rules_per_sentence": self.sums["rules"] / self.sentences,
            "gamma_ess": self.sums["gamma_ess"] / self.sentences,
        }


class Pretraining:
    """Weighted maximum likelihood on the encoder's own samples, weights gamma / M (paper, Algorithm 1).

    Encoder and decoder are trained in one loop on the same samples, neither by the other's score.
    """

    name = "pretrain"

    def __init__(self, rules: RuleSet, tags: tuple[str, ...], lam: Lambda) -> None:
        self.lam, self.n_rules = lam, len(rules)
        self.index = rules.index(tags)
        self.diagnostics = Diagnostics()

    def __call__(self, sentence: Encoded, samples: Samples) -> tuple[Floats, Floats]:
        """Weights (M,) for the encoder's and for the decoder's loss; lambda takes its step afterwards."""
        counts = rules_module.count(
            self.index, self.n_rules, [tag - 1 for tag in sentence.tags], samples.heads
        )
        gamma = self.lam.gamma(counts)
        self.lam.update(counts)
        self.diagnostics.add(sentence, samples, counts, gamma)
        weights = gamma / len(gamma)
        return weights, weights

"""Posterior regularisation (paper, Eqs. 8 to 15), and the phases of learning that weigh samples.

The paper's features phi and bounds b are NEGATIVE counts; here counts = -phi and expectations e = -b, so

    q(a) = q_omega(a|x) exp(lambda . counts) / Z(lambda)            Eq. 12
    Z(lambda) = E_{q_omega}[exp(lambda . counts)], from M samples   Eqs. 13, 15
    gamma(a) = exp(lambda . counts) / Z(lambda), mean 1             Eq. 14

and lambda >= 0 minimises O(lambda) = -lambda . e + log Z(lambda) + epsilon |lambda|_2 (Eq. 11 with the sign
reversed), for the mean sentence. Shapes: M samples, K rules, J constraints; lambda (J,), gamma (M,). The counts
in these formulas are (M, J): those of the rules, or their weighted sum as the one constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.inference import eisner
from dynet_vdgi.paper.settings import PosteriorSettings
from dynet_vdgi.rule_tables import rules as rules_module
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.system.array_types import Floats


class RuleCounts:
    """How often each of K rules holds in a tree, and what J constraints ask of a sentence's trees.

    An expectation of .5 a sentence cannot be met by a sentence without such a pair of tags, so Q, the set of Eq. 8,
    would be empty, and lambda infinite. With the dynamics `dual` the constraints can be met. Where the numbers in
    the rule file are worths (`posterior.expectations = "rules"`), there is one: the rule arcs, an arc worth 1 where
    the number is .5, have a share of the most that a projective tree can have, as in Naseem et al. (2010), whose
    rules these are. Where they are rates, each rule has one: its rate times the pairs of words that it could join;
    summed over the text, that is what the trees hold in which the rates were counted.
    """

    def __init__(self, rules: RuleSet, tags: Sequence[str], settings: PosteriorSettings) -> None:
        self.rules, self._index, self._settings = rules.expectations, rules.index(tags), settings
        self._known: dict[tuple[int, ...], Floats] = {}
        is_one = settings.dynamics == "dual" and settings.expectations == "rules"
        self.constraints = 2.0 * self.rules[:, None] if is_one else np.eye(len(self.rules))  # (K, J)
        self.start = self.rules @ self.constraints

    def __call__(self, sentence: Encoded, heads: Sequence[Sequence[int]]) -> Floats:
        """Counts (M, K) in trees (M, n) of a sentence."""
        tags = [tag - 1 for tag in sentence.tags]
        return rules_module.count(self._index, len(self.rules), tags, heads)

    def expected(self, sentence: Encoded) -> Floats:
        """The expectations e (J,) of a sentence; those of the rule file, unless the dynamics are `dual`."""
        if self._settings.dynamics != "dual":
            return self.rules
        if sentence.tags not in self._known:
            tags = np.array(sentence.tags) - 1
            rule = np.concatenate([self._index[:1, tags], self._index[tags + 1][:, tags]])  # (n + 1, n)
            rule[np.arange(len(tags)) + 1, np.arange(len(tags))] = -1
            if self._settings.expectations == "rules":
                worth = np.append(self.constraints, 0.0)[rule]
                best = np.array(eisner.best(np.pad(worth, ((0, 0), (1, 0)))))
                e = self._settings.share * worth[best, np.arange(len(tags))].sum(keepdims=True)
            else:
                e = self.rules * [(rule == k).sum() for k in range(len(self.rules))]
            self._known[sentence.tags] = e
        return self._known[sentence.tags]


def log_z(counts: Floats, lam: Floats) -> float:
    """Monte-Carlo estimate of log Z(lambda), in nats (Eq. 15)."""
    score = counts @ lam
    peak = score.max()
    return float(peak + np.log(np.exp(score - peak).mean()))


def gamma(counts: Floats, lam: Floats) -> Floats:
    """Multipliers (M,) of the samples, mean 1 (Eq. 14)."""
    return np.asarray(np.exp(counts @ lam - log_z(counts, lam)))


def dual_gradient(counts: Floats, lam: Floats, expectations: Floats, epsilon: float) -> Floats:
    """Gradient (J,) of O(lambda), the dual, to be minimised over lambda >= 0 (Eq. 11).

    It is each count under the regularised posterior, minus its expectation, plus the slack. At lambda
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
    """The dual variables (J,) of a run, one vector for all sentences, and how they move.

    `dual`: as in the paper, by projected gradient. lambda starts at 0, and after each mini-batch takes a step down
    the mean of the sentences' O(lambda), from their samples. The step is proximal in the norm, which has no
    gradient at 0, so lambda stays 0 while the constraints hold up to epsilon.
    `off`: it is 0. `fixed`: it stays in proportion to a rule's expectation, at `settings.strength` where that is .5.
    `released`: as in the released code. lambda starts at the expectations and takes a projected gradient step with
    momentum after each sentence. Most constraints cannot be met, and lambda grows without bound: training turns
    into choosing the best of M samples by a weighted rule count. In fine-tuning (`joint`) lambda starts again, and
    the networks' optimiser takes the steps, with the sums in `gradient`.
    """

    settings: PosteriorSettings
    start: Floats  # (J,): expectations, which lambda is in proportion to at first
    joint: bool = False
    value: Floats = field(init=False)
    velocity: Floats = field(init=False)
    gradient: Floats = field(init=False)

    def __post_init__(self) -> None:
        per_expectation = {"off": 0.0, "dual": 0.0, "fixed": 2.0 * self.settings.strength, "released": 1.0}
        self.value = per_expectation[self.settings.dynamics] * self.start
        self.velocity, self.gradient = np.zeros_like(self.value), np.zeros_like(self.value)

    def gamma(self, counts: Floats) -> Floats:
        """Multipliers (M,) of one sentence's samples at the present lambda."""
        return gamma(counts, self.value)

    def update(self, counts: Floats, expected: Floats) -> None:
        """Takes in a sentence with these counts (M, J) and expectations (J,).

        `released`, where no rule holds in any sample: no gradient, but momentum goes on, as in the released code.
        """
        if self.settings.dynamics == "dual":
            self.gradient += dual_gradient(counts, self.value, expected, epsilon=0.0)
        elif self.settings.dynamics == "released":
            epsilon, has_rules = self.settings.epsilon, counts.any()
            gradient = dual_gradient(counts, self.value, expected, epsilon) if has_rules else np.zeros_like(self.value)
            if self.joint:
                self.gradient += gradient
            else:
                self.velocity = self.settings.momentum * self.velocity + gradient
                self.value = np.maximum(0.0, self.value - self.settings.lr * self.velocity)

    def end_batch(self, sentences: int) -> None:
        """The step of `dual` after a mini-batch."""
        if self.settings.dynamics == "dual":
            step = np.maximum(0.0, self.value - self.settings.lr * self.gradient / sentences)
            norm = float(np.linalg.norm(step))
            self.value = step * max(0.0, 1.0 - self.settings.lr * self.settings.epsilon / max(norm, 1e-300))
            self.gradient = np.zeros_like(step)

"""Posterior regularisation (paper, Eqs. 8 to 15): counts of rules, what is expected of them, gamma,
lambda.

The paper's features phi and bounds b are NEGATIVE counts; here counts = -phi and expectations e =
-b, so

    q(a) = q_omega(a|x) exp(lambda . counts) / Z(lambda)            Eq. 12
    Z(lambda) = E_{q_omega}[exp(lambda . counts)], from M samples   Eqs. 13, 15
    gamma(a) = exp(lambda . counts) / Z(lambda), mean 1             Eq. 14

and lambda >= 0 minimises O(lambda) = -lambda . e + log Z(lambda) + epsilon |lambda|_2 (below Eq.
12, with the sign reversed), for the mean sentence. Shapes: M samples, K rules, J constraints;
lambda (J,), gamma (M,). The counts in these formulas are (M, J): those of the rules, or their
weighted sum as the one constraint.

Of two samples the first has one arc of the only rule. At lambda = log 3 it weighs three times the
other:

>>> counts = np.array([[1.0], [0.0]])
>>> gamma(counts, np.log([3.0])).round(9).tolist()
[1.5, 0.5]

So .75 arcs are expected under q. If .9 were asked for, lambda would have to grow, as this is
negative:

>>> dual_gradient(counts, np.log([3.0]), np.array([0.9]), epsilon=0.0).round(9).tolist()
[-0.15]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.inference import eisner
from dynet_vdgi.rule_tables import rules as rules_module
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.system.array_types import Floats, Ints


class RuleCounts:
    """How often each of K rules holds in a tree. Every rule is one constraint: J = K."""

    def __init__(self, rules: RuleSet, tags: Sequence[str]) -> None:
        self.rule_file_expectations = rules.expectations  # (K,)
        # (K, J): of each rule's arcs, how many count for a constraint
        self.constraints = np.eye(len(rules))
        self._index = rules.index(tags)

    def count(self, sentence: Encoded, heads: Sequence[Sequence[int]]) -> Floats:
        """Counts (M, K) of the rules in trees (M, n) of a sentence: -phi."""
        tags = [tag - 1 for tag in sentence.tags]
        return rules_module.count(self._index, len(self.rule_file_expectations), tags, heads)

    def expectations(self, sentence: Encoded) -> Floats:
        """What each constraint asks of a sentence's trees (J,), -b: here the numbers of the rule
        file."""
        return self.rule_file_expectations

    def rule_of_arcs(self, tags: Sequence[int]) -> Ints:
        """Rule (n + 1, n) of each arc of a sentence by head, row 0 being ROOT, and dependent; -1:
        no rule."""
        columns = np.array(tags) - 1
        rule = np.concatenate([self._index[:1, columns], self._index[columns + 1][:, columns]])
        rule[np.arange(len(columns)) + 1, np.arange(len(columns))] = -1
        return rule


class AttainableCounts(RuleCounts, ABC):
    """Rules whose expectations can be met, for the dual.

    An expectation of .5 a sentence cannot be met by a sentence without such a pair of tags. Q, the
    set of Eq. 8, would be empty, and lambda infinite. So what is expected depends on the sentence's
    tags.
    """

    def __init__(self, rules: RuleSet, tags: Sequence[str]) -> None:
        super().__init__(rules, tags)
        self._by_tags: dict[tuple[int, ...], Floats] = {}

    def expectations(self, sentence: Encoded) -> Floats:
        """What each constraint asks of a sentence's trees (J,), which some tree has."""
        if sentence.tags not in self._by_tags:
            self._by_tags[sentence.tags] = self.attainable_expectations(
                self.rule_of_arcs(sentence.tags)
            )
        return self._by_tags[sentence.tags]

    @abstractmethod
    def attainable_expectations(self, rule_of_arcs: Ints) -> Floats:
        """The expectations (J,) of a sentence with these arcs (n + 1, n)."""


class ShareOfRuleArcs(AttainableCounts):
    """`posterior.expectations = "rules"`: one constraint, J = 1, on the rule arcs together.

    They have a `share` of the most that a projective tree can have, as in Naseem et al. (2010),
    whose rules these are. An arc is worth 1 where the number in the rule file is .5.
    """

    def __init__(self, rules: RuleSet, tags: Sequence[str], share: float) -> None:
        super().__init__(rules, tags)
        self.constraints, self.share = 2.0 * self.rule_file_expectations[:, None], share

    def attainable_expectations(self, rule_of_arcs: Ints) -> Floats:
        worth = np.append(self.constraints, 0.0)[rule_of_arcs]
        best = np.array(eisner.best(np.pad(worth, ((0, 0), (1, 0)))))
        return np.asarray(self.share * worth[best, np.arange(len(best))].sum(keepdims=True))


SHARPNESS = 30.0
"""Of the distribution over trees in `ShareOfEachRule`: the log-odds of one rule arc, in nats."""


class ShareOfEachRule(AttainableCounts):
    """`posterior.expectations = "each_rule"`: a constraint on each rule, J = K.

    Each rule has a `share` of its mean count in the projective trees with most rule arcs, where
    the rules compete for words. The mean over these trees has all the counts at once, so Q is not
    empty.
    """

    def __init__(self, rules: RuleSet, tags: Sequence[str], share: float) -> None:
        super().__init__(rules, tags)
        self.share = share

    def attainable_expectations(self, rule_of_arcs: Ints) -> Floats:
        n_rules = len(self.rule_file_expectations)
        worth = np.append(2.0 * self.rule_file_expectations, 0.0)[rule_of_arcs]
        # of a distribution in which all but the trees with most rule arcs are improbable
        of_arcs = eisner.marginals(np.pad(SHARPNESS * worth, ((0, 0), (1, 0))))
        return np.asarray(
            self.share * np.array([of_arcs[rule_of_arcs == k].sum() for k in range(n_rules)])
        )


class CappedCounts(AttainableCounts):
    """`posterior.expectations = "capped"`: the numbers of the rule file, J = K, as in the released
    code, but not more than any one projective tree of the sentence has.

    So each constraint can be met by itself, and all at once but in few sentences.
    """

    def attainable_expectations(self, rule_of_arcs: Ints) -> Floats:
        most = []
        for k in range(len(self.rule_file_expectations)):
            is_arc = np.asarray(rule_of_arcs == k, dtype=np.float64)
            best = np.array(eisner.best(np.pad(is_arc, ((0, 0), (1, 0)))))
            most.append(is_arc[best, np.arange(len(best))].sum())
        return np.minimum(self.rule_file_expectations, most)


class RateOfPairs(AttainableCounts):
    """`posterior.expectations = "rates"` or `"trees"`: the number of a rule is its share of pairs
    of words.

    Each rule is expected its rate times the pairs of words that it could join; summed over the
    text, that is what the trees hold in which the rates were counted.
    """

    def attainable_expectations(self, rule_of_arcs: Ints) -> Floats:
        n_rules = len(self.rule_file_expectations)
        return np.asarray(
            self.rule_file_expectations * [(rule_of_arcs == k).sum() for k in range(n_rules)]
        )


def log_z(counts: Floats, lam: Floats) -> float:
    """Monte-Carlo estimate of log Z(lambda), in nats (Eq. 15)."""
    score = counts @ lam
    peak = score.max()
    return float(peak + np.log(np.exp(score - peak).mean()))


def gamma(counts: Floats, lam: Floats) -> Floats:
    """Multipliers (M,) of the samples, mean 1 (Eq. 14)."""
    return np.asarray(np.exp(counts @ lam - log_z(counts, lam)))


def dual_gradient(counts: Floats, lam: Floats, expectations: Floats, epsilon: float) -> Floats:
    """Gradient (J,) of O(lambda), the dual, to be minimised over lambda >= 0.

    It is each count under the regularised posterior, minus its expectation, plus the slack. At
    lambda = 0, where the norm has no gradient, the norm's part is taken as 0.
    """
    under_q = gamma(counts, lam) @ counts / len(counts)
    norm = float(np.linalg.norm(lam))
    slack = epsilon * lam / norm if norm > 0 else np.zeros_like(lam)
    return np.asarray(under_q - expectations + slack)


def effective_samples(weights: Floats) -> float:
    """The effective number of M samples with these weights: (sum w)^2 / sum w^2, from 1 to M."""
    return float(weights.sum() ** 2 / (weights**2).sum())


class FixedLambda:
    """A vector lambda (J,), for all sentences, that never moves; 0: learning without the rules."""

    def __init__(self, value: Floats) -> None:
        self.value = value

    def gamma(self, counts: Floats) -> Floats:
        """Multipliers (M,) of one sentence's samples with these counts (M, J) at the present
        lambda."""
        return gamma(counts, self.value)

    def end_sentence(self, counts: Floats, expectations: Floats) -> None:
        """Takes in a sentence's samples, with counts (M, J) where e (J,) is expected.

        What lambda learns from them is either kept until `end_batch`, or moves it here.
        """

    def end_batch(self, n_sentences: int) -> None:
        """Moves lambda after a mini-batch of `n_sentences`, if it moves then."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that `load_state` needs to go on."""
        # Only the released code's lambda has a velocity, but files have one for every lambda.
        return {"lambda": self.value, "lambda_velocity": np.zeros_like(self.value)}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes over a state from `state`. Raises: KeyError where something is missing."""
        self.value = arrays["lambda"]


class Lambda(FixedLambda):
    """The paper's lambda: projected gradient on the dual, a step after each mini-batch (Algorithm
    1, last line).

    It starts at 0, or where another stage left it. A step goes down the mean of the sentences'
    O(lambda), from their samples, and is proximal in the norm, which has no gradient at 0: lambda
    stays 0 while the constraints hold up to epsilon.
    """

    def __init__(self, start: Floats, lr: float, epsilon: float) -> None:
        super().__init__(start)
        self.lr, self.epsilon = lr, epsilon
        # summed over the mini-batch, without the norm's part
        self.gradient = np.zeros_like(start)

    def end_sentence(self, counts: Floats, expectations: Floats) -> None:
        """Adds the gradient of a sentence's O(lambda); lambda does not move."""
        self.gradient += dual_gradient(counts, self.value, expectations, epsilon=0.0)

    def end_batch(self, n_sentences: int) -> None:
        """The step of a mini-batch: lambda moves here only."""
        step = np.maximum(0.0, self.value - self.lr * self.gradient / n_sentences)
        norm = float(np.linalg.norm(step))
        self.value = step * max(0.0, 1.0 - self.lr * self.epsilon / max(norm, 1e-300))
        self.gradient = np.zeros_like(step)

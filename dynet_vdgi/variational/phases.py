"""The paper's phases: weights of samples under lambda, score functions, the baseline of RL-BL."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.corpus import Encoded, Vocabulary
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar import rules as rules_module
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.model.layers import finite, seed_dropout
from dynet_vdgi.model.network import LanguageModel, new_graph
from dynet_vdgi.model.per_sentence import Samples
from dynet_vdgi.settings.neural_settings import (
    FinetuneSettings,
    LanguageModelSettings,
    PosteriorSettings,
    TrainSettings,
)
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.variational.optimiser import AdaGrad


def minibatches(kinds: Sequence[Hashable], size: int, rng: np.random.Generator) -> list[list[int]]:
    """One epoch: the number of every sentence once, in random batches of at most `size` of equal kind.

    A sentence's kind is its length and whatever else must agree within a batch.
    """
    by_kind: dict[Hashable, list[int]] = {}
    for k in rng.permutation(len(kinds)).tolist():
        by_kind.setdefault(kinds[k], []).append(k)
    batches = [ids[i : i + size] for ids in by_kind.values() for i in range(0, len(ids), size)]
    return [batches[k] for k in rng.permutation(len(batches)).tolist()]


# ----------------------------------------------------------------------------------------------------
# Score functions: values of a sentence's samples (paper, "Variance Reduction", Eqs. 17-20).
# One value for each of M samples, shapes (M,), in nats. `elbo` is l(x, a) = log p(x, a) - log q(a|x) (Eq. 7),
# `rules` is s(x, a), the number of rule arcs. Scores are constants for the networks' gradients. Each has the
# paper's form and, where the released code differs, that form too (`form="released"`).


def rl_sn(elbo: Floats, form: str = "paper") -> Floats:
    """Eq. 18: centred within the group and divided by max(1, std).

    Differs from the released code: there it is the std with M - 1 in the denominator, and no max. Where all
    samples have the same value that form is undefined; here it is zero.

    >>> rl_sn(np.array([1.0, 1.5])).tolist()  # std .25 < 1: centred only
    [-0.25, 0.25]
    """
    centred = elbo - elbo.mean()
    if form == "paper":
        return np.asarray(centred / max(1.0, float(elbo.std())))
    return _standardised(elbo, ddof=1)


def rl_c(rules: Floats, form: str = "paper") -> Floats:
    """Eq. 20: the standardised number of rule arcs; zeros where all samples have equally many.

    Differs from the released code: there it is centred, not divided by its std.
    """
    return np.asarray(rules - rules.mean()) if form == "released" else _standardised(rules, ddof=0)


def rl_pc(elbo: Floats, rules: Floats, form: str = "paper") -> Floats:
    """Eq. 19: the size of `rl_sn`, positive for samples with at least the mean number of rule arcs.

    Differs from the released code: there exactly the mean counts as negative.

    >>> rl_pc(np.array([0.0, 4.0]), np.array([2.0, 1.0])).tolist()
    [1.0, -1.0]
    """
    # Compared as whole numbers: rounding of the mean must not decide a tie.
    above = len(rules) * rules - rules.sum()
    positive = above > 0 if form == "released" else above >= 0
    return np.where(positive, 1.0, -1.0) * np.abs(rl_sn(elbo, form))


EQUAL = 1e-6
"""A spread below this share of the values is rounding: engines compute in single precision."""


def _standardised(values: Floats, ddof: int) -> Floats:
    std = float(values.std(ddof=ddof))
    if std <= EQUAL * max(1.0, float(np.abs(values).max())):
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / std)


# ----------------------------------------------------------------------------------------------------
# The input-dependent baseline of RL-BL: alpha L(x) + tau, L(x) = -log p(x) of a language model (Eq. 17).
# The score is l(x, a) + alpha L(x) + tau, with alpha and tau fitted so that alpha L + tau is close to -l.

logger = logging.getLogger("dynet_vdgi")

HELD_OUT = 0.1
"""Share of the sentences that choose the language model's best epoch."""

START = np.array([1.0, 0.0])
"""alpha and tau to begin with."""

FORGET = 0.98
"""Weight of a sentence in the fit, relative to the one after it: the scores change as the networks learn."""

REMAINING = 0.1
"""Weight, in sentences, that the start keeps for ever."""


class Baseline:
    """alpha and tau, and how they are fitted to the sentences seen so far.

    Paper's form: least squares with forgetting, from alpha = 1, tau = 0 (which counts as one sentence).
    Released form (`joint`): gradient steps that the networks' optimiser takes, from the same start.
    """

    def __init__(self, nll: Mapping[Encoded, float], joint: bool = False) -> None:
        self.nll, self.joint = nll, joint
        self.value = START.copy()
        self.gradient = np.zeros(2)
        self.moments, self.products = np.eye(2), self.value.copy()

    def score(self, sentence: Encoded, elbo: Floats) -> Floats:
        """l + alpha L + tau (M,) of a sentence's samples with l = `elbo` (M,); the fit moves afterwards."""
        features = np.array([self.nll[sentence], 1.0])
        score = elbo + features @ self.value
        if self.joint:  # of the squared error, summed over the samples
            self.gradient += 2.0 * score.sum() * features
        else:
            start = REMAINING * (1.0 - FORGET) * np.eye(2)  # so that the solution is always unique
            self.moments = FORGET * self.moments + start + np.outer(features, features)
            self.products = FORGET * self.products + start @ START - features * elbo.mean()
            self.value = np.linalg.solve(self.moments, self.products)
        return np.asarray(score)


def train_language_model(
    sentences: Sequence[Encoded], vocabulary: Vocabulary, settings: LanguageModelSettings, seed: int
) -> dict[Encoded, float]:
    """-log p(x) of every sentence, in nats, by a language model of the sentences.

    Of tags; in lexicalised models of words. The epoch with the best perplexity on a held-out tenth is taken.
    """
    lexicalised = bool(vocabulary.words)
    items = [s.words if lexicalised else tuple(tag - 1 for tag in s.tags) for s in sentences]
    n_items = len(vocabulary.words) + 1 if lexicalised else len(vocabulary.tags)
    rng = np.random.default_rng(seed)
    model = LanguageModel(n_items, settings.hidden_dim, settings.dropout, rng)
    optimiser = AdaGrad(model.parameters, TrainSettings(lr=settings.lr, clip=settings.clip, l2=0.0, average=0.0))
    order = rng.permutation(len(items)).tolist()
    n_held_out = min(max(1, round(HELD_OUT * len(items))), len(items) - 1)
    held_out = [items[k] for k in order[:n_held_out]] or items
    trained_on = [items[k] for k in order[n_held_out:]]
    n_words = sum(map(len, held_out))
    best = np.inf
    kept = model.parameters.arrays()
    for epoch in range(settings.epochs):
        _epoch(model, optimiser, trained_on, settings.batch_size, np.random.default_rng([seed, epoch]))
        nll = sum(_nll(model, held_out, settings.batch_size)) / n_words
        if nll < best:
            best, kept = nll, model.parameters.arrays()
    model.parameters.load(kept)
    logger.info("language model for the baseline: held-out perplexity %.2f", np.exp(best))
    return dict(zip(sentences, _nll(model, items, settings.batch_size)))


def _epoch(
    model: LanguageModel,
    optimiser: AdaGrad,
    items: Sequence[Sequence[int]],
    batch_size: int,
    rng: np.random.Generator,
) -> None:
    seed_dropout(rng)
    for batch in minibatches([len(s) for s in items], batch_size, rng):
        new_graph(autobatch=False)
        loss = model.loss([items[k] for k in batch])
        finite(loss)
        loss.backward()
        optimiser.update()


def _nll(model: LanguageModel, items: Sequence[Sequence[int]], batch_size: int) -> list[float]:
    """-log p of every sentence."""
    result = [0.0] * len(items)
    for batch in minibatches([len(s) for s in items], batch_size, np.random.default_rng(0)):
        new_graph(autobatch=False)
        for k, value in zip(batch, finite(model.nll([items[k] for k in batch])).tolist()):
            result[k] = value
    return result


# ----------------------------------------------------------------------------------------------------
# Posterior regularisation (paper, Eqs. 8 to 15), and the phases of learning that weigh samples.
# The paper's features phi and bounds b are NEGATIVE counts; here counts = -phi and expectations e = -b, so
#
#     q(a) = q_omega(a|x) exp(lambda . counts) / Z(lambda)            Eq. 12
#     Z(lambda) = E_{q_omega}[exp(lambda . counts)], from M samples   Eqs. 13, 15
#     gamma(a) = exp(lambda . counts) / Z(lambda), mean 1             Eq. 14
#
# and lambda >= 0 minimises O(lambda) = -lambda . e + log Z(lambda) + epsilon |lambda|_2 (Eq. 11 with the sign
# reversed), for the mean sentence. Shapes: M samples, K rules, J constraints; lambda (J,), gamma (M,). The counts
# in these formulas are (M, J): those of the rules, or their weighted sum as the one constraint.


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
                best = np.array(chart.best(np.pad(worth, ((0, 0), (1, 0)))))
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


# ----------------------------------------------------------------------------------------------------
# Training phases: functions from the samples of a sentence to their weights in the loss.
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

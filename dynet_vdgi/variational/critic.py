"""Minibatches, score functions (paper, Eqs. 17 to 20), and the baseline of RL-BL."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from dynet_vdgi.data.vocabulary import Encoded, Vocabulary
from dynet_vdgi.model.layers import finite, seed_dropout
from dynet_vdgi.model.network import LanguageModel, new_graph
from dynet_vdgi.settings.neural_settings import LanguageModelSettings, TrainSettings
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
#
# One value for each of M samples, shapes (M,), in nats. `elbo` is l(x, a) = log p(x, a) - log q(a|x) (Eq.
# 7), `rules` is s(x, a), the number of rule arcs. Scores are constants for the networks' gradients.
#
# Each has the paper's form and, where the released code differs, that form too (`form="released"`).


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
#
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
    optimiser = AdaGrad(
        model.parameters, TrainSettings(lr=settings.lr, clip=settings.clip, l2=0.0, average=0.0)
    )
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

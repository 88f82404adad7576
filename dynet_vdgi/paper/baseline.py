"""The input-dependent baseline of RL-BL: alpha L(x) + tau, L(x) = -log p(x) of a language model (Eq. 17).

The score is l(x, a) + alpha L(x) + tau, with alpha and tau fitted so that alpha L + tau is close to -l.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.system.array_types import Floats

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

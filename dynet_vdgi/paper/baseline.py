"""The input-dependent baseline of RL-BL (paper, Eq. 17): l(x, a) - b(x) - b = l(x, a) + alpha L(x)
+ tau.

L(x) = -log p(x) of a language model, see `language_model`; alpha and tau (the paper's tau with the
sign reversed) are fitted so that alpha L + tau is close to -l. They start at 1 and 0:

>>> sentence = Encoded(tags=(1, 2), words=(0, 0))
>>> baseline = Baseline({sentence: 5.0})
>>> baseline.score(sentence, log_ratio=np.array([-6.0, -8.0])).tolist()
[-1.0, -3.0]
>>> baseline.fit(sentence, log_ratio=np.array([-6.0, -8.0]))
>>> baseline.score(sentence, log_ratio=np.array([-6.0, -8.0])).round(2).tolist()  # mean was -2
[0.93, -1.07]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.system.array_types import Floats

START = np.array([1.0, 0.0])
"""alpha and tau to begin with."""

FORGET = 0.98
"""Weight of a sentence in the fit, relative to the one after it: the scores change as the networks
learn."""

REMAINING = 0.1
"""Weight, in sentences, that the start keeps for ever."""


class Baseline:
    """alpha and tau in `value`, fitted to the sentences seen so far.

    The fit is least squares with forgetting, from alpha = 1, tau = 0 (which counts as one
    sentence).
    """

    def __init__(self, nll: Mapping[Encoded, float]) -> None:
        self.nll = nll
        self.value = START.copy()
        self.moments, self.products = np.eye(2), self.value.copy()

    def score(self, sentence: Encoded, log_ratio: Floats) -> Floats:
        """Eq. 17: l + alpha L + tau (M,) of a sentence's samples with l = `log_ratio` (M,)."""
        return np.asarray(log_ratio + self.features(sentence) @ self.value)

    def fit(self, sentence: Encoded, log_ratio: Floats) -> None:
        """Moves alpha and tau towards those of one more sentence, after its samples were scored."""
        features = self.features(sentence)
        start = REMAINING * (1.0 - FORGET) * np.eye(2)  # so that the solution is always unique
        self.moments = FORGET * self.moments + start + np.outer(features, features)
        self.products = FORGET * self.products + start @ START - features * log_ratio.mean()
        self.value = np.linalg.solve(self.moments, self.products)

    def features(self, sentence: Encoded) -> Floats:
        """L(x) and 1, which alpha and tau are the weights of."""
        return np.array([self.nll[sentence], 1.0])

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that `load_state` needs to go on."""
        return {
            "baseline_value": self.value,
            "baseline_moments": self.moments,
            "baseline_products": self.products,
        }

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes over a state from `state`. Raises: KeyError where something is missing."""
        self.value = arrays["baseline_value"]
        self.moments, self.products = arrays["baseline_moments"], arrays["baseline_products"]

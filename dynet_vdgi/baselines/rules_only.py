"""Parsing with the prior alone: arc potentials from rules, short arcs preferred, exact projective decoding.

Learns nothing and nearly reaches the paper; a trained model below it has failed. Rule scores are so coarse
that the best tree is seldom unique, so ties are broken by seeded noise and figures averaged over seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.prior import Prior

TIE_SEEDS = 5
"""Over how many seeds the baseline's figures are averaged."""


def rules_only(sentences: Sequence[Sentence], prior: Prior, seed: int) -> list[tuple[int, ...]]:
    """Heads of each sentence; ties are broken at random with this seed."""
    rng = np.random.default_rng(seed)
    return [chart.best(break_ties(prior.potentials(sentence), rng)) for sentence in sentences]


def break_ties(scores: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The scores plus noise far below any real difference between them, so that ties fall at random."""
    return scores + 1e-6 * rng.random(scores.shape)

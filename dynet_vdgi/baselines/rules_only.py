"""Parsing with the prior alone: arc potentials from rules, short arcs preferred, exact projective decoding.

It learns nothing and nearly reaches the paper's accuracy, so a trained model below it has failed. Rule scores
are so coarse that the best tree is seldom unique. So seeded noise breaks ties, and figures are averaged over
seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.prior import Prior

TIE_SEEDS = 5
"""The number of seeds over which the baseline's figures are averaged."""


def rules_only(sentences: Sequence[Sentence], prior: Prior, seed: int) -> list[tuple[int, ...]]:
    """The heads of each sentence; this seed breaks ties."""
    rng = np.random.default_rng(seed)
    return [chart.best(break_ties(prior.potentials(sentence), rng)) for sentence in sentences]


def break_ties(scores: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The scores plus noise far below any real difference between them, which breaks ties at random."""
    return scores + 1e-6 * rng.random(scores.shape)

"""Parsing with the prior alone: arc potentials from rules, short arcs preferred, exact projective
decoding.

It learns nothing and nearly reaches the paper's accuracy, so a trained model below it has failed.
Rule scores are so coarse that the best tree is seldom unique. So seeded noise breaks ties, and
figures are averaged over seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence, Tree
from dynet_vdgi.evaluation.branching import left_branching, random_transitions, right_branching
from dynet_vdgi.inference import eisner
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import RuleSet

TIE_SEEDS = 5
"""The number of seeds over which the baseline's figures are averaged."""

RULES_ONLY = "rules only"

RANDOM_DRAWS = 10
"""The number of draws over which the random baseline's figures are averaged."""

Draws = list[list[Tree]]
"""For each draw, the heads of every sentence."""


def rules_only(sentences: Sequence[Sentence], prior: Prior, seed: int) -> list[Tree]:
    """The heads of each sentence; this seed breaks ties."""
    rng = np.random.default_rng(seed)
    return [eisner.best(break_ties(prior.potentials(sentence), rng)) for sentence in sentences]


def break_ties(scores: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The scores plus noise far below any real difference between them, which breaks ties at
    random."""
    return scores + 1e-6 * rng.random(scores.shape)


def baseline_trees(sentences: Sequence[Sentence], rules: RuleSet) -> dict[str, Draws]:
    """The trees of each baseline; punctuation must be removed from the sentences unless it is
    scored.

    "rules only" uses the given rule table, whose measurements are taken in these sentences.
    """
    lengths = [len(sentence) for sentence in sentences]
    rng = np.random.default_rng(0)
    prior = Prior.of_text(rules, sentences)
    return {
        "left branching": [[left_branching(n) for n in lengths]],
        "right branching": [[right_branching(n) for n in lengths]],
        "random": [[random_transitions(n, rng) for n in lengths] for _ in range(RANDOM_DRAWS)],
        RULES_ONLY: [rules_only(sentences, prior, seed) for seed in range(TIE_SEEDS)],
    }

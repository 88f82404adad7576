"""Trees of every baseline for the sentences of a treebank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.baselines.branching import left_branching, random_transitions, right_branching
from dynet_vdgi.baselines.rules_only import TIE_SEEDS, rules_only
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet

RULES_ONLY = "rules only"

RANDOM_DRAWS = 10
"""The number of draws over which the random baseline's figures are averaged."""

Draws = list[list[tuple[int, ...]]]
"""For each draw, the heads of every sentence."""


def baseline_trees(sentences: Sequence[Sentence], rules: RuleSet) -> dict[str, Draws]:
    """The trees of each baseline; punctuation must be removed from the sentences unless it is scored.

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

"""Baselines: trees that depend on the number of words only, and the rules alone.

Trees that depend only on the number of words. Heads are 1..n, 0 = root.

The names are the paper's, as its figures show: "left branching" makes every word depend on the NEXT word
(36.2 / 30.2 DDA on WSJ, the score of that tree; the mirror image scores 20). Many other papers use the two
names the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet


def left_branching(n_words: int) -> tuple[int, ...]:
    """The head is the next word; the last word is the root.

    >>> left_branching(4)
    (2, 3, 4, 0)
    """
    return tuple((word + 1) % (n_words + 1) for word in range(1, n_words + 1))


def right_branching(n_words: int) -> tuple[int, ...]:
    """The head is the previous word; the first word is the root.

    >>> right_branching(4)
    (0, 1, 2, 3)
    """
    return tuple(range(n_words))


def random_transitions(n_words: int, rng: np.random.Generator) -> tuple[int, ...]:
    """A tree from arc-standard actions drawn uniformly from the legal ones; the last word left is the root.

    SHIFT is legal while words remain, LEFT and RIGHT while two are on the stack, and no root symbol is on it:
    the paper's transition system and its "random" baseline. Not uniform over trees. Takes 2n - 1 numbers from
    `rng` (none for n = 0).
    """
    heads = [0] * n_words
    stack: list[int] = []
    next_word = 1
    for draw in rng.random(max(0, 2 * n_words - 1)).tolist():
        can_shift = next_word <= n_words
        can_reduce = len(stack) >= 2
        action = int(draw * (can_shift + 2 * can_reduce)) + (not can_shift)  # 0 SHIFT, 1 LEFT, 2 RIGHT
        if action == 0:
            stack.append(next_word)
            next_word += 1
        else:
            dependent = stack.pop(-2 if action == 1 else -1)
            heads[dependent - 1] = stack[-1]
    return tuple(heads)


# ----------------------------------------------------------------------------------------------------
# Parsing with the prior alone: arc potentials from rules, short arcs preferred, exact projective decoding.
#
# It learns nothing and nearly reaches the paper's accuracy, so a trained model below it has failed. Rule
# scores are so coarse that the best tree is seldom unique. So seeded noise breaks ties, and figures are
# averaged over seeds.


TIE_SEEDS = 5
"""The number of seeds over which the baseline's figures are averaged."""


def rules_only(sentences: Sequence[Sentence], prior: Prior, seed: int) -> list[tuple[int, ...]]:
    """The heads of each sentence; this seed breaks ties."""
    rng = np.random.default_rng(seed)
    return [chart.best(break_ties(prior.potentials(sentence), rng)) for sentence in sentences]


def break_ties(scores: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The scores plus noise far below any real difference between them, which breaks ties at random."""
    return scores + 1e-6 * rng.random(scores.shape)


# ----------------------------------------------------------------------------------------------------
# Trees of every baseline for the sentences of a treebank.


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

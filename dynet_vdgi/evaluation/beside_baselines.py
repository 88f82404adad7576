"""Scores of parsers that learn nothing, for comparison with trained ones in a table."""

from __future__ import annotations

from collections.abc import Sequence

from dynet_vdgi.baselines.trees import baseline_trees
from dynet_vdgi.evaluation.attachment import BREAKDOWNS, MAX_LENS, Evaluation, GoldTrees
from dynet_vdgi.evaluation.tables import mean
from dynet_vdgi.grammar.rules import RuleSet


def evaluate_baselines(
    gold: GoldTrees,
    rules: RuleSet,
    *,
    max_lens: Sequence[int | None] = MAX_LENS,
    by: Sequence[str] = BREAKDOWNS,
) -> dict[str, Evaluation]:
    """Scores of every baseline by name, as means over its draws; "rules only" uses the given table."""
    return {
        name: mean([gold.evaluate(heads, max_lens=max_lens, by=by, rules=rules) for heads in draws])
        for name, draws in baseline_trees(gold.sentences, rules).items()
    }

"""Scores of CoNLL-U files, with those of parsers that learn nothing beside them.

The names of the baselines are the paper's, as its figures show: "left branching" makes every word
depend on the NEXT word (36.2 / 30.2 DDA on WSJ, the score of that tree; the mirror image scores
20). Many papers use the two names the other way round.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.protocols import STANDARD, UD_PUNCTUATION, Protocol
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation.attachment import (
    BREAKDOWNS,
    MAX_LENS,
    Evaluation,
    GoldTrees,
    SentenceTally,
    evaluate,
)
from dynet_vdgi.evaluation.rules_only import baseline_trees
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.rule_tables.tag_warnings import tag_warnings

logger = logging.getLogger("dynet_vdgi")


def score_files(
    gold: str | Path,
    parses: Sequence[str | Path],
    *,
    rules: RuleSet,
    protocol: str | Protocol = STANDARD,
    max_lens: Sequence[int | None] = MAX_LENS,
    by: Sequence[str] = (),
    baselines: bool = False,
    tags: str = "upos",
) -> dict[str, Evaluation]:
    """Scores of every parse by its file name, or by its path if several have this name; then of the
    baselines.

    The rules serve the break-down by rule and the baseline "rules only"; `tags` is the column of
    the tags in these rules.

    Raises: DataError, a file is malformed, has no trees, or does not hold the sentences of the gold
    file; ConfigError, UsageError, no such protocol, no such break-down. Warns if most words have
    tags without a rule.
    """
    evaluations: dict[str, Evaluation] = {}
    sentences = list(reading.read(gold, heads="required", tags=tags))
    if baselines or "rule" in by:
        counts = Counter(
            tag for sentence in sentences for tag in sentence.tags if tag not in UD_PUNCTUATION
        )
        if 2 * sum(counts[tag] for tag in rules.mentioned_tags()) < counts.total():
            for line in tag_warnings(counts, rules):
                logger.warning("%s", line)
    names = [Path(path).name for path in parses]
    for path, name in zip(parses, names):
        parsed = reading.read(path, heads="required", tags=tags)
        evaluation = evaluate(
            sentences, parsed, protocol=protocol, max_lens=max_lens, by=by, rules=rules
        )
        evaluations[str(path) if names.count(name) > 1 else name] = evaluation
    if baselines:
        trees = GoldTrees.of(sentences, protocol)
        if not trees.sentences:
            raise DataError(
                str(gold), None, f"no sentence is left under protocol {trees.protocol.name}"
            )
        evaluations |= evaluate_baselines(trees, rules, max_lens=max_lens, by=by)
    return evaluations


def evaluate_baselines(
    gold: GoldTrees,
    rules: RuleSet,
    *,
    max_lens: Sequence[int | None] = MAX_LENS,
    by: Sequence[str] = BREAKDOWNS,
) -> dict[str, Evaluation]:
    """Scores of every baseline by name, as means over its draws; "rules only" uses the given
    table."""
    return {
        name: mean([gold.evaluate(heads, max_lens=max_lens, by=by, rules=rules) for heads in draws])
        for name, draws in baseline_trees(gold.sentences, rules).items()
    }


def mean(draws: Sequence[Evaluation]) -> Evaluation:
    """The evaluation whose counts are means over several draws of one system on the same words."""
    first = draws[0]
    return replace(
        first,
        total=_mean_tally([each.total for each in draws]),
        by_length={m: _mean_tally([each.by_length[m] for each in draws]) for m in first.by_length},
        breakdowns={
            name: {
                key: _mean_tally([each.breakdowns[name][key] for each in draws]) for key in table
            }
            for name, table in first.breakdowns.items()
        },
        per_sentence=tuple(
            (sum(right for right, _ in cells) / len(cells), cells[0][1])
            for cells in zip(*(each.per_sentence for each in draws))
        ),
        labelled=tuple(
            sum(cells) / len(cells) for cells in zip(*(each.labelled for each in draws))
        ),
    )


def _mean_tally(tallies: Sequence[SentenceTally]) -> SentenceTally:
    """Means of the counts; those of words and sentences, the same in every draw, stay whole
    numbers."""
    counts: dict[str, Any] = {}
    for name in (
        field.name for field in fields(SentenceTally) if field.name not in ("sentences", "words")
    ):
        values = [getattr(tally, name) for tally in tallies]
        counts[name] = None if None in values else sum(values) / len(values)
    return replace(tallies[0], **counts)

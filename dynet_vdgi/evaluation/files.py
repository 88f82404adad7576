"""Scores of CoNLL-U files, and published figures beside them.

Scores of CoNLL-U files, and of parsers that learn nothing, beside which they are shown.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from dynet_vdgi.data import conllu
from dynet_vdgi.data.protocols import STANDARD, Protocol
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation.attachment import (
    BREAKDOWNS,
    MAX_LENS,
    Evaluation,
    GoldTrees,
    SentenceTally,
    evaluate,
)
from dynet_vdgi.evaluation.baselines import baseline_trees
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.settings.config import resources


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
    """Scores of every parse by its file name, or by its path if the name is taken; then of the baselines.

    The rules serve the break-down by rule and the baseline "rules only"; `tags` is the column of the tags in
    these rules.

    Raises: DataError, a file is malformed, has no trees, or does not hold the sentences of the gold file;
    ConfigError, UsageError, no such protocol, no such break-down.
    """
    evaluations: dict[str, Evaluation] = {}
    sentences = list(conllu.read(gold, heads="required", tags=tags))
    for path in parses:
        parsed = conllu.read(path, heads="required", tags=tags)
        found = evaluate(sentences, parsed, protocol=protocol, max_lens=max_lens, by=by, rules=rules)
        name = Path(path).name
        evaluations[str(path) if name in evaluations else name] = found
    if baselines:
        trees = GoldTrees.of(sentences, protocol)
        if not trees.sentences:
            raise DataError(str(gold), None, f"no sentence is left under protocol {trees.protocol.name}")
        evaluations |= evaluate_baselines(trees, rules, max_lens=max_lens, by=by)
    return evaluations


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


def mean(draws: Sequence[Evaluation]) -> Evaluation:
    """The evaluation whose counts are means over several draws of one system on the same words."""
    first = draws[0]
    return replace(
        first,
        total=_mean_tally([each.total for each in draws]),
        by_length={m: _mean_tally([each.by_length[m] for each in draws]) for m in first.by_length},
        breakdowns={
            name: {key: _mean_tally([each.breakdowns[name][key] for each in draws]) for key in table}
            for name, table in first.breakdowns.items()
        },
        per_sentence=tuple(
            (sum(right for right, _ in cells) / len(cells), cells[0][1])
            for cells in zip(*(each.per_sentence for each in draws))
        ),
        labelled=tuple(sum(cells) / len(cells) for cells in zip(*(each.labelled for each in draws))),
    )


def _mean_tally(tallies: Sequence[SentenceTally]) -> SentenceTally:
    """Means of the counts; those of words and sentences, the same in every draw, stay whole numbers."""
    counts: dict[str, Any] = {}
    for name in (field.name for field in fields(SentenceTally) if field.name not in ("sentences", "words")):
        values = [getattr(tally, name) for tally in tallies]
        counts[name] = None if None in values else sum(values) / len(values)
    return replace(tallies[0], **counts)


# ----------------------------------------------------------------------------------------------------
# Published figures from `resources/published.csv`: the tables of the paper and of comparable papers.


DATASETS = {
    "eu": "UD1.4-Basque",
    "nl": "UD1.4-Dutch",
    "fr": "UD1.4-French",
    "de": "UD1.4-German",
    "it": "UD1.4-Italian",
    "pl": "UD1.4-Polish",
    "pt": "UD1.4-Portuguese",
    "es": "UD1.4-Spanish",
    "wsj": "WSJ23",
}
"""The data set that a language, or the treebank of a plan, stands beside."""

_SAME_MODEL = {
    "UnivRules": "UniversalRules",
    "L-WeaklySup": "L-WeaklySupervised",
    "Conv-MST": "Convex-MST",
    "RL-PC": "WeaklySupervised",  # table 3 does not say whose expectations; its figure equals table 4's
}
"""Models that have two names in the tables of the paper."""


class PublishedFigure(NamedTuple):
    """One number of one table; DDA and UDA in per cent. `best` and `std` are None if none was printed."""

    table: str
    model: str
    dataset: str
    length: str  # `all`, or such as `<=15`
    metric: str  # DDA, UDA or tokens_per_second
    mean: float
    best: float | None
    std: float | None
    source: str


def same_model(model: str) -> str:
    """One name for a model that has several."""
    return _SAME_MODEL.get(model, model)


def model_of(systems: Mapping[str, str], models: set[str]) -> dict[str, str]:
    """The published model of each system: its name (a value), or that without -SUFFIXes; "" if there is none.

    >>> model_of({"ours": "UniversalRules-dev", "best": "best"}, {"UnivRules"})
    {'ours': 'UnivRules', 'best': ''}
    """
    known = {same_model(model): model for model in models}
    found = {}
    for system, name in systems.items():
        while name and same_model(name) not in known:
            name = name.rpartition("-")[0]
        found[system] = known.get(same_model(name), "")
    return found


def read() -> list[PublishedFigure]:
    """All figures of the file, in its order."""
    with open(resources() / "published.csv", encoding="utf-8", newline="") as handle:
        return [
            PublishedFigure(
                row["table"],
                row["model"],
                row["dataset"],
                row["length"],
                row["metric"],
                float(row["mean"]),
                _number(row["best"]),
                _number(row["std"]),
                row["source"],
            )
            for row in csv.DictReader(handle)
        ]


def _number(text: str) -> float | None:
    return float(text) if text else None

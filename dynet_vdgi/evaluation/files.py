"""Scores of CoNLL-U files, and of parsers that learn nothing; published figures beside them.

The names of the baselines are the paper's, as its figures show: "left branching" makes every word depend on
the NEXT word (36.2 / 30.2 DDA on WSJ, the score of that tree; the mirror image scores 20). Many papers use
the two names the other way round.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data import conllu
from dynet_vdgi.data.protocols import STANDARD, Protocol
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation.attachment import (
    BREAKDOWNS,
    MAX_LENS,
    Evaluation,
    GoldTrees,
    SentenceTally,
    evaluate,
)
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.prior import Prior
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


# ------------------------------------------------------------------------------------------- baselines
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


# ------------------------------------------------------------------------------------------- published
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
                float(row["best"]) if row["best"] else None,
                float(row["std"]) if row["std"] else None,
                row["source"],
            )
            for row in csv.DictReader(handle)
        ]

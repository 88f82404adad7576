"""Scores of files as tables and JSON, with baselines, intervals, and tests of two systems.

How much a score depends on the choice of test sentences: bootstrap intervals, tests of two systems.

Each draw takes as many whole sentences as there are, with replacement, because the words of one sentence are
not independent. A draw's DDA is its number of right words over its number of words, as in `Tally`.

Interval: between the (1 - level) / 2 and (1 + level) / 2 quantiles of the draws' DDA (percentile interval,
Efron & Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). It is somewhat too narrow for few
sentences, and says nothing for one.

Test (paired: both systems are scored on the same draws, Koehn, EMNLP 2004): p is the share of draws whose
difference d* is as far from the observed difference d as d is from 0, |d* - d| >= |d|. This is the two-sided
form of the test of Berg-Kirkpatrick, Burkett & Klein, EMNLP 2012, who move the draws to the null hypothesis
of no difference; Koehn counts the draws in which the order is reversed, which gives half of p if the draws
are symmetric. The observed sentences count as one more draw, so p is never below 1 / (draws + 1).

All this is about the choice of test sentences. It does not cover the variation between training runs: with
several seeds, give each its own row and look at their spread as well. Counts of right words may be means over
runs; the interval is then for the mean over exactly these runs.
"""

from __future__ import annotations

import csv
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from dynet_vdgi.data import conllu
from dynet_vdgi.data.sentence import STANDARD, UD_PUNCTUATION, Protocol, Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation.attachment import (
    BREAKDOWNS,
    LABEL_MEASURES,
    MAX_LENS,
    Evaluation,
    GoldTrees,
    SentenceTally,
    evaluate,
    length_label,
    percent,
)
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet, tag_warnings
from dynet_vdgi.settings.config import resources
from dynet_vdgi.system.names import aligned

logger = logging.getLogger("dynet_vdgi")

DRAWS, LEVEL, SEED = 10_000, 0.95, 1

_CELLS = 1 << 17  # sentences drawn at once, few enough for a cache
_AS_LONG = 13  # number of sentences drawn in the time of one draw of a sentence's count
_ROUNDING = 1e-12  # differences closer than this are equal

Counts = Sequence[float] | npt.NDArray[Any]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A score and its interval, as fractions; all NaN if there is nothing to score."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference(Interval):
    """A score minus another, its interval, and the two-sided p of no difference; NaN as in `Interval`."""

    p: float

    def to_dict(self) -> dict[str, float | None]:
        """Ready for JSON: null for NaN."""
        return {name: None if np.isnan(value) else value for name, value in asdict(self).items()}


def compare(
    correct: Sequence[Counts] | npt.NDArray[Any],
    words: Counts,
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = SEED,
) -> tuple[list[Interval], list[Difference]]:
    """Intervals of S systems, and the differences from the first of all others (S - 1), on the same draws.

    `correct` (S, n) counts the right words of each sentence, `words` (n,) all its words.
    """
    counts, lengths = np.asarray(correct, dtype=float), np.asarray(words, dtype=float)
    if not lengths.size:
        nothing = (float("nan"),) * 3
        return [Interval(*nothing)] * len(counts), [Difference(*nothing, float("nan"))] * (len(counts) - 1)
    observed = counts.sum(axis=1) / lengths.sum()  # (S,)
    sums = _resampled_sums(np.column_stack([*counts, lengths]), draws, seed)  # (draws, S + 1)
    drawn = sums[:, :-1] / sums[:, -1:]  # (draws, S)
    intervals = [Interval(float(score), *_limits(d, level)) for score, d in zip(observed, drawn.T)]
    gaps, drawn_gaps = observed[1:] - observed[0], (drawn[:, 1:] - drawn[:, :1]).T
    differences = []
    for gap, d in zip(gaps, drawn_gaps):
        as_far = np.count_nonzero(np.abs(d - gap) >= abs(gap) - _ROUNDING)
        differences.append(Difference(float(gap), *_limits(d, level), float((1 + as_far) / (1 + len(d)))))
    return intervals, differences


def _resampled_sums(columns: _Floats, draws: int, seed: int) -> _Floats:
    """Column sums (draws, K) of rows drawn from `columns` (n, K), n rows a draw.

    In a large test set many rows are equal. Then it is enough to draw the count of each distinct row.
    """
    rng, n_rows = np.random.default_rng(seed), len(columns)
    different, times = np.unique(columns, axis=0, return_counts=True)
    is_multinomial = len(different) * _AS_LONG < n_rows
    at_once = max(1, _CELLS // (len(different) if is_multinomial else n_rows))
    sums = np.zeros((draws, columns.shape[1]))
    for start in range(0, draws, at_once):
        n_draws = min(at_once, draws - start)
        if is_multinomial:
            sums[start : start + n_draws] = rng.multinomial(n_rows, times / n_rows, n_draws) @ different
            continue
        picked = rng.integers(n_rows, size=(n_draws, n_rows), dtype=np.int32)
        for k, column in enumerate(columns.T.copy()):
            sums[start : start + n_draws, k] = column.take(picked).sum(axis=1)
    return sums


def _limits(drawn: _Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


# ----------------------------------------------------------------------------------------------------
# Scores of CoNLL-U files, and of parsers that learn nothing; published figures beside them.
#
# The names of the baselines are the paper's, as its figures show: "left branching" makes every word depend
# on the NEXT word (36.2 / 30.2 DDA on WSJ, the score of that tree; the mirror image scores 20). Many papers
# use the two names the other way round.


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
    """Scores of every parse by its file name, or by its path if several have this name; then of the baselines.

    The rules serve the break-down by rule and the baseline "rules only"; `tags` is the column of the tags in
    these rules.

    Raises: DataError, a file is malformed, has no trees, or does not hold the sentences of the gold file;
    ConfigError, UsageError, no such protocol, no such break-down. Warns if most words have tags without a rule.
    """
    evaluations: dict[str, Evaluation] = {}
    sentences = list(conllu.read(gold, heads="required", tags=tags))
    if baselines or "rule" in by:
        counts = Counter(tag for sentence in sentences for tag in sentence.tags if tag not in UD_PUNCTUATION)
        if 2 * sum(counts[tag] for tag in rules.mentioned_tags()) < counts.total():
            for line in tag_warnings(counts, rules):
                logger.warning("%s", line)
    names = [Path(path).name for path in parses]
    for path, name in zip(parses, names):
        parsed = conllu.read(path, heads="required", tags=tags)
        found = evaluate(sentences, parsed, protocol=protocol, max_lens=max_lens, by=by, rules=rules)
        evaluations[str(path) if names.count(name) > 1 else name] = found
    if baselines:
        trees = GoldTrees.of(sentences, protocol)
        if not trees.sentences:
            raise DataError(str(gold), None, f"no sentence is left under protocol {trees.protocol.name}")
        evaluations |= evaluate_baselines(trees, rules, max_lens=max_lens, by=by)
    return evaluations


def evaluate_baselines(
    gold: GoldTrees, rules: RuleSet, *, max_lens: Sequence[int | None] = MAX_LENS, by: Sequence[str] = BREAKDOWNS
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
# It learns nothing and nearly reaches the paper's accuracy, so a trained model below it has failed. Rule scores are
# so coarse that the best tree is seldom unique. So seeded noise breaks ties, and figures are averaged over seeds.


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
        _, *rows = csv.reader(handle)
    return msgspec.convert([[cell or None for cell in row] for row in rows], list[PublishedFigure], strict=False)


# ----------------------------------------------------------------------------------------------------
# Several systems side by side: tables in per cent and JSON, with bootstrap intervals.


_LEVEL = f"{100 * LEVEL:.0f} %"


@dataclass(frozen=True)
class Comparison:
    """Bootstrap of a measure of several systems, by length limit; see `significance`.

    `intervals[m][name]` has every system with this measure, `differences[m][name]` the difference of each to
    the first of them.
    """

    draws: int
    intervals: dict[int | None, dict[str, Interval]]
    differences: dict[int | None, dict[str, Difference]]

    @property
    def note(self) -> str:
        """The scope of the intervals, for readers."""
        text = (
            f"{_LEVEL} intervals: bootstrap over the sentences, {self.draws} draws; they cover the choice of "
            "test sentences, not another training run"
        )
        if any(self.differences.values()):
            text += "; differences are to the first row, p is two-sided (paired bootstrap)"
        return text


def compared(evaluations: Mapping[str, Evaluation], draws: int = DRAWS, measure: str = "dda") -> Comparison:
    """Intervals of every system, and differences to the first; systems without relations have no "las"."""
    first = next(iter(evaluations.values()))
    lengths = np.array([words for _, words in first.per_sentence])
    if measure == "las":
        counts = {name: each.labelled for name, each in evaluations.items() if each.has_labels}
    else:
        counts = {name: tuple(n for n, _ in each.per_sentence) for name, each in evaluations.items()}
    names, rows = list(counts), np.array(list(counts.values()))
    comparison = Comparison(draws, {}, {})
    for max_len in first.by_length:
        chosen = lengths <= (math.inf if max_len is None else max_len)
        intervals, differences = compare(rows[:, chosen], lengths[chosen], draws=draws)
        comparison.intervals[max_len] = dict(zip(names, intervals))
        comparison.differences[max_len] = dict(zip(names[1:], differences))
    return comparison


def comparisons(evaluations: Mapping[str, Evaluation], draws: int) -> dict[str, Comparison]:
    """Comparisons of "dda" and, if any system has relations, of "las"; none without draws."""
    measures = ["dda", *(["las"] if any(each.has_labels for each in evaluations.values()) else [])]
    return {measure: compared(evaluations, draws, measure) for measure in measures if draws}


_MEASURES: dict[str, tuple[str, Callable[[SentenceTally], float]]] = {
    "dda": ("DDA", lambda tally: tally.dda),
    "uda": ("UDA", lambda tally: tally.uda),
    "root": ("root", lambda tally: tally.root_accuracy),
    **LABEL_MEASURES,
}

LEGEND = "DDA: right heads, that is UAS of the words scored; UDA: right arcs in either direction"
"""What the names of measures mean that UD's own evaluation does not have."""


def format_all(
    evaluations: Mapping[str, Evaluation],
    by: Sequence[str] = (),
    comparisons: Mapping[str, Comparison] = MappingProxyType({}),
) -> str:
    """Policy, the tables of accuracy in per cent, and the requested break-downs.

    Tables of relations are included if any system has relations. With comparisons, intervals and differences
    are below the table of a measure.
    """
    first = next(iter(evaluations.values()))
    has_labels = any(evaluation.has_labels for evaluation in evaluations.values())
    of_labels = "; LAS: right heads with the right relation" if has_labels else ""
    parts = [f"{first.policy}\n{LEGEND}{of_labels}"]
    lengths = [*map(length_label, first.by_length)]
    for measure, (title, value_of) in _MEASURES.items():
        if measure in LABEL_MEASURES and not has_labels:
            continue
        rows = [
            [title, *lengths],
            ["sentences", *(str(tally.sentences) for tally in first.by_length.values())],
            ["words", *(str(tally.words) for tally in first.by_length.values())],
        ]
        shown = {n: each for n, each in evaluations.items() if each.has_labels or measure not in LABEL_MEASURES}
        for name, evaluation in shown.items():
            rows.append([name, *(percent(value_of(tally)) for tally in evaluation.by_length.values())])
        tables = [rows]
        if (comparison := comparisons.get(measure)) is not None:
            intervals = [[f"{_LEVEL} interval", *lengths]]
            for name in shown:
                intervals.append([name, *(_interval(found[name]) for found in comparison.intervals.values())])
            differences = [["difference", *lengths]]
            for name in next(iter(comparison.differences.values())):
                gaps = [found[name] for found in comparison.differences.values()]
                cells = [f"{_signed(gap.estimate)} {p_text(gap.p)}".strip() for gap in gaps]
                differences.append([name, *cells])
            tables += [intervals, differences]
        texts = [aligned(table) for table in tables if len(table) > 1]
        texts += [comparison.note] if comparison is not None and measure == "dda" else []
        parts.append("\n".join(texts))
    for name in by:
        rows = [[name, "words", *evaluations]]
        for key, cell in first.breakdowns[name].items():
            shares = (percent(evaluation.breakdowns[name][key].dda) for evaluation in evaluations.values())
            rows.append([key, str(cell.words), *shares])
        parts.append(aligned(rows))
    return "\n\n".join(parts)


def _interval(cell: Interval) -> str:
    return "-" if math.isnan(cell.low) else f"{percent(cell.low)}-{percent(cell.high)}"


def _signed(fraction: float) -> str:
    return "-" if math.isnan(fraction) else f"{round(100 * fraction, 1) + 0.0:+.1f}"  # + 0.0: never -0.0


def p_text(p: float) -> str:
    """The p value in the format of tables; empty for NaN."""
    if math.isnan(p):
        return ""
    return f"p={p:.3f}" if p >= 0.001 else "p<0.001"


def to_dict(
    evaluations: Mapping[str, Evaluation], comparisons: Mapping[str, Comparison] = MappingProxyType({})
) -> dict[str, Any]:
    """Everything about several systems on one treebank, ready for JSON.

    With comparisons, every cell of "by_length" has a "dda_interval" [low, high] (null over nothing) and, with
    relations, a "las_interval"; "bootstrap" holds the method and the "differences" and "las_differences" to
    the first system that has the measure.
    """
    policy = next(iter(evaluations.values())).policy
    systems = {name: evaluation.to_dict() for name, evaluation in evaluations.items()}
    bootstrap: dict[str, Any] = {}
    for measure, comparison in comparisons.items():
        for max_len, intervals in comparison.intervals.items():
            for name, cell in intervals.items():
                limits = None if math.isnan(cell.low) else [cell.low, cell.high]
                systems[name]["by_length"][length_label(max_len)][f"{measure}_interval"] = limits
        first, *others = next(iter(comparison.intervals.values()))
        prefix = "" if measure == "dda" else f"{measure}_"
        if measure == "dda":
            bootstrap = {"draws": comparison.draws, "level": LEVEL, "seed": SEED, "note": comparison.note}
        bootstrap[f"{prefix}differences_to"] = first
        bootstrap[f"{prefix}differences"] = {
            name: {length_label(m): cells[name].to_dict() for m, cells in comparison.differences.items()}
            for name in others
        }
    return {"policy": policy, "systems": systems, **({"bootstrap": bootstrap} if bootstrap else {})}

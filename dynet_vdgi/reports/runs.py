"""The runs that a page is about, their scores, and their learning curves as SVG.

The runs that a page is about: their folders, model files and logs.
"""

from __future__ import annotations

import glob
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from dynet_vdgi.data import conllu, conllu_blocks, files
from dynet_vdgi.data.protocols import Protocol, scoring_protocol
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.evaluation import files as published
from dynet_vdgi.evaluation.attachment import MAX_LENS, Evaluation, GoldTrees, Heads, paired
from dynet_vdgi.evaluation.files import evaluate_baselines
from dynet_vdgi.evaluation.tables import Comparison, compare
from dynet_vdgi.grammar.tag_warnings import unknown_to_model
from dynet_vdgi.parsing.parser import Parser
from dynet_vdgi.runs import model_file
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.runs.run_folder import DEFAULT_RULES, NamedRules, RunLog, model_path, rules_named
from dynet_vdgi.settings import config
from dynet_vdgi.system.names import near


@dataclass(frozen=True)
class Run:
    """A run as read from its folder: `meta` of the model file, `settings` as TOML, `rows` of the log."""

    name: str
    meta: Mapping[str, Any]
    settings: str
    n_weights: int = 0
    rows: Sequence[Mapping[str, Any]] = ()


def run_folders(patterns: Sequence[str]) -> dict[str, Path]:
    """Folders of runs by unique name: the folder's own name, or else the whole path.

    Raises: UsageError if a folder does not exist, or is a file.
    """
    found: dict[str, Path] = {}  # by real path, so that each run is shown once
    for pattern in patterns:
        names = [pattern]
        if not os.path.exists(pattern) and glob.has_magic(pattern):
            names = sorted(name for name in glob.glob(pattern, recursive=True) if os.path.isdir(name))
            if not names:
                raise UsageError(f"no folder matches {pattern!r}")
        for name in names:
            if not os.path.exists(name):
                raise UsageError(f"no such folder: {name!r}")
            if not os.path.isdir(name):
                raise UsageError(f"{name!r} is not the folder of a run (name the one that vdgi train wrote)")
            found.setdefault(os.path.realpath(name), Path(name))
    short = [path.resolve().name for path in found.values()]
    return {name if short.count(name) == 1 else str(path): path for name, path in zip(short, found.values())}


def load_models(folders: Mapping[str, Path]) -> dict[str, ModelFile]:
    """Raises: ModelError for a folder without a model, or with a damaged one."""
    return {name: model_file.load(model_path(folder)) for name, folder in folders.items()}


def run_of(name: str, folder: Path, model: ModelFile) -> Run:
    """The run in a folder, as the page presents it."""
    return Run(
        name,
        model.meta,
        model.settings.to_toml().rstrip(),
        model.n_weights,
        [row for row in RunLog(folder / config.LOG_NAME).rows() if isinstance(row, dict)],
    )


# ----------------------------------------------------------------------------------------------------
# The scores of runs on test sentences, compared with the baselines and published figures.


_BREAKDOWNS = ("length", "distance", "rule")
_LOGGER = logging.getLogger("dynet_vdgi")


@dataclass(frozen=True)
class PublishedRow:
    """Published figures by the labels of `attachment.length_label`: mean, and the best if printed."""

    name: str
    source: str
    figures: Mapping[str, tuple[float, float | None]]


@dataclass(frozen=True)
class ScoredRuns:
    """The runs' trees and scores on test sentences.

    `heads` are the runs' trees of `trees.sentences`, by name, with their `relations` (empty: there are none).
    `evaluations` has the runs first, then the baselines; `rules` names the table of the break-down by rule.
    """

    gold: str
    trees: GoldTrees
    heads: Mapping[str, Sequence[Heads]]
    relations: Mapping[str, Sequence[tuple[str, ...]]]
    evaluations: Mapping[str, Evaluation]
    comparison: Comparison
    rules: str
    published: Sequence[PublishedRow] = ()


def score_runs(
    models: Mapping[str, ModelFile],
    gold: str,
    *,
    protocol: str | None = None,
    rules: NamedRules | None = None,
    dataset: str | None = None,
) -> ScoredRuns:
    """Parses the gold file's sentences with every model, and scores these trees and the baselines' trees.

    `rules`, for the break-down by rule and the baseline, are by default those of the first model, or
    `DEFAULT_RULES` if it has none, as universal models.

    Raises: DataError, the file is malformed, has no trees, or the protocol leaves nothing of it; UsageError,
    the models have several protocols and none is named, or there are no published figures.
    """
    the_protocol = _protocol(models, protocol)
    rows = _published(dataset) if dataset is not None else []
    limits = {int(label[2:]) for row in rows for label in row.figures if label != "all"}
    max_lens = [*sorted(limits | {limit for limit in MAX_LENS if limit is not None}), None]
    blocks = list(conllu_blocks.blocks(gold))
    parsed = {name: _parsed(name, model, blocks) for name, model in models.items()}
    name, first = next(iter(models.items()))
    rules = rules or (
        NamedRules(f"rules of {name}", first.rules, first.settings.data.tags)
        if first.rules.rules
        else rules_named(DEFAULT_RULES)._replace(name=f"rules {DEFAULT_RULES}")
    )
    sentences = [conllu.sentence_of(block, "required", rules.tags) for block in blocks]
    trees = GoldTrees.of(sentences, the_protocol)
    if not trees.sentences:
        raise DataError(files.shown(gold), None, f"no sentence is left under protocol {the_protocol.name}")
    pairs = {name: paired(sentences, its, the_protocol) for name, its in parsed.items()}
    evaluations = {
        name: trees.evaluate(pair.heads, pair.relations, max_lens=max_lens, by=_BREAKDOWNS, rules=rules.rules)
        for name, pair in pairs.items()
    }
    baselines = evaluate_baselines(trees, rules.rules, max_lens=max_lens, by=_BREAKDOWNS)
    evaluations |= {f"{name} (baseline)": baseline for name, baseline in baselines.items()}
    return ScoredRuns(
        gold=Path(files.shown(gold)).name,
        trees=trees,
        heads={name: pair.heads for name, pair in pairs.items()},
        relations={name: pair.relations or [()] * len(pair.heads) for name, pair in pairs.items()},
        evaluations=evaluations,
        comparison=compare(evaluations),
        rules=rules.name,
        published=rows,
    )


def _protocol(models: Mapping[str, ModelFile], name: str | None) -> Protocol:
    theirs = sorted({model.settings.data.protocol for model in models.values()})
    if name is None and len(theirs) > 1:
        raise UsageError(f"the models have several protocols: choose one with --protocol {'|'.join(theirs)}")
    return scoring_protocol(name or theirs[0])


def _parsed(name: str, model: ModelFile, blocks: Sequence[conllu_blocks.Block]) -> list[Sentence]:
    """The sentences with the tags of the model's column, and with its trees and relations."""
    parser = Parser(model)
    tags = model.settings.data.tags
    parsed = list(parser.pipe([conllu.sentence_of(block, "ignored", tags) for block in blocks]))
    for line in unknown_to_model(parser.unknown_tags):
        _LOGGER.warning("%s: %s", name, line)
    return parsed


def _published(dataset: str) -> list[PublishedRow]:
    """Rows of DDA on a data set, one for each model of each table."""
    figures = [figure for figure in published.read() if figure.metric == "DDA"]
    mine = [figure for figure in figures if figure.dataset == dataset]
    if not mine:
        known = sorted({figure.dataset for figure in figures})
        there_are = ", ".join(near(dataset, known, 3, 0.6) or known)
        raise UsageError(f"--published {dataset}: no such data set (there are {there_are})")
    rows: dict[tuple[str, str], dict[str, tuple[float, float | None]]] = {}
    for figure in mine:
        rows.setdefault((figure.model, figure.table), {})[figure.length] = (figure.mean, figure.best)
    return [PublishedRow(model, table, cells) for (model, table), cells in rows.items()]


# ----------------------------------------------------------------------------------------------------
# Learning curves as `<svg>` elements for a page: lines differ in colour and dashes, and have a description.
#
# Colours are classes, `vdgi-series-0` and so on, to which the page's style sheet gives light and dark
# values. A picture is about as wide as a telephone, so that it need not shrink there.


CURVES = (
    ("Dev DDA, per cent", "dev_dda", 100.0),
    ("ELBO per word", "elbo_per_word", 1.0),
    ("|lambda|", "lambda_norm", 1.0),
    ("Rules per sentence", "rules_per_sentence", 1.0),
    ("Entropy of the encoder", "entropy", 1.0),
)
"""Title, key of a log's rows, factor."""

WIDTH, HEIGHT = 340, 220
N_COLOURS = 6
DASHES = ("", "7 3", "2 3", "10 3 2 3", "4 2")
"""With `N_COLOURS` colours, 30 lines can be told apart."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 22, 12, 40  # margins of the plot, with room for the numbers
_N_TICKS = 4
_MAX_DOTS = 30  # lines with more points have no dots
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Series(NamedTuple):
    """One line: points (x, y) in the order of x, drawn in the style of this number."""

    name: str
    points: Sequence[tuple[float, float]]
    number: int = 0


class Curves(NamedTuple):
    """Pictures, by title, with one legend: samples of lines and the runs that they mean."""

    samples: Sequence[tuple[str, str]]
    pictures: Mapping[str, str]


def curves_of(runs: Sequence[Run]) -> Curves:
    """The curves of all measurements in the logs by the number of updates."""
    pictures: dict[str, str] = {}
    drawn = set()
    for title, key, factor in CURVES:
        series = []
        for index, run in enumerate(runs):
            both = [(number_in(row, "update"), number_in(row, key)) for row in run.rows]
            points = sorted((x, factor * y) for x, y in both if x is not None and y is not None)
            if points:
                series.append(Series(run.name, points, index))
                drawn.add(index)
        if series:
            pictures[title] = svg(title, series, f"curve-{key.replace('_', '-')}")
    return Curves([(_sample(index), runs[index].name) for index in sorted(drawn)], pictures)


def number_in(row: Mapping[str, Any], key: str) -> float | None:
    """The number under a key; None if there is no number."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def ticks(low: float, high: float) -> list[float]:
    """Equidistant round numbers, from at most `low` to at least `high`, in about four steps.

    >>> ticks(0.12, 0.71)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        margin = abs(low) / 10 or 1.0
        low, high = low - margin, high + margin
    raw = (high - low) / _N_TICKS
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in _STEPS if factor * magnitude >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


def svg(
    title: str, series: Sequence[Series], name: str, unit: tuple[str, str] = ("update", "updates")
) -> str:
    """The lines, each of which has a point; `name` must be unique among the elements of the page.

    unit: of the x-axis, in singular and plural.
    """
    across = [x for line in series for x, _ in line.points]
    up = [y for line in series for _, y in line.points]
    x_end = max(across) if max(across) > 0 else 1.0
    y_ticks = ticks(min(up), max(up))
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        high = (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _LEFT + max(x, 0.0) / x_end * (right - _LEFT), bottom - high * (bottom - _TOP)

    parts = [
        f'<svg class="vdgi-curve" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{escape(title)} against {unit[1]}</title>',
        f'<desc id="{name}-desc">{escape(" ".join(_in_words(line, unit[0]) for line in series))}</desc>',
    ]
    for value in y_ticks:
        _, y = place(0.0, value)
        parts.append(f'<path class="vdgi-grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    for value in (tick for tick in ticks(0.0, x_end) if tick <= x_end):
        x, _ = place(value, y_ticks[0])
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{_number(value)}</text>')
    parts.append(
        f'<text x="{(_LEFT + right) / 2:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{unit[1]}</text>'
    )
    for line in series:
        places = [place(x, y) for x, y in line.points]
        data = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places]
        path = f'<path d="M{data}"{_dashes(line.number)}/>'
        shown = "".join(dots) if len(places) <= _MAX_DOTS else ""
        parts.append(f'<g class="{_classes(line.number)}">{path}{shown}</g>')
    return "\n".join([*parts, "</svg>"])


def _in_words(line: Series, unit: str) -> str:
    """A description: where the line begins, ends, and is lowest and highest."""
    (first_x, first), (last_x, last) = line.points[0], line.points[-1]
    begin = f"{_number(first)} at {unit} {_number(first_x)}"
    if len(line.points) == 1:
        return f"{line.name}: {begin}."
    values = [value for _, value in line.points]
    return (
        f"{line.name}: from {begin} to {_number(last)} at {unit} {_number(last_x)}; "
        f"lowest {_number(min(values))}, highest {_number(max(values))}."
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _sample(line: int) -> str:
    """A sample of the line of this number, for a legend."""
    return (
        '<svg class="vdgi-sample" width="44" height="12" viewBox="0 0 44 12" role="img">'
        f"<title>Line {line + 1}</title><desc>{'Dashed' if _dashes(line) else 'Solid'}</desc>"
        f'<path class="{_classes(line)}" d="M2 6H42"{_dashes(line)}/></svg>'
    )


def _classes(line: int) -> str:
    return f"vdgi-series vdgi-series-{line % N_COLOURS}"


def _dashes(line: int) -> str:
    dashes = DASHES[line % len(DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""

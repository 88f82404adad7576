"""The runs that a page is about, and their scores.

The runs that a page is about: their folders, model files and logs.
"""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynet_vdgi.data import conllu, conllu_blocks, files
from dynet_vdgi.data.protocols import Protocol, scoring_protocol
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.evaluation import files as published
from dynet_vdgi.evaluation.attachment import MAX_LENS, Evaluation, GoldTrees, paired
from dynet_vdgi.evaluation.files import evaluate_baselines
from dynet_vdgi.evaluation.pairing import Heads
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

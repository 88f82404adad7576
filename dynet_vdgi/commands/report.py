"""Write a page about runs: settings, learning curves, scores, trees.

The page is one HTML file that needs nothing else, neither scripts nor network; it needs the extra "report".
RUN is a folder that `vdgi train` wrote. With --gold, the test sentences are parsed with every model and
scored as by `vdgi evaluate --baselines`; with --published, figures of others on that data set stand below.

  vdgi report runs/fr
  vdgi report runs/fr-1 runs/fr-2 --gold fr-ud-test.conllu --published UD1.4-French -o fr.html
"""

from __future__ import annotations

import argparse
import difflib
import glob
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dynet_vdgi import config
from dynet_vdgi.data import conllu, files, protocols
from dynet_vdgi.errors import DataError, UsageError

if TYPE_CHECKING:
    from dynet_vdgi.model_file import ModelFile
    from dynet_vdgi.reports.page import PublishedRow, Run, Scored

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi report`."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a run, with model.vdgi in it")
    parser.add_argument("--gold", metavar="TEST", help="CoNLL-U file with gold trees to score the models on")
    parser.add_argument(
        "--published", metavar="NAME", help="data set of the published figures, such as UD1.4-French"
    )
    parser.add_argument(
        "--protocol",
        metavar="NAME",
        help=f"{' or '.join(protocols.PROTOCOLS)} (default: that of the models)",
    )
    parser.add_argument(
        "--rules",
        default="ud",
        metavar="FILE",
        help="rules of the break-down and of the baseline (default: %(default)s)",
    )
    parser.add_argument(
        "--sentences",
        type=int,
        default=5,
        metavar="N",
        help="best and worst sentences to draw (default: %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="where to write (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi report`."""
    if arguments.published is not None and arguments.gold is None:
        raise UsageError("--published compares scores: name the test sentences with --gold FILE")
    if arguments.sentences < 0:
        raise UsageError(f"--sentences {arguments.sentences}: a number of sentences, or 0 for none")
    from dynet_vdgi.reports import page

    page.template()  # before any work, lest the library be missing
    folders = run_folders(arguments.runs)
    with files.atomic_writer(arguments.output) as handle:
        models = _models(folders)
        runs = [_run(name, folders[name], model) for name, model in models.items()]
        scored = None
        if arguments.gold is not None:
            scored = score(
                models,
                arguments.gold,
                protocol=arguments.protocol,
                rules=arguments.rules,
                dataset=arguments.published,
            )
        handle.write(page.render(runs, scored, n_sentences=arguments.sentences))
    if arguments.output != files.STANDARD:
        logger.info("report: %s", arguments.output)


# ------------------------------------------------------------------------------------------- runs
def run_folders(patterns: Sequence[str]) -> dict[str, Path]:
    """Folders of runs by a name that no two of them share: the folder's, else the whole path.

    Raises:
        UsageError: there is no such folder, or it is a file.
    """
    found: dict[str, Path] = {}  # by real path, so that a run is shown once
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


def _models(folders: dict[str, Path]) -> dict[str, ModelFile]:
    """Raises: ModelError for a folder without a model, or one with a damaged one."""
    from dynet_vdgi import model_file

    return {name: model_file.load(folder / config.MODEL_NAME) for name, folder in folders.items()}


def _run(name: str, folder: Path, model: ModelFile) -> Run:
    from dynet_vdgi.reports.page import Run
    from dynet_vdgi.runlog import RunLog

    return Run(
        name,
        model.meta,
        model.settings.to_toml().rstrip(),
        sum(array.size for array in model.parameters.values()),
        [row for row in RunLog(folder / config.LOG_NAME).rows() if isinstance(row, dict)],
    )


# ------------------------------------------------------------------------------------------- scores
def score(
    models: dict[str, ModelFile],
    gold: str,
    *,
    protocol: str | None = None,
    rules: str = "ud",
    dataset: str | None = None,
) -> Scored:
    """Parses the gold file's sentences with every model, and scores the trees and those of the baselines.

    Raises:
        DataError: the file is malformed, has no trees, or nothing is left of it.
        UsageError: the models have several protocols and none is named, or nothing is published of the data.
    """
    from dynet_vdgi.commands.evaluate import baseline_trees
    from dynet_vdgi.evaluation import attachment, tables
    from dynet_vdgi.grammar.rules import load_rules
    from dynet_vdgi.reports.page import Scored, tag_pairs

    names = files.expand([gold])
    if len(names) > 1:
        raise UsageError(f"--gold must be one file; {gold!r} stands for {len(names)}")
    the_protocol = _protocol(models, protocol)
    rule_file = config.rules_path(rules)
    rule_set = load_rules(rule_file)
    published = _published(dataset) if dataset is not None else []
    max_lens = _max_lens([label for row in published for label in row.cells])
    blocks = list(conllu.blocks(names[0]))
    gold_sentences = [conllu.sentence_of(block, "required") for block in blocks]
    trees = {}
    for name, model in models.items():
        parsed = _parsed(name, model, blocks)
        kept = []
        for number, both in enumerate(zip(gold_sentences, parsed), 1):
            sentence, heads = both
            pair = attachment.pair([sentence], [replace(sentence, heads=heads)], the_protocol)
            kept += [(number, *rest) for rest in zip(*pair)]
        if not kept:
            raise DataError(
                files.shown(names[0]), None, f"no sentence is left under protocol {the_protocol.name}"
            )
        trees[name] = [heads for _, _, heads in kept]
    sentences = [sentence for _, sentence, _ in kept]

    def report_of(heads: Sequence[tuple[int, ...]]) -> attachment.Report:
        return attachment.evaluate(
            sentences,
            heads,
            the_protocol,
            max_lens,
            ("length", "distance", "rule"),
            rule_set.pairs(),
            all_sentences=len(gold_sentences),
        )

    reports = {name: report_of(heads) for name, heads in trees.items()}
    for name, draws in baseline_trees([sentence.tags for sentence in sentences], rule_set).items():
        label = f"{name} (baseline)"
        reports[label] = tables.mean([report_of(heads) for heads in draws])
    return Scored(
        gold=Path(files.shown(names[0])).name,
        rules=rule_file.name,
        sentences=sentences,
        numbers=[number for number, _, _ in kept],
        trees=trees,
        reports=reports,
        comparison=tables.compare(reports),
        pairs={name: tag_pairs(sentences, heads, the_protocol) for name, heads in trees.items()},
        published=published,
    )


def _protocol(models: dict[str, ModelFile], name: str | None) -> protocols.Protocol:
    if name is not None:
        return protocols.protocol_named(name)
    theirs = sorted({model.settings.data.protocol for model in models.values()})
    if len(theirs) > 1:
        raise UsageError(f"the models have several protocols: choose one with --protocol {'|'.join(theirs)}")
    return protocols.protocol_named(theirs[0])


def _parsed(name: str, model: ModelFile, blocks: Sequence[conllu.Block]) -> list[tuple[int, ...]]:
    """The model's trees of the sentences, whose tags are from its column."""
    from dynet_vdgi.parsing.parser import Parser

    parser = Parser(model)
    tags = model.settings.data.tags
    parses = parser.parse_all([conllu.sentence_of(block, "ignored", tags) for block in blocks])
    for tag, count in parser.unknown_tags.items():
        logger.warning(
            "%s: tag %s (%d words) is unknown to the model: those words are parsed blindly", name, tag, count
        )
    return [parse.heads for parse in parses]


def _published(dataset: str) -> list[PublishedRow]:
    """Rows of DDA on a data set, one for each model of each table."""
    from dynet_vdgi.experiments.tables import published
    from dynet_vdgi.reports.page import Cell, PublishedRow

    figures = [figure for figure in published.read() if figure.metric == "DDA"]
    mine = [figure for figure in figures if figure.dataset == dataset]
    if not mine:
        known = sorted({figure.dataset for figure in figures})
        near = difflib.get_close_matches(dataset, known, 3) or known
        raise UsageError(f"--published {dataset}: no such data set (there are {', '.join(near)})")
    rows: dict[tuple[str, str], dict[str, Cell]] = {}
    for figure in mine:
        best = "" if figure.best is None else f"best {figure.best:.1f}"
        rows.setdefault((figure.model, figure.table), {})[figure.length] = Cell(f"{figure.mean:.1f}", best)
    return [PublishedRow(model, table, cells) for (model, table), cells in rows.items()]


def _max_lens(labels: Sequence[str]) -> list[int | None]:
    """The usual length limits and those of these labels, all sentences last."""
    from dynet_vdgi.evaluation.attachment import MAX_LENS

    limits = {limit for limit in MAX_LENS if limit is not None}
    limits |= {int(label[2:]) for label in labels if label != "all"}
    return [*sorted(limits), None]

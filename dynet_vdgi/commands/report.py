"""Write an HTML page about runs: settings, curves, scores, trees.

The page is one file without scripts, and needs no network. RUN is a folder that `vdgi train` wrote.
With --gold, each model parses the test sentences, and its trees are scored as by `vdgi evaluate
--baselines`, under the rules that the first model was trained with. --published adds published figures
for that data set.

  vdgi report runs/fr
  vdgi report runs/fr-1 runs/fr-2 --gold fr-ud-test.conllu --published UD1.4-French -o fr.html
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynet_vdgi.data import file_checks, files, protocols
from dynet_vdgi.errors import UsageError

if TYPE_CHECKING:
    from dynet_vdgi.reports.scored_runs import ScoredRuns
    from dynet_vdgi.runs.model_file import ModelFile

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a run, with model.vdgi in it")
    parser.add_argument("--gold", metavar="TEST", help="CoNLL-U file with gold trees to score on")
    parser.add_argument(
        "--published", metavar="NAME", help="data set whose published figures to add, such as UD1.4-French"
    )
    parser.add_argument(
        "--protocol",
        metavar="NAME",
        help=f"{', '.join(protocols.SCORING_PROTOCOLS)} (default: that of the models)",
    )
    parser.add_argument(
        "--rules",
        metavar="MODEL",
        help="rules of the break-down and of the baseline: a model or run folder, a rule file, or a name "
        "such as ud (default: those of the first model)",
    )
    parser.add_argument(
        "--sentences",
        type=int,
        default=5,
        metavar="N",
        help="best and worst sentences to draw, of each (default: %(default)s)",
    )
    parser.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="where to write (default: %(default)s); a file that exists is replaced",
    )


def run(arguments: argparse.Namespace) -> None:
    if arguments.published is not None and arguments.gold is None:
        raise UsageError("--published compares scores: name the test sentences with --gold FILE")
    if arguments.sentences < 0:
        raise UsageError(f"--sentences {arguments.sentences}: a number of sentences, or 0 for none")
    from dynet_vdgi.reports import page
    from dynet_vdgi.reports.runs import load_models, run_folders, run_of

    page.template()  # before any work, in case the library is missing
    folders = run_folders(arguments.runs)
    gold = files.expand([arguments.gold]) if arguments.gold is not None else []
    of_runs = [path for folder in folders.values() for path in folder.iterdir()]
    file_checks.check_output(arguments.output, [*gold, *of_runs], ending=".html")
    with files.atomic_writer(arguments.output) as handle:
        models = load_models(folders)
        runs = [run_of(name, folders[name], model) for name, model in models.items()]
        scored = _scored(models, gold, arguments) if gold else None
        handle.write(page.render(runs, scored, n_sentences=arguments.sentences))
    if arguments.output != files.STANDARD:
        logger.info("report: %s", arguments.output)


def _scored(models: dict[str, ModelFile], names: Sequence[str], arguments: argparse.Namespace) -> ScoredRuns:
    from dynet_vdgi.reports.scored_runs import score_runs
    from dynet_vdgi.runs.run_folder import rules_named

    if len(names) > 1:
        raise UsageError(f"--gold must be one file; {arguments.gold!r} stands for {len(names)}")
    return score_runs(
        models,
        names[0],
        protocol=arguments.protocol,
        rules=rules_named(arguments.rules) if arguments.rules else None,
        dataset=arguments.published,
    )

"""Train, parse and evaluate on the demo treebank that comes with the package.

The treebank is of an invented language, made for this project (resources/demo). Takes about a minute; run
again, it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from dynet_vdgi import config
from dynet_vdgi.commands import train
from dynet_vdgi.commands.parse import parse_files

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi demo`."""
    parser.add_argument(
        "--out", default="runs/demo", metavar="DIR", help="folder for all results (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of the training (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi demo`."""
    from dynet_vdgi.evaluation import tables
    from dynet_vdgi.evaluation.files import score_files
    from dynet_vdgi.parsing.stream import Stream
    from dynet_vdgi.run_folder import rules_named

    out, treebanks = Path(arguments.out), config.resources() / "demo"
    test, parsed = treebanks / "demo-ud-test.conllu", out / "demo-ud-test.parsed.conllu"
    settings = config.load_settings("demo", [f"train.seed={arguments.seed}"])
    model = train.train(
        train_files=[str(treebanks / "demo-ud-train.conllu")],
        out=out,
        settings=settings,
        resume=True,
        preset="demo",
    )
    with Stream(str(model)) as stream:
        parse_files(stream, [str(test)], str(parsed))
    evaluations = score_files(
        test,
        [parsed],
        rules=rules_named(str(model)).rules,
        protocol=settings.data.protocol,
        max_lens=[10, 15, None],
        baselines=True,
    )
    print(tables.format_all(evaluations))
    print(f"\nwritten: {model}, {out / config.LOG_NAME}, {out / config.SETTINGS_NAME}, {parsed}")

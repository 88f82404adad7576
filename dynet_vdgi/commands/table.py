"""Print the tables of vdgi experiment.

Systems x treebanks in DDA, mean (best) ± standard deviation over seeds, with baselines above them; one
table for each protocol and length. Systems and treebanks without any run are left out. Notes below the table
name every use of gold trees and the reason for each missing figure. With --like, a system stands below the
published row that its plan names with `published`.

  vdgi table runs/ud
  vdgi table runs/ud runs/wsj --like paper --format latex > tables.tex
  vdgi table runs/ud --bootstrap --against default
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dynet_vdgi.commands import check_at_least_1
from dynet_vdgi.system.names import plain

DRAWS = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="+", metavar="DIR", help="folder of vdgi experiment --out")
    parser.add_argument(
        "--like",
        metavar="TABLE",
        help="set figures beside published ones: 'paper', or a table of resources/published.csv",
    )
    parser.add_argument(
        "--format",
        default="markdown",
        choices=("markdown", "latex", "csv"),
        help="csv has one figure per line (default: %(default)s)",
    )
    parser.add_argument(
        "--bootstrap",
        action="store_true",
        help="add differences with 95 %% intervals: paired bootstrap over test sentences",
    )
    parser.add_argument(
        "--against",
        default="rules only",
        metavar="NAME",
        help="baseline or system to compare with under --bootstrap (default: %(default)s)",
    )
    parser.add_argument(
        "--draws", type=int, default=DRAWS, metavar="N", help="draws of the bootstrap (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.experiments.tables import build, formats

    check_at_least_1("--draws", arguments.draws)
    against = arguments.against if arguments.bootstrap else None
    shown = build.tables(
        [Path(folder) for folder in arguments.folders],
        like=arguments.like,
        against=against,
        draws=arguments.draws,
    )
    sys.stdout.write(plain(formats.show(shown, arguments.format)))

"""Print the tables of vdgi experiment.

Systems x treebanks in DDA, mean (best) ± standard deviation over seeds, with baselines above them; one
table for each protocol and length. Notes below name the commit and every use of gold trees. With --like,
systems stand below the published model of their name, and languages in the column of their published
data set. Instead of a folder, DIR may be a CSV file of runs, which --format rows writes.

  vdgi table runs/ud
  vdgi table runs/ud runs/wsj --like paper
  vdgi table runs/ud --format rows > ud.csv
  vdgi table ud.csv --like Li2019-T6
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dynet_vdgi.system.names import plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="folder of vdgi experiment --out, or a CSV file of runs"
    )
    parser.add_argument(
        "--like",
        metavar="TABLE",
        help="set figures beside published ones: 'paper', or a table of resources/published.csv",
    )
    parser.add_argument(
        "--format",
        default="markdown",
        choices=("markdown", "rows"),
        help="rows: the runs as CSV, a line each (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.experiments import tables

    rows = tables.read([Path(folder) for folder in arguments.folders])
    if arguments.format == "rows":
        sys.stdout.write(plain(tables.rows_as_csv(rows)))
        return
    found = tables.overview(rows) if arguments.like is None else tables.beside(rows, arguments.like)
    sys.stdout.write(plain(tables.markdown(found)))

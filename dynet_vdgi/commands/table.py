"""Tables of what vdgi experiment has done.

Systems x treebanks in DDA, mean (best) ± standard deviation over seeds, baselines above them; one table for
each protocol and length. Notes below say what used gold trees and why a figure is missing.

  vdgi table runs/ud
  vdgi table runs/ud runs/wsj --like paper --format latex > tables.tex
  vdgi table runs/ud --bootstrap --against default
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dynet_vdgi.errors import UsageError
from dynet_vdgi.names import did_you_mean

if TYPE_CHECKING:
    from dynet_vdgi.experiments.sheets import Sheet

DRAWS = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi table`."""
    parser.add_argument("folders", nargs="+", metavar="DIR", help="what vdgi experiment wrote to")
    parser.add_argument(
        "--like",
        metavar="TABLE",
        help="set beside published figures: 'paper', or a table of resources/published.csv",
    )
    parser.add_argument(
        "--format",
        default="markdown",
        choices=("markdown", "latex", "csv"),
        help="csv: one figure a line (default: %(default)s)",
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
        help="baseline or system that --bootstrap compares with (default: %(default)s)",
    )
    parser.add_argument(
        "--draws", type=int, default=DRAWS, metavar="N", help="of the bootstrap (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi table`."""
    from dynet_vdgi.experiments import formats

    if arguments.draws < 1:
        raise UsageError(f"--draws {arguments.draws}: at least 1")
    against = arguments.against if arguments.bootstrap else None
    shown = tables(
        [Path(folder) for folder in arguments.folders],
        like=arguments.like,
        against=against,
        draws=arguments.draws,
    )
    sys.stdout.write(formats.show(shown, arguments.format))


def tables(
    folders: Sequence[Path], *, like: str | None = None, against: str | None = None, draws: int = DRAWS
) -> list[Sheet]:
    """The tables of experiments' folders.

    Raises:
        UsageError: no experiment in a folder, an unknown table or system.
        DataError: a file of an experiment is damaged.
    """
    from dynet_vdgi.experiments import beside_published, published, results, sheets

    grid = results.load(folders)
    if like is None:
        shown = sheets.overview(grid)
    else:
        figures = published.read()
        names = ["paper", *dict.fromkeys(figure.table for figure in figures)]
        if like not in names:
            raise UsageError(f"--like {like}: no such table{did_you_mean(like, names)}")
        shown = beside_published.beside(grid, figures, beside_published.PAPER if like == "paper" else like)
    if against is None:
        return shown
    known = [*grid.systems, *sheets.BASELINES]
    if against not in known:
        raise UsageError(f"--against {against}: no such system{did_you_mean(against, known)}")
    from dynet_vdgi.experiments import differences

    compared = [differences.against(grid, sheet, against, draws) for sheet in sheets.overview(grid)]
    return [*shown, *sheets.without_repetition(compared)]

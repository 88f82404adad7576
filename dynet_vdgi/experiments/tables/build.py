"""The tables of experiments' folders, as `vdgi table` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dynet_vdgi.errors import UsageError
from dynet_vdgi.evaluation import published
from dynet_vdgi.experiments.tables import beside_published, differences, grid, sheets
from dynet_vdgi.experiments.tables.sheets import Sheet
from dynet_vdgi.system.names import did_you_mean

DRAWS = 10_000
"""Number of draws of the bootstrap."""


def tables(
    folders: Sequence[Path], *, like: str | None = None, against: str | None = None, draws: int = DRAWS
) -> list[Sheet]:
    """The tables of experiments' folders.

    Raises: UsageError, no experiment in a folder, an unknown table or system; DataError, a file of an
    experiment is damaged.
    """
    known = grid.load(folders)
    if like is None:
        shown = sheets.overview(known)
    else:
        figures = published.read()
        names = ["paper", *dict.fromkeys(figure.table for figure in figures)]
        if like not in names:
            raise UsageError(f"--like {like}: no such table{did_you_mean(like, names)}")
        shown = beside_published.beside(known, figures, beside_published.PAPER if like == "paper" else like)
    if against is None:
        return shown
    others = [*known.systems, *sheets.BASELINES]
    if against not in others:
        raise UsageError(f"--against {against}: no such system{did_you_mean(against, others)}")
    compared = [differences.against(known, sheet, against, draws) for sheet in sheets.overview(known)]
    return [*shown, *sheets.without_repetition(compared)]

"""Differences of systems from a baseline, or from another system, by a paired bootstrap."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from dynet_vdgi.evaluation import significance
from dynet_vdgi.experiments.tables.grid import Grid, SentenceCounts
from dynet_vdgi.experiments.tables.sheets import (
    AVERAGE,
    RUN,
    Entry,
    Gap,
    Measured,
    Sheet,
    SheetColumn,
    SheetRow,
    gaps_of,
    limit_of,
)


def against(grid: Grid, sheet: Sheet, reference: str, draws: int) -> Sheet:
    """The runs of a table of `sheets.overview`, minus the runs of `reference`."""
    columns = tuple(column for column in sheet.columns if column[0] != AVERAGE)
    systems = [row.label for row in sheet.rows if row.source == RUN and row.label != reference]
    found = [_column(grid, sheet.name, column, systems, reference, draws) for column in columns]
    rows = tuple(
        SheetRow(system, tuple(c[system] for c in found), f"minus {reference}") for system in systems
    )
    note = (
        f"In brackets: 95 % interval, paired bootstrap over test sentences, {draws} draws, of the mean over "
        "seeds; how much seeds differ is in the table above."
    )
    return replace(
        sheet,
        name=f"{sheet.name} minus {reference}",
        title=f"{sheet.title}: minus {reference}",
        columns=columns,
        rows=rows,
        notes=(note, *gaps_of(rows, columns)),
    )


def _column(
    grid: Grid, protocol: str, column: SheetColumn, systems: Sequence[str], reference: str, draws: int
) -> dict[str, Entry]:
    """The differences of all systems in one column, on the same draws."""
    treebank, limit = column[0], limit_of(column[1])
    base = grid.baselines.get((treebank, protocol), {}).get(reference)
    base = base or _mean_over_seeds(grid, treebank, reference, protocol)
    if base is None:
        return {system: Gap(f"no figure of {reference}") for system in systems}
    entries: dict[str, Entry] = {}
    rights: dict[str, list[float]] = {}
    words, right = base.chosen(limit)
    for system in systems:
        scored = _mean_over_seeds(grid, treebank, system, protocol)
        if scored is None:
            entries[system] = Gap(grid.gap(treebank, system))
        elif scored.words != base.words:
            entries[system] = Gap(f"not scored on the sentences of {reference}")
        elif not words:
            entries[system] = Gap("no sentence of this length")
        else:
            rights[system] = scored.chosen(limit)[1]
    if rights:
        _, differences = significance.compare([right, *rights.values()], words, draws=draws)
        for system, difference in zip(rights, differences):
            figures = (100 * value for value in (difference.estimate, difference.low, difference.high))
            mean, low, high = figures
            entries[system] = Measured(mean, low=low, high=high)
    return entries


def _mean_over_seeds(grid: Grid, treebank: str, system: str, protocol: str) -> SentenceCounts | None:
    """The mean number of right words over the seeds, for each sentence."""
    runs = list(grid.results.get((treebank, system), {}).values())
    if grid.protocols.get((treebank, system)) != protocol or not runs:
        return None
    alike = [run for run in runs if run.words == runs[0].words]
    right = [statistics.mean(column) for column in zip(*(run.right for run in alike))]
    return SentenceCounts(alike[0].words, tuple(right))

"""Published tables combined with the figures of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dynet_vdgi.data import protocols
from dynet_vdgi.errors import UsageError
from dynet_vdgi.evaluation.published import PublishedFigure, same_model
from dynet_vdgi.experiments.tables.grid import Grid
from dynet_vdgi.experiments.tables.sheets import (
    BASELINES,
    INCOMPLETE,
    Entry,
    Gap,
    Measured,
    Sheet,
    SheetColumn,
    SheetRow,
    average_of,
    baseline_of,
    cell,
    dda_of,
    gold_trees,
    has_news,
    limit_of,
    mean_of,
    notes_of,
    without_repetition,
)

PAPER = "Li2019-"
"""Prefix of the names of the paper's tables."""

OURS = "this experiment"

_BASELINES = dict(zip(("Left_branching", "Right_branching", "Random"), BASELINES))
"""Our baselines by the paper's names."""


def beside(grid: Grid, figures: Sequence[PublishedFigure], prefix: str = PAPER) -> list[Sheet]:
    """Published tables with our rows below those of the same model; our systems without such a model follow.

    A table is shown if one of its data sets is a treebank of the plan; the last note names the others.

    Raises: UsageError, no table is shown.
    """
    sheets: list[Sheet] = []
    left_out = []
    datasets = {treebank.published: name for name, treebank in grid.treebanks.items() if treebank.published}
    for table in dict.fromkeys(figure.table for figure in figures if figure.table.startswith(prefix)):
        mine = [figure for figure in figures if figure.table == table and figure.metric != "UDA"]
        if any(figure.dataset in datasets for figure in mine):
            tables = [_BesideTable(grid, datasets, mine, block).sheet() for block in _blocks(mine)]
            sheets += without_repetition(tables)
        else:
            left_out.append(table)
    if not sheets:
        raise UsageError("no treebank of the plan is a data set of these tables ('published' in the plan)")
    if left_out:
        note = f"Not shown, as no treebank of the plan is in them: {', '.join(left_out)}."
        sheets[-1] = replace(sheets[-1], notes=(*sheets[-1].notes, note))
    return sheets


def _blocks(figures: Sequence[PublishedFigure]) -> list[list[SheetColumn]]:
    """The columns of a published table; of several data sets, a table for each length and metric."""
    names = list(dict.fromkeys(figure.dataset for figure in figures))
    lengths = list(dict.fromkeys(figure.length for figure in figures))
    if len(names) == 1:
        return [[(names[0], length) for length in lengths]]
    return [[(name, length) for name in names] for length in lengths]


@dataclass(frozen=True)
class _BesideTable:
    """One table in the making: published figures, the columns shown, our treebanks by data set."""

    grid: Grid
    datasets: Mapping[str, str]
    figures: Sequence[PublishedFigure]
    columns: Sequence[SheetColumn]

    @property
    def is_speed(self) -> bool:
        return self.figures[0].metric == "tokens_per_second"

    @property
    def treebanks(self) -> list[str]:
        """Our treebanks in the columns, without duplicates."""
        return list(dict.fromkeys(self.datasets[name] for name, _ in self.columns if name in self.datasets))

    def sheet(self) -> Sheet:
        placed: list[str] = []
        rows: list[SheetRow] = []
        for model in dict.fromkeys(figure.model for figure in self.figures):
            rows.append(self._published(model))
            same = [
                name
                for name, system in self.grid.systems.items()
                if system.published and same_model(system.published) == same_model(model)
                if self._is_shown(name)
            ]
            rows += map(self._system, same)
            if not same and model in _BASELINES:
                rows.append(self._baseline(_BASELINES[model]))
            placed += same
        further = [
            name
            for name, system in self.grid.systems.items()
            if name not in placed
            # Otherwise its place is in another table.
            and (self.is_speed or not system.published)
            and self._is_shown(name)
        ]
        rows += map(self._system, further)
        if not self.is_speed:
            rows.append(self._baseline(BASELINES[-1]))
        return Sheet(
            self.figures[0].table,
            self._title(),
            tuple(self.columns),
            tuple(rows),
            tuple(self._notes(rows, list(dict.fromkeys([*placed, *further])))),
            decimals=0 if self.is_speed else 1,
        )

    def _is_shown(self, system: str) -> bool:
        """True if there is a figure of the system or a reason for a gap; true for all if nothing was run."""
        planned = [name for name in self.treebanks if (name, system) in self.grid.wanted]
        return any(not self.grid.results or has_news(self.grid, name, system) for name in planned)

    def _title(self) -> str:
        lengths = {length for _, length in self.columns}
        what = "words per second" if self.is_speed else "DDA"
        title = f"{self.figures[0].table} beside {OURS}: {what}"
        return f"{title}, length {lengths.pop()}" if len(lengths) == 1 else title

    def _published(self, model: str) -> SheetRow:
        there = {(f.dataset, f.length): f for f in self.figures if f.model == model}
        entries: list[Entry] = []
        for column in self.columns:
            figure = there.get(column)
            entries.append(Measured(figure.mean, figure.best, figure.std) if figure else Gap("not published"))
        return SheetRow(model, tuple(entries), next(iter(there.values())).source)

    def _system(self, name: str) -> SheetRow:
        entries = [self._figure(name, dataset, length) for dataset, length in self.columns]
        mark = bool(gold_trees(self.grid, name, self.treebanks))
        return SheetRow(f"  {name} (here)", tuple(entries), OURS, mark)

    def _figure(self, system: str, dataset: str, length: str) -> Entry:
        if dataset.endswith("-Average"):
            if any(name not in self.datasets for name, _ in self.columns if not name.endswith("-Average")):
                return Gap(INCOMPLETE)
            return average_of(self.grid, self.treebanks, system, limit_of(length))
        if dataset not in self.datasets:
            return Gap("no treebank of the plan")
        if self.is_speed:
            return self._speed(system, self.datasets[dataset], length)
        return dda_of(self.grid, self.datasets[dataset], system, limit_of(length))

    def _speed(self, system: str, treebank: str, length: str) -> Entry:
        runs = self.grid.results.get((treebank, system))
        if not runs:
            return Gap(self.grid.gap(treebank, system))
        if length != "all":
            return Gap("measured on the whole test set only")
        return cell([run.words_per_cpu_s for run in runs.values()], len(self.grid.wanted[treebank, system]))

    def _baseline(self, name: str) -> SheetRow:
        """A baseline under each treebank's first protocol."""
        entries: list[Entry] = []
        for dataset, length in self.columns:
            if dataset.endswith("-Average"):
                entries.append(mean_of(entries))
            elif dataset not in self.datasets:
                entries.append(Gap("no treebank of the plan"))
            else:
                treebank = self.datasets[dataset]
                protocol = next((p for t, p in self.grid.baselines if t == treebank), "")
                entries.append(baseline_of(self.grid, treebank, protocol, name, limit_of(length)))
        return SheetRow(f"  {name} (here)", tuple(entries), f"baseline, {OURS}")

    def _notes(self, rows: Sequence[SheetRow], systems: Sequence[str]) -> list[str]:
        notes = ["Rows marked (here) are of this experiment, the others as published."]
        if self.is_speed:
            notes.append(
                "Speed here: words per CPU second in one pass over the whole test set, model loaded."
            )
        files = [f"{name} {', '.join(self.grid.test_files.get(name, ['?']))}" for name in self.treebanks]
        if any(name in self.grid.test_files for name in self.treebanks):
            notes.append(f"Test files here: {'; '.join(files)}.")
        used = {
            (system, self.grid.protocols[name, system])
            for system in systems
            for name in self.treebanks
            if (name, system) in self.grid.protocols
        }
        standard = protocols.STANDARD.name
        notes += [
            f"{name} is scored under protocol {other}." for name, other in sorted(used) if other != standard
        ]
        return [*notes, *notes_of(self.grid, rows, self.columns, systems, self.treebanks)]

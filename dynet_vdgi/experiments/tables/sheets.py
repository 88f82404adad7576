"""Tables of experiments as rows and columns of figures; `formats` shows them.

DDA in per cent. Over the seeds of a run: mean, best, and standard deviation of the sample (n - 1). The
average over treebanks is taken of their means and of their bests, as in the paper; its deviation is that of
the seeds' averages, if all treebanks have the same seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dynet_vdgi.data import protocols
from dynet_vdgi.evaluation.attachment import length_label
from dynet_vdgi.experiments.tables.grid import NOT_RUN, Grid

AVERAGE, RUN = "average", "run"

BASELINES = ("left branching", "right branching", "random", "rules only")

INCOMPLETE = "average only over all treebanks"

_FOLLOWED = "dev: progress figures only"
"""A use of gold trees that changes nothing."""


@dataclass(frozen=True)
class Measured:
    """A figure; if it is of runs, `n` of `wanted` seeds are in it. `low` and `high` bound an interval."""

    mean: float
    best: float | None = None
    std: float | None = None
    n: int | None = None
    wanted: int | None = None
    low: float | None = None
    high: float | None = None

    @property
    def is_short(self) -> bool:
        """True if seeds are missing."""
        return self.n is not None and self.wanted is not None and self.n < self.wanted


@dataclass(frozen=True)
class Gap:
    """A missing figure, and the reason."""

    reason: str


Entry = Measured | Gap
SheetColumn = tuple[str, str]
"""Treebank or data set, and length in the form of `length_label`."""


@dataclass(frozen=True)
class SheetRow:
    """A line of a table; `mark` if gold trees were used, `source` gives the origin of its figures."""

    label: str
    entries: tuple[Entry, ...]
    source: str
    mark: bool = False


@dataclass(frozen=True)
class Sheet:
    """One table. `decimals` of its figures."""

    name: str
    title: str
    columns: tuple[SheetColumn, ...]
    rows: tuple[SheetRow, ...]
    notes: tuple[str, ...] = ()
    decimals: int = 1


def limit_of(label: str) -> int | None:
    """The length behind a label; None for all."""
    return None if label == "all" else int(label[2:])


# ------------------------------------------------------------------------------------------- figures
def cell(values: Sequence[float], wanted: int) -> Measured:
    """Mean, best and deviation of the figures of several seeds.

    >>> cell([50.0, 52.0, 54.0], 5)
    Measured(mean=52.0, best=54.0, std=2.0, n=3, wanted=5, low=None, high=None)
    """
    several = len(values) > 1
    deviation = statistics.stdev(values) if several else None
    return Measured(statistics.mean(values), max(values) if several else None, deviation, len(values), wanted)


def dda_of(grid: Grid, treebank: str, system: str, length: int | None) -> Entry:
    """The figure of a system on a treebank."""
    runs = grid.results.get((treebank, system))
    if not runs:
        return Gap(grid.gap(treebank, system))
    return cell([run.dda(length) for run in runs.values()], len(grid.wanted[treebank, system]))


def average_of(grid: Grid, treebanks: Sequence[str], system: str, length: int | None) -> Entry:
    """The average of a system over treebanks; a gap while one is missing."""
    cells = [dda_of(grid, name, system, length) for name in treebanks]
    there = [entry for entry in cells if isinstance(entry, Measured)]
    if len(there) < len(cells):
        return Gap(INCOMPLETE)
    runs = [grid.results[name, system] for name in treebanks]
    counts = [len(seeds) for seeds in runs]
    several = min(counts) > 1
    per_seed = [
        statistics.mean(seeds[seed].dda(length) for seeds in runs)
        for seed in set.intersection(*map(set, runs))
    ]
    return Measured(
        statistics.mean(entry.mean for entry in there),
        statistics.mean(entry.best or entry.mean for entry in there) if several else None,
        statistics.stdev(per_seed) if several and set(counts) == {len(per_seed)} else None,
        min(counts),
        max(entry.wanted or 0 for entry in there),
    )


def baseline_of(grid: Grid, treebank: str, protocol: str, name: str, length: int | None) -> Entry:
    """The figure of a baseline on a treebank."""
    scored = grid.baselines.get((treebank, protocol), {}).get(name)
    if scored is not None:
        return Measured(scored.dda(length))
    missing = grid.treebanks[treebank].missing
    return Gap(f"data not available: {missing}" if missing else NOT_RUN)


def mean_of(entries: Sequence[Entry]) -> Entry:
    """The average of figures without seeds; a gap while one is missing."""
    means = [entry.mean for entry in entries if isinstance(entry, Measured)]
    return Measured(statistics.mean(means)) if means and len(means) == len(entries) else Gap(INCOMPLETE)


# ------------------------------------------------------------------------------------------- tables
def overview(grid: Grid) -> list[Sheet]:
    """Systems and baselines: tables for each protocol, treebanks with the same lengths together.

    Systems and treebanks of the plan without any run are left out, unless they cannot be run.
    There is an average if no treebank is left out.
    """
    sheets: list[Sheet] = []
    for protocol in dict.fromkeys(grid.protocols.values()):
        groups: dict[tuple[int, ...], list[str]] = {}
        for name, treebank in grid.treebanks.items():
            if _systems_of(grid, protocol, [name]):
                groups.setdefault(treebank.lengths, []).append(name)
        for lengths, every in groups.items():
            systems = _systems_of(grid, protocol, every)
            names = [name for name in every if any(has_news(grid, name, other) for other in systems)] or every
            columns = [[(name, length_label(limit)) for name in names] for limit in (*lengths, None)]
            if len(names) == 1:  # one table for all lengths, instead of one for each
                columns = [[column for block in columns for column in block]]
            has_average = len(names) == len(every)
            sheets += without_repetition([_overview(grid, protocol, block, has_average) for block in columns])
    nothing = {Gap(NOT_RUN), Gap(INCOMPLETE)}
    begun = [s for s in sheets if not {entry for row in s.rows for entry in row.entries} <= nothing]
    return begun or sheets


def has_news(grid: Grid, treebank: str, system: str) -> bool:
    """True if there is a figure, or a reason for its absence."""
    return (treebank, system) in grid.results or grid.gap(treebank, system) not in (
        NOT_RUN,
        "not in the plan",
    )


def without_repetition(sheets: Sequence[Sheet]) -> list[Sheet]:
    """Tables shown together: a note on several of them appears only on the last one."""
    later: set[str] = set()
    shown = []
    for sheet in reversed(sheets):
        shown.append(replace(sheet, notes=tuple(note for note in sheet.notes if note not in later)))
        later |= set(sheet.notes)
    return shown[::-1]


def _systems_of(grid: Grid, protocol: str, treebanks: Sequence[str]) -> list[str]:
    """Systems that are scored under a protocol on some of the treebanks."""
    return [
        system
        for system in grid.systems
        if any(grid.protocols.get((name, system)) == protocol for name in treebanks)
    ]


def _overview(grid: Grid, protocol: str, columns: Sequence[SheetColumn], has_average: bool) -> Sheet:
    """One table, with an average if it is of several treebanks and `has_average`."""
    treebanks = list(dict.fromkeys(name for name, _ in columns))
    planned = _systems_of(grid, protocol, treebanks)
    systems = [other for other in planned if any(has_news(grid, t, other) for t in treebanks)] or planned
    several = len(treebanks) > 1
    has_average = has_average and several
    what, limit = (f"length {columns[0][1]}", limit_of(columns[0][1])) if several else (treebanks[0], None)
    rows = []
    for name in BASELINES:
        found = [baseline_of(grid, t, protocol, name, limit_of(label)) for t, label in columns]
        rows.append(SheetRow(name, (*found, *([mean_of(found)] if has_average else [])), "baseline"))
    for system in systems:
        entries = [_entry(grid, protocol, treebank, system, label) for treebank, label in columns]
        if has_average:
            gaps = any(isinstance(entry, Gap) for entry in entries)
            entries.append(Gap(INCOMPLETE) if gaps else average_of(grid, treebanks, system, limit))
        rows.append(SheetRow(system, tuple(entries), RUN, bool(gold_trees(grid, system, treebanks))))
    columns = [*columns, *([(AVERAGE, columns[0][1])] if has_average else [])]
    notes = [
        f"Protocol {protocol}: {protocols.protocol_named(protocol).description}.",
        *_sizes(grid, protocol, columns),
        *notes_of(grid, rows, columns, systems, treebanks),
    ]
    return Sheet(protocol, f"DDA, protocol {protocol}, {what}", tuple(columns), tuple(rows), tuple(notes))


def _entry(grid: Grid, protocol: str, treebank: str, system: str, label: str) -> Entry:
    other = grid.protocols.get((treebank, system), protocol)
    if other != protocol:
        return Gap(f"scored under protocol {other}")
    return dda_of(grid, treebank, system, limit_of(label))


# ------------------------------------------------------------------------------------------- notes
def _sizes(grid: Grid, protocol: str, columns: Sequence[SheetColumn]) -> list[str]:
    """The part of each test set that is in the columns."""
    sizes = []
    for name, label in columns:
        named = grid.baselines.get((name, protocol))
        if named:
            words, _ = next(iter(named.values())).chosen(limit_of(label))
            sizes.append(f"{name} {label} {len(words)}/{sum(words)}")
    return [f"Test sentences/words: {', '.join(sizes)}."] if sizes else []


def gold_trees(grid: Grid, system: str, treebanks: Iterable[str]) -> list[str]:
    """The purposes for which the runs of a system used gold trees."""
    uses = [
        use
        for name in treebanks
        for run in grid.results.get((name, system), {}).values()
        for use in run.gold_trees
        if not use.endswith(_FOLLOWED)
    ]
    return list(dict.fromkeys(uses))


def notes_of(
    grid: Grid,
    rows: Sequence[SheetRow],
    columns: Sequence[SheetColumn],
    systems: Sequence[str],
    treebanks: Sequence[str],
) -> list[str]:
    """Notes needed to read a table: gold trees, seeds, versions, gaps."""
    notes = []
    for system in systems:
        uses = gold_trees(grid, system, treebanks)
        if uses:
            notes.append(f"† {system} used gold trees: {_by_what_for(uses)}.")
    wanted = {len(grid.wanted[both]) for both in grid.wanted if both[0] in treebanks and both[1] in systems}
    if wanted:
        seeds = " or ".join(map(str, sorted(wanted)))
        mean = f"Mean (best) ± standard deviation over {seeds} seeds."
        notes.append("One seed." if wanted == {1} else mean)
    if any(isinstance(entry, Measured) and entry.is_short for row in rows for entry in row.entries):
        notes.append("n=: over this many seeds only; the others are not finished.")
    return [*notes, *grid.notes, *_warnings(grid, systems, treebanks), *gaps_of(rows, columns)]


def _by_what_for(uses: Sequence[str]) -> str:
    """Uses of gold trees, each with files and a purpose, merged so that each appears once.

    >>> _by_what_for(["training: choice", "a.conllu, b.conllu: counting", "a.conllu: counting"])
    'training: choice; a.conllu, b.conllu: counting'
    """
    names: dict[str, dict[str, None]] = {}
    for use in uses:
        where, _, what_for = use.rpartition(": ")
        names.setdefault(what_for, {}).update(dict.fromkeys(where.split(", ")))
    return "; ".join(": ".join(filter(None, (", ".join(where), what))) for what, where in names.items())


def gaps_of(rows: Sequence[SheetRow], columns: Sequence[SheetColumn]) -> list[str]:
    """The reasons of all gaps with their places; rows with the same gaps are listed together."""
    one_length = len({length for _, length in columns}) == 1
    names = [name if one_length else f"{name} {length}" for name, length in columns]
    reasons = dict.fromkeys(e.reason for row in rows for e in row.entries if isinstance(e, Gap))
    notes = []
    for reason in reasons:
        alike: dict[tuple[str, ...], list[str]] = {}
        for row in rows:
            where = tuple(name for name, entry in zip(names, row.entries) if entry == Gap(reason))
            if where:
                alike.setdefault(where, []).append(row.label.strip())
        places = "; ".join(_place(where, labels, names, rows) for where, labels in alike.items())
        notes.append(f"–: {reason}: {places}.")
    return notes


def _place(
    where: Sequence[str], labels: Sequence[str], names: Sequence[str], rows: Sequence[SheetRow]
) -> str:
    """Some columns of some rows."""
    which = "all rows" if len(labels) == len(rows) > 1 else ", ".join(labels)
    return which if len(where) == len(names) else f"{', '.join(where)} ({which})"


def _warnings(grid: Grid, systems: Sequence[str], treebanks: Sequence[str]) -> list[str]:
    """Notes on figures that were not made alike."""
    notes: list[str] = []
    codes: dict[str, set[object]] = {system: set() for system in systems}  # each runs other modules
    for name in treebanks:
        words = set()
        for system in systems:
            runs = grid.results.get((name, system), {}).values()
            codes[system] |= {run.parts.get("code") for run in runs}
            words |= {(run.protocol, run.words) for run in runs}
            if (
                len({tuple(run.parts.get(part) for part in ("settings", "data", "rules")) for run in runs})
                > 1
            ):
                notes.append(f"Warning: seeds of {system} on {name} differ in settings, data or rules.")
        if len(words) > len({protocol for protocol, _ in words}):
            notes.append(f"Warning: runs on {name} were scored on different test sentences.")
    if (most := max(map(len, codes.values()), default=0)) > 1:
        notes.append(f"Warning: runs of {most} versions of the program.")
    return notes

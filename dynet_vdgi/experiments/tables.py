"""Tables of experiments: from the rows of their runs, alone or beside published figures.

A row is a run: system, language (the plan's treebank), seed, DDA of each length, commit, CPU seconds. Rows are read
from the folders of `vdgi experiment` or from CSV files, which `--format rows` writes. Over the seeds of a system:
mean, best, and standard deviation of the sample (n - 1). The average over languages is taken of their means and of
their bests, as in the paper; its deviation is that of the seeds' averages, if all languages have the same seeds.
"""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from dynet_vdgi.data import files, protocols
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.evaluation import published
from dynet_vdgi.evaluation.published import DATASETS, PublishedFigure, same_model
from dynet_vdgi.experiments.job import RESULT, Row, recorded
from dynet_vdgi.system import text_tables
from dynet_vdgi.system.names import count, did_you_mean

BASELINES = {
    "left branching": "Left_branching",
    "right branching": "Right_branching",
    "random": "Random",
    "rules only": "",
}
"""Systems that learn nothing, with the paper's names for them."""

PAPER = "Li2019-"
"""Prefix of the names of the paper's tables."""

AVERAGE = "average"


class Cell(NamedTuple):
    """A figure over `n` runs; `best` and `std` are None if there is one run, or none is printed."""

    mean: float
    best: float | None = None
    std: float | None = None
    n: int = 1


Column = tuple[str, str]
"""Language or data set, and length in the form of `length_label`."""


@dataclass(frozen=True)
class Table:
    """One table; `rows` by label, with a cell or None for each column, and an empty row never."""

    title: str
    columns: tuple[Column, ...]
    rows: Mapping[str, tuple[Cell | None, ...]]
    notes: tuple[str, ...] = ()
    decimals: int = 1


# ------------------------------------------------------------------------------------------- rows
def read(paths: Sequence[Path]) -> list[Row]:
    """The rows of experiments' folders and CSV files.

    Raises: UsageError, there are none, or two are of the same run; DataError, a file is damaged.
    """
    places: dict[tuple[object, ...], Path] = {}
    found: list[Row] = []
    for path in paths:
        results = sorted(path.glob(f"*/*/*/{RESULT}"))
        if not results and not path.is_file():
            raise UsageError(f"{path}: no result of vdgi experiment in it")
        for place in results or [path]:
            for row in _result(place) if results else _csv(place):
                run = row.system, row.language, row.seed, row.protocol
                if run in places:
                    named = f"{row.language}/{row.system}/{row.seed}"
                    raise UsageError(
                        f"{place} and {places[run]} are both of the run {named}: name one of the two"
                    )
                places[run] = place
                found.append(row)
    return found


def _result(path: Path) -> list[Row]:
    try:
        return msgspec.convert(recorded(path).get("rows"), list[Row])
    except msgspec.ValidationError as error:
        raise DataError(
            str(path), None, f"not a result of vdgi experiment: {error}", "damaged? remove it"
        ) from None


def _csv(path: Path) -> Iterator[Row]:
    with files.open_text(path) as handle:
        lines = csv.DictReader(handle)
        for cells in lines:
            values: dict[str, object] = {
                name: cell for name, cell in cells.items() if name in Row.__struct_fields__
            }
            values["dda"] = {n: c for n, c in cells.items() if n and re.fullmatch(r"<=\d+|all", n) and c}
            try:
                yield msgspec.convert(values, Row, strict=False)
            except msgspec.ValidationError as error:
                raise DataError(str(path), lines.line_num, f"not a row of a run: {error}") from None


def rows_as_csv(rows: Sequence[Row]) -> str:
    """The rows as CSV, a line each; the inverse of reading them."""
    lengths = sorted({length for row in rows for length in row.dda}, key=limit_of)
    others = [name for name in Row.__struct_fields__ if name != "dda"]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*others[:3], *lengths, *others[3:]])
    for row in rows:
        cells = [str(getattr(row, name)) for name in others]
        figures = [f"{row.dda[length]:.4f}" if length in row.dda else "" for length in lengths]
        writer.writerow([*map(_as_text, cells[:3]), *figures, *map(_as_text, cells[3:])])
    return buffer.getvalue()


def _as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula and executes.

    >>> _as_text("=1+1"), _as_text("best")
    ("'=1+1", 'best')
    """
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def limit_of(label: str) -> float:
    """The length behind a label; infinity for all."""
    return float("inf") if label == "all" else int(label.removeprefix("<="))


# ------------------------------------------------------------------------------------------- figures
def cell(values: Sequence[float]) -> Cell | None:
    """Mean, best and deviation of the figures of several seeds; None of none.

    >>> cell([50.0, 52.0, 54.0])
    Cell(mean=52.0, best=54.0, std=2.0, n=3)
    """
    if len(values) < 2:
        return Cell(values[0]) if values else None
    return Cell(statistics.mean(values), max(values), statistics.stdev(values), len(values))


def _figure(rows: Sequence[Row], language: str, length: str) -> Cell | None:
    return cell([row.dda[length] for row in rows if row.language == language and length in row.dda])


def average(rows: Sequence[Row], languages: Sequence[str], length: str) -> Cell | None:
    """The average of one system's rows over languages; None while one is missing."""
    cells = [_figure(rows, language, length) for language in languages]
    there = [each for each in cells if each is not None]
    if len(there) < len(cells):
        return None
    by_seed = {
        seed: [
            row.dda[length]
            for row in rows
            if row.seed == seed and row.language in languages and length in row.dda
        ]
        for seed in {row.seed for row in rows}
    }
    per_seed = [statistics.mean(values) for values in by_seed.values()]
    complete = len(per_seed) > 1 and all(len(values) == len(languages) for values in by_seed.values())
    several = min(each.n for each in there) > 1
    return Cell(
        statistics.mean(each.mean for each in there),
        statistics.mean(each.best or each.mean for each in there) if several else None,
        statistics.stdev(per_seed) if complete else None,
        min(each.n for each in there),
    )


def _by_system(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each system, baselines first."""
    names = dict.fromkeys([*BASELINES, *(row.system for row in rows)])
    found = {name: [row for row in rows if row.system == name] for name in names}
    return {name: own for name, own in found.items() if own}


# ------------------------------------------------------------------------------------------- tables
def overview(rows: Sequence[Row]) -> list[Table]:
    """Systems and baselines: tables for each protocol, and for each length if there are several languages."""
    tables = []
    for protocol in dict.fromkeys(row.protocol for row in rows):
        groups: dict[tuple[str, ...], list[Row]] = {}  # of languages with the same lengths
        for row in (row for row in rows if row.protocol == protocol):
            groups.setdefault(tuple(row.dda), []).append(row)
        for lengths, group in groups.items():
            systems = _by_system(group)
            languages = list(dict.fromkeys(row.language for row in group if row.system not in BASELINES))
            blocks = [[(name, length) for name in languages] for length in lengths]
            if len(languages) == 1:  # one table for all lengths, instead of one for each
                blocks = [[column for block in blocks for column in block]]
            else:
                blocks = [[*block, (AVERAGE, block[0][1])] for block in blocks]
            for block in filter(None, blocks):
                cells = {
                    _marked(name, own): tuple(
                        average(own, languages, length)
                        if language == AVERAGE
                        else _figure(own, language, length)
                        for language, length in block
                    )
                    for name, own in systems.items()
                }
                title = f"DDA, protocol {protocol}, "
                title += languages[0] if len(languages) == 1 else f"length {block[0][1]}"
                tables.append(_table(title, block, cells, group))
    return _with_notes_once(tables)


def beside(rows: Sequence[Row], like: str) -> list[Table]:
    """Published tables with our systems below the published model of their name (see `model_of`).

    `like`: `paper`, or the name of a table of resources/published.csv. A table has the languages that were run. It is
    shown if one of its models was run; or, if none of any table was, all of them are, with the other systems.

    Raises: UsageError, an unknown table, or no table is shown.
    """
    figures = [figure for figure in published.read() if figure.metric != "UDA"]
    names = ["paper", *dict.fromkeys(figure.table for figure in figures)]
    if like not in names:
        raise UsageError(f"--like {like}: no such table{did_you_mean(like, names)}")
    prefix = PAPER if like == "paper" else like
    languages = {DATASETS[row.language]: row.language for row in rows if row.language in DATASETS}
    every = _by_system([row for row in rows if row.language in languages.values()])
    chosen = [figure for figure in figures if figure.table.startswith(prefix) and figure.dataset in languages]
    models = model_of([*every], {figure.model for figure in chosen})
    tables: dict[str, list[PublishedFigure]] = {}
    for figure in chosen:
        tables.setdefault(figure.table, []).append(figure)
    averages = [figure for figure in figures if figure.dataset.endswith("-Average")]
    run = {same_model(models[name]) for name in every if models[name] and name not in BASELINES}
    shown = [name for name, own in tables.items() if run & {same_model(figure.model) for figure in own}]
    found = []
    for name in shown or tables:
        own = [*tables[name], *(figure for figure in averages if figure.table == name)]
        if any(figure.metric == "DDA" for figure in own) or any(row.words_per_cpu_s for row in rows):
            found += [_beside(own, block, languages, every, models) for block in _blocks(own, languages)]
    if not found:
        known = ", ".join(DATASETS)
        raise UsageError(f"no language of these rows is in a table of '{like}' (published: {known})")
    return _with_notes_once(found)


def model_of(systems: Sequence[str], models: set[str]) -> dict[str, str]:
    """The published model of each system: its name, or that without one or more -SUFFIX; "" if there is none.

    >>> model_of(["UniversalRules-dev", "best"], {"UnivRules"})
    {'UniversalRules-dev': 'UnivRules', 'best': ''}
    """
    known = {same_model(model): model for model in models}
    found = {}
    for system in systems:
        name = BASELINES.get(system, system)
        while name and same_model(name) not in known:
            name = name.rpartition("-")[0]
        found[system] = known.get(same_model(name), "")
    return found


def _blocks(figures: Sequence[PublishedFigure], languages: Mapping[str, str]) -> list[list[Column]]:
    """The columns of a published table; of several data sets, a table for each length."""
    names = list(dict.fromkeys(figure.dataset for figure in figures))
    lengths = list(dict.fromkeys(figure.length for figure in figures))
    is_whole = len(names) > 2 and len(languages) >= sum(
        name.startswith("UD1.4-") for name in DATASETS.values()
    )
    if not is_whole:  # no average
        names = [name for name in names if name in languages]
    if len(names) == 1:
        return [[(names[0], length) for length in lengths]]
    return [[(name, length) for name in names] for length in lengths]


def _beside(
    figures: Sequence[PublishedFigure],
    columns: Sequence[Column],
    languages: Mapping[str, str],
    systems: Mapping[str, list[Row]],
    models: Mapping[str, str],
) -> Table:
    """One published table with ours: below each model our systems of its name, then those of no model."""
    is_speed = figures[0].metric == "tokens_per_second"
    rows: dict[str, tuple[Cell | None, ...]] = {}
    placed: list[Row] = []

    def add(name: str) -> None:
        own = systems[name]
        cells = tuple(_ours(own, column, languages, is_speed) for column in columns)
        if any(cells) and not (is_speed and name in BASELINES):
            rows[f"  {_marked(name, own)} (here)"] = cells
            placed.extend(own)

    for model in dict.fromkeys(figure.model for figure in figures):
        there = {(f.dataset, f.length): Cell(f.mean, f.best, f.std) for f in figures if f.model == model}
        if any(column in there for column in columns):
            rows[model] = tuple(there.get(column) for column in columns)
        for name in systems:
            if models[name] and same_model(models[name]) == same_model(model):
                add(name)
    for name in systems:
        if not models[name]:
            add(name)
    lengths = {length for _, length in columns}
    title = f"{figures[0].table} beside this experiment: {'words per CPU second' if is_speed else 'DDA'}"
    table = _table(title + (f", length {lengths.pop()}" if len(lengths) == 1 else ""), columns, rows, placed)
    notes = ["Rows marked (here) are of this experiment, the others as published."]
    if is_speed:
        notes.append("Speed here: words per CPU second in one pass over the whole test set, model loaded.")
    tests = dict.fromkeys(f"{row.language} {row.test}" for row in placed if row.test)
    notes += [f"Test files here: {'; '.join(tests)}."] if tests else []
    newer = [test.split(" ")[0] for test in tests if re.search(r"UD_\w+-", test)]
    notes += (
        [f"Not the data of the published figures, UD 1.4, but UD 2: {', '.join(newer)}."] if newer else []
    )
    other = {f"{r.system} is scored under protocol {r.protocol}." for r in placed if r.protocol != "standard"}
    notes += sorted(other) if {row.protocol for row in placed} - {protocols.STANDARD.name} else []
    return replace(table, notes=(*notes, *table.notes), decimals=0 if is_speed else 1)


def _ours(own: Sequence[Row], column: Column, languages: Mapping[str, str], is_speed: bool) -> Cell | None:
    dataset, length = column
    if dataset.endswith("-Average"):
        return average(own, [*languages.values()], length)
    if is_speed:
        speeds = [
            row.words_per_cpu_s for row in own if row.language == languages[dataset] and row.words_per_cpu_s
        ]
        return cell(speeds) if length == "all" else None
    return _figure(own, languages[dataset], length)


# ------------------------------------------------------------------------------------------- notes
def _marked(name: str, own: Sequence[Row]) -> str:
    return name + (" †" if any(row.gold_trees for row in own) else "")


def _table(
    title: str, columns: Sequence[Column], cells: Mapping[str, tuple[Cell | None, ...]], rows: Sequence[Row]
) -> Table:
    """A table of these rows with what is needed to read it: protocol, gold trees, seeds, commits, warnings."""
    notes = [
        f"Protocol {name}: {protocols.protocol_named(name).description}."
        for name in dict.fromkeys(row.protocol for row in rows if row.protocol)
    ]
    runs = {name: own for name, own in _by_system(rows).items() if name not in BASELINES}
    for name, own in runs.items():
        uses = dict.fromkeys(use for row in own for use in row.gold_trees.split("; ") if use)
        notes += [f"† {name} used gold trees: {'; '.join(uses)}."] if uses else []
    seeds = sorted(
        {
            len({row.seed for row in own if row.language == row_.language})
            for own in runs.values()
            for row_ in own
        }
    )
    if seeds:
        over = " or ".join(map(str, seeds)) + (" seed" if seeds == [1] else " seeds")
        notes.append(f"Over {over}." if seeds == [1] else f"Mean (best) ± standard deviation over {over}.")
    commits = dict.fromkeys(row.commit for own in runs.values() for row in own)
    seconds = sum(row.cpu_s for own in runs.values() for row in own)
    notes += [f"Commit {', '.join(commits)}; {seconds:.0f} CPU seconds."] if commits else []
    for name, own in runs.items():
        versions = {row.commit for row in own}
        if len(versions) > 1:
            notes.append(
                f"Warning: {name} has {count(sum(1 for _ in own), 'run')} of {len(versions)} versions."
            )
        for language in dict.fromkeys(row.language for row in own):
            if len({row.made for row in own if row.language == language}) > 1:
                notes.append(f"Warning: seeds of {name} on {language} differ in settings, data or rules.")
    for language in dict.fromkeys(row.language for row in rows):
        if len({row.test for row in rows if row.language == language}) > 1:
            notes.append(f"Warning: rows on {language} were scored on different test files.")
    return Table(title, tuple(columns), cells, tuple(notes))


def _with_notes_once(tables: Sequence[Table]) -> list[Table]:
    """Tables shown together: a note on several of them appears only on the last one."""
    later: set[str] = set()
    shown = []
    for table in reversed(tables):
        shown.append(replace(table, notes=tuple(note for note in table.notes if note not in later)))
        later |= set(table.notes)
    return shown[::-1]


# ------------------------------------------------------------------------------------------- showing
def text(entry: Cell | None, most: int = 1, decimals: int = 1) -> str:
    """A figure for people; `n=` if it is over fewer than `most` seeds.

    >>> text(Cell(54.26, 55.0, 0.86, 3), 5), text(None)
    ('54.3 (55.0) ± 0.9 n=3', '–')
    """
    if entry is None:
        return "–"
    shown = f"{entry.mean:.{decimals}f}"
    shown += "" if entry.best is None else f" ({entry.best:.{decimals}f})"
    shown += "" if entry.std is None else f" ± {entry.std:.{decimals}f}"
    return shown + (f" n={entry.n}" if entry.n < most else "")


def markdown(tables: Sequence[Table]) -> str:
    """Tables below one another, each with its title and notes; with many languages, these are its lines."""
    return "\n\n".join(map(_markdown, tables)) + "\n"


def _markdown(table: Table) -> str:
    one_length = len({length for _, length in table.columns}) == 1
    lines = [["", *(name if one_length else f"{name} {length}" for name, length in table.columns)]]
    most = max((entry.n for row in table.rows.values() for entry in row if entry), default=1)
    for label, row in table.rows.items():
        is_run = label.strip().split(" †")[0].removesuffix(" (here)") not in BASELINES
        is_run &= label.startswith(" ") or " beside " not in table.title
        indented = label.replace("  ", "&nbsp;&nbsp;")  # spaces at the start of a cell are lost in Markdown
        lines.append([indented, *(text(entry, most if is_run else 1, table.decimals) for entry in row)])
    if len(table.columns) > 6 and len(table.columns) > len(table.rows):
        lines = [list(column) for column in zip(*lines)]
    return "\n".join([table.title, "", text_tables.markdown(lines), *(f"\n{note}" for note in table.notes)])

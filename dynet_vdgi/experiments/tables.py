"""Tables of experiments: from the rows of their runs, alone or beside published figures.

Rows are read from folders of `vdgi experiment`. Over the seeds of a system: mean, best and
deviation (of the sample, n - 1). The average over languages is that of their means and of their
bests, as in the paper; its deviation is that of the seeds' averages, if all languages have the same
seeds.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dynet_vdgi.conllu import protocols
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.evaluation import published
from dynet_vdgi.evaluation.attachment import Evaluation, length_label
from dynet_vdgi.evaluation.published import DATASETS, PublishedFigure, model_of, same_model
from dynet_vdgi.system.messages import did_you_mean
from dynet_vdgi.system.text_tables import TextTable

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

RESULT = "result.json"  # the file of a run that has its row


class TableRow(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one run: DDA in per cent by length (see `length_label`).

    `test` names test files, `gold_trees` each use of trees, `rules` the table of "rules only".
    """

    system: str
    language: str  # the plan's treebank
    seed: int
    dda: dict[str, float]
    commit: str
    cpu_s: float = 0.0
    words_per_cpu_s: float = 0.0
    protocol: str = ""
    test: str = ""
    gold_trees: str = ""
    rules: str = ""
    is_ud2: bool = False  # the test files


class Cell(NamedTuple):
    """A figure over `n` runs; `best` and `std` are None if there is one run, or if none is
    published."""

    mean: float
    best: float | None = None
    std: float | None = None
    n: int = 1


Column = tuple[str, str]
"""A language, a data set or AVERAGE, and a length in the form of `length_label`."""


def row_of(scored: Evaluation, **more: Any) -> TableRow:
    """The row of these scores."""
    dda = {length_label(m): 100 * tally.dda for m, tally in scored.by_length.items() if tally.words}
    return TableRow(dda=dda, is_ud2=scored.is_ud2, **more)


def read(paths: Sequence[Path]) -> list[TableRow]:
    """The rows of experiments' folders; equal ones of a system that learns nothing, which every
    experiment scores, count once.

    Raises: UsageError, there are none, or two are of the same run; DataError, a file is damaged.
    """
    places: dict[tuple[object, ...], Path] = {}
    rows: list[TableRow] = []
    baselines: list[TableRow] = []
    for path in paths:
        results = sorted(path.glob(f"*/*/*/{RESULT}"))
        if not results:
            raise UsageError(f"{path}: no result of vdgi experiment in it")
        for place in results:
            for row in _result(place):
                run = row.system, row.language, row.seed, row.protocol
                figures = msgspec.structs.replace(row, commit="", cpu_s=0.0, words_per_cpu_s=0.0)
                if row.system in BASELINES and figures in baselines:
                    continue
                if run in places:
                    what = f"{row.language}/{row.system}/{row.seed} is also in {places[run]}"
                    raise UsageError(f"{place}: {what}: name one of the two")
                places[run] = place
                rows.append(row)
                if row.system in BASELINES:
                    baselines.append(figures)
    return rows


def recorded(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if the file is missing or unreadable."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _result(path: Path) -> list[TableRow]:
    try:
        return msgspec.convert(recorded(path).get("rows"), list[TableRow])
    except msgspec.ValidationError as error:
        what = f"not a result of vdgi experiment: {error}"
        raise DataError(str(path), None, what, "damaged? remove it") from None


def cell(values: Sequence[float]) -> Cell | None:
    """Mean, best and deviation of the figures of several seeds; None of none.

    >>> cell([50.0, 52.0, 54.0])
    Cell(mean=52.0, best=54.0, std=2.0, n=3)
    """
    if len(values) < 2:
        return Cell(values[0]) if values else None
    return Cell(statistics.mean(values), max(values), statistics.stdev(values), len(values))


def figure(
    rows: Sequence[TableRow], language: str, length: str, languages: Sequence[str]
) -> Cell | None:
    """The figure of one system's rows; AVERAGE is over `languages`, None while one is missing."""
    if language != AVERAGE:
        return cell(
            [row.dda[length] for row in rows if row.language == language and length in row.dda]
        )
    cells: list[Cell] = []
    for each in languages:
        of_language = figure(rows, each, length, ())
        if of_language is None:
            return None
        cells.append(of_language)
    rows = [row for row in rows if row.language in languages and length in row.dda]
    seeds = {
        row.seed: [other.dda[length] for other in rows if other.seed == row.seed] for row in rows
    }
    n = min(each.n for each in cells)
    has_all = n > 1 and all(len(values) == len(languages) for values in seeds.values())
    return Cell(
        statistics.mean(each.mean for each in cells),
        statistics.mean(each.best or each.mean for each in cells) if n > 1 else None,
        statistics.stdev(map(statistics.mean, seeds.values())) if has_all else None,
        n,
    )


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


def _by_system(rows: Iterable[TableRow]) -> dict[str, list[TableRow]]:
    """The rows of each system, baselines first."""
    by_system: dict[str, list[TableRow]] = {name: [] for name in BASELINES}
    for row in rows:
        by_system.setdefault(row.system, []).append(row)
    return {name: of_system for name, of_system in by_system.items() if of_system}


def overview(rows: Sequence[TableRow]) -> list[TextTable]:
    """Systems and baselines: tables for each protocol, and for each length if there are several
    languages."""
    tables = []
    for protocol, lengths in dict.fromkeys((row.protocol, tuple(row.dda)) for row in rows):
        group = [row for row in rows if (row.protocol, tuple(row.dda)) == (protocol, lengths)]
        names = list(dict.fromkeys(row.language for row in group if row.system not in BASELINES))
        blocks = [[(name, length) for name in (*names, AVERAGE)] for length in lengths if names]
        if len(names) == 1:  # one table for all lengths, instead of one for each
            blocks = [[(names[0], length) for length in lengths]]
        for columns in blocks:
            where = names[0] if len(names) == 1 else f"length {columns[0][1]}"
            lines = []
            for of_system in _by_system(group).values():
                cells = [figure(of_system, *column, names) for column in columns]
                lines.append(_line("{}", of_system, cells, _seeds(group), 1))
            title = f"DDA, protocol {protocol}, {where}"
            tables.append(TextTable(_heading(columns), lines, title, _notes(group)))
    return tables


def _heading(columns: Sequence[Column]) -> list[str]:
    one_length = len({length for _, length in columns}) == 1
    return ["", *(name if one_length else f"{name} {length}" for name, length in columns)]


def _line(
    form: str, rows: Sequence[TableRow], cells: Sequence[Cell | None], most: int, decimals: int
) -> list[str]:
    """The line of one of our systems; `form` is its label, but for name, rules and the mark of gold
    trees."""
    rules = ", ".join(dict.fromkeys(row.rules for row in rows if row.rules))
    label = form.format(rows[0].system + (f": {rules}" if rules else ""))
    mark = " †" if any(row.gold_trees for row in rows) else ""
    most = 1 if rows[0].system in BASELINES else most
    return [label + mark, *(text(each, most, decimals) for each in cells)]


def _seeds(rows: Iterable[TableRow]) -> int:
    """The number of seeds of a complete figure."""
    return max(len({row.seed for row in of_system}) for of_system in _by_system(rows).values())


def published_tables(rows: Sequence[TableRow], like: str) -> list[TextTable]:
    """Published tables with our systems below the published model of their name (see
    `published.model_of`).

    `like`: `paper`, or the name of a table of resources/published.csv. A table has the columns for
    which there is a figure here. It is shown if one of its models was run; if none of any table
    was, all are, with the other systems.

    Raises: UsageError, an unknown table, or no table is shown.
    """
    figures = [each for each in published.read() if each.metric != "UDA"]
    names = ["paper", *dict.fromkeys(each.table for each in figures)]
    if like not in names:
        raise UsageError(f"--like {like}: no such table{did_you_mean(like, names)}")
    where = {DATASETS[row.language]: row.language for row in rows if row.language in DATASETS}
    if {name for name in DATASETS.values() if name.startswith("UD1.4-")} <= {*where}:
        where["UD1.4-Average"] = AVERAGE
    tables: dict[str, list[PublishedFigure]] = {}
    for each in figures:
        if each.table.startswith(PAPER if like == "paper" else like) and each.dataset in where:
            tables.setdefault(each.table, []).append(each)
    systems = _by_system(row for row in rows if row.language in where.values())
    models = model_of(
        {name: BASELINES.get(name, name) for name in systems},
        {each.model for entries in tables.values() for each in entries},
    )
    was_run = {
        same_model(model) for name, model in models.items() if model and name not in BASELINES
    }
    shown = [
        name
        for name, entries in tables.items()
        if was_run & {same_model(each.model) for each in entries}
    ]
    with_ours: list[TextTable] = []
    for name in shown or tables:
        entries = tables[name]
        # a table for each length, instead of one for all
        several = len({each.dataset for each in entries}) > 1
        for length in dict.fromkeys(each.length if several else "" for each in entries):
            of_length = [each for each in entries if length in ("", each.length)]
            with_ours += _published_table(of_length, where, systems, models)
    if not with_ours:
        languages = ", ".join(DATASETS)
        raise UsageError(
            f"no published figures ({like}) for the languages and lengths of these rows "
            f"(known: {languages})"
        )
    return with_ours


def _published_table(
    figures: Sequence[PublishedFigure],
    where: Mapping[str, str],
    systems: Mapping[str, list[TableRow]],
    models: Mapping[str, str],
) -> list[TextTable]:
    """One published table with ours: below each model our systems of its name, then those of no
    model.

    Columns for which we have nothing are left out; [] if none is left.
    """
    is_speed = figures[0].metric == "tokens_per_second"
    languages = [language for language in where.values() if language != AVERAGE]
    most = _seeds(row for of_system in systems.values() for row in of_system)

    def ours(rows: Sequence[TableRow], dataset: str, size: str) -> Cell | None:
        if not is_speed:
            return figure(rows, where[dataset], size, languages)
        speeds = [row.words_per_cpu_s for row in rows if row.language == where[dataset]]
        return cell(speeds) if size == "all" and any(speeds) else None

    columns = [
        column
        for column in dict.fromkeys((each.dataset, each.length) for each in figures)
        if any(ours(of_system, *column) for of_system in systems.values())
    ]
    lines, placed = list[list[str]](), list[TableRow]()

    def add(names: Iterable[str]) -> None:
        for name in names:
            cells = [ours(systems[name], *column) for column in columns]
            if any(cells):
                form = "&nbsp;&nbsp;{} (here)"  # spaces at the start of a cell are lost in Markdown
                lines.append(_line(form, systems[name], cells, most, 0 if is_speed else 1))
                placed.extend(systems[name])

    for model in dict.fromkeys(each.model for each in figures):
        there = {
            (f.dataset, f.length): Cell(f.mean, f.best, f.std) for f in figures if f.model == model
        }
        if not there.keys().isdisjoint(columns):
            lines.append(
                [model, *(text(there.get(column), 1, 0 if is_speed else 1) for column in columns)]
            )
        add(name for name, of in models.items() if of and same_model(of) == same_model(model))
    add(name for name, of in models.items() if not of)
    measure = "words per CPU second" if is_speed else "DDA"
    title = f"{figures[0].table} beside this experiment: {measure}"
    notes = ["Rows marked (here) are of this experiment, the others as published."]
    if is_speed:
        notes.append("Speed here: in one pass over the whole test set, model loaded.")
    tests = dict.fromkeys(f"{row.language} {row.test}" for row in placed if row.test)
    notes += [f"Test files here: {'; '.join(tests)}."] if tests else []
    newer = ", ".join(dict.fromkeys(row.language for row in placed if row.is_ud2))
    notes += (
        [f"Warning: published on UD 1.4, but UD 2 here, which cannot be compared: {newer}."]
        if newer
        else []
    )
    sizes = {size for _, size in columns}
    title += f", length {sizes.pop()}" if len(sizes) == 1 else ""
    return (
        [TextTable(_heading(columns), lines, title, [*notes, *_notes(placed)])] if columns else []
    )


def paper_tables(evaluations: Mapping[str, Evaluation], language: str, gold: str) -> Iterator[str]:
    """The paper's tables of a language with the scores of one gold file; a warning if it is of UD
    2."""
    rows = [
        row_of(each, system=name, language=language, seed=0, commit="")
        for name, each in evaluations.items()
    ]
    for table in published_tables(rows, "paper"):
        heading = [f"DDA beside {table.title.partition(' ')[0]}", *table.heading[1:]]
        lines = [[each.replace("&nbsp;", " ") for each in line] for line in table.rows]
        yield TextTable(heading, lines).text()
    yield (
        "Rows marked (here) are of this evaluation, "
        "the others as published by Li et al. (2019): mean (best)."
    )
    if rows[0].is_ud2 and language != "wsj":
        warning = f"published on UD 1.4, but {gold} is of UD 2: the figures cannot be compared"
        yield f"Warning: {warning}."


def _notes(rows: Sequence[TableRow]) -> list[str]:
    """What is needed to read a table of these rows: protocol, gold trees, seeds, commits;
    warnings."""
    notes = []
    by_system = _by_system(rows)
    runs = {name: by_system[name] for name in by_system if name not in BASELINES}
    rows_of_runs = [row for of_system in runs.values() for row in of_system]
    for protocol in dict.fromkeys(row.protocol for row in rows if row.protocol):
        of_protocol = dict.fromkeys(r.system for r in rows_of_runs if r.protocol == protocol)
        description = protocols.protocol_of(protocol).description
        notes.append(f"Protocol {protocol} ({', '.join(of_protocol)}): {description}.")
    for name, of_system in runs.items():
        uses = dict.fromkeys(use for row in of_system for use in row.gold_trees.split("; ") if use)
        notes += [f"† {name} used gold trees: {'; '.join(uses)}."] if uses else []
    if runs:
        most = max(len({row.seed for row in of_system}) for of_system in runs.values())
        several = f"Mean (best) ± standard deviation over {most} seeds; n=: over this many."
        commits = ", ".join(dict.fromkeys(row.commit for row in rows_of_runs))
        seconds = sum(row.cpu_s for row in rows_of_runs)
        notes += [
            "Over 1 seed." if most == 1 else several,
            f"Commit {commits}; {seconds:.0f} CPU seconds.",
        ]
    for name, of_system in runs.items():
        if (n := len({row.commit for row in of_system})) > 1:
            notes.append(f"Warning: {name} has runs of {n} versions of the program.")
    for language in dict.fromkeys(row.language for row in rows):
        if len({row.test for row in rows if row.language == language}) > 1:
            notes.append(f"Warning: rows of {language} were scored on different test files.")
    return notes


def markdown(tables: Sequence[TextTable]) -> str:
    """Tables with their titles, many columns as lines; below a table the notes that no later one
    has."""
    shown = []
    for k, table in enumerate(tables):
        later = {note for other in tables[k + 1 :] for note in other.notes}
        if len(table.heading) > max(7, len(table.rows) + 1):
            without = [[each.replace("&nbsp;", "") for each in line] for line in table.rows]
            table = TextTable(table.heading, without, table.title, table.notes).turned()
        shown += [
            table.title,
            table.markdown(),
            *(note for note in table.notes if note not in later),
        ]
    return "\n\n".join(shown) + "\n"

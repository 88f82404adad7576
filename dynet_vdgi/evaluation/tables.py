"""Reports of several systems side by side: text tables in per cent, JSON, means over draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from dynet_vdgi.evaluation.attachment import Report, Scores, Tally, length_label

_Counts = TypeVar("_Counts", Tally, Scores)


def mean(draws: Sequence[Report]) -> Report:
    """The report whose counts are the means over several draws of one system on the same words.

    Raises: ValueError if the draws were scored on different words, or there are none.
    """
    first = _common_ground({str(k): report for k, report in enumerate(draws)})

    def average(cells: Sequence[_Counts]) -> _Counts:
        names = [field.name for field in fields(cells[0])]
        totals = {name: sum(getattr(cell, name) for cell in cells) for name in names}
        # Words and sentences are the same in every draw, and stay whole numbers.
        whole = {name: getattr(cells[0], name) for name in ("sentences", "words") if name in names}
        return replace(cells[0], **{**{name: total / len(cells) for name, total in totals.items()}, **whole})

    breakdowns: dict[str, Any] = {
        name: {key: average([report.breakdowns[name][key] for report in draws]) for key in table}  # type: ignore[type-var]
        for name, table in first.breakdowns.items()
    }
    by_length = {m: average([report.by_length[m] for report in draws]) for m in first.by_length}
    return replace(first, total=average([r.total for r in draws]), by_length=by_length, breakdowns=breakdowns)


_MEASURES: dict[str, tuple[str, Callable[[Scores], float]]] = {
    "dda": ("DDA", lambda scores: scores.dda),
    "uda": ("UDA", lambda scores: scores.uda),
    "root": ("root", lambda scores: scores.root_accuracy),
}


def percent(fraction: float) -> str:
    """One decimal, as in every table here; "-" over nothing.

    >>> percent(0.5187), percent(float("nan"))
    ('51.9', '-')
    """
    return "-" if math.isnan(fraction) else f"{100 * fraction:.1f}"


def format_table(reports: Mapping[str, Report], measure: str = "dda") -> str:
    """Systems x length buckets in per cent, aligned, below the numbers of sentences and words.

    `measure` is "dda", "uda" or "root". Raises: ValueError if the systems were scored on different words.
    """
    title, value_of = _MEASURES[measure]
    first = _common_ground(reports)
    lines = [
        [title, *map(length_label, first.by_length)],
        ["sentences", *(str(scores.sentences) for scores in first.by_length.values())],
        ["words", *(str(scores.words) for scores in first.by_length.values())],
    ]
    for name, report in reports.items():
        lines.append([name, *(percent(value_of(scores)) for scores in report.by_length.values())])
    return _align(lines)


def format_breakdown(reports: Mapping[str, Report], name: str) -> str:
    """One break-down as an aligned table: words, then the DDA of each system in per cent.

    Raises: ValueError if the systems were scored on different words.
    """
    table = _common_ground(reports).breakdowns[name]
    lines = [[name, "words", *reports]]
    for key, cell in table.items():
        values = (percent(report.breakdowns[name][key].dda) for report in reports.values())
        lines.append([key, str(cell.words), *values])
    return _align(lines)


def reports_to_dict(reports: Mapping[str, Report]) -> dict[str, Any]:
    """Everything about several systems on one treebank, ready for JSON.

    Raises: ValueError if the systems were scored on different words.
    """
    return {
        "policy": _common_ground(reports).policy,
        "systems": {name: report.to_dict() for name, report in reports.items()},
    }


def _common_ground(reports: Mapping[str, Report]) -> Report:
    """Any of the reports, once it is clear that all are about the same words."""

    def ground(report: Report) -> tuple[object, ...]:
        lengths = {m: (scores.sentences, scores.words) for m, scores in report.by_length.items()}
        tables = {
            name: {key: cell.words for key, cell in table.items()}
            for name, table in report.breakdowns.items()
        }
        return report.policy, lengths, tables

    if not reports:
        raise ValueError("no report to show")
    names = list(reports)
    first = reports[names[0]]
    for name in names[1:]:
        if ground(reports[name]) != ground(first):
            raise ValueError(f"{names[0]} and {name} were not scored on the same words")
    return first


def _align(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))])
        for line in lines
    )

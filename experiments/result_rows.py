"""The rows of docs/results/*.csv, and figures of them: means of columns, such as 67.6/64.6."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"

DDA = ("dda15", "dda40")
"""Columns of DDA, of sentences of up to 15 and up to 40 words."""

Row = dict[str, str]


def rows_of(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@cache
def rows(name: str) -> list[Row]:
    """The rows of a CSV file below docs/results."""
    return rows_of(RESULTS / name)


def chosen(name: str, **where: str) -> list[Row]:
    """The rows of such a file whose columns have these values."""
    return [row for row in rows(name) if all(row[key] == value for key, value in where.items())]


def average(some: Sequence[Row], column: str, decimals: int = 1) -> str:
    """The mean of a column."""
    return f"{sum(float(row[column]) for row in some) / len(some):.{decimals}f}"


def means(some: Sequence[Row], columns: Iterable[str]) -> str:
    """The means of some columns, with slashes between them."""
    return "/".join(average(some, column) for column in columns)


def mean(name: str, columns: Iterable[str], **where: str) -> str:
    """The means of some columns over the languages of a file, each of which has one row."""
    some = chosen(name, **where)
    assert len({row["language"] for row in some}) == len(some) > 0, where
    return means(some, columns)

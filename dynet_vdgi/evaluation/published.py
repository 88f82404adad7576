"""Published figures from `resources/published.csv`: the tables of the paper and of comparable papers."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from dynet_vdgi.data import files
from dynet_vdgi.errors import DataError
from dynet_vdgi.settings.bundled import resources

HEADER = ("table", "model", "dataset", "length", "metric", "mean", "best", "std", "source")
METRICS = ("DDA", "UDA", "tokens_per_second")

DATASETS = {
    "eu": "UD1.4-Basque",
    "nl": "UD1.4-Dutch",
    "fr": "UD1.4-French",
    "de": "UD1.4-German",
    "it": "UD1.4-Italian",
    "pl": "UD1.4-Polish",
    "pt": "UD1.4-Portuguese",
    "es": "UD1.4-Spanish",
    "wsj": "WSJ23",
}
"""The data set that a language, or the treebank of a plan, stands beside."""

_SAME_MODEL = {
    "UnivRules": "UniversalRules",
    "L-WeaklySup": "L-WeaklySupervised",
    "Conv-MST": "Convex-MST",
    "RL-PC": "WeaklySupervised",  # table 3 does not say whose expectations; its figure equals table 4's
}
"""Models that have two names in the tables of the paper."""


@dataclass(frozen=True)
class PublishedFigure:
    """One number of one table; DDA and UDA in per cent. `best` and `std` are None if none was printed."""

    table: str
    model: str
    dataset: str
    length: str
    metric: str
    mean: float
    best: float | None
    std: float | None
    source: str

    @property
    def identity(self) -> tuple[str, ...]:
        """The fields that together identify a figure."""
        return self.table, self.model, self.dataset, self.length, self.metric


def same_model(model: str) -> str:
    """One name for a model that has several."""
    return _SAME_MODEL.get(model, model)


def model_of(systems: Mapping[str, str], models: set[str]) -> dict[str, str]:
    """The published model of each system: its name (a value), or that without -SUFFIXes; "" if there is none.

    >>> model_of({"ours": "UniversalRules-dev", "best": "best"}, {"UnivRules"})
    {'ours': 'UnivRules', 'best': ''}
    """
    known = {same_model(model): model for model in models}
    found = {}
    for system, name in systems.items():
        while name and same_model(name) not in known:
            name = name.rpartition("-")[0]
        found[system] = known.get(same_model(name), "")
    return found


def read(path: Path | None = None) -> list[PublishedFigure]:
    """All figures of a file (default: the one that comes with the package), in its order.

    Raises: DataError, the file cannot be read, or a line is malformed or occurs twice.
    """
    path = path or resources() / "published.csv"
    figures: dict[tuple[str, ...], PublishedFigure] = {}
    with files.open_text(path) as handle:
        rows = csv.reader(handle)
        if tuple(next(rows, ())) != HEADER:
            raise DataError(str(path), 1, f"expected the columns {','.join(HEADER)}")
        for row in rows:
            try:
                figure = _figure(row)
                if figure.identity in figures:
                    raise ValueError(f"there is a figure of {', '.join(figure.identity)} already")
            except ValueError as error:
                raise DataError(str(path), rows.line_num, str(error)) from None
            figures[figure.identity] = figure
    return list(figures.values())


def _figure(row: Sequence[str]) -> PublishedFigure:
    if len(row) != len(HEADER):
        raise ValueError(f"expected {len(HEADER)} columns, found {len(row)}")
    cells = dict(zip(HEADER, row))
    mean, best, std = (_number(name, cells[name]) for name in ("mean", "best", "std"))
    if mean is None:
        raise ValueError("column mean is empty")
    names = {name: cells[name] for name in ("table", "model", "dataset", "length", "metric", "source")}
    figure = PublishedFigure(mean=mean, best=best, std=std, **names)
    for name, value in zip(HEADER, astuple(figure)):
        if value == "":
            raise ValueError(f"column {name} is empty")
    if not re.fullmatch(r"all|<=[1-9][0-9]*", figure.length):
        raise ValueError(f"length {figure.length!r} is neither 'all' nor like '<=15'")
    if figure.metric not in METRICS:
        raise ValueError(f"metric {figure.metric!r} is none of {', '.join(METRICS)}")
    if figure.metric != "tokens_per_second" and not max(mean, best or 0) <= 100:
        raise ValueError("per cent beyond 100")
    if best is not None and best < mean:
        raise ValueError(f"the best, {best}, is below the mean, {mean}")
    return figure


def _number(name: str, text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"column {name}: {text!r} is not a number that is 0 or more")
    return value

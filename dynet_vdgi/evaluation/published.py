"""Published figures, from resources/published.csv, and which of them stand beside a system of
ours."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from dynet_vdgi.settings.bundled import resources

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
    # table 3 does not say whose expectations; its figure equals table 4's
    "RL-PC": "WeaklySupervised",
}
"""Models that have two names in the tables of the paper."""


class PublishedFigure(NamedTuple):
    """One number of one table; DDA and UDA in per cent. `best` and `std` are None if none was
    printed."""

    table: str
    model: str
    dataset: str
    length: str  # `all`, or such as `<=15`
    metric: str  # DDA, UDA or tokens_per_second
    mean: float
    best: float | None
    std: float | None
    source: str


def same_model(model: str) -> str:
    """One name for a model that has several."""
    return _SAME_MODEL.get(model, model)


def model_of(systems: Mapping[str, str], models: set[str]) -> dict[str, str]:
    """The published model of each system: its name (a value), or that without -SUFFIXes; "" if
    there is none.

    >>> model_of({"ours": "UniversalRules-dev", "best": "best"}, {"UnivRules"})
    {'ours': 'UnivRules', 'best': ''}
    """
    models_by_key = {same_model(model): model for model in models}
    published_models = {}
    for system, name in systems.items():
        while name and same_model(name) not in models_by_key:
            name = name.rpartition("-")[0]
        published_models[system] = models_by_key.get(same_model(name), "")
    return published_models


def read() -> list[PublishedFigure]:
    """All figures of the file, in its order."""
    with open(resources() / "published.csv", encoding="utf-8", newline="") as handle:
        _, *rows = csv.reader(handle)
    return msgspec.convert(
        [[cell or None for cell in row] for row in rows], list[PublishedFigure], strict=False
    )

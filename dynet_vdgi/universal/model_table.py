"""The rule table of a universal parser, kept in the arrays of its model beside the weights.

The unsupervised teacher of a text learns under this table, see `text_teacher`, and what it expects
is an input of the network. So the table belongs to the weights, and a change of resources/rules
changes no model:

>>> arrays = table_arrays("ROOT VERB")
>>> table_of(arrays)
'ROOT VERB'
>>> arrays[TABLE][0] += 1
>>> table_of(arrays)  # doctest: +ELLIPSIS
Traceback (most recent call last):
dynet_vdgi.errors.ModelError: the model's rule table is damaged: its SHA-256 is not the one ...
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ConfigError, ModelError
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules, parse_rules
from dynet_vdgi.settings.bundled import rules_path

TABLE, DIGEST = "universal/table", "universal/table.sha256"
"""The names of the arrays: of the table's text, and of its SHA-256."""

NAME = "best"
"""The table of resources/rules under which new weights are learnt."""


def table_to_learn_under() -> str:
    """The text of the table `best`, for new weights. Raises: ConfigError, the file has a fault."""
    path = rules_path(NAME)
    load_rules(path)
    return path.read_text(encoding="utf-8")


@lru_cache(maxsize=2)
def rules_of(table: str) -> RuleSet:
    """The rules in a table's text. Raises: ModelError, it is no table."""
    try:
        return parse_rules(table, "table")
    except ConfigError as error:
        raise ModelError(f"the model's rule table is damaged: {error}") from None


def digest(table: str) -> str:
    """The SHA-256 of a table's text, in hexadecimal digits."""
    return hashlib.sha256(table.encode()).hexdigest()


def table_arrays(table: str) -> dict[str, NDArray[Any]]:
    """The arrays that `table_of` reads back: bytes of the text, bytes of its digest."""
    return {
        TABLE: np.frombuffer(table.encode(), np.uint8).copy(),
        DIGEST: np.frombuffer(bytes.fromhex(digest(table)), np.uint8).copy(),
    }


def table_of(arrays: Mapping[str, NDArray[Any]]) -> str:
    """The text of the table in a model's arrays.

    Raises: ModelError, they are damaged or missing.
    """
    for name in (TABLE, DIGEST):
        if name not in arrays:
            raise ModelError(f"no universal parser: it has no rule table: missing {name}")
        if arrays[name].dtype != np.uint8 or arrays[name].ndim != 1:
            raise ModelError(f"the model's rule table is damaged: {name} is no row of bytes")
    text = arrays[TABLE].tobytes()
    if hashlib.sha256(text).digest() != arrays[DIGEST].tobytes():
        raise ModelError("the model's rule table is damaged: its SHA-256 is not the one beside it")
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise ModelError(f"the model's rule table is damaged: {error}") from None

"""The rule table of the shipped universal parser, for models that have none."""

from __future__ import annotations

from functools import cache

from dynet_vdgi.errors import ModelError
from dynet_vdgi.models.archive import Arrays, opened
from dynet_vdgi.settings.bundled import bundled
from dynet_vdgi.universal.model_table import TABLE, table_arrays, table_of

_MEAN = "universal/mean"
"""An array that every universal parser has."""


@cache
def shipped_table() -> str:
    """The table in the shipped model. Raises: ModelError, there is none, or it is damaged."""
    path = bundled("models").get("universal")
    if path is None:
        raise ModelError("this installation has no model 'universal'; install dynet_vdgi again")
    with opened(path) as archive:
        return table_of(archive.arrays("parameters.npz"))


def with_table(arrays: Arrays) -> Arrays:
    """The arrays of a model; a universal parser of before, which has no table, gets the shipped
    one's.

    Such models were learnt when the table was a file of the package, which was then the same.
    """
    if _MEAN not in arrays or TABLE in arrays:
        return arrays
    return arrays | table_arrays(shipped_table())

"""Weights of hashed features as arrays of a model file: the rows that are not zero.

Letters: B buckets, k rows that are not zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ModelError

Arrays = dict[str, NDArray[Any]]

MOST_LOG2_BUCKETS = 26


def to_arrays(
    prefix: str, version: int, weights: NDArray[Any], options: Sequence[int] = ()
) -> Arrays:
    """What `from_arrays` reads back: weights (B,) or (B, columns), B a power of two, and other
    numbers."""
    buckets = np.flatnonzero(weights.reshape(len(weights), -1).any(axis=1))
    return {
        prefix + "shape": np.array([version, len(weights).bit_length() - 1, *options], np.int64),
        prefix + "buckets": buckets.astype(np.int32),  # (k,), ascending
        prefix + "weights": weights[buckets].astype(np.float32),  # (k,) or (k, columns)
    }


class StoredRows(NamedTuple):
    """Weights as a model file has them."""

    log2_buckets: int
    buckets: NDArray[Any]  # (k,)
    rows: NDArray[np.float32]  # (k, columns)
    options: list[int]


def from_arrays(
    arrays: Mapping[str, NDArray[Any]],
    prefix: str,
    what: str,
    version: int,
    columns: tuple[int, ...] = (),
    n_options: int = 0,
) -> tuple[NDArray[np.float32], list[int]]:
    """Weights (B, *columns) and further numbers from these arrays.

    Raises: as `rows_from_arrays`.
    """
    stored = rows_from_arrays(arrays, prefix, what, version, columns, n_options)
    weights = np.zeros((1 << stored.log2_buckets, *columns), np.float32)
    weights[stored.buckets] = stored.rows
    return weights, stored.options


def rows_from_arrays(
    arrays: Mapping[str, NDArray[Any]],
    prefix: str,
    what: str,
    version: int,
    columns: tuple[int, ...] = (),
    n_options: int = 0,
) -> StoredRows:
    """The rows that are not zero, and further numbers, from these arrays; others are ignored.

    Raises: ModelError, an array is missing, or they are not those of `what` in this version.
    """
    try:
        shape, buckets, rows = (arrays[prefix + name] for name in ("shape", "buckets", "weights"))
    except KeyError as error:
        raise ModelError(f"no {what}: missing {error.args[0]}") from None
    if shape.shape != (2 + n_options,) or shape.dtype.kind != "i":
        raise ModelError(f"no {what}: {prefix}shape is not {2 + n_options} whole numbers")
    stored_version, log2_buckets, *options = map(int, shape)
    check_version(what, stored_version, version)
    if not 1 <= log2_buckets <= MOST_LOG2_BUCKETS:
        raise ModelError(f"no {what}: 2 ** {log2_buckets} buckets")
    if buckets.dtype.kind != "i" or buckets.ndim != 1 or rows.shape != (len(buckets), *columns):
        raise ModelError(f"no {what}: {rows.shape} weights in {buckets.shape} buckets")
    if len(buckets) and not 0 <= buckets.min() <= buckets.max() < 1 << log2_buckets:
        raise ModelError(f"no {what}: a bucket is outside 0..{(1 << log2_buckets) - 1}")
    if rows.dtype != np.float32 or not np.isfinite(rows).all():
        raise ModelError(f"no {what}: weights are not finite float32 numbers")
    return StoredRows(log2_buckets, buckets, rows, options)


def check_version(what: str, stored_version: int, version: int) -> None:
    """Raises: ModelError, `what` has another version."""
    if stored_version != version:
        raise ModelError(
            f"the {what} has format {stored_version}, this program reads {version}; "
            "train it again, or use the version of dynet_vdgi that made it"
        )

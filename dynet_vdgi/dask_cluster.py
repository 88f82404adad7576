"""Dask clusters, whose workers do what is handed to them; needs the optional package distributed."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dynet_vdgi.errors import UsageError

CONNECT_S = 20
"""How long a scheduler may take to answer."""

logger = logging.getLogger("dynet_vdgi")


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A `distributed.Client` of the scheduler at an address; at the end, what has not begun is taken back.

    Raises:
        UsageError: distributed is not installed, or no scheduler answers.
    """
    try:
        distributed, dask = map(importlib.import_module, ("distributed", "dask"))
    except ImportError:
        raise UsageError(
            "--scheduler needs the package distributed: pip install 'dynet_vdgi[cluster]'"
        ) from None
    try:
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"--scheduler {address}: no scheduler answers there: {error}") from None
    try:
        if not client.nthreads():
            logger.warning("--scheduler %s: it has no workers yet; waiting for one", address)
        # A model may be large; it is sent once, and Dask need not warn of it.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            yield client
    finally:
        client.close()

"""Work on Dask clusters; needs the optional package distributed."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.extras import how_to_install

logger = logging.getLogger("dynet_vdgi")


class ClusterCall:
    """A call that a cluster works on."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def result(self) -> Any:
        """The result of the call. Raises: VdgiError, the cluster is lost or the call failed there."""
        try:
            return self._future.result()
        except VdgiError:
            raise
        except Exception as error:
            raise lost_or_failed(error) from error


@dataclass(frozen=True)
class Cluster:
    """A cluster with a `distributed.Client`."""

    client: Any

    def submit(self, function: Any, *arguments: Any) -> ClusterCall:
        """Hands out a call. Raises: VdgiError, the cluster is lost."""
        try:
            return ClusterCall(self.client.get_executor(pure=False).submit(function, *arguments))
        except Exception as error:
            raise lost_or_failed(error) from error

    def n_under_way(self) -> int:
        """How many calls keep its workers busy; workers come and go."""
        return 2 * max(1, sum(map(int, self.client.nthreads().values())))


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """The cluster of the scheduler at an address; at the end, work not yet begun is cancelled.

    Raises: UsageError, distributed is not installed; VdgiError, no scheduler answers within the time set in
    Dask's configuration.
    """
    try:
        distributed, dask = map(importlib.import_module, ("distributed", "dask"))
    except ImportError:
        message = f"--scheduler needs the package distributed: {how_to_install('cluster')}"
        raise UsageError(message) from None
    # Dask's own setting, DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT.
    patience = dask.config.get("distributed.comm.timeouts.connect")
    for name in logging.root.manager.loggerDict:  # errors are reported once, here
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise VdgiError(f"--scheduler {address}: no scheduler answers there: {error}") from None
    try:
        if not client.nthreads():
            logger.warning("--scheduler %s: it has no workers yet; waiting for one", address)
        # A model may be large, but it is sent only once, so Dask's warning is not needed.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            yield Cluster(client)
    finally:
        client.close()


def lost_or_failed(error: Exception) -> VdgiError:
    """The error as a message about the cluster, for users."""
    if isinstance(error, (CancelledError, OSError)):  # futures are cancelled when the client gives up
        return VdgiError("the cluster is lost: its scheduler no longer answers")
    said = " ".join(str(error).split())
    return VdgiError(f"the cluster failed: {type(error).__name__}: {said}")

"""Work in processes of this machine or of a Dask cluster, with one thread of BLAS each."""

from __future__ import annotations

import ctypes
import importlib
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.names import how_to_install
from dynet_vdgi.system.progress import end_with_parent

logger = logging.getLogger("dynet_vdgi")


@contextmanager
def processes(jobs: int, prepare: Callable[..., None], *arguments: Any) -> Iterator[Callable[..., Any]]:
    """Hands out calls to processes that each call `prepare` first, and that end with this one in any way.

    Raises: VdgiError, a result was asked for of a process that died.
    """
    import multiprocessing  # late: most commands need one process
    from concurrent.futures import ProcessPoolExecutor

    # Spawned, not forked: a copy of a process with threads (progress bar, BLAS) may hang.
    context, start = multiprocessing.get_context("spawn"), (prepare, arguments)
    executor = ProcessPoolExecutor(jobs, context, _start, start)
    try:
        yield executor.submit
    except BrokenExecutor:
        message = "a worker process died (killed, or out of memory?); try fewer --jobs"
        raise VdgiError(message) from None
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _start(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops its workers
    end_with_parent()
    prepare(*arguments)


# ----------------------------------------------------------------------------------------------------
# Work on Dask clusters; needs the optional package distributed.


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
        """How many calls keep its workers busy, who come and go. Raises: VdgiError, the cluster is lost."""
        try:
            return 2 * max(1, sum(map(int, self.client.nthreads().values())))
        except Exception as error:
            raise lost_or_failed(error) from error


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


# ----------------------------------------------------------------------------------------------------
# Limits BLAS to one thread while parsing or learning, and restores the caller's number afterwards.
#
# The matrices here are so small that several threads wait for each other, on a busy machine ten times as
# long.


_lock = threading.Lock()
_inside = 0  # Python threads that are in a block
_before: Any = None  # the numbers that the first of them found
_here = threading.local()


@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of this process, looked up once because that takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """A block in which BLAS uses one thread; blocks may be nested.

    Blocks of several Python threads may overlap. The number belongs to the process: the first thread that
    enters sets it, the last that leaves restores it. OpenBLAS with OpenMP keeps one for each Python thread,
    so there each thread sets and restores its own.
    """
    global _inside, _before
    if getattr(_here, "inside", False):
        yield
        return
    with _lock:
        if not _inside:
            _anyone_may_set()
            _before = _controller().limit(limits=1)
        _inside += 1
        own = _controller().select(threading_layer="openmp").limit(limits=1)
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = False
        with _lock:
            own.restore_original_limits()
            _inside -= 1
            if not _inside:
                _anyone_may_set()
                _before.restore_original_limits()
                _anyone_may_set()


def _anyone_may_set() -> None:
    """Makes threadpoolctl obey this thread.

    Newer versions ignore all threads but the first that sets a number, as long as that one lives.
    """
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


# ----------------------------------------------------------------------------------------------------
# Giving free memory back to the system.


def give_back() -> None:
    """Makes the C library return free small blocks to the system, because it would keep them."""
    with suppress(OSError, AttributeError, TypeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)

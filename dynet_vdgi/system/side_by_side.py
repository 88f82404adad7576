"""Work in threads, processes, or on a Dask cluster, with one thread of BLAS each.

Results must not depend on how many calls run at once: callers divide their work into the same shares for any
number of processors, and combine results in order.
"""

import importlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.names import how_to_install

Item = TypeVar("Item")
Result = TypeVar("Result")

logger = logging.getLogger("dynet_vdgi")

_AT_ONCE = 500

_jobs = 1
_processes: Any = None  # whose `submit` hands out a picklable call, and gives what has its `result`


@contextmanager
def allowed(jobs: int, processes: Any = None) -> Iterator[None]:
    """A block in which `jobs` calls may run at a time, in threads or in these processes."""
    global _jobs, _processes
    before, _jobs, _processes = (_jobs, _processes), jobs, processes
    try:
        yield
    finally:
        _jobs, _processes = before


def parts_of(sentences: Sequence[Item]) -> list[Sequence[Item]]:
    """The sentences in parts of limited size, because their results take much memory."""
    return [sentences[start : start + _AT_ONCE] for start in range(0, len(sentences), _AT_ONCE)]


def each(function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]) -> list[Result]:
    """The results, in order, of calls with these arguments, made by threads.

    Only machine code (`jit.Kernel`) and large NumPy operations run in parallel.
    """
    calls = list(arguments)
    if _jobs == 1 or len(calls) < 2:
        return [function(*one) for one in calls]
    from concurrent.futures import ThreadPoolExecutor  # late: parsing needs none

    with ThreadPoolExecutor(min(_jobs, len(calls))) as pool:
        return list(pool.map(lambda one: function(*one), calls))


def by_processes(function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
    """The results, in order, of calls with these arguments, made by processes; a few run ahead.

    The function must be defined at the top of a module; its arguments and results are copied.
    """
    if _processes is None:
        for one in arguments:
            yield function(*one)
        return
    pending: deque[Any] = deque()
    for one in arguments:
        pending.append(_processes.submit(function, *one))
        if len(pending) > 2 * _jobs:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


# ----------------------------------------------------------------------------------------------------
# Work on Dask clusters; needs the optional package distributed.
@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A `distributed.Client` of the scheduler at an address; at the end, work not yet begun is cancelled.

    Raises: UsageError, distributed is not installed; VdgiError, no scheduler answers within the time set in
    Dask's configuration, or in the block the cluster is lost, or a call failed there.
    """
    try:
        distributed, dask = map(importlib.import_module, ("distributed", "dask"))
    except ImportError:
        raise UsageError(f"--scheduler needs the package distributed: {how_to_install('cluster')}") from None
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
            yield client
    except VdgiError:
        raise
    except Exception as error:
        raise lost_or_failed(error) from error
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
@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of this process, looked up once because that takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[object]:
    """A block in which BLAS uses one thread; blocks may be nested."""
    found: AbstractContextManager[object] = _controller().limit(limits=1)
    return found

"""Processes: locks on files, workers on this machine or a Dask cluster, one thread of BLAS each."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.names import how_to_install
from dynet_vdgi.system.progress import end_with_parent

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("dynet_vdgi")


@contextmanager
def at_work(folder: Path, name: str = "") -> Iterator[None]:
    """Makes a folder of results if need be, and holds its lock, or that of a file in it of this name.

    Some network file systems have locks on files only.

    Raises: UsageError, the folder cannot be made, or another process is at work in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {str(folder)!r}: {error.strerror}") from None
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT if name else os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not take(descriptor, wait=False, warns_of=folder):
            what = "another process is at work in it; wait for it, or choose another --out"
            raise UsageError(f"{folder}: {what}")
        yield
    finally:
        os.close(descriptor)


def take(descriptor: int, *, wait: bool, warns_of: Path | None = None) -> bool:
    """Takes the lock of an open file until it is closed; False: another process has it, and `wait` is off.

    Where the file system has no locks, and on Windows, nothing is locked; with `warns_of` this is reported.
    """
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, as some network file systems are
        if warns_of is not None:
            logger.warning("%s: this file system has no locks: start no other process in there", warns_of)
    return True


# ----------------------------------------------------------------------------------------------------
# Work in processes of this machine or of a Dask cluster, with one thread of BLAS each.


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
# The matrices here are so small that several threads wait for each other, on a busy machine ten times as long.
@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of this process, looked up once because that takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[object]:
    """A block in which BLAS uses one thread; blocks may be nested."""
    found: AbstractContextManager[object] = _controller().limit(limits=1)
    return found

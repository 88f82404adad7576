"""Processes: locks on files, workers, one thread of BLAS each."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

from dynet_vdgi.errors import UsageError, VdgiError
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
# Work in processes, with one thread of BLAS each.
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
# Limits BLAS to one thread while parsing or learning, and restores the caller's number afterwards.
#
# The matrices here are so small that several threads wait for each other, on a busy machine ten times as long.
_lock = threading.Lock()
_inside = 0  # blocks of all Python threads
_before: Any = None  # the numbers that the first of them found


@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of this process, looked up once because that takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """A block in which BLAS uses one thread; also a decorator.

    Blocks may be nested, and those of several Python threads may overlap: the number belongs to the process, so the
    first block sets it and the last one restores it. Only OpenBLAS with OpenMP has one for each Python thread.
    """
    global _inside, _before
    with _lock:
        _anyone_may_set()
        own = _controller().select(threading_layer="openmp").limit(limits=1)
        _before = _before if _inside else _controller().limit(limits=1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            _anyone_may_set()
            if not _inside:
                _before.restore_original_limits()
            own.restore_original_limits()
            _anyone_may_set()


def _anyone_may_set() -> None:
    """Newer versions of threadpoolctl obey only the first Python thread that sets a number, unless told this."""
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)

"""Worker processes on this machine; the work of a process that died is done once more."""

from __future__ import annotations

import logging
import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system.ending import end_with_parent

logger = logging.getLogger("dynet_vdgi")


class WorkerPool:
    """`jobs` processes that each call `prepare` first, and end when this process ends in any way."""

    def __init__(self, jobs: int, prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        # Spawned, not forked: a copy of a process with threads (progress bar, BLAS) may hang.
        self._make = partial(
            ProcessPoolExecutor,
            jobs,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start,
            initargs=(prepare, arguments),
        )
        self._executor = self._make()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Piece:
        """Hands out a piece of work."""
        return Piece(self, function, arguments)

    def begin(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        """Hands out a piece of work; if all processes are gone because one died, starts new ones."""
        try:
            return self._executor.submit(function, *arguments)
        except BrokenProcessPool:
            logger.warning("a worker process died; its work is repeated")
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = self._make()
            return self._executor.submit(function, *arguments)

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


class Piece:
    """A piece of work that was handed out."""

    def __init__(self, pool: WorkerPool, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._again = partial(pool.begin, function, arguments)
        self._future = self._again()

    def result(self) -> Any:
        """The function's result. Raises: VdgiError, processes died twice; or the function's own error."""
        try:
            return self._future.result()
        except BrokenProcessPool:
            self._future = self._again()
        try:
            return self._future.result()
        except BrokenProcessPool:
            message = "a worker process died twice (killed, or out of memory?); try fewer --jobs"
            raise VdgiError(message) from None


def _start(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """The first steps of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops its workers
    end_with_parent()
    prepare(*arguments)

"""Work in processes, with one thread of BLAS each; what a process that died was doing is done once
more."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system.signals import end_with_parent

logger = logging.getLogger("dynet_vdgi")


@contextmanager
def processes(
    jobs: int, prepare: Callable[..., None], *arguments: Any
) -> Iterator[Callable[..., Piece]]:
    """Hands out calls to processes that each call `prepare` first, and that end with this one in
    any way."""
    pool = _Pool(jobs, prepare, arguments)
    try:
        yield pool.submit
    finally:
        pool.executor.shutdown(wait=True, cancel_futures=True)


class Piece:
    """A call that was handed out."""

    def __init__(
        self, pool: _Pool, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        self._pool, self._function, self._arguments = pool, function, arguments
        self._future = pool.begin(function, arguments)

    def result(self) -> Any:
        """What the function returned or raised.

        Raises: VdgiError, the process that did it died, and so did the one that did it again.
        """
        try:
            return self._future.result()
        except BrokenExecutor:
            self._future = self._pool.begin(self._function, self._arguments)
        try:
            return self._future.result()
        except BrokenExecutor:
            message = "a worker process died twice (killed, or out of memory?); try fewer --jobs"
            raise VdgiError(message) from None


class _Pool:
    """Processes, and others in their place when one has died: then the executor gives up all of its
    own."""

    def __init__(self, jobs: int, prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._jobs, self._initial = jobs, (prepare, arguments)
        self.executor = self._new()

    def _new(self) -> ProcessPoolExecutor:
        import multiprocessing  # late: most commands need one process

        # Spawned, not forked: a copy of a process with threads (progress bar, BLAS) may hang.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._jobs, context, _start, self._initial)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Piece:
        return Piece(self, function, arguments)

    def begin(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        try:
            return self.executor.submit(function, *arguments)
        except BrokenExecutor:
            logger.warning("a worker process died; its work is repeated")
            self.executor.shutdown(wait=False, cancel_futures=True)
            self.executor = self._new()
            return self.executor.submit(function, *arguments)


def _start(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    # Ctrl-C is for the parent, which stops its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    prepare(*arguments)

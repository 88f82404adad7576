"""Work in processes, with one thread of BLAS each."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from typing import Any

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system.signals import end_with_parent


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

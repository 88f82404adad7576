"""Parallel calls, on as many processors as the user allows: by default one.

Results must not depend on how many calls run at once: callers divide their work into the same shares for any
number of processors, and combine results in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

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

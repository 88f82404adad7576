"""Calls at the same time, on as many processors as the user allows: one, if nobody says otherwise.

What they compute must not depend on how many run at once: callers cut their work into the same shares for
any number of processors, and put results together in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")

_jobs = 1


@contextmanager
def allowed(jobs: int) -> Iterator[None]:
    """A block in which so many calls may run at a time, in any thread."""
    global _jobs
    before, _jobs = _jobs, jobs
    try:
        yield
    finally:
        _jobs = before


def n_allowed() -> int:
    """How many calls may run at a time."""
    return _jobs


def each(function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]) -> list[Result]:
    """The results of calls with these arguments, in their order, by threads.

    Only machine code (`machine_code.Kernel`) and large operations of NumPy run at the same time.
    """
    calls = list(arguments)
    if _jobs == 1 or len(calls) < 2:
        return [function(*one) for one in calls]
    with ThreadPoolExecutor(min(_jobs, len(calls))) as pool:
        return list(pool.map(lambda one: function(*one), calls))

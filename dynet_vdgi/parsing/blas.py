"""One BLAS thread while parsing, and afterwards what the caller had.

The matrices here are so small that more threads wait for each other: on a busy machine ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of this process; looking for them takes milliseconds, so it is done once."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """A block in which BLAS uses one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield

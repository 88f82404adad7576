"""Limits BLAS to one thread while parsing or learning, and restores the caller's number afterwards.

The matrices here are so small that several threads wait for each other, on a busy machine ten times
as long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

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

    Blocks may be nested, and those of several Python threads may overlap: the number belongs to the
    process, so the first block sets it and the last one restores it. Only OpenBLAS with OpenMP has
    one for each Python thread.
    """
    global _inside, _before
    with _lock:
        _anyone_may_set()
        openmp_limit = _controller().select(threading_layer="openmp").limit(limits=1)
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
            openmp_limit.restore_original_limits()
            _anyone_may_set()


def _anyone_may_set() -> None:
    """Newer versions of threadpoolctl obey only the first Python thread that sets a number, unless
    told this."""
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)

"""One thread of BLAS while parsing or learning, and memory given back to the system.

Limits BLAS to one thread while parsing or learning, and restores the caller's number afterwards.

The matrices here are so small that several threads wait for each other, on a busy machine ten times as long.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0  # Python threads that are in a block
_before: Any = None  # the numbers that the first of them found
_here = threading.local()


@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of this process, looked up once because that takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """A block in which BLAS uses one thread; blocks may be nested.

    Blocks of several Python threads may overlap. The number belongs to the process: the first thread that
    enters sets it, the last that leaves restores it. OpenBLAS with OpenMP keeps one for each Python thread,
    so there each thread sets and restores its own.
    """
    global _inside, _before
    if getattr(_here, "inside", False):
        yield
        return
    with _lock:
        if not _inside:
            _anyone_may_set()
            _before = _controller().limit(limits=1)
        _inside += 1
        own = _controller().select(threading_layer="openmp").limit(limits=1)
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = False
        with _lock:
            own.restore_original_limits()
            _inside -= 1
            if not _inside:
                _anyone_may_set()
                _before.restore_original_limits()
                _anyone_may_set()


def _anyone_may_set() -> None:
    """Makes threadpoolctl obey this thread.

    Newer versions ignore all threads but the first that sets a number, as long as that one lives.
    """
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


# ----------------------------------------------------------------------------------------------------
# Giving free memory back to the system.


def give_back() -> None:
    """Makes the C library return free small blocks to the system, because it would keep them."""
    with suppress(OSError, AttributeError, TypeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)

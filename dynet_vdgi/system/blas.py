"""Limits BLAS to one thread while parsing or learning, and restores the caller's number afterwards.

The matrices here are so small that several threads wait for each other, on a busy machine ten times as long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0  # Python threads that are in a block
_before: Any = None  # the setting that the first of them found
_here = threading.local()


@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of this process, looked up once because that takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """A block in which BLAS uses one thread; blocks may be nested.

    Blocks of several Python threads may overlap. Some versions of OpenBLAS keep the number for each Python
    thread, others for the process, so each thread restores the number that the first one found.
    """
    global _inside, _before
    if getattr(_here, "inside", False):
        yield
        return
    with _lock:
        limit = _controller().limit(limits=1, user_api="blas")
        if not _inside:
            _before = limit
        _inside += 1
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = False
        with _lock:
            _inside -= 1
            _before.restore_original_limits()

"""Functions compiled by numba: the decorator, and what the user is told while they are compiled.

Importing this module fails where numba cannot be imported; who imports it says what is lacking, and for what.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba

PATIENCE = 2.0
"""Seconds of compilation after which the user is told about it."""

logger = logging.getLogger("dynet_vdgi")

_without_cache: list[str] = []
"""Functions that are compiled anew in each process, since numba has no folder to keep them in."""

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function in machine code, made at its first call and kept on disk for later processes.

    numba looks at the function's own file only to see whether what it kept is still valid: functions that
    call each other, and the constants they use, belong into one module.
    """
    try:
        return cast(Function, numba.njit(cache=True)(function))
    except RuntimeError:  # no folder that could be written to
        _without_cache.append(function.__name__)
        return cast(Function, numba.njit(function))


@contextmanager
def announced(what: str) -> Iterator[None]:
    """A block that compiles `what`, unless an earlier process has: says so on the log if that takes long."""
    how_often = (
        "at every start, since no cache can be written (set NUMBA_CACHE_DIR to a folder of yours)"
        if _without_cache
        else "once for this computer"
    )
    message = f"compiling {what}, {how_often}; it may take half a minute"
    timer = threading.Timer(PATIENCE, logger.info, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

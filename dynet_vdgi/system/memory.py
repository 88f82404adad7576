"""Memory that is free, given back."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back() -> None:
    """Has the C library return to the system what was needed in many small pieces; it would keep it."""
    with suppress(OSError, AttributeError, TypeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)

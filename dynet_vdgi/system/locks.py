"""Locks on folders and files, so that two processes do not write the same results."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dynet_vdgi.errors import UsageError

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("dynet_vdgi")


@contextmanager
def at_work(folder: Path, name: str = "") -> Iterator[None]:
    """Makes a folder of results if need be, and holds its lock, or that of a file in it of this
    name.

    Some network file systems have locks on files only.

    Raises: UsageError, the folder cannot be made, or another process is at work in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {str(folder)!r}: {error.strerror}") from None
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(
        folder / name, os.O_RDWR | os.O_CREAT if name else os.O_RDONLY | os.O_DIRECTORY
    )
    try:
        if not take(descriptor, wait=False, warns_of=folder):
            what = "another process is at work in it; wait for it, or choose another --out"
            raise UsageError(f"{folder}: {what}")
        yield
    finally:
        os.close(descriptor)


def take(
    descriptor: int, *, wait: bool, warns_of: Path | None = None, without_locks: bool = True
) -> bool:
    """Takes the lock of an open file until it is closed; False: another process has it, and `wait`
    is off.

    Where the file system has no locks, and on Windows, nothing is locked, and the answer is
    `without_locks`; with `warns_of` this is reported.
    """
    if sys.platform == "win32":
        return without_locks
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, as some network file systems are
        if warns_of is not None:
            logger.warning(
                "%s: this file system has no locks: start no other process in there", warns_of
            )
        return without_locks
    return True

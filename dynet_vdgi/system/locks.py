"""Locks on files: one process at a time. The system releases the lock of a process that died."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("dynet_vdgi")


class TakenError(Exception):
    """Another process has the lock; the message names the process if it is known."""


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Holds the lock of a file, made if missing, that names this process; can wait for another process.

    Where the file system has no locks, and on Windows, nothing is locked.

    Raises:
        TakenError: another process has it, and `wait` is off.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="utf-8") as handle:
        if not take(handle.fileno(), wait=wait):
            handle.seek(0)
            raise TakenError(handle.read().strip() or "another process")
        import socket  # slow, and `data.leftovers`, which every command needs, uses `take` only

        handle.truncate(0)
        handle.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        handle.flush()
        yield


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Holds the lock of a folder and leaves nothing behind in it.

    Warns where the file system has no locks; on Windows nothing is locked.

    Raises:
        TakenError: another process has it.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not take(descriptor, wait=False, warns_of=path):
            raise TakenError("another process")
        yield
    finally:
        os.close(descriptor)


def take(descriptor: int, *, wait: bool, warns_of: Path | None = None) -> bool:
    """Takes the lock of an open file until it is closed; False: another process has it, and `wait` is off.

    Where the file system has no locks, and on Windows, nothing is locked; with `warns_of` this is reported.
    """
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, as some network file systems are
        if warns_of is not None:
            logger.warning("%s: this file system has no locks: start no other process in there", warns_of)
    return True

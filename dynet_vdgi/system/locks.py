"""Locks on files, and temporary files that killed processes left behind.

Locks on files: one process at a time. The system releases the lock of a process that died.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dynet_vdgi.errors import UsageError

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("dynet_vdgi")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock of a file, made if missing, that names this process; waits for another that has it."""
    import platform  # slow, and `system.locks`, which every command needs, uses `take` only

    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as handle:
        take(handle.fileno(), wait=True)
        handle.truncate(0)
        handle.write(f"process {os.getpid()} on {platform.node()}\n")
        handle.flush()
        yield


@contextmanager
def at_work(folder: Path, name: str = "") -> Iterator[None]:
    """Makes a folder of results if need be, and holds its lock, or that of a file in it of this name.

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
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT if name else os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not take(descriptor, wait=False, warns_of=folder):
            what = "another process is at work in it; wait for it, or choose another --out"
            raise UsageError(f"{folder}: {what}")
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


# ----------------------------------------------------------------------------------------------------
# Temporary files of processes that were killed: how they are named and removed.


TEMPORARY = f".vdgi-{os.getpid()}-{platform.node()}-"
"""How the names of this process's temporary files begin; a fork has the name of its parent."""

_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
"""For a pipe or a link that has the name of a temporary file."""

_LEFTOVER = re.compile(r"\.vdgi-(\d+)-(.*)-[0-9a-f]{16}\.tmp")

_looked_through: set[str] = set()
"""Directories in which this process has removed the leftovers of others."""


def remove_leftovers(directory: str) -> None:
    """Removes temporary files of killed processes of this machine; once a directory.

    A living process keeps its file locked. Its number alone does not show whether it lives, because a
    container that shares the directory and the host's name has other process numbers.
    """
    if directory in _looked_through:
        return
    _looked_through.add(directory)
    with suppress(OSError):
        for name in os.listdir(directory):
            match = _LEFTOVER.fullmatch(name)
            if match and match[2] == platform.node() and not _is_alive(int(match[1])):
                with suppress(OSError):
                    path = os.path.join(directory, name)
                    descriptor = os.open(path, os.O_RDONLY | _NO_WAITING)
                    try:
                        if take(descriptor, wait=False):
                            os.unlink(path)
                    finally:
                        os.close(descriptor)


def _is_alive(process: int) -> bool:
    """Whether there is a process of this number; it may be another user's."""
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        return not isinstance(error, ProcessLookupError)
    return True

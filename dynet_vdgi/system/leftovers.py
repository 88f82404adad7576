"""Temporary files of processes that were killed: how they are named and removed."""

from __future__ import annotations

import os
import platform
import re
import sys
from contextlib import suppress

from dynet_vdgi.system.locks import take

_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
"""For a pipe or a link that has the name of a temporary file."""

_LEFTOVER = re.compile(r"\.vdgi-([0-9]{1,20})-(.*)-[0-9a-f]{16}\.tmp")

_looked_through: set[str] = set()
"""Folders in which this process has removed the leftovers of others."""


def temporary_name(number: str) -> str:
    """The name of a temporary file of this process; `number` has 16 hexadecimal digits."""
    return f".vdgi-{os.getpid()}-{platform.node()}-{number}.tmp"


def remove_leftovers(folder: str) -> None:
    """Removes temporary files of killed processes of this machine; once a folder.

    A living process keeps its file locked. Its number alone does not show whether it lives, because
    a container that shares the folder and the host's name has other process numbers. So nothing is
    removed where the file system has no locks.
    """
    if folder in _looked_through:
        return
    _looked_through.add(folder)
    with suppress(OSError):
        for name in os.listdir(folder):
            match = _LEFTOVER.fullmatch(name)
            if match and match[2] == platform.node() and not _is_alive(int(match[1])):
                with suppress(OSError):
                    path = os.path.join(folder, name)
                    descriptor = os.open(path, os.O_RDONLY | _NO_WAITING)
                    try:
                        if take(descriptor, wait=False, without_locks=False):
                            os.unlink(path)
                    finally:
                        os.close(descriptor)


def _is_alive(process: int) -> bool:
    """Whether there is a process of this number; it may be another user's."""
    if sys.platform == "win32":  # there, this would end it
        return True
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        return not isinstance(error, ProcessLookupError)
    return True

"""Machine code on disk: its folders, and the conditions under which files are used.

Loaded machine code is run, so the folder and the file must belong to this user, and nobody else may be able
to write to them. A file begins with a digest of its name and its content, so a damaged or renamed file is not
used either.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 10_000_000
"""Largest object file in bytes; those of kernels have up to 100,000."""

_DIGEST_SIZE = hashlib.sha256().digest_size
_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
"""What a file is opened with, as far as the system has it: no link is followed, and no FIFO waited for."""


def folders() -> Iterator[Path]:
    """Where object files may lie, the best place first: beside the package, or in the user's own folders."""
    yield Path(__file__).parents[1] / "__pycache__"
    named = [Path(os.environ.get("NUMBA_CACHE_DIR", ""))]
    with suppress(RuntimeError):  # no home
        cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
        named.append((cache if cache.is_absolute() else Path.home() / ".cache") / "dynet_vdgi")
    yield from (folder for folder in named if folder.is_absolute())
    own = Path(tempfile.gettempdir()) / f"dynet_vdgi-{os.geteuid() if hasattr(os, 'geteuid') else 'cache'}"
    if not own.is_symlink():  # a link could be anybody's
        yield own


def read(name: str) -> bytes | None:
    """The content of a trusted file; None: there is no such file."""
    for folder in folders():
        with suppress(OSError):
            if _is_own(folder.stat()):
                content = _content(folder / name)
                if _digest(name, content[_DIGEST_SIZE:]) == content[:_DIGEST_SIZE]:
                    return content[_DIGEST_SIZE:]
    return None


def keep(name: str, content: bytes) -> bool:
    """Writes a file for later processes; returns whether there is a folder for it."""
    folder = writable_folder()
    if folder is None:
        return False
    with suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(name, content) + content)
            os.replace(temporary, folder / name)
        except BaseException:
            os.unlink(temporary)
            raise
        return True
    return False


def writable_folder() -> Path | None:
    """The first folder that this user, and nobody else, can write to; it is made if need be. None: none."""
    for folder in folders():
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_own(folder.stat()) and os.access(folder, os.W_OK | os.X_OK):
                return folder
    return None


def _is_own(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user and nobody else can write to it."""
    if not hasattr(os, "geteuid"):  # Windows: folders of a user are the user's
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _content(path: Path) -> bytes:
    """The content of a regular file of this user's. Raises: OSError, it is something else."""
    flags = os.O_RDONLY
    for name in _FLAGS:
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or not _is_own(found) or found.st_size > MOST_BYTES:
            raise PermissionError(f"{path} is not taken as machine code")
        return file.read(MOST_BYTES + 1)


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + content).digest()

"""The annotated file: locked, replaced as a whole, and with changes by other programs noticed."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from dynet_vdgi.data import files
from dynet_vdgi.errors import InUseError, VdgiError
from dynet_vdgi.system.locks import take

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class OwnFile:
    """A file, locked for this process under any name or link.

    `digest` is the checksum of the content last read or written.

    Raises:
        InUseError: another process has the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        with suppress(OSError):  # reading the file will give the reason
            self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        if self._descriptor is not None and not take(self._descriptor, wait=False):
            self.close()
            message = (
                f"{path.name} is being annotated by another process (end it with Ctrl-C in its terminal)"
            )
            raise InUseError(message)
        self._ends, self._mark = b"\n", b""
        self._stat: tuple[int, ...] = ()
        self.digest = ""

    def look(self) -> None:
        """Records the present state of the file, after it was read without fault."""
        content = self.path.read_bytes()
        self._stat, self.digest = self._stat_now(), hashlib.sha256(content).hexdigest()
        n_lines = content.count(b"\n")
        self._ends = b"\r\n" if n_lines and content.count(b"\r\n") == n_lines else b"\n"
        self._mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK) else b""

    def encoded(self, text: str) -> bytes:
        """A text with the line ends and the byte order mark of the file."""
        return self._mark + text.encode().replace(b"\n", self._ends)

    def decoded(self) -> str:
        """The text of the file as `encoded` takes it."""
        content = self.path.read_bytes().removeprefix(BYTE_ORDER_MARK)
        return content.replace(self._ends, b"\n").decode()

    def write(self, content: bytes, digest: str) -> None:
        """Replaces the file's content, which has this checksum. Raises: UsageError, it cannot be written."""
        new: int | None = None
        try:
            with files.atomic_bytes_writer(self.path) as handle:
                handle.write(content)
                new = os.dup(handle.fileno())  # locked, as all files that are being written
        except BaseException:
            if new is not None:
                os.close(new)
            raise
        self.close()
        self._descriptor, self._stat, self.digest = new, self._stat_now(), digest

    def is_changed_by_others(self) -> bool:
        """True if its content is not the one last read or written."""
        now = self._stat_now()
        if now == self._stat:
            return False
        try:
            if files.sha256(self.path) != self.digest:
                return True
        except (OSError, VdgiError):
            return True
        self._stat = now  # other permissions, another time, one more link
        return False

    def _stat_now(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)
        except OSError:
            return ()
        return found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

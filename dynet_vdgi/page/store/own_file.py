"""The annotated file: locked, replaced as a whole, and with changes by other programs noticed."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from dynet_vdgi.errors import InUseError, UsageError, VdgiError
from dynet_vdgi.system import files
from dynet_vdgi.system.locks import take

BYTE_ORDER_MARK = "\ufeff"

_EMPTY_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


def plain_conllu(text: str) -> str:
    """A file's CoNLL-U as `sentence_blocks.block` writes it:
    LF, one empty line after each sentence."""
    text = text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n")
    return _EMPTY_LINES.sub("\n\n", f"\n{text}\n\n").lstrip("\n")


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
            message = f"{path.name} is being annotated by another process"
            raise InUseError(f"{message} (end it with Ctrl-C in its terminal)")
        self._ends, self._mark = "\n", ""
        self._stat: tuple[int, ...] = ()
        self.digest = ""

    def look(self) -> bytes:
        """Records the present state of the file; returns its content. Raises: OSError."""
        self._stat = self._stat_now()  # first, so that a change after it is noticed
        content = self.path.read_bytes()
        self.digest = hashlib.sha256(content).hexdigest()
        n_lines = content.count(b"\n")
        self._ends = "\r\n" if n_lines and content.count(b"\r\n") == n_lines else "\n"
        self._mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK.encode()) else ""
        return content

    def encoded_text(self, text: str) -> bytes:
        """A text with the line ends and the byte order mark of the file."""
        return (self._mark + text.replace("\n", self._ends)).encode()

    def write(self, content: bytes, digest: str) -> None:
        """Replaces the file's content by one with this checksum.

        Raises: UsageError, it cannot be written, or has been changed meanwhile.
        """
        new: int | None = None
        try:
            with files.atomic_bytes_writer(self.path) as handle:
                handle.write(content)
                if self.is_changed_by_others():
                    raise UsageError("it was changed by another program meanwhile")
                new = os.dup(handle.fileno())
                take(new, wait=False)  # while nobody else knows of it
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
            # a pipe would never end
            if not self.path.is_file() or files.sha256(self.path) != self.digest:
                return True
        except (OSError, VdgiError):
            return True
        self._stat = now  # other permissions, another time, one more link
        return False

    def _stat_now(self) -> tuple[int, ...]:
        try:
            status = os.stat(self.path)
        except OSError:
            return ()
        return status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

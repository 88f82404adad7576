"""The annotated file: locked, replaced as a whole, and with changes by other programs noticed.

Its text is cut into pieces, each a sentence as it stands there with the empty lines behind it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dynet_vdgi.data import files
from dynet_vdgi.errors import InUseError, UsageError, VdgiError
from dynet_vdgi.system.locks import take

BYTE_ORDER_MARK = "\ufeff"

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_EMPTY_LINE_AT_END = re.compile(r"\n[^\S\n]*\n\Z")


def pieces(text: str) -> list[str]:
    """The pieces of a CoNLL-U text without faults; lines before the first sentence are in the first."""
    found = [""]
    has_words = was_empty = False
    for line in _LINE.findall(text):
        is_empty = line.isspace()
        if has_words and was_empty and not is_empty:
            found.append("")
            has_words = False
        found[-1] += line
        has_words, was_empty = has_words or not is_empty, is_empty
    return found


def plain(piece: str) -> str:
    """A piece as `marked.block` writes an unchanged sentence."""
    lines = [line.removesuffix("\n").removesuffix("\r") for line in _LINE.findall(piece)]
    return "\n".join([line for line in lines if line and not line.isspace()]) + "\n\n"


def is_ended(piece: str) -> bool:
    """Whether there is an empty line at the end, so that another sentence can follow."""
    return _EMPTY_LINE_AT_END.search(piece) is not None


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
        self.follow(content)
        return content

    def follow(self, content: bytes) -> None:
        """Takes line ends and byte order mark from a content."""
        n_lines = content.count(b"\n")
        self._ends = "\r\n" if n_lines and content.count(b"\r\n") == n_lines else "\n"
        self._mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK.encode()) else ""

    def formatted(self, text: str) -> str:
        """A text with the line ends of the file."""
        return text.replace("\n", self._ends)

    def encoded(self, found: Sequence[str]) -> bytes:
        """The file's content with these pieces."""
        return (self._mark + "".join(found)).encode()

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
        if not self.path.is_file():  # gone, or a pipe, which would never end
            return True
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

"""What the page keeps on the disk: the journal of changes, and the annotated file.

A file of JSON lines for changes, each of which is on the disk before it is acknowledged.

Each line ends with a checksum of itself and all lines before it, so that flipped bits and missing lines are
noticed. The first line has the format of the journal, a number.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import threading
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dynet_vdgi.data import files
from dynet_vdgi.errors import DataError, InUseError, UsageError, VdgiError
from dynet_vdgi.system.locks import take

ENDING = ".journal"
FORMAT = 5
EARLIER = range(1, FORMAT)
"""Formats of journals before."""

Record = dict[str, Any]

DAMAGED = "the journal is damaged here"
HINT = "restore it, or move it away to go on from the file as it stands"

_BEGIN = b'{"journal":'
_SUM = re.compile(rb',"sum":"([0-9a-f]{8})"\}\n')
_ENDING = len(b',"sum":"00000000"}\n')


class JournalError(VdgiError):
    """The journal cannot be written to, and so the change was not made; `is_full`: for want of room."""

    def __init__(self, message: str, *, is_full: bool = False) -> None:
        super().__init__(message)
        self.status = 507 if is_full else 503  # of HTTP


class Journal:
    """The journal of a file, locked for this process. `records` are those found on opening.

    A last line that is cut off is removed, because it was never acknowledged.

    Raises:
        InUseError: another process has the journal.
        UsageError: it cannot be opened, is a link, or is no regular file.
        DataError: the file is no journal, one of another format, or a line before the last is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sum = 0  # of all lines
        self._guard = threading.Lock()
        self._file, self.is_new = _opened(path)
        try:
            if not take(self._file, wait=False):
                message = f"{self.path.name.removesuffix(ENDING)} is being annotated by another process"
                raise InUseError(f"{message} (end it with Ctrl-C in its terminal)")
            self.records = self._read()
        except BaseException:
            self.close()
            raise

    def _read(self) -> list[Record]:
        with open(self._file, "rb", closefd=False) as handle:
            content = handle.read()
        records: list[Record] = []
        place = 0
        for number, line in enumerate(content.splitlines(keepends=True), 1):
            try:
                if not line.endswith(b"\n"):
                    raise ValueError
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError
                json.dumps(record, ensure_ascii=False).encode()  # json accepts lone surrogates, files do not
                if number == 1:
                    self._check_format(record)
                self._sum = _checked_sum(line, self._sum)
            except (ValueError, RecursionError):
                if number == 1 and not line.startswith(_BEGIN) and not _BEGIN.startswith(line):
                    raise _foreign(self.path) from None
                if place + len(line) < len(content) or line.endswith(b"\n"):
                    raise DataError(str(self.path), number, DAMAGED, HINT) from None
                os.ftruncate(self._file, place)
                break
            records.append(record)
            place += len(line)
        self._size = place
        return records

    def _check_format(self, record: Record) -> None:
        """Looks at the first record. Raises: DataError, this is no journal, or one of another format."""
        if "journal" not in record:
            raise _foreign(self.path)
        if record["journal"] == FORMAT:
            return
        if record["journal"] in EARLIER:
            message = f"the journal is of an earlier version of dynet_vdgi (format {record['journal']})"
            hint = (
                "0.2.0.dev0 of November 2026, up to commit 008b24f, reads it; or move it away to go on "
                "from the file, which has what was confirmed when it was last written"
            )
            raise DataError(str(self.path), 1, message, hint)
        raise DataError(str(self.path), 1, "the journal is of another version of dynet_vdgi")

    @property
    def is_empty(self) -> bool:
        return self._size == 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Adds a record, which is on the disk on return; may be called from several threads.

        Raises: JournalError, it could not be written, or another program has changed the journal.
        """
        body = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
        with self._guard:
            total = zlib.crc32(body, self._sum)
            line = body[:-1] + b',"sum":"%08x"}\n' % total
            try:
                self._append(line)
            except OSError as error:
                with suppress(OSError):  # a partly written record goes
                    if os.fstat(self._file).st_size > self._size:
                        os.ftruncate(self._file, self._size)
                is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                message = f"{self.path.name} cannot be written: {error.strerror}"
                raise JournalError(message, is_full=is_full) from None
            self._size += len(line)
            self._sum = total

    def _append(self, line: bytes) -> None:
        there, mine = self.path.lstat(), os.fstat(self._file)
        if (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino) or mine.st_size != self._size:
            raise JournalError(f"{self.path.name} was changed by another program; restart vdgi annotate")
        if os.write(self._file, line) < len(line):
            raise OSError(errno.ENOSPC, "the disk is full")
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def _opened(path: Path) -> tuple[int, bool]:
    """A descriptor of the journal, and whether it is new; links are not followed. Raises: UsageError.

    Whoever may read or write the file may do so with a new journal, and nobody else. If the file is not there
    yet, it will get the usual permissions of new files, and so does the journal.
    """
    flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    annotated = path.with_name(path.stem)
    try:
        try:
            mode = 0o600 if annotated.exists() else 0o666
            found = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            found = os.open(path, flags)
        else:
            with suppress(OSError):  # of a file that is not there, or a system without such modes
                os.chmod(path, stat.S_IMODE(annotated.stat().st_mode) & 0o666)
            return found, True
    except OSError as error:
        what = "it is a link" if path.is_symlink() else error.strerror
        raise UsageError(f"cannot open the journal {str(path)!r}: {what}") from None
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise UsageError(f"cannot open the journal {str(path)!r}: it is no ordinary file")
    return found, False


def _checked_sum(line: bytes, before: int) -> int:
    """The checksum of a line, given that of the lines before it. Raises: ValueError, it is wrong."""
    found = _SUM.fullmatch(line[-_ENDING:])
    total = zlib.crc32(line[:-_ENDING] + b"}", before)
    if not found or int(found[1], 16) != total:
        raise ValueError
    return total


def _foreign(path: Path) -> DataError:
    return DataError(str(path), 1, "this is no journal of vdgi annotate", "move the file away")


# ----------------------------------------------------------------------------------------------------
# The annotated file: locked, replaced as a whole, and with changes by other programs noticed.
#
# Its text is cut into pieces, each a sentence as it stands there with the empty lines behind it.


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

"""A file of JSON lines for changes, each of which is on the disk before it is acknowledged.

Each line ends with a checksum of itself and all lines before it, so that flipped bits and missing
lines are noticed. The first line has the format of the journal, a number.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import threading
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dynet_vdgi.errors import DataError, InUseError, UsageError, VdgiError
from dynet_vdgi.system import files
from dynet_vdgi.system.locks import take

ENDING = ".journal"

FORMAT = 5

Record = dict[str, Any]

DAMAGED = "the journal is damaged here"

HINT = "restore it, or move it away to go on from the file as it stands"

_BEGIN = b'{"journal":'

_SUM = re.compile(rb',"sum":"([0-9a-f]{8})"\}\n')

_ENDING = len(b',"sum":"00000000"}\n')


class JournalError(VdgiError):
    """The journal cannot be written to, and so the change was not made; `is_full`: for want of
    room."""

    def __init__(self, message: str, *, is_full: bool = False) -> None:
        super().__init__(message)
        self.status = 507 if is_full else 503  # of HTTP


class Journal:
    """The journal of a file, locked for this process. `records` are those found on opening.

    A last line that is cut off is removed, because it was never acknowledged.

    Raises:
        InUseError: another process has the journal.
        UsageError: it cannot be opened, is a link, or is no regular file.
        DataError: the file is no journal, one of another format, or a line before the last is
            damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sum = 0  # of all lines
        self._guard = threading.Lock()
        self._file, self.is_new = self._open()
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise UsageError(f"cannot open the journal {str(path)!r}: it is no ordinary file")
            if not take(self._file, wait=False):
                message = (
                    f"{self.path.name.removesuffix(ENDING)} is being annotated by another process"
                )
                raise InUseError(f"{message} (end it with Ctrl-C in its terminal)")
            self.records = self._read()
        except BaseException:
            self.close()
            raise

    def _open(self) -> tuple[int, bool]:
        """A descriptor, and whether the journal is new; links are not followed. Raises: UsageError.

        Whoever may read or write the file may do so with a new journal, and nobody else. If the
        file is not there yet, it will get the usual permissions of new files, and so does the
        journal.
        """
        flags = (
            os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
        annotated = self.path.with_name(self.path.stem)
        try:
            with suppress(FileExistsError):
                mode = 0o600 if annotated.exists() else 0o666
                descriptor = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, mode)
                # of a file that is not there, or a system without such modes
                with suppress(OSError):
                    os.chmod(self.path, stat.S_IMODE(annotated.stat().st_mode) & 0o666)
                return descriptor, True
            return os.open(self.path, flags), False
        except OSError as error:
            what = "it is a link" if self.path.is_symlink() else error.strerror
            raise UsageError(f"cannot open the journal {str(self.path)!r}: {what}") from None

    def _read(self) -> list[Record]:
        with open(self._file, "rb", closefd=False) as handle:
            content = handle.read()
        records: list[Record] = []
        place = 0
        for number, line in enumerate(content.splitlines(keepends=True), 1):
            try:
                record = json.loads(line)
                if not line.endswith(b"\n") or not isinstance(record, dict):
                    raise ValueError
                if number == 1 and "journal" not in record:
                    raise _not_a_journal(self.path)
                if number == 1 and record["journal"] != FORMAT:
                    version = f"another version of dynet_vdgi (format {record['journal']})"
                    message = f"the journal is of {version}"
                    hint = (
                        "end that work there, or move it away to go on from the file as it stands"
                    )
                    raise DataError(str(self.path), 1, message, hint)
                checksum = _SUM.fullmatch(line[-_ENDING:])
                total = zlib.crc32(line[:-_ENDING] + b"}", self._sum)
                if not checksum or int(checksum[1], 16) != total:
                    raise ValueError
                self._sum = total
            except (ValueError, RecursionError):
                if number == 1 and not line.startswith(_BEGIN) and not _BEGIN.startswith(line):
                    raise _not_a_journal(self.path) from None
                if place + len(line) < len(content) or line.endswith(b"\n"):
                    raise DataError(str(self.path), number, DAMAGED, HINT) from None
                os.ftruncate(self._file, place)
                break
            records.append(record)
            place += len(line)
        self.size = place
        return records

    def add(self, record: Mapping[str, Any]) -> None:
        """Adds a record, which is on the disk on return; may be called from several threads.

        Raises: JournalError, it could not be written, or another program has changed the journal.
        """
        with self._guard:
            line, total = _line(record, self._sum)
            try:
                self._check_unchanged()
                if os.write(self._file, line) < len(line):
                    raise OSError(errno.ENOSPC, "the disk is full")
                os.fsync(self._file)
            except OSError as error:
                with suppress(OSError):  # a partly written record goes
                    if os.fstat(self._file).st_size > self.size:
                        os.ftruncate(self._file, self.size)
                is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                message = f"{self.path.name} cannot be written: {error.strerror}"
                raise JournalError(message, is_full=is_full) from None
            self.size += len(line)
            self._sum = total

    def end_with(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Replaces the whole journal by these records, in one step, and closes it.

        Raises: JournalError, another program has changed the journal; UsageError, it could not be
        written. Either leaves it as it was, and open.
        """
        with self._guard:
            self._check_unchanged()
            total = 0
            with files.atomic_bytes_writer(self.path) as handle:
                for record in records:
                    line, total = _line(record, total)
                    handle.write(line)
        self.close()

    def _check_unchanged(self) -> None:
        """Raises: JournalError, another program has changed the journal; OSError."""
        there, mine = self.path.lstat(), os.fstat(self._file)
        if (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino) or mine.st_size != self.size:
            raise JournalError(
                f"{self.path.name} was changed by another program; restart vdgi annotate"
            )

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _line(record: Mapping[str, Any], total: int) -> tuple[bytes, int]:
    """A record as a line of a journal, and the checksum with it of all lines, which was `total`
    before."""
    body = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    total = zlib.crc32(body, total)
    return body[:-1] + b',"sum":"%08x"}\n' % total, total


def _not_a_journal(path: Path) -> DataError:
    return DataError(str(path), 1, "this is no journal of vdgi annotate", "move the file away")

"""A file of JSON lines to which changes are added, and which is on the disk before they are acknowledged."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dynet_vdgi.errors import DataError, UsageError, VdgiError

if sys.platform != "win32":
    import fcntl

ENDING = ".journal"

Record = dict[str, Any]

DAMAGED = "the journal is damaged here"
HINT = "restore it, or move it away to go on from the file as it stands"

_TEXT = re.compile(r"[^\t\n\r|]*")
"""What a relation or a name can be without spoiling the file."""


class Change(msgspec.Struct, frozen=True):
    """What the record of a change holds: arcs (head, relation, who confirmed each) by word, new and old."""

    s: int
    f: int
    op: str
    arcs: dict[int, tuple[int, str, str, str]]
    was: dict[int, tuple[int, str, str, str]]
    moved: Sequence[int]
    renamed: Sequence[int]
    moved_was: Sequence[int]
    renamed_was: Sequence[int]


def change_fault(record: Mapping[str, Any], n_words: int, least_head: int) -> str:
    """Why a record is no change of a sentence of so many words; empty if it is one."""
    try:
        change = msgspec.convert(record, Change, str_keys=True)
    except (msgspec.ValidationError, UnicodeError) as error:  # half a letter, such as "\\ud800"
        return str(error)
    for arcs in (change.arcs, change.was):
        for word, (head, *texts) in arcs.items():
            if not (1 <= word <= n_words and least_head <= head <= n_words and head != word):
                return f"word {word} cannot have head {head}"
            if not all(map(_TEXT.fullmatch, texts)):
                return f"word {word} has a relation or name that no column can hold"
    return ""


class JournalError(VdgiError):
    """The journal cannot be added to; the change it was for has not happened."""


class Journal:
    """The journal of a file, locked for this process. `records` are those found when it was opened.

    A last line that is cut off was never acknowledged; it is removed.

    Raises:
        UsageError: another process has it, or it cannot be opened.
        DataError: a line before the last is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise UsageError(f"cannot open the journal {str(path)!r}: {error.strerror}") from None
        try:
            self._lock()
            self.records = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                message = f"{self.path.name.removesuffix(ENDING)} is being annotated by another process"
                raise UsageError(f"{message} (close its page's program first)") from None
            except OSError:  # a file system without locks
                pass

    def _read(self) -> list[Record]:
        with open(self.path, "rb") as handle:
            content = handle.read()
        records, place = [], 0
        for number, line in enumerate(content.splitlines(keepends=True), 1):
            try:
                if not line.endswith(b"\n"):
                    raise ValueError
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError
                json.dumps(record, ensure_ascii=False).encode()  # json takes halves of letters, files do not
            except ValueError:
                if place + len(line) < len(content):
                    raise DataError(str(self.path), number, DAMAGED, HINT) from None
                os.ftruncate(self._file, place)
                break
            records.append(record)
            place += len(line)
        self._size = place
        return records

    def add(self, record: Mapping[str, Any]) -> None:
        """Adds a record; it is on the disk when this returns.

        Raises:
            JournalError: it could not be written, or another program has changed the journal.
        """
        line = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        try:
            there = self.path.stat()
            mine = os.fstat(self._file)
            if (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino) or mine.st_size != self._size:
                raise JournalError(f"{self.path.name} was changed by another program; start anew")
            written = os.write(self._file, line)
            if written < len(line):
                raise OSError(28, "the disk is full")
            os.fsync(self._file)
        except OSError as error:
            self._take_back()
            raise JournalError(f"{self.path.name} cannot be written: {error.strerror}") from None
        self._size += len(line)

    def _take_back(self) -> None:
        """Removes what was written in part."""
        try:
            if os.fstat(self._file).st_size > self._size:
                os.ftruncate(self._file, self._size)
        except OSError:
            pass

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return self._size == 0

    def close(self) -> None:
        """Lets go of the journal."""
        os.close(self._file)

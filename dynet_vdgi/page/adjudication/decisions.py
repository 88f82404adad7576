"""Two annotations of one text made into a third: what is different, and which side somebody has
taken.

The text is cut where a sentence ends in both files. Where sentences or words differ, one side's are
taken as a whole (`TOKENS`); elsewhere each column of each word is decided on its own. Until then
the result has what the first file has, and says so in MISC: `Differs=head,deprel`. What was decided
has the marks of `vdgi annotate`: `HeadBy=NAME` and so on; what both annotators have set alike has
both names, `HeadBy=ben,anna`. DEPS, empty nodes, MISC and comments that only one file has are kept;
where both have others, the first file's.

Decisions are in a journal beside the result before they count; the result is always replaced as a
whole.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from dynet_vdgi.errors import DataError, UsageError, VdgiError
from dynet_vdgi.evaluation.two_files import TwoFiles
from dynet_vdgi.page.adjudication.differing import Choices, Decision, DecisionError, Differing
from dynet_vdgi.page.store.journal import DAMAGED, FORMAT, HINT, Journal, Record
from dynet_vdgi.page.store.own_file import OwnFile
from dynet_vdgi.system import files
from dynet_vdgi.system.messages import count

ENDING = ".decisions"


class DecisionRecord(Struct, omit_defaults=True):
    """Decisions of a part in the journal."""

    part: int
    choices: dict[str, Decision | None]
    undo: bool = False


class Adjudication:
    """The differences of two files, and decisions by `name` from now on.

    Raises: DataError, a file is malformed, the texts differ, or the journal does not belong to
    them; UsageError, the result exists and is not of these decisions, or another process has it.
    """

    def __init__(self, one: str, other: str, output: str, name: str) -> None:
        self.name, self.path = name, Path(output)
        self.two = TwoFiles.read(one, other)
        extra = {block.extra for block in self.two.one.blocks}
        other_extra = {block.extra for block in self.two.other.blocks}
        if extra != other_extra:
            message = "its columns after MISC are not those of the other file"
            raise DataError(
                other, None, message, f"bring both files to the same columns; the other is {one}"
            )
        self._all = [Differing(self.two, stretch) for stretch in self.two.stretches()]
        self.parts = [part for part in self._all if part.keys]
        self.fault = ""
        self._undo: list[tuple[int, Choices]] = []
        self._written: set[str] = set()
        inputs = [files.sha256(path) for path in (one, other)]
        journal_path = self.path.with_name(self.path.name + ENDING)
        is_there = self.path.exists()
        if is_there and not journal_path.exists():
            raise UsageError(f"{output} exists; name another file with -o, or move it away")
        self.journal = Journal(journal_path)
        try:
            if self.journal.records:
                self._replay(self.journal.records, inputs)
            else:
                self.journal.add({"journal": FORMAT, "beside": inputs})
            if is_there and files.sha256(self.path) not in self._written:
                message = (
                    f"{output} was changed by another program; name another file, or move it away"
                )
                raise UsageError(message)
            content, _ = self._content_in_journal()
            with files.atomic_bytes_writer(self.path) as handle:
                handle.write(content)
            self._file = OwnFile(self.path)
            self._file.look()
            self.is_unsaved = False
        except BaseException:
            self.journal.close()
            raise

    def _content_in_journal(self) -> tuple[bytes, str]:
        """The result and its checksum, which is in the journal."""
        lines: list[str] = []
        for part in self._all:
            lines += part.lines()
        content = "".join(line + "\n" for line in lines).encode()
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._written:
            self.journal.add({"written": digest})
            self._written.add(digest)
        return content, digest

    def _replay(self, records: Sequence[Record], inputs: list[str]) -> None:
        if records[0].get("beside") != inputs:
            hint = f"restore them, or move {self.journal.path.name} and {self.path.name} away"
            raise DataError(
                str(self.journal.path), 1, "the two files are not those of these decisions", hint
            )
        for number, record in enumerate(records[1:], 2):
            if "written" in record:
                self._written.add(record["written"])
                continue
            try:
                self._apply(msgspec.convert(record, DecisionRecord))
            except (msgspec.ValidationError, IndexError):
                raise DataError(str(self.journal.path), number, DAMAGED, HINT) from None

    def _make(self, number: int, choices: Choices, *, undo: bool = False) -> None:
        """Makes a change once it is on the disk."""
        record = DecisionRecord(number, dict(choices), undo)
        self.journal.add(msgspec.to_builtins(record))
        self._apply(record)

    def _apply(self, record: DecisionRecord) -> None:
        """Raises: IndexError, there is nothing to undo."""
        part = self.parts[record.part]
        if record.undo:
            self._undo.pop()
        else:
            self._undo.append((record.part, {key: part.choices.get(key) for key in record.choices}))
        both = {**part.choices, **record.choices}
        part.choices = {key: choice for key, choice in both.items() if choice is not None}
        part.version += 1
        self.is_unsaved = True

    def part(self, number: int) -> Differing:
        """Raises: DecisionError, there is none of this number."""
        if not 0 <= number < len(self.parts):
            raise DecisionError("there is no such sentence")
        return self.parts[number]

    def decide(self, number: int, keys: Sequence[str], side: Literal[0, 1] | None) -> None:
        """Takes a side for some differences of a part; None: they are open again.

        Raises: DecisionError, there is no such difference.
        """
        if not keys or not set(keys) <= set(self.part(number).keys):
            raise DecisionError("there is no such difference")
        self._make(
            number, {key: None if side is None else Decision(side, self.name) for key in keys}
        )

    def undo(self) -> int:
        """Takes the last decision back; returns the number of its part. Raises: DecisionError."""
        if not self._undo:
            raise DecisionError("there is nothing to undo")
        number, before = self._undo[-1]
        self._make(number, before, undo=True)
        return number

    def next_open(self, after: int) -> int | None:
        """The next part with something open, beginning again at the end; None if all is decided."""
        order = sorted(range(len(self.parts)), key=lambda k: k <= after)
        return next(
            (k for k in order if self.parts[k].open or self.parts[k].is_waiting_for_heads), None
        )

    def counts_not_compared(self) -> dict[str, int]:
        """Where both files have something different that nobody can decide here: kinds, with
        sentences."""
        counts: Counter[str] = Counter()
        for part in self._all:
            counts.update(part.differing)
        return dict(sorted(counts.items()))

    def remark_on_not_compared(self) -> str:
        """What `counts_not_compared` gives, and what becomes of it; "" for nothing."""
        kinds = self.counts_not_compared().items()
        which = ", ".join(f"{kind} in {count(n, 'sentence')}" for kind, n in kinds)
        what = "not compared, though both files have them and they differ"
        return which and f"{what}: {which}; {self.two.one.path}'s are kept"

    def counts(self) -> dict[str, int]:
        """How many differences there are, and how many are decided."""
        total = sum(len(part.keys) for part in self.parts)
        n_open = sum(len(part.open) for part in self.parts)
        return {"parts": len(self.parts), "differences": total, "decided": total - n_open}

    def save(self) -> None:
        """Writes the result if it has changed. Raises: UsageError, it cannot be written."""
        if not self.is_unsaved or self.fault:
            return
        if self._file.is_changed_by_others():
            self.fault = f"{self.path.name} was changed by another program and is no longer written"
            return
        self.is_unsaved = False
        try:
            self._file.write(*self._content_in_journal())
        except VdgiError:
            self.is_unsaved = True
            raise

    def close(self) -> None:
        """Writes the result and lets go of the files."""
        try:
            self.save()
        finally:
            self._file.close()
            self.journal.close()

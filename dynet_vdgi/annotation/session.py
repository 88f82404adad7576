"""A file under annotation: changes, undo, progress; every change is on the disk before it counts.

Beside `my.conllu` is `my.conllu.journal`, one JSON object a line: first a description of the file and its
text, then each change with what it replaced, and the checksum of each state of the file that was written.

The file gets the trees of sentences in which somebody has confirmed something. The others stay in it byte for
byte, and an unchanged file is not written.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from dynet_vdgi.annotation import taking_over
from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.annotation.journal import (
    BYTE_ORDER_MARK,
    DAMAGED,
    ENDING,
    FORMAT,
    HINT,
    Journal,
    OwnFile,
    Record,
    is_ended,
    pieces,
    plain,
)
from dynet_vdgi.annotation.marked import (
    ChangeError,
    Guess,
    MarkedSentence,
    SentenceState,
    block,
    confirmed_parts,
    read_marked,
    read_text,
)
from dynet_vdgi.data import files
from dynet_vdgi.errors import DataError, InUseError, UsageError, VdgiError

Given = Literal["right", "guessed"]
T = TypeVar("T")

LAST_WRITINGS = 5
"""The states of the file that are compared with one that another program has changed: some were announced in
the journal and then not written, because the disk was full or the program was killed."""

logger = logging.getLogger("dynet_vdgi")


class StaleError(ChangeError):
    """The sentence has been changed since the page last saw it, for instance in another tab."""

    status = 409


class UnwrittenError(VdgiError):
    """The file cannot be written; the journal has all confirmed arcs."""

    exit_status = 2


class BaseRecord(Struct):
    """The text at the beginning, in the journal, and who has said what of its trees."""

    base: str
    given: Literal["", "right", "guessed"] = ""
    by: str = ""


class Session:
    """The sentences of a file and all statements about them, by `annotator` from now on.

    `given` says whether trees in a file without marks are right, or guessed by a program.

    Raises:
        UsageError: another process annotates or changes the file, or `given` is missing or has no effect.
        DataError: file or journal are malformed or do not belong together.
    """

    def __init__(self, path: str | Path, annotator: str, given: Given | None = None) -> None:
        self.path, self.annotator = Path(path), annotator
        self.fault = ""  # why the file is no longer saved
        self.is_unsaved = False  # True if the file must be written
        self.place = (0, 1)  # sentence by id, and word, where somebody was last
        self._n_added = 0  # changes that are in the journal, or will be next
        self._written: dict[int, tuple[SentenceState, str]] = {}  # states, and pieces of the file
        self._guard = threading.Lock()  # for the file; changes do not wait for it
        self._file = OwnFile(self.path)
        journal = self.path.with_name(self.path.name + ENDING)
        try:
            content = self._looked_at(journal)
            found = None if os.path.lexists(journal) else read_marked(self.path)
            self.journal = Journal(journal)
        except BaseException:
            self._file.close()
            raise
        try:
            content = self._begin(found, content, given)
            self._odd = self._odd_pieces(content.decode())  # pieces by id that are not as `plain` gives them
        except BaseException:
            self.release()
            if self.journal.is_new and self.journal.is_empty:
                self.journal.path.unlink(missing_ok=True)
            raise

    @property
    def sentences(self) -> list[MarkedSentence]:
        """In the order of the file."""
        return self.text.sentences

    # --------------------------------------------------------------------------------------- beginning
    def _looked_at(self, journal: Path) -> bytes:
        """The file's content; nothing if it is gone, but its journal is there."""
        try:
            return self._file.look()
        except OSError as error:
            if isinstance(error, FileNotFoundError) and os.path.lexists(journal):
                return b""
            read_marked(self.path)  # gives the reason
            raise

    def _begin(self, found: list[MarkedSentence] | None, content: bytes, given: Given | None) -> bytes:
        """Makes the text as it was left; returns the content that the file has, or will have.

        `found` are the sentences of the file; None: they have not been read.
        """
        records = self.journal.records
        base = self._base()
        if base is not None and base.base and not content.strip():  # the file is gone or empty
            self._check_given(given, base)
            content = self._restored(base.base)
            self._continue(base, None, "")
            self.is_unsaved = True
            return content
        if found is None and all(record.get("written") != self._file.digest for record in records):
            found = read_marked(self.path)
        if found is not None and self._file.is_changed_by_others():
            raise UsageError(f"{self.path.name} was changed by another program while it was read; try again")
        if base is not None:
            self._check_given(given, base)
            self._continue(base, found, content.decode())
            return content
        found = found or []
        self._take(found, given)
        if not records:
            self.journal.add({"journal": FORMAT, "file": self.path.name, "sentences": len(found)})
        said = {} if given is None else {"given": given, "by": self.annotator}
        self.journal.add({"base": content.decode(), **said})
        self.journal.add({"written": self._file.digest})
        self.text = AnnotatedText(found, str(self.path))
        return content

    def _restored(self, content: str) -> bytes:
        """The first content of a file that is gone or empty; the journal has all changes since then."""
        with files.writing(self.path):
            if not self.path.exists():
                mode = stat.S_IMODE(self.journal.path.stat().st_mode)
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
                self._file = OwnFile(self.path)
                self._file.look()
        self._file.follow(content.encode())
        logger.warning("%s is gone or empty: its text is that of %s", self.path.name, self.journal.path.name)
        return content.encode()

    def _base(self) -> BaseRecord | None:
        """The text that the journal begins with; None: there is none yet. Raises: DataError."""
        for number, record in enumerate(self.journal.records, 1):
            if "base" in record:
                try:
                    return msgspec.convert(record, BaseRecord)
                except (msgspec.ValidationError, UnicodeError) as error:
                    raise DataError(str(self.journal.path), number, f"{DAMAGED} ({error})", HINT) from None
        return None

    def _check_given(self, given: Given | None, base: BaseRecord) -> None:
        """Raises: UsageError, the trees of this file were said to be something else at the beginning."""
        name, known = self.path.name, base.given or given
        if given != known and given is not None:
            why = f"{name} was begun with --given {known}; to begin again, move {self.journal.path.name} away"
            raise UsageError(f"--given {given} has no effect: {why}")
        if given is not None:
            logger.info("--given has no effect: %s has been annotated before", name)

    def _take(self, found: Sequence[MarkedSentence], given: Given | None) -> None:
        """Decides what the trees of a new file are."""
        trees = [marked for marked in found if marked.has_tree_without_marks]
        has_marks = any(marked.is_touched for marked in found)
        if given is not None and not trees:
            why = "its arcs are marked already" if has_marks else "the file has no trees"
            raise UsageError(f"--given has no effect: {why}")
        if given is None and trees and not has_marks:
            what = "1 tree: say what it is" if len(trees) == 1 else f"{len(trees)} trees: say what they are"
            raise UsageError(
                f"{self.path.name} has {what}, --given right (kept, and "
                "learnt from) or --given guessed (a program's, and replaced by better ones)"
            )
        if given == "right":
            for marked in trees:
                marked.take_as_right(self.annotator)

    def _continue(self, base: BaseRecord, found: list[MarkedSentence] | None, content_now: str) -> None:
        """Repeats the changes in the journal; changes of the file by other programs are taken over.

        `found` is None if the file is as this program has read or written it.
        """
        records = self.journal.records
        begin = next(k for k, record in enumerate(records) if "base" in record)
        matches = [k for k, record in enumerate(records) if record.get("written") == self._file.digest]
        writings = [k for k, record in enumerate(records) if "written" in record]
        last = (matches or writings or [begin])[-1]
        right_by = base.by if base.given == "right" else ""
        content = "".join(map(plain, pieces(base.base.removeprefix(BYTE_ORDER_MARK))))
        self.text = AnnotatedText(read_text(content, self.journal.path.name), self.journal.path.name)
        for marked in self.text.sentences:
            if right_by and marked.has_tree_without_marks:
                marked.take_as_right(right_by)
        in_file: list[list[MarkedSentence]] = []  # the sentences when the file was, or may have been, written
        guesses: list[int] = []
        for number, record in enumerate(records):
            if "op" in record:
                try:
                    self.place = self.text.repeat(record)
                except ValueError as error:
                    detail = f"{DAMAGED} ({error})"
                    raise DataError(str(self.journal.path), number + 1, detail, HINT) from None
            if number == last:
                guesses = [marked.id for marked in self.sentences]
            if not matches and number in (writings[-LAST_WRITINGS:] or [begin]):
                in_file.append([copy(marked) for marked in self.sentences])
        self.is_unsaved = any("op" in record for record in records[last + 1 :])
        if found is None and content_now:
            self._take_guesses(content_now, guesses)
        elif found is not None:
            theirs = Counter("\n".join(m.source.lines) + "\n\n" for m in found if m.source is not None)
            likest = [(theirs & Counter(self._block(m, m.state) for m in each)).total() for each in in_file]
            last_written = in_file[-1 - likest[::-1].index(max(likest))]
            self._take_over(found, last_written, right_by)

    def _take_guesses(self, content: str, ids: Sequence[int]) -> None:
        """The guessed arcs of the file are newer than those of the journal."""
        for number, piece in zip(ids, pieces(content.removeprefix(BYTE_ORDER_MARK))):
            marked = self.text.by_id.get(number)
            if marked is not None and marked.is_touched:
                (its,) = read_text(plain(piece), self.path.name)
                if marked.forms == its.forms and confirmed_parts(marked.arcs) == confirmed_parts(its.arcs):
                    marked.arcs = its.arcs

    def _take_over(
        self, found: Sequence[MarkedSentence], in_file: Sequence[MarkedSentence], right_by: str
    ) -> None:
        """Takes over what other programs have changed in the file."""
        before = [block(marked) for marked in found]
        step = taking_over.step_of(self.text, found, in_file, self.path, self.journal.path, right_by)
        if step is not None:
            self.journal.add(self.text.record(step))
            self.text.apply(step)
        self.journal.add({"written": self._file.digest})
        self.is_unsaved = [block(marked) for marked in self.sentences] != before

    def _odd_pieces(self, content: str) -> dict[int, tuple[str, str]]:
        """By id, the block and the piece of the file of sentences whose piece is not just that block."""
        known: dict[str, list[str]] = {}
        for piece in reversed(pieces(content.removeprefix(BYTE_ORDER_MARK))):
            known.setdefault(plain(piece), []).append(piece)
        blocks = [(marked.id, self._block(marked, marked.state)) for marked in self.sentences]
        found = [(number, text, known[text].pop()) for number, text in blocks if known.get(text)]
        return {k: (text, piece) for k, text, piece in found if piece != self._file.formatted(text)}

    # --------------------------------------------------------------------------------------- changing
    def change(
        self, number: int, seen: tuple[int, int], what: str, word: int = 0, value: Any = 0
    ) -> list[int]:
        """Makes one change to a sentence that was seen with these (edits, version).

        A person who confirms a guess must have seen the last one; a person who sets a value need not.
        Returns the ids of the sentences that are now where the sentence was.

        Raises:
            ChangeError: the change is impossible, or the page is not up to date (StaleError).
            JournalError: the change could not be put on the disk, and so was not made.
        """
        marked = self.text.of_id(number)
        if seen[0] != marked.edits:
            raise StaleError("The sentence has been changed elsewhere. Here it is as it stands now.")
        if what in ("right", "done") and seen[1] != marked.version:
            raise StaleError("The sentence has just been parsed again. Please look at it once more.")
        step = self.text.step(marked, what, word, value, self.annotator)
        if step is None:  # it is so already, and there is nothing to undo
            return [number]
        self._make(self.text.record(step), lambda: self.text.apply(step))
        self.place = step.new[0].marked.id, max(1, word)
        return [one.marked.id for one in step.new]

    def back(self, what: str) -> int:
        """Does an `undo` of the last change, or a `redo`; returns the id of its sentence.

        Raises: ChangeError, there is none; JournalError, as `change`.
        """
        if not (self.text.undo if what == "undo" else self.text.redo):
            raise ChangeError(f"nothing to {what}")
        record = {"op": what, "by": self.annotator, "at": round(time.time())}
        self.place = self._make(record, lambda: self.text.back(what))
        return self.place[0]

    def _make(self, record: Record, make: Callable[[], T]) -> T:
        """Makes a change once it is on the disk."""
        self._n_added += 1
        self.journal.add(record)
        found = make()
        self.is_unsaved = True
        return found

    def put(self, number: int, version: int, guess: Guess) -> bool:
        """Adopts a guess made for this version of a sentence; returns whether that is still the version."""
        marked = self.text.by_id.get(number)
        if marked is None or marked.version != version:
            return False
        marked.put(guess)
        self.is_unsaved |= marked.is_touched and not marked.is_as_found(marked.state)
        return True

    # --------------------------------------------------------------------------------------- the file
    def save(self) -> bool:
        """Writes the file, unless another program has changed it, which `fault` then reports.

        Raises:
            JournalError: the journal cannot be written; the file is unchanged.
            UnwrittenError: the file cannot be written; it is unchanged, and the journal has everything.
        """
        self.is_unsaved = False
        try:
            with self._guard:
                self._look_for_others()
                if self.fault:
                    return False
                n_added = -1
                while n_added != self._n_added:  # otherwise changes before "written" are not in the content
                    n_added = self._n_added
                    content = self._file.encoded(self._pieces())
                    digest = hashlib.sha256(content).hexdigest()
                    if digest == self._file.digest:
                        return True
                    self.journal.add({"written": digest})
                self._file.write(content, digest)
        except (OSError, UsageError) as error:
            self.is_unsaved = True
            name, journal = self.path.name, self.journal.path.name
            message = f"{name} is not written: {error}. What you confirmed is safe in {journal}: keep it"
            raise UnwrittenError(message) from None
        except VdgiError:
            self.is_unsaved = True
            raise
        return True

    def _pieces(self) -> list[str]:
        """The sentences as they are to be in the file; only changed sentences are formatted again."""
        found = []
        for marked in list(self.sentences):  # may change while this runs in a thread
            state = marked.state
            known = self._written.get(marked.id)
            if known is None or known[0] is not state:
                text = self._block(marked, state)
                odd = self._odd.get(marked.id)
                piece = odd[1] if odd is not None and odd[0] == text else self._file.formatted(text)
                known = self._written[marked.id] = state, piece
            found.append(known[1])
        return [p if is_ended(p) else self._file.formatted(plain(p)) for p in found[:-1]] + found[-1:]

    def _block(self, marked: MarkedSentence, state: SentenceState) -> str:
        """A sentence in a state as CoNLL-U; its own lines if nobody has said more than they do."""
        if marked.source is not None and marked.is_found and marked.is_as_found(state):
            return "\n".join(marked.source.lines) + "\n\n"
        return block(marked, state)

    def is_changed_by_others(self) -> bool:
        """True if the content is not the one last read or written; from then on `fault` says so.

        While a thread writes the file nothing is compared, because the new content would be our own.
        """
        if self._guard.acquire(blocking=False):
            try:
                self._look_for_others()
            finally:
                self._guard.release()
        return bool(self.fault)

    def _look_for_others(self) -> None:
        """Sets `fault` if another program has changed the file; the caller has the guard."""
        if not self.fault and self._file.is_changed_by_others():
            self.fault = (
                f"{self.path.name} was changed by another program and is no longer saved. Your work is safe "
                f"in {self.journal.path.name}. Quit and restart vdgi annotate."
            )

    def close(self) -> None:
        """Writes the file if necessary and possible, and releases it. Raises: as `save`."""
        try:
            if self.is_unsaved:
                self.save()
        finally:
            self.release()

    def release(self) -> None:
        self._file.close()
        self.journal.close()


def exported(path: str | Path) -> list[MarkedSentence]:
    """The sentences of a file as its journal has them, also while somebody is annotating the file.

    Raises:
        UsageError: it has no journal and no marks.
        DataError: as `Session`.
    """
    sentences = read_marked(path)
    if os.path.lexists(Path(path).with_name(Path(path).name + ENDING)):
        try:
            return _released(path)
        except InUseError:
            return _of_copy(Path(path))
    if not any(marked.is_touched for marked in sentences):
        raise UsageError(f"{path}: nothing is confirmed in it (annotate it first)")
    return sentences


def _released(path: str | Path) -> list[MarkedSentence]:
    session = Session(path, "")
    session.release()
    return session.sentences


def _of_copy(path: Path) -> list[MarkedSentence]:
    """The sentences of a file that another process has; nothing of it is locked or written to."""
    journal = path.with_name(path.name + ENDING)
    with tempfile.TemporaryDirectory(prefix="vdgi-export-") as folder:
        copy = Path(folder, path.name)
        try:
            for one in (path, journal):  # the file follows the journal, so the journal is the later one
                shutil.copyfile(one, copy.with_name(one.name))
        except OSError as error:
            raise UsageError(f"{path.name} cannot be copied to be read: {error}") from None
        try:
            return _released(copy)
        except DataError as error:
            place = str(path.with_name(Path(error.path).name))
            raise DataError(place, error.line, error.message, error.hint) from None

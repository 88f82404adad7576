"""A file under annotation: changes, undo, progress; every change is on the disk before it counts.

Beside `my.conllu` is `my.conllu.journal`, one JSON object a line: first a description of the file and its
text, then each change with what it replaced, and the checksum of each state of the file that was written.

The file gets the trees of sentences in which somebody has confirmed something. The others stay in it as they
are, and an unchanged file is not written.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dynet_vdgi.annotation import edits, taking_over
from dynet_vdgi.annotation.annotated_text import AnnotatedText, ids_of
from dynet_vdgi.annotation.changes import new_arcs
from dynet_vdgi.annotation.finished import heads_by_wid
from dynet_vdgi.annotation.journal import DAMAGED, ENDING, FORMAT, HINT, Journal
from dynet_vdgi.annotation.marked import (
    ChangeError,
    Guess,
    MarkedSentence,
    SentenceState,
    block,
    read_marked,
    read_text,
)
from dynet_vdgi.annotation.mending import UNSET, CircleError
from dynet_vdgi.annotation.old_journals import parts, replayed
from dynet_vdgi.annotation.own_file import OwnFile
from dynet_vdgi.annotation.records import ChangeRecord, record_of
from dynet_vdgi.errors import DataError, InUseError, UsageError, VdgiError

Given = Literal["right", "guessed"]


class StaleError(ChangeError):
    """The sentence has been changed since the page last saw it, for instance in another tab."""


class UnwrittenError(VdgiError):
    """The file cannot be written; the journal has all confirmed arcs."""

    exit_status = 2


class Session:
    """The sentences of a file and all statements about them, by `annotator` from now on.

    `given` says whether trees in a file without marks are right, or guessed by a program.

    Raises:
        UsageError: another process annotates the file, or `given` is missing or has no effect.
        DataError: file or journal are malformed or do not belong together.
    """

    def __init__(self, path: str | Path, annotator: str, given: Given | None = None) -> None:
        self.path, self.annotator = Path(path), annotator
        self.fault = ""  # why the file is no longer saved
        self.is_unsaved = False  # True if the file must be written
        self.place = (0, 1)  # sentence by id, and word, where somebody was last
        self._written: dict[int, tuple[SentenceState, str]] = {}  # blocks, by id, and their states
        self._guard = threading.Lock()  # for the file; changes do not wait for it
        self._file = OwnFile(self.path)
        journal = self.path.with_name(self.path.name + ENDING)
        try:
            found = None if os.path.lexists(journal) else read_marked(self.path)
            try:
                self._file.look()
            except OSError:
                read_marked(self.path)  # gives the reason
                raise
            self.journal = Journal(journal)
        except BaseException:
            self._file.close()
            raise
        try:
            self.text = self._begun(found, given)
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
    def _begun(self, found: list[MarkedSentence] | None, given: Given | None) -> AnnotatedText:
        """The text as it was left; `found` are the sentences of the file, None: it has not been read."""
        records = self.journal.records
        has_base = any("base" in record for record in records)
        is_known = has_base and any(record.get("written") == self._file.digest for record in records)
        if found is None and not is_known:
            found = read_marked(self.path)
        if not has_base and not any("s" in record for record in records):
            return self._new(found or [], given)
        if given is not None:
            raise UsageError(f"--given has no effect: {self.path.name} has been annotated before")
        digest = self._file.digest
        if not has_base and found is not None:
            before = "".join(map(block, found))
            text = replayed(self.path, found, records, self.journal.path, digest)
            after = "".join(map(block, text.sentences))
            self.journal.add({"base": after})
            self.journal.add({"written": digest})
            self.is_unsaved = after != before
            return text
        return self._continued(found)

    def _new(self, found: list[MarkedSentence], given: Given | None) -> AnnotatedText:
        self._take(found, given)
        if not self.journal.records:
            self.journal.add({"journal": FORMAT, "file": self.path.name, "sentences": len(found)})
        self.journal.add({"base": "".join(map(block, found))})
        self.text = AnnotatedText(found, str(self.path))
        if given == "right":
            self.save()
        else:
            self.journal.add({"written": self._file.digest})
        return self.text

    def _take(self, found: Sequence[MarkedSentence], given: Given | None) -> None:
        """Decides what the trees of a new file are."""
        trees = [m for m in found if m.positions and any(arc.head != UNSET for arc in m.arcs)]
        has_marks = any(marked.is_touched for marked in found)
        if given is not None and (has_marks or not trees):
            why = "its arcs are marked already" if has_marks else "the file has no trees"
            raise UsageError(f"--given has no effect: {why}")
        if has_marks or not trees:
            return
        if given is None:
            what = "1 tree: say what it is" if len(trees) == 1 else f"{len(trees)} trees: say what they are"
            raise UsageError(
                f"{self.path.name} has {what}, --given right (kept, and "
                "learnt from) or --given guessed (a program's, and replaced by better ones)"
            )
        if given == "right":
            for marked in trees:
                marked.arcs = tuple(new_arcs(marked, "done", 0, 0, self.annotator))

    def _continued(self, found: list[MarkedSentence] | None) -> AnnotatedText:
        """Repeats the changes in the journal; changes of the file by other programs are taken over.

        `found` is None if the file is as this program has read or written it.
        """
        records = self.journal.records
        begin = next(k for k, record in enumerate(records) if "base" in record)
        matches = [k for k, record in enumerate(records) if record.get("written") == self._file.digest]
        writings = [k for k, record in enumerate(records) if "written" in record and k > begin]
        last = (matches or writings or [begin])[-1]
        text = AnnotatedText(
            read_text(records[begin]["base"], self.journal.path.name), self.journal.path.name
        )
        in_file: list[tuple[int, str]] = []  # the sentences of the file when it was last written
        guesses: list[int] = []
        for number, record in enumerate(records):
            if "first" in record:
                for s, heads in record["first"].items():
                    text.progress.first_heads[int(s)] = dict(zip(text.by_id[int(s)].wids, heads))
            if "place" in record:
                self.place = tuple(record["place"])
            if "s" in record:
                self._repeat(text, record, number, is_history=number < begin)
            if number == last:
                guesses = [marked.id for marked in text.sentences]
                if not matches:
                    in_file = [(marked.id, block(marked)) for marked in text.sentences]
        text.forget_shown()
        self._settled(text)
        self.text = text
        self.is_unsaved = any("s" in record for record in records[last + 1 :])
        if found is None:
            self._take_guesses(guesses)
        else:
            self._take_over(found, in_file)
        return text

    def _repeat(
        self, text: AnnotatedText, record: Mapping[str, Any], number: int, *, is_history: bool
    ) -> None:
        """Repeats a change; one of the history before the text of the journal is only remembered."""
        try:
            change = record_of(record)
            if is_history:
                text.remember(change)
            else:
                text.apply(change)
                self.place = _place_of(change)
        except ValueError as error:
            detail = f"{DAMAGED} ({error})"
            raise DataError(str(self.journal.path), number + 1, detail, HINT) from None

    def _settled(self, text: AnnotatedText) -> None:
        try:
            text.settle()
        except CircleError as error:
            raise DataError(str(self.journal.path), None, str(error), HINT) from None

    def _take_guesses(self, ids: Sequence[int]) -> None:
        """The guessed arcs of the file are newer than those of the journal."""
        blocks = self._file.decoded().strip("\n").split("\n\n")
        if len(blocks) != len(ids):  # it has not been written yet, and its empty lines are odd
            return
        for number, content in zip(ids, blocks):
            marked = self.text.by_id.get(number)
            if marked is not None and marked.is_touched:
                (its,) = read_text(content + "\n\n", self.path.name)
                if marked.forms == its.forms and parts(marked.arcs) == parts(its.arcs):
                    marked.arcs = its.arcs

    def _take_over(self, found: Sequence[MarkedSentence], in_file: Sequence[tuple[int, str]]) -> None:
        """Takes over what other programs have changed in the file."""
        before = [block(marked) for marked in found]
        record = taking_over.record_of(self.text, found, in_file, self.path, self.journal.path)
        if record is not None:
            self.journal.add(record.to_json())
            self.text.apply(record)
        self.journal.add({"written": self._file.digest})
        self.is_unsaved = [block(marked) for marked in self.sentences] != before

    # --------------------------------------------------------------------------------------- changing
    def change(
        self, number: int, seen: tuple[int, int], what: str, word: int = 0, value: Any = 0
    ) -> list[int]:
        """Makes one change, see `edits`, to a sentence that was seen with these (edits, version).

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
        record = edits.record_of(self.text, marked, what, word, value, self.annotator)
        if record.new == record.old:  # it is so already, and there is nothing to undo
            return [number]
        self._add(record)
        return [one.id for one in record.new.sentences or ()] or [number]

    def undo(self) -> int:
        """Undoes the last change; returns the id of its sentence, which is as it was before.

        Raises: ChangeError, there is none.
        """
        return self._back("undo")

    def redo(self) -> int:
        """Redoes the change that was undone last. Raises: ChangeError, there is none."""
        return self._back("redo")

    def _back(self, what: str) -> int:
        stack = self.text.undo if what == "undo" else self.text.redo
        if not stack:
            raise ChangeError(f"nothing to {what}")
        step = stack[-1]
        record = step.record.again(what, self.annotator, round(time.time()))
        self._add(record)
        self.text.show_again(step)
        return next(number for number in [record.s, *ids_of(record)] if number in self.text.by_id)

    def _add(self, record: ChangeRecord) -> None:
        self.journal.add(record.to_json())
        self.text.apply(record)
        self.place = _place_of(record)
        self.is_unsaved = True

    def put(self, number: int, version: int, guess: Guess) -> bool:
        """Adopts a guess made for this version of a sentence; returns whether that is still the version."""
        marked = self.text.by_id.get(number)
        if marked is None or marked.version != version:
            return False
        marked.put(guess)
        self.is_unsaved |= marked.is_touched
        return True

    def keep_first_parse(self) -> None:
        """Records the present trees as those of the first parse, where there was none before."""
        known = self.text.progress.first_heads
        new = [m for m in self.sentences if m.sure and m.id not in known and UNSET not in m.heads]
        if new:
            heads = {marked.id: heads_by_wid(marked) for marked in new}
            self.journal.add({"first": {str(s): list(its.values()) for s, its in heads.items()}})
            known.update(heads)

    # --------------------------------------------------------------------------------------- the file
    def save(self) -> bool:
        """Writes the file, unless another program has changed it, which `fault` then reports.

        Raises:
            JournalError: the journal cannot be written; the file is unchanged.
            UnwrittenError: the file cannot be written; it is unchanged, and the journal has everything.
        """
        self.is_unsaved = False
        content = self._file.encoded("".join(self._blocks()))
        digest = hashlib.sha256(content).hexdigest()
        try:
            with self._guard:
                self._look_for_others()
                if self.fault:
                    return False
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

    def _blocks(self) -> list[str]:
        """The sentences as CoNLL-U; only changed sentences are formatted again."""
        found = []
        for marked in list(self.sentences):  # may change while this runs in a thread
            state = marked.state
            known = self._written.get(marked.id)
            if known is None or known[0] is not state:
                known = self._written[marked.id] = state, block(marked, state)
            found.append(known[1])
        return found

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


def _place_of(record: ChangeRecord) -> tuple[int, int]:
    """The sentence and the word that somebody has changed."""
    sentences = record.new.sentences
    return (sentences[0].id if sentences else record.s), max(1, record.w)


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

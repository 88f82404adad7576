"""A file under annotation: changes, undo, progress; every change is on the disk before it counts.

Beside `my.conllu` is `my.conllu.journal`, one JSON object a line: first a description of the file
and its text, then each change with what it replaced, and the checksum of each state of the file
that was written.

The file gets the trees of sentences in which somebody has confirmed something. The others stay in
it byte for byte, and an unchanged file is not written.
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
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any

import msgspec

from dynet_vdgi.conllu import guess_marks
from dynet_vdgi.errors import DataError, UsageError, VdgiError
from dynet_vdgi.page.store.journal import DAMAGED, ENDING, FORMAT, HINT, Journal
from dynet_vdgi.page.store.outside_changes import LAST_WRITINGS, change_by_others
from dynet_vdgi.page.store.own_file import OwnFile
from dynet_vdgi.page.store.replay import (
    BaseRecord,
    Given,
    adopt_newer_guesses,
    base_of,
    replay,
    text_at_the_beginning,
)
from dynet_vdgi.page.text.annotated_text import AnnotatedText
from dynet_vdgi.page.text.guesses import Guess
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_blocks import file_block, read_marked
from dynet_vdgi.page.text.sentence_state import ChangeError, SentenceState, confirmed_parts
from dynet_vdgi.system import files

LARGE, TIMES = 10_000_000, 4
"""Bytes of a journal, and more in sizes of the file,
above which it is shortened at an orderly end."""

logger = logging.getLogger("dynet_vdgi")


class StaleError(ChangeError):
    """The sentence has been changed since the page last saw it, for instance in another tab."""

    status = 409


class UnwrittenError(VdgiError):
    """The file cannot be written; the journal has all confirmed arcs."""

    exit_status = 2


class Session:
    """The sentences of a file and all statements about them, by `annotator` from now on.

    `given` says whether trees in a file without marks are right, or guessed by a program.

    Raises:
        UsageError: another process annotates or changes the file, or `given` is missing or has no
            effect.
        DataError: file or journal are malformed or do not belong together.
    """

    def __init__(self, path: str | Path, annotator: str, given: Given | None = None) -> None:
        self.path, self.annotator = Path(path), annotator
        self.fault = ""  # why the file is no longer saved
        self.is_unsaved = False  # True if the file must be written
        self.place = (0, 1)  # sentence by id, and word, where somebody was last
        self._n_added = 0  # changes that are in the journal, or will be next
        self._base = BaseRecord("")  # what the trees of a new file are, and who has said so
        # states, and what the file has of them
        self._written: dict[int, tuple[SentenceState, str]] = {}
        self._guard = threading.Lock()  # for the file; changes do not wait for it
        self._file = OwnFile(self.path)
        try:
            self.journal = Journal(self.path.with_name(self.path.name + ENDING))
        except BaseException:
            self._file.close()
            raise
        try:
            self._begin(given)
            # few and short
            self.journal.records = [record for record in self.journal.records if "op" not in record]
        except BaseException:
            self.release()
            if self.journal.is_new and not self.journal.size:
                self.journal.path.unlink(missing_ok=True)
            raise

    @property
    def sentences(self) -> list[MarkedSentence]:
        """In the order of the file."""
        return self.text.sentences

    def _begin(self, given: Given | None) -> None:
        """Makes the text as it was left, or as the file has it."""
        base = base_of(self.journal)
        try:
            content = self._file.look()
        except OSError as error:
            content = b""
            if base is None or not isinstance(error, FileNotFoundError):
                read_marked(self.path)  # gives the reason
                raise
        if base is not None and not content.strip():
            content = self._restore(base.base.encode())
        is_own = any(record.get("written") == self._file.digest for record in self.journal.records)
        sentences = None if is_own else read_marked(self.path)
        if self._file.is_changed_by_others():
            raise UsageError(
                f"{self.path.name} was changed by another program while it was read; try again"
            )
        if base is not None:
            self._base = BaseRecord("", base.given, base.by)
            if given is not None and base.given is not None and given != base.given:
                why = f"{self.path.name} was begun with --given {base.given}"
                remedy = f"to begin again, move {self.journal.path.name} away"
                raise UsageError(f"--given {given} has no effect: {why}; {remedy}")
            if given is not None:
                logger.info("--given has no effect: %s has been annotated before", self.path.name)
            self._continue(base, sentences, content.decode())
            return
        sentences = sentences or []
        self._take(sentences, given)
        if not self.journal.records:
            self.journal.add(
                {"journal": FORMAT, "file": self.path.name, "sentences": len(sentences)}
            )
        self._base = BaseRecord(
            content.decode(), given, self.annotator if given is not None else ""
        )
        self.journal.add(msgspec.to_builtins(self._base))
        self._base.base = ""
        self.journal.add({"written": self._file.digest})
        self.text = AnnotatedText(sentences, str(self.path))

    def _restore(self, content: bytes) -> bytes:
        """Writes the first content of a file that is gone or empty; the journal has all changes
        since."""
        is_gone = not self.path.exists()
        with files.atomic_bytes_writer(self.path) as handle:
            handle.write(content)
        if is_gone:
            self.path.chmod(stat.S_IMODE(self.journal.path.stat().st_mode))
        self._file.close()
        self._file = OwnFile(self.path)
        logger.warning(
            "%s is gone or empty: its text is that of %s", self.path.name, self.journal.path.name
        )
        return self._file.look()

    def _take(self, sentences: Sequence[MarkedSentence], given: Given | None) -> None:
        """Decides what the trees of a new file are."""
        trees = [marked for marked in sentences if marked.has_tree_without_marks]
        has_marks = any(marked.is_touched for marked in sentences)
        if given is not None and not trees:
            why = "its arcs are marked already" if has_marks else "the file has no trees"
            raise UsageError(f"--given has no effect: {why}")
        unknown = [marked for marked in trees if not guess_marks.is_guess(marked.source.lines)]
        if given is None and unknown and not has_marks:
            what = (
                "1 tree: say what it is"
                if len(unknown) == 1
                else f"{len(unknown)} trees: say what they are"
            )
            raise UsageError(
                f"{self.path.name} has {what}, --given right (kept, and "
                "learnt from) or --given guessed (a program's, and replaced by better ones)"
            )
        if given == "right":
            for marked in trees:
                marked.take_as_right(self.annotator)

    def _continue(self, base: BaseRecord, now: list[MarkedSentence] | None, content: str) -> None:
        """Repeats the changes in the journal, and takes over what other programs have changed in
        the file.

        `now` are the sentences of the file; None: it is as this program has read or written it.
        """
        records = self.journal.records
        begin = next(k for k, record in enumerate(records) if "base" in record)
        writings = [k for k, record in enumerate(records) if "written" in record] or [begin]
        matches = [
            k for k, record in enumerate(records) if record.get("written") == self._file.digest
        ]
        last = (matches or writings)[-1]
        try:
            self.text = text_at_the_beginning(base, self.journal.path)
        except (ValueError, LookupError) as error:
            raise DataError(
                str(self.journal.path), begin + 1, f"{DAMAGED} ({error})", HINT
            ) from None
        self.place = base.place
        # the sentences when the file was, or may have been, written
        compared: list[list[MarkedSentence]] = []
        ids: list[int] = []
        for number, place in enumerate(replay(self.text, records, self.journal.path)):
            self.place = place or self.place
            if number == last:
                ids = [marked.id for marked in self.sentences]
            if now is not None and number in writings[-LAST_WRITINGS:]:
                compared.append([copy(marked) for marked in self.sentences])
        if now is None:
            self.is_unsaved = any("op" in record for record in records[last + 1 :])
            adopt_newer_guesses(self.text, ids, content, self.path.name)
            return
        # before they get marks that the file has no more
        blocks = [file_block(marked) for marked in now]
        right_by = base.by if base.given == "right" else ""
        step = change_by_others(self.text, now, compared, self.path, self.journal.path, right_by)
        if step is not None:
            self.journal.add(self.text.record(step))
            self.text.apply(step)
        self.journal.add({"written": self._file.digest})
        self.is_unsaved = [file_block(marked) for marked in self.sentences] != blocks

    def change(
        self,
        number: int,
        seen: tuple[int, int],
        what: str,
        word: int = 0,
        value: Any = 0,
        words: Sequence[tuple[int, int]] = (),
    ) -> list[int]:
        """Makes one change to a sentence that was seen with these (edits, version), or to `words`
        instead.

        A person who confirms a guess must have seen the last one; a person who sets a value need
        not. Returns the ids of the sentences that are now where the sentence was, or that have
        changed of `words`.

        Raises:
            ChangeError: the change is impossible, or the page is not up to date (StaleError).
            JournalError: the change could not be put on the disk, and so was not made.
        """
        marked = self.text.of_id(number)
        if seen[0] != marked.edits:
            raise StaleError(
                "The sentence has been changed elsewhere. Here it is as it stands now."
            )
        if what in ("right", "done") and seen[1] != marked.version:
            raise StaleError(
                "The sentence has just been parsed again. Please look at it once more."
            )
        if words:
            step = self.text.step_for_all(words, what, value, self.annotator)
        else:
            step = self.text.step(marked, what, word, value, self.annotator)
        if step is None:  # it is so already, and there is nothing to undo
            return [] if words else [number]
        self._n_added += 1
        self.journal.add(self.text.record(step))  # on the disk before it is made
        self.text.apply(step)
        self.is_unsaved = True
        self.place = step.new[0].marked.id, max(1, step.word)
        return [one.marked.id for one in step.new]

    def back(self, what: str) -> int:
        """Does an `undo` of the last change, or a `redo`; returns the id of its sentence.

        Raises: ChangeError, there is none; JournalError, as `change`.
        """
        steps = self.text.undo if what == "undo" else self.text.redo
        if not steps:
            raise ChangeError(f"nothing to {what}")
        if steps[-1].what == "outside":  # as journals of before had what is OTHERS now
            raise ChangeError(f"the last change is another program's, and {what} leaves it alone")
        record = {"op": what, "by": self.annotator, "at": round(time.time())}
        self._n_added += 1
        self.journal.add(record)
        self.place = self.text.back(what)
        self.is_unsaved = True
        return self.place[0]

    def put(self, number: int, version: int, guess: Guess) -> bool:
        """Adopts a guess made for this version of a sentence; returns whether that is still the
        version."""
        marked = self.text.by_id.get(number)
        if marked is None or marked.version != version:
            return False
        marked.put(guess)
        self.is_unsaved |= marked.is_touched and not marked.is_file_state(marked.state)
        return True

    def save(self) -> bool:
        """Writes the file, unless another program has changed it, which `fault` then reports.

        Raises:
            JournalError: the journal cannot be written; the file is unchanged.
            UnwrittenError: the file cannot be written; it is unchanged, and the journal has
                everything.
        """
        self.is_unsaved = False
        try:
            with self._guard:
                self._look_for_others()
                if self.fault:
                    return False
                n_added = -1
                # otherwise changes before "written" are not in the content
                while n_added != self._n_added:
                    n_added = self._n_added
                    content = self._file.encoded_text(self._content())
                    digest = hashlib.sha256(content).hexdigest()
                    if digest == self._file.digest:
                        return True
                    self.journal.add({"written": digest})
                self._file.write(content, digest)
        except (OSError, UsageError) as error:
            self.is_unsaved = True
            name, journal = self.path.name, self.journal.path.name
            message = (
                f"{name} is not written: {error}. What you confirmed is safe in {journal}: keep it"
            )
            raise UnwrittenError(message) from None
        except VdgiError:
            self.is_unsaved = True
            raise
        return True

    def _content(self) -> str:
        """The sentences as they are to be in the file;
        only changed sentences are formatted again."""
        blocks = []
        for marked in list(self.sentences):  # may change while this runs in a thread
            state = marked.state
            written = self._written.get(marked.id)
            if written is None or written[0] is not state:
                written = self._written[marked.id] = state, file_block(marked, state)
            blocks.append(written[1])
        return "".join(blocks)

    def is_changed_by_others(self) -> bool:
        """True if the content is not the one last read or written; from then on `fault` says so.

        While a thread writes the file nothing is compared, because the new content would be our
        own.
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
                f"{self.path.name} was changed by another program and is no longer saved. "
                f"Your work is safe in {self.journal.path.name}. Quit and restart vdgi annotate."
            )

    def close(self) -> None:
        """Writes the file if necessary and possible, and releases it. Raises: as `save`."""
        try:
            if self.is_unsaved:
                self.save()
            if not self.is_unsaved and not self.fault:
                self._shorten()
        finally:
            self.release()

    def _shorten(self) -> None:
        """Begins a journal again, with the file as it is, if it has grown large: only the history
        is lost.

        Not where the file does not tell all that the journal does.
        """
        content = self._file.encoded_text(self._content())
        if self.journal.size <= LARGE + TIMES * len(content):
            return
        digest = hashlib.sha256(content).hexdigest()
        if digest != self._file.digest or self._file.is_changed_by_others():
            return
        try:
            begin = BaseRecord(content.decode(), self._base.given, self._base.by)
            again = text_at_the_beginning(begin, self.journal.path).sentences
        except DataError:
            return
        if [_statements_in(marked) for marked in again] != [
            _statements_in(marked) for marked in self.sentences
        ]:
            return
        number = {marked.id: k for k, marked in enumerate(self.sentences)}
        finished = [(number[k], *counts) for k, counts in self.text.finished.items() if k in number]
        place = number.get(self.place[0], 0), self.place[1]
        begin.finished, begin.place = finished, place
        with suppress(VdgiError, OSError):  # it stays as it is
            first = {"journal": FORMAT, "file": self.path.name, "sentences": len(self.sentences)}
            self.journal.end_with([first, msgspec.to_builtins(begin), {"written": digest}])
            logger.info(
                "%s is shorter now: earlier changes cannot be undone any more",
                self.journal.path.name,
            )

    def release(self) -> None:
        self._file.close()
        self.journal.close()


def _statements_in(marked: MarkedSentence) -> tuple[Any, ...]:
    """All that somebody has said of a sentence, and how the file has it."""
    state = marked.state
    return (
        file_block(marked),
        marked.is_touched,
        confirmed_parts(state.arcs),
        state.columns,
        state.comments,
    )


def exported_sentences(path: str | Path) -> list[MarkedSentence]:
    """The sentences of a file as its journal has them, also while somebody is annotating it;
    neither is written to.

    Raises:
        UsageError: it has no journal and no marks.
        DataError: as `Session`.
    """
    path = Path(path)
    sentences = read_marked(path)
    journal = path.with_name(path.name + ENDING)
    if not os.path.lexists(journal):
        if not any(marked.is_touched for marked in sentences):
            raise UsageError(f"{path}: nothing is confirmed in it (annotate it first)")
        return sentences
    with tempfile.TemporaryDirectory(prefix="vdgi-export-") as folder:  # nothing is locked
        try:
            # the file follows the journal, so the journal is the later one
            for one in (path, journal):
                shutil.copyfile(one, Path(folder, one.name))
        except OSError as error:
            raise UsageError(f"{path.name} cannot be copied to be read: {error}") from None
        try:
            session = Session(Path(folder, path.name), "")
            session.release()
            return session.sentences
        except DataError as error:
            place = str(path.with_name(Path(error.path).name))
            raise DataError(place, error.line, error.message, error.hint) from None

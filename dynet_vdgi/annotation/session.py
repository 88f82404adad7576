"""A file under annotation: changes, undo, progress; every change is on the disk before it counts.

Beside `my.conllu` is `my.conllu.journal`, one JSON object a line: first a description of the file, then each
change with the arcs before and after it, and the checksum of each state of the file that was written.

The file gets the trees of sentences in which somebody has confirmed something. The others stay in it as they
are, and an unchanged file is not written.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dynet_vdgi.annotation import changes
from dynet_vdgi.annotation.changes import ChangeError
from dynet_vdgi.annotation.journal import DAMAGED, ENDING, FORMAT, HINT, Journal, Record, change_fault
from dynet_vdgi.annotation.marked import (
    Guess,
    MarkedArc,
    MarkedSentence,
    block,
    read_marked,
)
from dynet_vdgi.annotation.mending import UNSET, CircleError
from dynet_vdgi.annotation.own_file import OwnFile
from dynet_vdgi.annotation.relations import Relations
from dynet_vdgi.errors import DataError, UsageError, VdgiError

Given = Literal["right", "guessed"]

RECENT = 10
"""Sentences over which the running accuracy is taken."""


class StaleError(ChangeError):
    """The sentence has been changed since the page last saw it, for instance in another tab."""


class UnwrittenError(VdgiError):
    """The file cannot be written; the journal has all confirmed arcs."""

    exit_status = 2


class Finished(NamedTuple):
    """A person's changes to a finished sentence."""

    words: int
    heads_changed: int
    labels_changed: int


class Reversible(NamedTuple):
    """A change that can be undone or redone; the sentence as shown after that, if known."""

    record: Record
    arcs: tuple[MarkedArc, ...] | None = None
    sure: tuple[float | None, ...] = ()


class Session:
    """The sentences of a file and all statements about them, by `annotator` from now on.

    `given` says whether trees in a file without marks are right, or guessed by a program.

    Raises:
        UsageError: another process annotates the file, or `given` is missing or has no effect.
        DataError: file or journal are malformed or do not belong together.
    """

    def __init__(self, path: str | Path, annotator: str, given: Given | None = None) -> None:
        self.path, self.annotator = Path(path), annotator
        self._file = OwnFile(self.path)
        try:
            self.sentences = read_marked(self.path)
            self._file.look()
            self.journal = Journal(self.path.with_name(self.path.name + ENDING))
        except BaseException:
            self._file.close()
            raise
        self.fault = ""  # why the file is no longer saved
        self.finished: dict[int, Finished] = {}  # by sentence, in the order of completion
        self._written: dict[int, tuple[tuple[MarkedArc, ...], str]] = {}  # blocks, and their arcs
        self.is_unsaved = False  # True if the file must be written
        self._undo: list[Reversible] = []
        self._redo: list[Reversible] = []
        self._guard = threading.Lock()  # for the journal and the file
        try:
            self._begin(given)
        except BaseException:
            self._file.close()
            self.journal.close()
            if self.journal.is_new and self.journal.is_empty:
                self.journal.path.unlink(missing_ok=True)
            raise

    # --------------------------------------------------------------------------------------- beginning
    def _begin(self, given: Given | None) -> None:
        self._words = sum(len(marked.positions) for marked in self.sentences)
        self._sentences_done = self._words_done = 0
        for marked in self.sentences:
            self._count(marked, marked.is_done)
        digest, records = self._file.digest, self.journal.records
        if not records:
            self._take(given)
            self.journal.add({"journal": FORMAT, "file": self.path.name, "sentences": len(self.sentences)})
            self.journal.add({"written": digest})
            self.relations = Relations(self.sentences)
            if given == "right":
                self.save()
            return
        if given is not None:
            raise UsageError(f"--given has no effect: {self.path.name} has been annotated before")
        known = {str(record["written"]) for record in records if "written" in record}
        read = [marked.arcs for marked in self.sentences]
        in_file = self._replay(records)
        if digest not in known:
            self._check_other_file(in_file)
            self.journal.add({"written": digest})
        for marked, arcs in zip(self.sentences, read):
            if _said(arcs) == _said(marked.arcs):  # the guesses of the file are newer than the journal's
                marked.arcs = arcs
            self.is_unsaved |= marked.arcs != arcs
        self.relations = Relations(self.sentences)

    def _take(self, given: Given | None) -> None:
        """Determines the status of the trees in a file without journal."""
        trees = [marked for marked in self.sentences if any(arc.head != UNSET for arc in marked.arcs)]
        if any(marked.is_touched for marked in trees) or not trees:
            if given is not None:
                what = "its arcs are marked already" if trees else "the file has no trees"
                raise UsageError(f"--given has no effect: {what}")
        elif given is None:
            what = "1 tree: say what it is" if len(trees) == 1 else f"{len(trees)} trees: say what they are"
            raise UsageError(
                f"{self.path.name} has {what}, --given right (kept, and "
                "learnt from) or --given guessed (a program's, and replaced by better ones)"
            )
        elif given == "right":
            for marked in trees:
                was_done = marked.is_done
                marked.arcs = tuple(changes.new_arcs(marked, "done", 0, 0, self.annotator))
                self._count(marked, marked.is_done - was_done)

    def _replay(self, records: Sequence[Record]) -> list[tuple[MarkedArc, ...]]:
        """Repeats all changes; returns the arcs of all sentences when the file was last written."""
        in_file = [marked.arcs for marked in self.sentences]
        said: dict[tuple[int, str], Sequence[Any]] = {}  # arcs by sentence and word
        for number, record in enumerate(records, 1):
            if "written" in record:
                in_file = [marked.arcs for marked in self.sentences]
            if "s" not in record:
                continue
            index = record["s"]
            known = isinstance(index, int) and 0 <= index < len(self.sentences)
            if not known or self.sentences[index].fingerprint != record.get("f"):
                hint = (
                    f"the changes are in {self.journal.path.name}; restore the file, or move the journal away"
                )
                raise DataError(
                    str(self.path), None, f"not the sentences of line {number} of its journal", hint
                )
            fault = change_fault(record, len(self.sentences[index].arcs), UNSET)
            fault = fault or _contradiction(record, said)
            if fault or (record["op"] in ("undo", "redo") and not self._stack(record["op"])):
                detail = f" ({fault})" if fault else ""
                raise DataError(str(self.journal.path), number, DAMAGED + detail, HINT)
            self._apply(record)
            said |= {(index, word): arc for word, arc in record["arcs"].items()}
        self._undo = [Reversible(step.record) for step in self._undo]  # the trees are the file's
        self._redo = [Reversible(step.record) for step in self._redo]
        for marked in self.sentences:
            if marked.edits:
                try:
                    marked.arcs = tuple(changes.settled(marked.arcs, marked.positions, marked.sentence.forms))
                except CircleError as error:
                    raise DataError(str(self.journal.path), None, str(error), HINT) from None
        return in_file

    def _stack(self, what: str) -> list[Reversible]:
        """The changes that can be undone, or redone."""
        return self._undo if what == "undo" else self._redo

    def _check_other_file(self, in_file: Sequence[Sequence[MarkedArc]]) -> None:
        """Accepts a file changed by another program, unless its confirmed arcs changed."""
        for arcs, found in zip(in_file, read_marked(self.path)):
            for word, (mine, theirs) in enumerate(zip(arcs, found.arcs), 1):
                source = found.sentence.source
                if source is None or not (mine.head_by or mine.label_by):
                    continue
                if (mine.head_by and mine.head != theirs.head) or (
                    mine.label_by and mine.label != theirs.label
                ):
                    hint = (
                        f"{self.journal.path.name} says {mine.head} {mine.label}; restore the file, or move "
                        "the journal away to go on from the file as it stands"
                    )
                    line = source.line + source.rows[word - 1]
                    message = (
                        f"another program has changed confirmed word {word} to {theirs.head} {theirs.label}"
                    )
                    raise DataError(str(self.path), line, message, hint)

    # --------------------------------------------------------------------------------------- changing
    def change(
        self, index: int, seen: tuple[int, int], what: str, word: int = 0, value: int | str = 0
    ) -> None:
        """Makes one change, see `changes.CHANGES`, to a sentence that was seen with these (edits, version).

        A person who confirms a guess must have seen the last one; a person who sets a value need not.

        Raises:
            ChangeError: the change is impossible, or the page is not up to date (StaleError).
            JournalError: the change could not be put on the disk, and so was not made.
        """
        if not 0 <= index < len(self.sentences):
            raise ChangeError(f"there is no sentence {index + 1}")
        marked = self.sentences[index]
        edits, version = seen
        if edits != marked.edits:
            raise StaleError("The sentence has been changed elsewhere. Here it is as it stands now.")
        if what in ("right", "done") and version != marked.version:
            raise StaleError("The sentence has just been parsed again. Please look at it once more.")
        arcs = changes.new_arcs(marked, what, word, value, self.annotator)
        before = marked.arcs[word - 1] if word else None
        moved, renamed = marked.moved, marked.renamed
        if before and what == "head" and before.head not in (UNSET, value):
            moved |= {word}
        if before and what == "label" and before.label != value:
            renamed |= {word}
        record = _difference(marked.arcs, arcs)
        record |= {"moved": sorted(moved), "renamed": sorted(renamed)}
        record |= {"moved_was": sorted(marked.moved), "renamed_was": sorted(marked.renamed)}
        self._add(index, what, record)

    def undo(self) -> int:
        """Undoes the last change; returns the number of its sentence, whose tree is as it was before.

        Raises: ChangeError, there is none.
        """
        return self._back("undo")

    def redo(self) -> int:
        """Redoes the change that was undone last. Raises: ChangeError, there is none."""
        return self._back("redo")

    def _back(self, what: str) -> int:
        if not self._stack(what):
            raise ChangeError(f"nothing to {what}")
        last, arcs, sure = self._stack(what)[-1]
        record = {key: last[key] for key in ("arcs", "was", "moved", "renamed", "moved_was", "renamed_was")}
        if what == "undo":
            for key in ("moved", "renamed"):
                record[key], record[f"{key}_was"] = record[f"{key}_was"], record[key]
            record["arcs"], record["was"] = record["was"], record["arcs"]
        self._add(last["s"], what, record)
        marked = self.sentences[last["s"]]
        if arcs is None:
            arcs = tuple(changes.settled(marked.arcs, marked.positions, marked.sentence.forms))
        else:
            marked.sure = sure
        marked.arcs = arcs
        return int(last["s"])

    def _add(self, index: int, what: str, record: Record) -> None:
        head = {"s": index, "f": self.sentences[index].fingerprint, "op": what}
        record = {**head, "by": self.annotator, "at": round(time.time()), **record}
        with self._guard:
            self.journal.add(record)
        before = self.sentences[index].arcs
        self._apply(record)
        self.relations.change(self.sentences[index], before, self.sentences[index].arcs)
        self.is_unsaved = True

    def _apply(self, record: Record) -> None:
        marked = self.sentences[record["s"]]
        was_done, before = marked.is_done, (marked.arcs, marked.sure)
        arcs = list(marked.arcs)
        for word, arc in record["arcs"].items():
            arcs[int(word) - 1] = MarkedArc(*arc)
        marked.arcs = tuple(arcs)
        marked.moved, marked.renamed = frozenset(record["moved"]), frozenset(record["renamed"])
        marked.edits += 1
        marked.version += 1
        is_done = marked.is_done
        self._count(marked, is_done - was_done)
        if not is_done:
            self.finished.pop(record["s"], None)
        else:
            counts = len(marked.positions), len(marked.moved), len(marked.renamed)
            self.finished[record["s"]] = Finished(*counts)
        if record["op"] == "undo":
            self._redo.append(Reversible(self._undo.pop().record, *before))
        elif record["op"] == "redo":
            self._undo.append(Reversible(self._redo.pop().record, *before))
        else:
            self._undo.append(Reversible(record, *before))
            self._redo.clear()

    def _count(self, marked: MarkedSentence, change: int) -> None:
        self._sentences_done += change
        self._words_done += change * len(marked.positions)

    def put(self, index: int, version: int, guess: Guess) -> bool:
        """Adopts a guess made for this version of a sentence; returns whether that is still the version."""
        marked = self.sentences[index]
        if marked.version != version:
            return False
        marked.put(guess)
        self.is_unsaved |= marked.is_touched
        return True

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
        """The sentences as CoNLL-U; only sentences with changed arcs are formatted again."""
        for k, marked in enumerate(self.sentences):
            arcs = marked.arcs  # may be replaced while this runs in a thread
            if k not in self._written or self._written[k][0] is not arcs:
                self._written[k] = arcs, block(marked, arcs)
        return [self._written[k][1] for k in range(len(self.sentences))]

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

    # --------------------------------------------------------------------------------------- figures
    def progress(self) -> Mapping[str, Any]:
        """The finished part, and how much of it had to be changed."""
        finished = list(self.finished.values())
        recent = finished[-RECENT:]
        return {
            "sentences": len(self.sentences),
            "sentences_done": self._sentences_done,
            "words": self._words,
            "words_done": self._words_done,
            "heads_right": _share_right(sum(f.words for f in recent), sum(f.heads_changed for f in recent)),
            "labels_right": _share_right(sum(f.words for f in recent), sum(f.labels_changed for f in recent)),
            "over_time": [_share_right(f.words, f.heads_changed) for f in finished[-100:]],
            "can_undo": bool(self._undo),
            "can_redo": bool(self._redo),
        }


def _said(arcs: Sequence[MarkedArc]) -> list[tuple[int | None, str | None, str, str]]:
    """The confirmed parts of arcs."""
    return [
        (arc.head if arc.head_by else None, arc.label if arc.label_by else None, arc.head_by, arc.label_by)
        for arc in arcs
    ]


def _contradiction(record: Record, said: Mapping[tuple[int, str], Sequence[Any]]) -> str:
    """The differences between the arcs before a change and the journal's record of them; empty: none.

    Only confirmed parts are compared, because changes of guesses are not recorded.
    """
    for word, arc in record["was"].items():
        before = said.get((record["s"], word), arc)
        if _said([MarkedArc(*arc)]) != _said([MarkedArc(*before)]):
            return f"word {word} was not so after the lines before"
    return ""


def _share_right(words: int, changed: int) -> float | None:
    return round(1 - changed / words, 4) if words else None


def _difference(before: Sequence[MarkedArc], after: Sequence[MarkedArc]) -> Record:
    """The arcs that differ, after and before, by the word's number."""
    words = [k for k, (old, new) in enumerate(zip(before, after), 1) if old != new]
    return {
        "arcs": {str(word): list(after[word - 1]) for word in words},
        "was": {str(word): list(before[word - 1]) for word in words},
    }


def exported(path: str | Path) -> list[MarkedSentence]:
    """The sentences of a file that nobody is annotating now, from its journal.

    Raises:
        UsageError: somebody is annotating the file, or it has no journal and no marks.
        DataError: as `Session`.
    """
    sentences = read_marked(path)
    if os.path.lexists(Path(path).with_name(Path(path).name + ENDING)):
        session = Session(path, "")
        session.release()
        return session.sentences
    if not any(marked.is_touched for marked in sentences):
        raise UsageError(f"{path}: nothing is confirmed in it (annotate it first)")
    return sentences

"""A file that is being annotated: changes, undo, progress; every change is on the disk before it counts.

Beside `my.conllu` stands `my.conllu.journal`, one JSON object a line: first what the file is, then each
change with the arcs before and after it, and the checksum of each state of the file that was written.
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
from dynet_vdgi.annotation.journal import DAMAGED, ENDING, HINT, Journal, Record, change_fault
from dynet_vdgi.annotation.marked import (
    Guess,
    MarkedArc,
    MarkedSentence,
    block,
    read_marked,
)
from dynet_vdgi.annotation.mending import UNSET, CircleError
from dynet_vdgi.data import files
from dynet_vdgi.errors import DataError, UsageError

Given = Literal["right", "guessed"]

JOURNAL_FORMAT = 1
RECENT = 10
"""Sentences that the running accuracy is taken of."""


class StaleError(ChangeError):
    """The sentence has been changed since the page last saw it, for instance in another tab."""


class Finished(NamedTuple):
    """What a person did in a sentence that is done."""

    words: int
    heads_changed: int
    labels_changed: int


class Session:
    """The sentences of a file and all that was said about them, by `annotator` from now on.

    `given` says what trees in a file without marks are: right, or guessed by a program.

    Raises:
        UsageError: another process annotates the file, or `given` is missing or has no effect.
        DataError: file or journal are malformed or do not belong together.
    """

    def __init__(self, path: str | Path, annotator: str, given: Given | None = None) -> None:
        self.path, self.annotator = Path(path), annotator
        self.sentences = read_marked(self.path)
        self.journal = Journal(self.path.with_name(self.path.name + ENDING))
        self.fault = ""  # why the file is not written any more
        self.finished: dict[int, Finished] = {}  # by sentence, in the order in which they were done
        self._written: dict[int, tuple[tuple[MarkedArc, ...], str]] = {}  # blocks, and of which arcs
        self._undo: list[Record] = []
        self._redo: list[Record] = []
        self._guard = threading.Lock()  # of the journal and the file
        try:
            self._begin(given)
        except BaseException:
            self.journal.close()
            if self.journal.is_empty:
                self.journal.path.unlink(missing_ok=True)
            raise

    # --------------------------------------------------------------------------------------- beginning
    def _begin(self, given: Given | None) -> None:
        self._words = sum(len(marked.positions) for marked in self.sentences)
        self._sentences_done = self._words_done = 0
        for marked in self.sentences:
            self._count(marked, marked.is_done)
        digest = files.sha256(self.path)
        records = self.journal.records
        self._stat = self._stat_now()
        if not records:
            self._take(given)
            self.journal.add(
                {"journal": JOURNAL_FORMAT, "file": self.path.name, "sentences": len(self.sentences)}
            )
            self.journal.add({"written": digest})
            if given == "right":
                self.save()
            return
        if given is not None:
            raise UsageError(f"--given has no effect: {self.path.name} has been annotated before")
        if records[0].get("journal") != JOURNAL_FORMAT:
            raise DataError(str(self.journal.path), 1, "the journal is of another version of dynet_vdgi")
        known = {str(record["written"]) for record in records if "written" in record}
        in_file = self._replay(records)
        if digest not in known:
            self._check_other_file(in_file)
            self.journal.add({"written": digest})

    def _take(self, given: Given | None) -> None:
        """Decides what the trees of a file without journal are."""
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
        """Makes all changes again; gives the arcs of all sentences when the file was last written."""
        in_file = [marked.arcs for marked in self.sentences]
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
            if fault or (record["op"] in ("undo", "redo") and not self._stack(record["op"])):
                detail = f" ({fault})" if fault else ""
                raise DataError(str(self.journal.path), number, DAMAGED + detail, HINT)
            self._apply(record)
        for marked in self.sentences:
            if marked.edits:
                try:
                    marked.arcs = tuple(changes.settled(marked.arcs, marked.positions, marked.sentence.forms))
                except CircleError as error:
                    raise DataError(str(self.journal.path), None, str(error), HINT) from None
        return in_file

    def _stack(self, what: str) -> list[Record]:
        """The changes that can be taken back, or made again."""
        return self._undo if what == "undo" else self._redo

    def _check_other_file(self, in_file: Sequence[Sequence[MarkedArc]]) -> None:
        """Lets a file pass that another program has changed, unless it changed what was confirmed in it."""
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

        Who says that something is right must have seen the last guess; who says what is right need not.

        Raises:
            ChangeError: it is impossible, or the page is not up to date (StaleError).
            JournalError: it could not be put on the disk, and so has not happened.
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
        """Takes the last change back, and says of which sentence. Raises: ChangeError, there is none."""
        return self._back("undo", self._undo)

    def redo(self) -> int:
        """Makes the change again that was taken back last. Raises: ChangeError, there is none."""
        return self._back("redo", self._redo)

    def _back(self, what: str, stack: Sequence[Record]) -> int:
        if not stack:
            raise ChangeError(f"nothing to {what}")
        last = stack[-1]
        record = {key: last[key] for key in ("arcs", "was", "moved", "renamed", "moved_was", "renamed_was")}
        if what == "undo":
            for key in ("moved", "renamed"):
                record[key], record[f"{key}_was"] = record[f"{key}_was"], record[key]
            record["arcs"], record["was"] = record["was"], record["arcs"]
        self._add(last["s"], what, record)
        marked = self.sentences[last["s"]]
        marked.arcs = tuple(changes.settled(marked.arcs, marked.positions, marked.sentence.forms))
        return int(last["s"])

    def _add(self, index: int, what: str, record: Record) -> None:
        head = {"s": index, "f": self.sentences[index].fingerprint, "op": what}
        record = {**head, "by": self.annotator, "at": round(time.time()), **record}
        with self._guard:
            self.journal.add(record)
        self._apply(record)

    def _apply(self, record: Record) -> None:
        marked = self.sentences[record["s"]]
        was_done = marked.is_done
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
            self._redo.append(self._undo.pop())
        elif record["op"] == "redo":
            self._undo.append(self._redo.pop())
        else:
            self._undo.append(record)
            self._redo.clear()

    def _count(self, marked: MarkedSentence, change: int) -> None:
        self._sentences_done += change
        self._words_done += change * len(marked.positions)

    def put(self, index: int, version: int, guess: Guess) -> bool:
        """Takes over a guess made for this version of a sentence; says whether it is still that."""
        marked = self.sentences[index]
        if marked.version != version:
            return False
        marked.put(guess)
        return True

    # --------------------------------------------------------------------------------------- the file
    def save(self) -> bool:
        """Writes the file, unless another program has changed it, which `fault` then says.

        Raises:
            JournalError: the journal cannot be written; the file is as it was.
        """
        content = "".join(self._blocks()).encode()
        with self._guard:
            self._look_for_others()
            if self.fault:
                return False
            self.journal.add({"written": hashlib.sha256(content).hexdigest()})
            with files.atomic_bytes_writer(self.path) as handle:
                handle.write(content)
            self._stat = self._stat_now()
        return True

    def _blocks(self) -> list[str]:
        """The sentences as CoNLL-U; only those are made anew whose arcs have changed."""
        for k, marked in enumerate(self.sentences):
            arcs = marked.arcs  # may be replaced while this runs in a thread
            if k not in self._written or self._written[k][0] is not arcs:
                self._written[k] = arcs, block(marked, arcs)
        return [self._written[k][1] for k in range(len(self.sentences))]

    def is_changed_by_others(self) -> bool:
        """Whether the file is not what was read or written last; `fault` says so from then on.

        While a thread writes the file this looks at nothing: what is new there would be our own.
        """
        if self._guard.acquire(blocking=False):
            try:
                self._look_for_others()
            finally:
                self._guard.release()
        return bool(self.fault)

    def _look_for_others(self) -> None:
        """Sets `fault` if another program has changed the file; the caller has the guard."""
        if not self.fault and self._stat_now() != self._stat:
            self.fault = (
                f"Another program has changed {self.path.name}. It is not written any more; what you confirm "
                f"is safe in {self.journal.path.name}. End this program and start it again."
            )

    def _stat_now(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino

    def close(self) -> None:
        """Writes the file if it may, and lets go of it."""
        if self._undo or any(marked.sure for marked in self.sentences):
            self.save()
        self.journal.close()

    # --------------------------------------------------------------------------------------- figures
    def progress(self) -> Mapping[str, Any]:
        """What is done, and how much had to be changed in what was."""
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
    """The sentences of a file that is annotated by nobody now, as its journal has them.

    Raises:
        UsageError: somebody annotates it, or there is no journal and no mark in it.
        DataError: as `Session`.
    """
    sentences = read_marked(path)
    if Path(path).with_name(Path(path).name + ENDING).exists():
        session = Session(path, "")
        session.journal.close()
        return session.sentences
    if not any(marked.is_touched for marked in sentences):
        raise UsageError(f"{path}: nothing is confirmed in it (annotate it first)")
    return sentences

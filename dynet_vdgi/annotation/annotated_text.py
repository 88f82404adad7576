"""The sentences of a text and their history: changes are applied, and can be undone and redone.

Knows neither file nor journal. A sentence has a number for life (`id`), a place in `sentences`, and counts
of edits and versions that never go back, so that a page can tell whether it is up to date.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dynet_vdgi.annotation import changes, records
from dynet_vdgi.annotation.finished import Progress
from dynet_vdgi.annotation.marked import ChangeError, MarkedSentence, SentenceState, TagGuess
from dynet_vdgi.annotation.mending import UNSET, mended
from dynet_vdgi.annotation.records import ChangeRecord, WholeSentence
from dynet_vdgi.annotation.relations import Relations
from dynet_vdgi.errors import DataError


class Shown(NamedTuple):
    """A sentence as it was on the screen."""

    marked: MarkedSentence
    state: SentenceState
    sure: tuple[float | None, ...]


class PastChange(NamedTuple):
    """A change that can be undone or redone, and what was shown before it; () if that is not known."""

    record: ChangeRecord
    before: tuple[Shown, ...] = ()


class AnnotatedText:
    """Sentences in the order of the file, by id, and the changes made to them."""

    def __init__(self, sentences: Sequence[MarkedSentence], name: str = "") -> None:
        self.sentences = list(sentences)
        self.by_id = {marked.id: marked for marked in self.sentences}
        self.undo: list[PastChange] = []
        self.redo: list[PastChange] = []
        self.progress = Progress(self.sentences)
        self.relations = Relations(self.sentences)
        self._name = name
        self._next_id = 1 + max(self.by_id, default=-1)
        self._last_wid = {marked.id: max(marked.wids) for marked in self.sentences}
        self._counts: dict[int, tuple[int, int]] = {}  # edits and versions of sentences that are no more
        self._numbers: dict[int, int] = {}

    # --------------------------------------------------------------------------------------- looking
    def of_id(self, number: int) -> MarkedSentence:
        """Raises: ChangeError, there is no such sentence."""
        if number not in self.by_id:
            raise ChangeError("there is no such sentence")
        return self.by_id[number]

    def number(self, marked: MarkedSentence) -> int:
        """The place of a sentence in the file, from 0."""
        if not self._numbers:
            self._numbers = {each.id: k for k, each in enumerate(self.sentences)}
        return self._numbers[marked.id]

    def following(self, marked: MarkedSentence) -> MarkedSentence | None:
        """The next sentence of the file."""
        place = self.number(marked) + 1
        return self.sentences[place] if place < len(self.sentences) else None

    def new_id(self) -> int:
        """A number that no sentence has had."""
        return self._next_id

    def new_wids(self, marked: MarkedSentence, count: int) -> range:
        """Numbers that no word of a sentence has had."""
        start = self._last_wid[marked.id] + 1
        return range(start, start + count)

    # --------------------------------------------------------------------------------------- changing
    def apply(self, record: ChangeRecord) -> None:
        """Makes a change, an undo, or a redo. Raises: ValueError, it does not fit the text, which stays."""
        if record.op in ("undo", "redo") and not (self.undo if record.op == "undo" else self.redo):
            raise ValueError(f"nothing to {record.op}")
        if record.new.sentences is None:
            before: tuple[Shown, ...] = (self._change(record),)
        else:
            before = self._replace(record.old.sentences or (), record.new.sentences)
        self.remember(record, before)

    def remember(self, record: ChangeRecord, before: tuple[Shown, ...] = ()) -> None:
        """Notes a change that has been made. Raises: IndexError, an undo without a change."""
        if record.op == "undo":
            self.redo.append(PastChange(self.undo.pop().record, before))
        elif record.op == "redo":
            self.undo.append(PastChange(self.redo.pop().record, before))
        else:
            self.undo.append(PastChange(record, before))
            self.redo.clear()

    def _change(self, record: ChangeRecord) -> Shown:
        if record.s not in self.by_id:
            raise ValueError(f"there is no sentence {record.s}")
        marked, new = self.by_id[record.s], record.new
        state = records.applied(new, marked)
        shown = Shown(marked, marked.state, marked.sure)
        self._leave(marked)
        marked.state = state
        if new.moved is not None and new.renamed is not None:
            marked.moved, marked.renamed = frozenset(new.moved), frozenset(new.renamed)
        if new.arcs is not None:
            marked.is_worked_on = True
            marked.recorded = records.recorded(new, marked)
        marked.edits += 1
        marked.version += 1
        self._enter(marked)
        return shown

    def _replace(self, old: Sequence[WholeSentence], new: Sequence[WholeSentence]) -> tuple[Shown, ...]:
        numbers = [one.id for one in old]
        start = self._start_of(numbers, new)
        gone = self.sentences[start : start + len(numbers)]
        try:
            come = [records.sentence_of(one, self._name) for one in new]
        except DataError as error:
            raise ValueError(str(error)) from None
        if len({one.id for one in come}) < len(come) or {o.id for o in come} & (
            self.by_id.keys() - {*numbers}
        ):
            raise ValueError("two sentences have the same number")
        for marked in gone:
            self._leave(marked)
            del self.by_id[marked.id]
            self._counts[marked.id] = marked.edits, marked.version
        self.sentences[start : start + len(numbers)] = come
        self._numbers.clear()
        tags = _tags_by_wid(gone)
        for marked in come:
            edits, version = self._counts.pop(marked.id, (0, 0))
            marked.edits, marked.version = edits + 1, version + 1
            marked.is_worked_on = any(one.is_worked_on for one in gone)
            if tags and marked.guessed_tags.tags:
                words = list(zip(marked.wids, marked.forms, marked.guessed_tags.words))
                guesses = [_kept(tags[wid], form, new) if wid in tags else new for wid, form, new in words]
                marked.guessed_tags = TagGuess(*map(tuple, zip(*guesses)))
            self.by_id[marked.id] = marked
            self._next_id = max(self._next_id, marked.id + 1)
            self._last_wid[marked.id] = max(self._last_wid.get(marked.id, 0), *marked.wids)
            self._enter(marked)
        for marked in gone:
            if marked.id not in self.by_id:
                self.progress.forget(marked)
        return tuple(Shown(marked, marked.state, marked.sure) for marked in gone)

    def _start_of(self, numbers: Sequence[int], new: Sequence[WholeSentence]) -> int:
        """The place of sentences that follow each other. Raises: ValueError, they do not."""
        if not numbers or not new or numbers[0] not in self.by_id:
            raise ValueError("a sentence that is replaced is not there")
        start = self.number(self.by_id[numbers[0]])
        if [one.id for one in self.sentences[start : start + len(numbers)]] != list(numbers):
            raise ValueError("the sentences that are replaced do not follow each other")
        return start

    def _leave(self, marked: MarkedSentence) -> None:
        self.progress.leave(marked)
        self.relations.leave(marked)

    def _enter(self, marked: MarkedSentence) -> None:
        self.progress.enter(marked)
        self.relations.enter(marked)

    def put_tags(self, marked: MarkedSentence, guess: TagGuess) -> None:
        """Adopts a tagger's guess for the words of a sentence that have no UPOS."""
        self._leave(marked)
        marked.put_tags(guess)
        self._enter(marked)

    # --------------------------------------------------------------------------------------- going back
    def show_again(self, step: PastChange) -> None:
        """Brings back what was shown before a change that has just been undone, or redone.

        Raises: CircleError, confirmed arcs form a circle.
        """
        for marked, state, sure in step.before:
            now = self.by_id[marked.id]
            self._leave(now)
            if now is not marked:
                marked.edits, marked.version = now.edits, now.version
                self.by_id[marked.id] = self.sentences[self.number(now)] = marked
            marked.state, marked.sure = state, sure
            self._enter(marked)
        if not step.before:
            for marked in {self.by_id[number] for number in ids_of(step.record) if number in self.by_id}:
                marked.arcs = tuple(changes.settled(marked.arcs, marked.positions, marked.forms))

    def settle(self) -> None:
        """Makes trees of the arcs of all sentences that were changed. Raises: CircleError."""
        for marked in self.sentences:
            heads = marked.heads
            if marked.edits and (UNSET in heads or mended(heads, marked.fixed) != heads):
                marked.arcs = tuple(changes.settled(marked.arcs, marked.positions, marked.forms))

    def forget_shown(self) -> None:
        """Forgets what was on the screen in the past, because that was another program's run."""
        self.undo = [PastChange(step.record) for step in self.undo]
        self.redo = [PastChange(step.record) for step in self.redo]


def _tags_by_wid(sentences: Sequence[MarkedSentence]) -> dict[int, tuple[str, tuple[Any, ...]]]:
    """The words of one sentence and their guesses; of several none: their words get other numbers."""
    if len(sentences) != 1:
        return {}
    (marked,) = sentences
    return dict(zip(marked.wids, zip(marked.forms, marked.guessed_tags.words)))


def _kept(old: tuple[str, tuple[Any, ...]], form: str, new: tuple[Any, ...]) -> tuple[Any, ...]:
    """The guess for a word that was replaced; of one with another form it is the tag alone."""
    known, guess = old
    return guess if known == form else (*guess[:2], *new[2:])


def ids_of(record: ChangeRecord) -> list[int]:
    """The numbers of all sentences that a change concerns."""
    whole = (*(record.old.sentences or ()), *(record.new.sentences or ()))
    return [one.id for one in whole] or [record.s]

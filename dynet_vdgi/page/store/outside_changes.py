"""What another program has changed in an annotated file, merged with what was changed in the
session.

The rule compares three texts, sentence by sentence: the file as the session last wrote it, the
session, the file now.

1. A sentence that only the other program has changed, added or removed is as the file has it now.
2. A sentence that only the session has changed stays as the session has it.
3. A sentence that both have changed is a contradiction, which only a person can resolve: nothing is
   taken over.
4. So is a confirmed head or relation that the other program has changed.
5. Guesses beside confirmed arcs are no change of a sentence, because no journal has them.
6. Marks that it has removed come back: what was confirmed stays confirmed.
7. A sentence keeps its number if it stands in the same place or has the same name; so do its words
   if their forms stay.
8. Of the last five states that were announced in the journal, and perhaps never written, the one
   that has the most sentences in common with the file now is the one that the other program started
   from.
9. The result is one change in the journal, which no undo takes back.

With letters for sentences, the session has changed b, and the other program has added d and removed
a:

>>> written, session, now = "abc", "aBc", "bcd"
>>> ours, theirs = differences(written, session), differences(written, now)
>>> "".join(merged_sequence(len(written), session, ours, now, theirs))
'Bcd'
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple, TypeVar

from dynet_vdgi.conllu.guess_marks import HEAD_BY, LABEL_BY
from dynet_vdgi.errors import DataError
from dynet_vdgi.page.text.annotated_text import AnnotatedText, TextChange
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_blocks import file_block
from dynet_vdgi.page.text.sentence_state import MarkedArc

LAST_WRITINGS = 5
"""The states of the file that are compared with one that another program has changed: some were
announced in the journal and then not written, because the disk was full or the program was
killed."""

T = TypeVar("T")


class Replaced(NamedTuple):
    """A stretch of a sequence, and what stands in its place in another one; one of them may be
    empty."""

    start: int
    end: int
    first: int
    last: int


def change_by_others(
    text: AnnotatedText,
    now: Sequence[MarkedSentence],
    writings: Sequence[Sequence[MarkedSentence]],
    path: Path,
    journal: Path,
    right_by: str = "",
) -> TextChange | None:
    """The change that takes over what another program has made of the file; None: nothing is to be
    changed.

    now: the sentences of the file now; they get the numbers of the sentences that they replace.
    writings: the sentences of the session at each of the last writings.
    right_by: who has said that the file's trees are right.

    Raises: DataError, the file contradicts what was said in the session.
    """
    written = _likest_writing(now, writings)
    ours = differences(
        [(m.id, _confirmed_lines(m)) for m in written],
        [(m.id, _confirmed_lines(m)) for m in text.sentences],
    )
    theirs = differences([_confirmed_lines(m) for m in written], [_confirmed_lines(m) for m in now])
    pairing = _Pairing(text, right_by)
    for start, end, first, last in theirs:
        try:
            if any(start < our_end and our_start < end for our_start, our_end, _, _ in ours):
                raise _Contradiction(first, "a sentence that was changed here, too")
            pairing.pair(written[start:end], now, first, last)
        except _Contradiction as error:
            raise error.error_in_file(now, path, journal) from None
    return text.replacement(merged_sequence(len(written), text.sentences, ours, now, theirs))


def differences(before: Sequence[object], now: Sequence[object]) -> list[Replaced]:
    """The stretches that differ.

    >>> differences("abc", "aBcd")
    [Replaced(start=1, end=2, first=1, last=2), Replaced(start=3, end=3, first=3, last=4)]
    """
    operations = SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    return [Replaced(a, b, c, d) for kind, a, b, c, d in operations if kind != "equal"]


def merged_sequence(
    n: int,
    session: Sequence[T],
    ours: Sequence[Replaced],
    now: Sequence[T],
    theirs: Sequence[Replaced],
) -> list[T]:
    """A sequence of n items after the changes of both sides, which touch no common item.

    session, now: the sequence as each side has it. ours, theirs: how they differ from the n items.
    """
    # Slots 0, 2, 4 ... hold what is put in front of an item, slots 1, 3, 5 ... what stands in its
    # place.
    slots: list[list[T]] = [[] for _ in range(2 * n + 1)]
    begin = place = 0
    for start, end, first, last in (*ours, Replaced(n, n, len(session), len(session))):
        for k in range(start - begin):
            slots[2 * (begin + k) + 1] = [session[place + k]]
        slots[2 * start + (end > start)] = list(session[first:last])
        begin, place = end, last
    for start, end, first, last in theirs:
        for slot in range(2 * start + 1, 2 * end):
            slots[slot] = []
        slots[2 * start + (end > start)] += now[first:last]
    return [item for slot in slots for item in slot]


def _likest_writing(
    now: Sequence[MarkedSentence], writings: Sequence[Sequence[MarkedSentence]]
) -> Sequence[MarkedSentence]:
    """The state that has the most sentences in common with the file now; of several, the latest."""
    blocks = {file_block(marked) for marked in now}
    return max(
        reversed(writings), key=lambda each: len(blocks & {file_block(marked) for marked in each})
    )


class _Contradiction(Exception):
    """What the other program has changed against the session,
    in a sentence of the file by place."""

    def __init__(self, place: int, what: str, word: int = 0) -> None:
        super().__init__(what)
        self.place, self.what, self.word = place, what, word

    def error_in_file(self, now: Sequence[MarkedSentence], path: Path, journal: Path) -> DataError:
        """The error for a person, with the line of the file."""
        source = now[min(self.place, len(now) - 1)].source
        line = source.line + (source.rows[self.word - 1] if self.word else 0)
        hint = (
            f"move {path.name} away to have it written again from {journal.name}, "
            f"or {journal.name} to go on from the file as it stands"
        )
        return DataError(str(path), line, f"another program has changed {self.what}", hint)


class _Pairing:
    """Gives sentences that another program has changed the numbers and marks of the sentences that
    they replace."""

    def __init__(self, text: AnnotatedText, right_by: str) -> None:
        self._text, self._right_by, self._next_id = text, right_by, text.next_id

    def pair(
        self, old: Sequence[MarkedSentence], now: Sequence[MarkedSentence], first: int, last: int
    ) -> None:
        """Pairs the sentences now[first:last] with the old ones: by place or, if their numbers
        differ, by name.

        Raises: _Contradiction.
        """
        by_name = {marked.sent_id or marked.forms: marked for marked in old}
        for k in range(first, last):
            new = now[k]
            if len(old) == last - first:
                before: MarkedSentence | None = old[k - first]
            else:
                before = by_name.pop(new.sent_id or new.forms, None)
            is_given = before is None or bool(before.given and before.is_file_state(before.state))
            if self._right_by and is_given and new.has_tree_without_marks:
                new.take_as_right(self._right_by)
            if before is None:
                new.id = self._next_id
                self._next_id += 1
            else:
                self._continue_as(k, before, new, is_given)

    def _continue_as(
        self, place: int, before: MarkedSentence, new: MarkedSentence, is_given: bool
    ) -> None:
        """Makes a sentence the next state of another one. Raises: _Contradiction."""
        new.id = before.id
        if new.forms != before.forms:
            new.wids = tuple(self._text.new_wids(before, len(new)))
            return
        new.wids = before.wids
        if is_given:
            return
        arcs = []
        for word, (one, other) in enumerate(zip(before.arcs, new.arcs), 1):
            if (one.head_by and one.head != other.head) or (
                one.label_by and one.label != other.label
            ):
                row = new.source.rows[word - 1]
                columns = " ".join(new.source.lines[row].split("\t")[6:8])
                what = f"confirmed word {word} to {columns}, which is {one.head} {one.label} here"
                raise _Contradiction(place, what, word)
            arcs.append(_arc_with_marks(other, one))
        new.arcs = tuple(arcs)


def _arc_with_marks(arc: MarkedArc, before: MarkedArc) -> MarkedArc:
    """An arc that is confirmed, too, if the other program has removed the marks of it."""
    return arc._replace(
        head_by=arc.head_by or before.head_by, label_by=arc.label_by or before.label_by
    )


def _confirmed_lines(marked: MarkedSentence) -> str:
    """A sentence as in the file, but without guesses beside confirmed arcs,
    which no journal has."""
    text = file_block(marked)
    if HEAD_BY not in text and LABEL_BY not in text:
        return text
    rows = [line.split("\t") for line in text.split("\n")]
    for row in rows:
        if len(row) >= 10:
            row[6] = row[6] if HEAD_BY in row[9] else ""
            row[7] = row[7] if LABEL_BY in row[9] else ""
    return "\n".join("\t".join(row) for row in rows)

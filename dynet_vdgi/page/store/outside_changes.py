"""Taking over a file that another program has changed since it was last written.

What only the other program has changed is the file's, and what was changed only here is the session's. A
sentence that both have changed, and a confirmed arc that the other program has changed, are contradictions
that only a person can resolve.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from dynet_vdgi.conllu.guess_marks import HEAD_BY, LABEL_BY
from dynet_vdgi.errors import DataError
from dynet_vdgi.page.text.annotated_text import AnnotatedText, TextChange
from dynet_vdgi.page.text.marked import MarkedSentence, as_written


def step_of(
    text: AnnotatedText,
    found: Sequence[MarkedSentence],
    in_file: Sequence[MarkedSentence],
    path: Path,
    journal: Path,
    right_by: str = "",
) -> TextChange | None:
    """The change that makes the text of the sentences found in the file; None: nothing is to be changed.

    It is no step of undo, because the person who presses the key has not made it.

    `in_file`: the sentences when the session last wrote the file. `right_by`: who has said that the file's
    trees are right.

    Raises: DataError, the file contradicts what was said in the session.
    """

    def contradiction(place: int, what: str, word: int = 0) -> DataError:
        source = found[min(place, len(found) - 1)].source
        line = source.line + (source.rows[word - 1] if word else 0)
        hint = (
            f"move {path.name} away to have it written again from {journal.name}, "
            f"or {journal.name} to go on from the file as it stands"
        )
        return DataError(str(path), line, f"another program has changed {what}", hint)

    mine, new_id = text.sentences, text.next_id
    here = _changes([(m.id, _said(m)) for m in in_file], [(m.id, _said(m)) for m in mine])
    there = _changes([_said(m) for m in in_file], [_said(m) for m in found])
    n, begin, place = len(in_file), 0, 0
    slots: list[list[MarkedSentence]] = [[] for _ in range(2 * n + 1)]  # in front of a sentence, and its own
    for start, end, first, last in (*here, (n, n, len(mine), len(mine))):
        for k in range(start - begin):
            slots[2 * (begin + k) + 1] = [mine[place + k]]
        slots[2 * start + (end > start)] = mine[first:last]
        begin, place = end, last
    for start, end, first, last in there:
        if any(start < b and a < end for a, b, _, _ in here):
            raise contradiction(first, "a sentence that was changed here, too")
        olds = {m.sent_id or m.forms: m for m in in_file[start:end]}
        for k in range(first, last):
            theirs = found[k]
            is_pair = end - start == last - first
            before = in_file[start + k - first] if is_pair else olds.pop(theirs.sent_id or theirs.forms, None)
            is_given = before is None or (before.given and before.is_as_found(before.state))
            if right_by and is_given and theirs.has_tree_without_marks:
                theirs.take_as_right(right_by)
            if before is None:
                theirs.id, new_id = new_id, new_id + 1
                continue
            theirs.id = before.id
            if theirs.forms != before.forms:
                theirs.wids = tuple(text.new_wids(before, len(theirs)))
                continue
            theirs.wids = before.wids
            if is_given:
                continue
            arcs = []
            for word, (one, other) in enumerate(zip(before.arcs, theirs.arcs), 1):
                if (one.head_by and one.head != other.head) or (one.label_by and one.label != other.label):
                    row = theirs.source.rows[word - 1]
                    its = " ".join(theirs.source.lines[row].split("\t")[6:8])
                    own = f"{one.head} {one.label}"
                    raise contradiction(k, f"confirmed word {word} to {its}, which is {own} here", word)
                by = other.head_by or one.head_by, other.label_by or one.label_by
                arcs.append(other._replace(head_by=by[0], label_by=by[1]))
            theirs.arcs = tuple(arcs)  # confirmed, too, if the other program has removed the marks
        slots[2 * start + 1 : 2 * end] = [[] for _ in range(2 * (end - start) - 1)]
        slots[2 * start + (end > start)] += found[first:last]
    return text.replacing([marked for slot in slots for marked in slot])


def _changes(before: Sequence[object], now: Sequence[object]) -> list[tuple[int, int, int, int]]:
    """The stretches that differ: places before, and places now."""
    found = SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    return [(a, b, c, d) for kind, a, b, c, d in found if kind != "equal"]


def _said(marked: MarkedSentence) -> str:
    """A sentence as in the file, but without guesses beside confirmed arcs, which no journal has."""
    text = as_written(marked)
    if HEAD_BY not in text and LABEL_BY not in text:
        return text
    rows = [line.split("\t") for line in text.split("\n")]
    for row in rows:
        if len(row) >= 10:
            row[6:8] = [v if by in row[9] else "" for v, by in zip(row[6:8], (HEAD_BY, LABEL_BY))]
    return "\n".join(map("\t".join, rows))

"""Records of changes in a journal: what a change replaced, before and after, so that undo is the reverse.

A part of a sentence is given by the numbers for life of words (`wids`): arcs, columns, comments; or sentences
are replaced by others, as lines. Heads are places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from dynet_vdgi.annotation.journal import Record
from dynet_vdgi.annotation.marked import (
    MarkedArc,
    MarkedColumns,
    MarkedSentence,
    SentenceState,
    has_arc_marks,
    read_text,
)

Arc = tuple[int, str, str, str]
"""Head, relation, and who confirmed each."""

NO_COLUMN = re.compile(r"[\t\n\r]")
_NAME = re.compile(r"[^\t\n\r|]*")
"""Strings that relations and names can be without spoiling the file."""


class Replaced(Struct, frozen=True, omit_defaults=True):
    """The part of the text that a change replaces; None: this is not replaced."""

    arcs: dict[int, tuple[int, str, str, str]] | None = None  # by wid
    columns: dict[int, dict[str, str]] | None = None  # by wid; fields of `MarkedColumns`
    comments: tuple[str, ...] | None = None
    moved: tuple[int, ...] | None = None
    renamed: tuple[int, ...] | None = None
    sentences: tuple[WholeSentence, ...] | None = None


class WholeSentence(Struct, frozen=True, omit_defaults=True):
    """A sentence with other words or borders: its lines in the file, and what differs from them."""

    id: int
    wids: tuple[int, ...]
    text: str
    moved: tuple[int, ...] = ()
    renamed: tuple[int, ...] = ()
    since: Replaced = Replaced()
    given: str = ""  # see `MarkedSentence`
    found: bool = False


class ChangeRecord(Struct, frozen=True, omit_defaults=True):
    """A change of a sentence `s` by a person."""

    s: int
    op: str
    new: Replaced
    old: Replaced
    by: str = ""
    at: int = 0
    w: int = 0  # place of the word

    def again(self, op: str, by: str, at: int) -> ChangeRecord:
        """The record that undoes or redoes this change."""
        new, old = (self.old, self.new) if op == "undo" else (self.new, self.old)
        return ChangeRecord(self.s, op, new, old, by, at, self.w)

    def to_json(self) -> Record:
        return dict(msgspec.to_builtins(self, str_keys=True))


class ArcsRecord(Struct, frozen=True):
    """A change in journals of formats 1 and 2; words are given by their places, which were their wids."""

    s: int
    op: str
    arcs: dict[int, tuple[int, str, str, str]]
    was: dict[int, tuple[int, str, str, str]]
    moved: tuple[int, ...]
    renamed: tuple[int, ...]
    moved_was: tuple[int, ...]
    renamed_was: tuple[int, ...]
    by: str = ""
    at: int = 0


def record_of(record: Mapping[str, Any]) -> ChangeRecord:
    """The change that a line of a journal, also of an earlier format, describes. Raises: ValueError."""
    try:
        if "arcs" not in record:
            return msgspec.convert(record, ChangeRecord, str_keys=True)
        old = msgspec.convert(record, ArcsRecord, str_keys=True)
    except (msgspec.ValidationError, UnicodeError) as error:  # half of a surrogate pair, such as "\\ud800"
        raise ValueError(str(error)) from None
    before = Replaced(old.was, moved=old.moved_was, renamed=old.renamed_was)
    after = Replaced(old.arcs, moved=old.moved, renamed=old.renamed)
    return ChangeRecord(old.s, old.op, after, before, old.by, old.at)


def difference(
    marked: MarkedSentence, before: SentenceState, after: SentenceState, *, all_arcs: bool = False
) -> tuple[Replaced, Replaced]:
    """The parts that differ between two states of a sentence, as they are after and before.

    If arcs differ, those are there, too, that guesses have changed since the last record. `all_arcs`: all
    are there, because the change has the sentence parsed again.
    """
    sides = []
    is_other = before.arcs != after.arcs
    changed = [is_other and not a == b == c for a, b, c in zip(before.arcs, after.arcs, marked.recorded)]
    which = [all_arcs or is_changed for is_changed in changed]
    for mine, other in ((after, before), (before, after)):
        arcs: dict[int, Arc] = {w: a for w, a, chosen in zip(marked.wids, mine.arcs, which) if chosen}
        columns = {
            w: {name: value for name, value, its in zip(MarkedColumns._fields, a, b) if value != its}
            for w, a, b in zip(marked.wids, mine.columns, other.columns)
            if a != b
        }
        comments = mine.comments if mine.comments != other.comments else None
        sides.append(Replaced(arcs or None, columns or None, comments))
    return sides[0], sides[1]


def whole(marked: MarkedSentence) -> WholeSentence:
    """The record of a sentence as it stands, but for guesses of a tree that nobody has touched."""
    assert marked.source is not None
    is_in_file = marked.is_touched or has_arc_marks(marked.first)
    state = marked.state if is_in_file else marked.state._replace(arcs=marked.first.arcs)
    since, _ = difference(marked, marked.as_found, state)
    moved, renamed = tuple(sorted(marked.moved)), tuple(sorted(marked.renamed))
    lines = "\n".join(marked.source.lines) + "\n\n"
    return WholeSentence(marked.id, marked.wids, lines, moved, renamed, since, marked.given, marked.is_found)


def sentence_of(record: WholeSentence, name: str) -> MarkedSentence:
    """The sentence that a record describes. Raises: ValueError, there is none such; DataError."""
    found = read_text(record.text, name)
    if len(found) != 1 or len(found[0]) != len(record.wids) or len({*record.wids}) < len(record.wids):
        raise ValueError(f"sentence {record.id} is not one of {len(record.wids)} words")
    (marked,) = found
    marked.id, marked.wids, marked.is_found = record.id, record.wids, record.found
    marked.moved, marked.renamed = frozenset(record.moved), frozenset(record.renamed)
    if record.given:
        marked.take_as_right(record.given)
    marked.state = applied(record.since, marked)
    marked.recorded = marked.arcs
    return marked


def recorded(part: Replaced, marked: MarkedSentence) -> tuple[MarkedArc, ...]:
    """The arcs of a sentence as the journal knows them after a record that changes this part."""
    new = {wid: MarkedArc(*arc) for wid, arc in (part.arcs or {}).items()}
    return tuple([new.get(wid, arc) for wid, arc in zip(marked.wids, marked.recorded)])


def applied(part: Replaced, marked: MarkedSentence) -> SentenceState:
    """The state of a sentence with a part of it replaced. Raises: ValueError, the part does not fit it."""
    arcs, columns = list(marked.arcs), list(marked.state.columns)
    for wid, arc in (part.arcs or {}).items():
        place = _place(marked, wid)
        head, *texts = arc
        if not -1 <= head <= len(arcs) or head == place:
            raise ValueError(f"word {place} cannot have head {head}")
        if not all(map(_NAME.fullmatch, texts)):
            raise ValueError(f"word {place} has a relation or name that no column can hold")
        arcs[place - 1] = MarkedArc(*arc)
    for wid, values in (part.columns or {}).items():
        place = _place(marked, wid)
        if not values.keys() <= {*MarkedColumns._fields} or any(map(NO_COLUMN.search, values.values())):
            raise ValueError(f"word {place} has what no column can hold")
        columns[place - 1] = columns[place - 1]._replace(**values)
    comments = marked.state.comments if part.comments is None else part.comments
    if not all(
        line.startswith("#") and not NO_COLUMN.search(line[1:].replace("\t", "")) for line in comments
    ):
        raise ValueError("a comment is none")
    return SentenceState(
        tuple(arcs), tuple(columns) if part.columns else marked.state.columns, tuple(comments)
    )


def _place(marked: MarkedSentence, wid: int) -> int:
    if wid not in marked.wids:
        raise ValueError(f"word {wid} cannot be found in sentence {marked.id}")
    return marked.place(wid)

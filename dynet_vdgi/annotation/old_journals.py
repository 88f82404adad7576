"""Journals of formats 1 and 2: they hold changes of arcs only, which are repeated on top of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.annotation.journal import DAMAGED, HINT, Record
from dynet_vdgi.annotation.marked import MarkedArc, MarkedSentence, confirmed_parts, read_marked
from dynet_vdgi.annotation.mending import CircleError
from dynet_vdgi.annotation.records import ChangeRecord, record_of
from dynet_vdgi.errors import DataError

Arc = Sequence[Any]


def replayed(
    path: Path, found: list[MarkedSentence], records: Sequence[Record], journal: Path, digest: str
) -> AnnotatedText:
    """The text with all changes of a journal; `found` are the sentences of the file, with this digest.

    Raises: DataError, the journal is damaged, or the file contradicts it.
    """
    text = AnnotatedText(found, journal.name)
    read = [marked.arcs for marked in found]
    in_file = read
    said: dict[tuple[int, int], Arc] = {}  # arcs by sentence and word
    for number, record in enumerate(records, 1):
        if "written" in record:
            in_file = [marked.arcs for marked in found]
        if "s" not in record:
            continue
        index = record["s"]
        if (
            not isinstance(index, int)
            or index not in text.by_id
            or text.by_id[index].fingerprint != record.get("f")
        ):
            hint = f"the changes are in {journal.name}; restore the file, or move the journal away"
            raise DataError(str(path), None, f"not the sentences of line {number} of its journal", hint)
        try:
            change = record_of(record)
            _check(change, said)
            text.apply(change)
        except ValueError as error:
            raise DataError(str(journal), number, f"{DAMAGED} ({error})", HINT) from None
        said |= {(index, word): arc for word, arc in (change.new.arcs or {}).items()}
    try:
        text.settle()
    except CircleError as error:
        raise DataError(str(journal), None, str(error), HINT) from None
    if all(record.get("written") != digest for record in records):
        _check_other_file(path, journal, in_file)
    for marked, arcs in zip(found, read):  # guesses of the file are newer than those of the journal
        if confirmed_parts(arcs) == confirmed_parts(marked.arcs):
            marked.arcs = arcs
    text.forget_shown()
    return text


def _check(change: ChangeRecord, said: dict[tuple[int, int], Arc]) -> None:
    """Raises: ValueError, the arcs before a change are not those of earlier lines.

    Only confirmed parts are compared, because changes of guesses are not recorded.
    """
    for word, arc in (change.old.arcs or {}).items():
        before = said.get((change.s, word), arc)
        if confirmed_parts([MarkedArc(*arc)]) != confirmed_parts([MarkedArc(*before)]):
            raise ValueError(f"word {word} was not so after the lines before")


def _check_other_file(path: Path, journal: Path, in_file: Sequence[Sequence[MarkedArc]]) -> None:
    """Raises: DataError, another program has changed what was confirmed when the file was last written."""
    for arcs, found in zip(in_file, read_marked(path)):
        for word, (mine, theirs) in enumerate(zip(arcs, found.arcs), 1):
            check_arc(path, journal, found, word, mine, theirs)


def check_arc(
    path: Path, journal: Path, found: MarkedSentence, word: int, mine: MarkedArc, theirs: MarkedArc
) -> None:
    """Raises: DataError, the confirmed parts of an arc are others in the sentence found in the file."""
    is_other_head = mine.head_by and mine.head != theirs.head
    is_other_label = mine.label_by and mine.label != theirs.label
    if found.source is not None and (is_other_head or is_other_label):
        hint = (
            f"{journal.name} says {mine.head} {mine.label}; move the file away to have it written again "
            "from the journal, or the journal to go on from the file as it stands"
        )
        line = found.source.line + found.source.rows[word - 1]
        message = f"another program has changed confirmed word {word} to {theirs.head} {theirs.label}"
        raise DataError(str(path), line, message, hint)

"""The text as a journal tells it: its beginning, and the changes since,
made one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from dynet_vdgi.errors import DataError
from dynet_vdgi.page.store.journal import DAMAGED, HINT, Journal, Record
from dynet_vdgi.page.store.own_file import plain_conllu
from dynet_vdgi.page.text.annotated_text import AnnotatedText
from dynet_vdgi.page.text.sentence_blocks import read_text
from dynet_vdgi.page.text.sentence_state import confirmed_parts

Given = Literal["right", "guessed"]


class BaseRecord(Struct, omit_defaults=True):
    """How a journal begins: the file as it was, and what was said before of it and in it."""

    base: str
    given: Given | None = None  # what its trees are, and who has said so
    by: str = ""
    # sentences by number, and what the parser had right in them
    finished: list[tuple[int, int, int, int]] = []
    place: tuple[int, int] = (0, 1)


def base_of(journal: Journal) -> BaseRecord | None:
    """The beginning that a journal has; None: it is new. Raises: DataError, it is damaged."""
    for number, record in enumerate(journal.records, 1):
        if "base" in record:
            try:
                return msgspec.convert(record, BaseRecord)
            except msgspec.ValidationError as error:
                raise DataError(str(journal.path), number, f"{DAMAGED} ({error})", HINT) from None
    return None


def text_at_the_beginning(base: BaseRecord, journal: Path) -> AnnotatedText:
    """The text as a journal begins with it, without the changes. Raises: DataError, ValueError,
    LookupError."""
    sentences = read_text(plain_conllu(base.base), journal.name)
    if base.given == "right" and base.by:
        for marked in sentences:
            if marked.has_tree_without_marks:
                marked.take_as_right(base.by)
    text = AnnotatedText(sentences, journal.name)
    text.finished = {number: (heads, labels, of) for number, heads, labels, of in base.finished}
    return text


def replay(
    text: AnnotatedText, records: Sequence[Record], journal: Path
) -> Iterator[tuple[int, int] | None]:
    """Makes the changes of a journal again; after each record, the sentence and word of its change,
    if it is one.

    Raises: DataError, a record does not fit the text.
    """
    for number, record in enumerate(records, 1):
        if "op" not in record:
            yield None
            continue
        try:
            place = text.repeat(record)
        except (
            ValueError,
            LookupError,
            OverflowError,
            DataError,
            msgspec.ValidationError,
        ) as error:
            raise DataError(str(journal), number, f"{DAMAGED} ({error})", HINT) from None
        yield place


def adopt_newer_guesses(text: AnnotatedText, ids: Sequence[int], content: str, name: str) -> None:
    """Adopts the guesses beside confirmed arcs from a file of the session itself: no journal has
    them.

    ids: the sentences when the file was written.
    """
    for number, newer in zip(ids, read_text(plain_conllu(content), name)):
        marked = text.by_id.get(number)
        if marked is None or not marked.is_touched or marked.forms != newer.forms:
            continue
        if confirmed_parts(marked.arcs) == confirmed_parts(newer.arcs):
            marked.arcs = newer.arcs

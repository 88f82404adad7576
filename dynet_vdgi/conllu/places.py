"""Lists of words to look at: `vdgi check` and `vdgi choose` write them, and the page steps through
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from dynet_vdgi.conllu import queries, reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.system import files
from dynet_vdgi.system.messages import plain
from dynet_vdgi.system.text_tables import aligned


class Place(Struct):
    """A word of a file: what it is, and what such words are elsewhere, with the numbers of
    either."""

    path: str
    line: int  # of the word, from 1
    sentence: str  # sent_id, or else the number in the file, from 1
    word: int
    form: str
    what: str
    elsewhere: str = ""
    times: str = ""  # or how sure the program is of it

    @classmethod
    def of(cls, sentence: Sentence, number: int, word: int, *description: str) -> Place:
        """The place of a word of a sentence that was read from a file, whose `number` counts from
        1."""
        source = sentence.source
        assert source is not None
        line, name = source.line + source.rows[word - 1], source.sent_id or str(number)
        return cls(source.path, line, name, word, sentence.forms[word - 1], *description)


def listing(places: Sequence[Place], *, as_json: bool = False) -> str:
    """A table of places, or JSON that `vdgi annotate --list` reads; columns without anything are
    left out."""
    if as_json:
        return msgspec.json.format(msgspec.json.encode(places), indent=1).decode()
    times = "times" if any(place.elsewhere for place in places) else ""
    rows = [["place", "sentence", "word", "form", "is", "elsewhere", times]]
    for place in places:
        cells = (
            place.sentence,
            str(place.word),
            place.form,
            place.what,
            place.elsewhere,
            place.times,
        )
        rows.append([f"{files.shown(place.path)}:{place.line}", *map(plain, cells)])
    columns = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    return aligned([[row[k] for k in columns] for row in rows], left=len(columns) - 1)


def description_of(columns: Sequence[str], forms: Sequence[str]) -> str:
    """What a row of CoNLL-U says of its word: tag, relation, head and its form."""
    upos, head, relation = columns[3], columns[6], columns[7]
    above = f" of {head} {forms[int(head) - 1]}" if head.strip("0_") else ""
    return f"{upos} {relation}{above}"


def find(names: Sequence[str], query: str) -> Iterator[Place]:
    """The words of files of which a query holds. Raises: UsageError, what is wrong with it;
    DataError."""
    wanted = queries.conditions(query)
    for name in names:
        for number, sentence in enumerate(
            reading.read(name, heads="partial", tags=reading.KNOWN), 1
        ):
            assert sentence.source is not None
            rows = [sentence.source.lines[row].split("\t") for row in sentence.source.rows]
            for word in queries.words_of(wanted, rows):
                yield Place.of(
                    sentence, number, word, description_of(rows[word - 1], sentence.forms)
                )


def why_none(names: Sequence[str], query: str) -> str:
    """Why no word of files is found by a query, see `queries.hint`. Raises: as `find`."""
    if files.STANDARD in names:  # which can be read only once
        return ""
    sentences = (
        sentence
        for name in names
        for sentence in reading.read(name, heads="partial", tags=reading.KNOWN)
    )
    sources = (sentence.source for sentence in sentences if sentence.source is not None)
    rows = ([source.lines[row].split("\t") for row in source.rows] for source in sources)
    return queries.hint(queries.conditions(query), rows)

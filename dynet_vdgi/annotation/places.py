"""Lists of words to look at: `vdgi check` writes them, and the page steps through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.data import conllu, files, queries
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import UsageError

HEADING = ("place", "sentence", "word", "form", "is", "elsewhere", "times")


class Place(Struct):
    """A word of a file: what it is, and what such words are elsewhere, with the numbers of either."""

    path: str
    line: int  # of the word, from 1
    sentence: int  # in the file, from 1
    sent_id: str | None
    word: int
    form: str
    what: str
    elsewhere: str = ""
    times: str = ""  # "1 of 15"

    @classmethod
    def of(cls, sentence: Sentence, number: int, word: int, *said: str) -> Place:
        """The place of a word of a sentence that was read from a file, whose `number` counts from 1."""
        source = sentence.source
        assert source is not None
        line = source.line + source.rows[word - 1]
        return cls(source.path, line, number, source.sent_id, word, sentence.forms[word - 1], *said)

    @property
    def row(self) -> list[str]:
        """The cells below `HEADING`."""
        name = self.sent_id or str(self.sentence)
        place = f"{files.shown(self.path)}:{self.line}"
        return [place, name, str(self.word), self.form, self.what, self.elsewhere, self.times]


def found(names: Sequence[str], query: str) -> Iterator[Place]:
    """The words of files of which a query holds. Raises: UsageError, what is wrong with it; DataError."""
    wanted = queries.conditions(query)
    for name in names:
        for number, sentence in enumerate(conllu.read(name, heads="partial", tags=conllu.KNOWN), 1):
            assert sentence.source is not None
            rows = [sentence.source.lines[row].split("\t") for row in sentence.source.rows]
            for word in queries.words_of(wanted, rows):
                _, _, _, upos, _, _, head, relation, *_ = rows[word - 1]
                above = f" of {head} {sentence.forms[int(head) - 1]}" if head.strip("0_") else ""
                yield Place.of(sentence, number, word, f"{upos} {relation}{above}")


def listed(path: str, text: AnnotatedText) -> list[tuple[int, int, str]]:
    """The words of a text that a list in a file names: sentences by id, words, and reasons.

    Raises: UsageError, the file is no such list, or names no word of the text.
    """
    try:
        places = msgspec.json.decode(files.read_text(path), type=list[Place])
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path}: no list that vdgi check --json writes ({error})") from None
    known = {marked.sent_id or str(number): marked for number, marked in enumerate(text.sentences, 1)}
    words = []
    for place in places:
        marked = known.get(place.sent_id or str(place.sentence))
        if marked is not None and marked.forms[place.word - 1 : place.word] == (place.form,):
            more = f"; elsewhere {place.elsewhere}" if place.elsewhere else ""
            words.append((marked.id, place.word, f"{place.word} {place.form}: {place.what}{more}"))
    if not words:
        raise UsageError(f"{path}: none of its {len(places)} words is in the file")
    return words

"""Lists of words to look at: `vdgi check` writes them, and the page steps through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.data import conllu, files, queries
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import UsageError


class Place(Struct):
    """A word of a file: what it is, and what such words are elsewhere, with the numbers of either."""

    path: str
    line: int  # of the word, from 1
    sentence: str  # sent_id, or else the number in the file, from 1
    word: int
    form: str
    what: str
    elsewhere: str = ""
    times: str = ""

    @classmethod
    def of(cls, sentence: Sentence, number: int, word: int, *said: str) -> Place:
        """The place of a word of a sentence that was read from a file, whose `number` counts from 1."""
        source = sentence.source
        assert source is not None
        line, name = source.line + source.rows[word - 1], source.sent_id or str(number)
        return cls(source.path, line, name, word, sentence.forms[word - 1], *said)


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
    for its in places:
        marked = known.get(its.sentence)
        if marked is not None and marked.forms[its.word - 1 : its.word] == (its.form,):
            more = f"; elsewhere {its.elsewhere}" if its.elsewhere else ""
            words.append((marked.id, its.word, f"{its.word} {its.form}: {its.what}{more}"))
    if not words:
        raise UsageError(f"{path}: none of its {len(places)} words is in the file")
    return words

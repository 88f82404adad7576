"""The words of a parsed file whose heads are most worth checking."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dynet_vdgi.data.protocols import UD_PUNCTUATION
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError

KEYS = ("HeadConf", "HeadProb")
"""Keys of MISC that `vdgi parse` writes with --confidence and --probs; the first wins if both are there."""


class Doubt(NamedTuple):
    """A word with its head and the parser's confidence in it."""

    value: float
    key: str  # one of KEYS
    path: str
    line: int  # of the word, from 1
    sent_id: str | None
    word: int  # its number in the sentence, from 1
    form: str
    tag: str
    head: int
    head_form: str  # ROOT if the head is 0
    relation: str


def doubts(sentences: Iterable[Sentence], count: int) -> list[Doubt]:
    """The `count` least sure words (or all, if fewer), the least sure first, ties in the order of the text.

    The sentences were read from files and have heads. Punctuation and words without a value are left out.

    Raises:
        DataError: a value is not a number from 0 to 1.
        UsageError: no word has a value, or words have values of both keys, which cannot be compared.
    """
    met: dict[str, Doubt] = {}

    def every() -> Iterator[Doubt]:
        for sentence in sentences:
            for doubt in _in_sentence(sentence):
                met.setdefault(doubt.key, doubt)
                yield doubt

    found = heapq.nsmallest(count, every(), key=lambda doubt: doubt.value)  # stable
    if not met:
        raise UsageError(
            "no word has HeadConf= or HeadProb= in MISC: parse with vdgi parse --confidence, or with --probs "
            "if the model is neural"
        )
    if len(met) > 1:
        places = " and ".join(f"{one.path}:{one.line} has {key}=" for key, one in met.items())
        raise UsageError(f"{places}: these cannot be compared, so list the files one by one")
    return found


def _in_sentence(sentence: Sentence) -> Iterator[Doubt]:
    source = sentence.source
    assert source is not None
    assert sentence.heads is not None
    universal = sentence.upos or sentence.tags
    for k, row in enumerate(source.rows):
        if universal[k] in UD_PUNCTUATION:
            continue
        columns = source.lines[row].split("\t")
        notes = dict(note.partition("=")[::2] for note in columns[9].split("|"))
        key = next((key for key in KEYS if key in notes), None)
        if key is None:
            continue
        line, head = source.line + row, sentence.heads[k]
        value = _number(notes[key])
        if value is None:
            raise DataError(source.path, line, f"{key}={notes[key]} is not a number from 0 to 1")
        head_form = sentence.forms[head - 1] if head else "ROOT"
        word = k + 1, sentence.forms[k], sentence.tags[k]
        yield Doubt(value, key, source.path, line, source.sent_id, *word, head, head_form, columns[7])


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 and not math.isnan(value) else None

"""The words of a file whose tags, and then whose heads, are most worth checking."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dynet_vdgi.data.protocols import UD_PUNCTUATION
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError

KEYS = ("HeadConf", "HeadProb")
"""Keys of MISC that `vdgi parse` writes with --confidence and --probs; the first wins if both are there."""


TAG_KEY, SURE_OF_TAG = "TagConf", 0.9
"""Tags that are less sure are listed before all heads."""


class Doubt(NamedTuple):
    """A word with its tag, its head, and how sure the tagger or the parser is of it."""

    value: float
    key: str  # TAG_KEY or one of KEYS
    path: str
    line: int  # of the word, from 1
    sent_id: str | None
    word: int  # its number in the sentence, from 1
    form: str
    tag: str
    head: int | None
    head_form: str  # ROOT if the head is 0, _ if there is none
    relation: str


def doubts(sentences: Iterable[Sentence], count: int, *, only_heads: bool = False) -> list[Doubt]:
    """The `count` least sure words (or all, if fewer), the least sure first, ties in the order of the text.

    Words whose tags are doubtful come before all others, unless only heads are wanted. The sentences were
    read from files. Words without a value are left out, and so is punctuation where the head is in doubt.

    Raises: DataError, a value is not a number from 0 to 1; UsageError, no word has a value, or words have
    values of both keys, which cannot be compared.
    """
    met: dict[str, Doubt] = {}

    def every() -> Iterator[Doubt]:
        for sentence in sentences:
            for doubt in _in_sentence(sentence):
                if only_heads and doubt.key == TAG_KEY:
                    continue
                met.setdefault(doubt.key, doubt)
                if doubt.key != TAG_KEY or doubt.value < SURE_OF_TAG:
                    yield doubt

    found = heapq.nsmallest(count, every(), key=lambda doubt: (doubt.key != TAG_KEY, doubt.value))  # stable
    if not met and only_heads:
        raise UsageError("no word has HeadConf= or HeadProb= in MISC: parse with --confidence")
    if not met:
        raise UsageError(
            "no word has HeadConf=, HeadProb= or TagConf= in MISC: parse or tag with --confidence, or parse "
            "with --probs if the model is neural"
        )
    met.pop(TAG_KEY, None)
    if len(met) > 1:
        places = " and ".join(f"{one.path}:{one.line} has {key}=" for key, one in met.items())
        raise UsageError(f"{places}: these cannot be compared, so list the files one by one")
    return found


def _in_sentence(sentence: Sentence) -> Iterator[Doubt]:
    source = sentence.source
    assert source is not None
    universal = sentence.upos or sentence.tags
    for k, row in enumerate(source.rows):
        columns = source.lines[row].split("\t")
        notes = dict(note.partition("=")[::2] for note in columns[9].split("|"))
        keys = [TAG_KEY] if TAG_KEY in notes else []
        if sentence.heads is not None and universal[k] not in UD_PUNCTUATION:
            keys += [key for key in KEYS if key in notes][:1]
        line, head = source.line + row, sentence.heads[k] if sentence.heads else None
        head_form = "_" if head is None else sentence.forms[head - 1] if head else "ROOT"
        word = k + 1, sentence.forms[k], sentence.tags[k]
        for key in keys:
            value = _number(notes[key])
            if value is None:
                raise DataError(source.path, line, f"{key}={notes[key]} is not a number from 0 to 1")
            yield Doubt(value, key, source.path, line, source.sent_id, *word, head, head_form, columns[7])


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None

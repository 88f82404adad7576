"""The words of parsed sentences whose heads or tags are least sure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from dynet_vdgi.conllu.places import Place, description_of
from dynet_vdgi.conllu.protocols import UD_PUNCTUATION
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError

HEAD_KEY, TAG_KEY = "HeadConf", "TagConf"
"""Keys of MISC, which `vdgi parse --confidence` writes."""

SURE_OF_TAG = 0.9
"""Tags that are less sure are listed before all heads."""


def doubts(
    sentences: Iterable[tuple[int, Sentence]], n: int, *, only_heads: bool = False
) -> list[Place]:
    """The `n` least sure words (or all, if fewer), the least sure first, ties in the order of the
    text.

    Words whose tags are doubtful come before all others, unless only heads are wanted. The
    sentences were read from files, in which they have these numbers. Words without a value are left
    out, and so is punctuation where the head is in doubt.

    Raises: DataError, a value is not a number from 0 to 1; UsageError, no word has a value.
    """
    keys = (HEAD_KEY,) if only_heads else (HEAD_KEY, TAG_KEY)
    every = (one for number, sentence in sentences for one in _in_sentence(sentence, number, keys))
    first = next(every, None)
    if first is None:
        raise UsageError(
            f"no word has {'= or '.join(keys)}= in MISC: parse with --confidence, or tag with it"
        )
    doubtful = (one for one in chain([first], every) if one[0] != TAG_KEY or one[1] < SURE_OF_TAG)
    return [
        place
        for *_, place in heapq.nsmallest(n, doubtful, key=lambda one: (one[0] != TAG_KEY, one[1]))
    ]


def _in_sentence(
    sentence: Sentence, number: int, keys: Sequence[str]
) -> Iterator[tuple[str, float, Place]]:
    source = sentence.source
    assert source is not None
    for word, (row, tag) in enumerate(zip(source.rows, sentence.upos or sentence.tags), 1):
        columns = source.lines[row].split("\t")
        notes = dict(note.partition("=")[::2] for note in columns[9].split("|"))
        for key in keys:
            if key not in notes or (
                key == HEAD_KEY and (sentence.heads is None or tag in UD_PUNCTUATION)
            ):
                continue
            try:
                value = float(notes[key])
            except ValueError:
                value = -1.0
            if not 0 <= value <= 1:
                raise DataError(
                    source.path,
                    source.line + row,
                    f"{key}={notes[key]} is not a number from 0 to 1",
                )
            yield (
                key,
                value,
                Place.of(
                    sentence,
                    number,
                    word,
                    description_of(columns, sentence.forms),
                    "",
                    f"{value:.4f} {key}",
                ),
            )

"""What somebody should look at next, words in doubt and sentences to correct; and what to expect before that:
the share of right heads of a universal parser.

Sentences: greedily, the one with the highest

    1/n * sum over its words of (1 - confidence) * frequency(b) / (1 + seen(b))

where b is the pair of tags of the word and the word before it, frequency(b) its frequency in the text, and
seen(b) how often the chosen sentences have it. Confidence alone would pick odd sentences. It should be
estimated again, with the corrected trees, after each batch of ten or twenty.
"""

from __future__ import annotations

import heapq
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from dynet_vdgi.data import conllu_writing
from dynet_vdgi.data.extra_columns import with_headers
from dynet_vdgi.data.places import Place, described
from dynet_vdgi.data.punctuation import without_punctuation
from dynet_vdgi.data.sentence import UD_PUNCTUATION, UD_TAGS, Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.grammar.rules import (
    TO_A_MODEL,
    check_known,
    tell_uninformative,
    tell_unknown,
    tell_unsuited,
    uninformative,
)
from dynet_vdgi.labels.label_table import LabelTable
from dynet_vdgi.parsing.engines import ExpectedShare, nearest, universal
from dynet_vdgi.parsing.files import with_tree
from dynet_vdgi.parsing.parser import How, Parse, Parser, check
from dynet_vdgi.universal.stored import beginning

logger = logging.getLogger("dynet_vdgi")

# ------------------------------------------------------------------------------------------- words
HEAD_KEY, TAG_KEY = "HeadConf", "TagConf"
"""Keys of MISC, which `vdgi parse --confidence` writes."""

SURE_OF_TAG = 0.9
"""Tags that are less sure are listed before all heads."""


def doubts(sentences: Iterable[tuple[int, Sentence]], n: int, *, only_heads: bool = False) -> list[Place]:
    """The `n` least sure words (or all, if fewer), the least sure first, ties in the order of the text.

    Words whose tags are doubtful come before all others, unless only heads are wanted. The sentences were
    read from files, in which they have these numbers. Words without a value are left out, and so is punctuation
    where the head is in doubt.

    Raises: DataError, a value is not a number from 0 to 1; UsageError, no word has a value.
    """
    keys = (HEAD_KEY,) if only_heads else (HEAD_KEY, TAG_KEY)
    every = (one for number, sentence in sentences for one in _in_sentence(sentence, number, keys))
    first = next(every, None)
    if first is None:
        raise UsageError(f"no word has {'= or '.join(keys)}= in MISC: parse with --confidence, or tag with it")
    doubtful = (one for one in chain([first], every) if one[0] != TAG_KEY or one[1] < SURE_OF_TAG)
    return [place for *_, place in heapq.nsmallest(n, doubtful, key=lambda one: (one[0] != TAG_KEY, one[1]))]


def _in_sentence(sentence: Sentence, number: int, keys: Sequence[str]) -> Iterator[tuple[str, float, Place]]:
    source = sentence.source
    assert source is not None
    for word, (row, tag) in enumerate(zip(source.rows, sentence.upos or sentence.tags), 1):
        columns = source.lines[row].split("\t")
        notes = dict(note.partition("=")[::2] for note in columns[9].split("|"))
        for key in keys:
            if key not in notes or (key == HEAD_KEY and (sentence.heads is None or tag in UD_PUNCTUATION)):
                continue
            try:
                value = float(notes[key])
            except ValueError:
                value = -1.0
            if not 0 <= value <= 1:
                raise DataError(source.path, source.line + row, f"{key}={notes[key]} is not a number from 0 to 1")
            yield (
                key,
                value,
                Place.of(sentence, number, word, described(columns, sentence.forms), "", f"{value:.4f} {key}"),
            )


# ------------------------------------------------------------------------------------------- sentences
SHORTEST, LONGEST = 4, 25
"""The length in words, shortest and longest, of a sentence worth an annotator's time."""

_OF_THE_TEXT = re.compile(r"#\s*(new(doc|par)\b|(choice|guess|global\.columns)\s*=)")
"""Comments about more than the sentence: beginnings of documents, its place in an earlier choice."""


def choose(
    pool: Sequence[Sentence],
    count: int,
    *,
    confidences: Sequence[Sequence[float]] | None = None,
    corrected: Iterable[Sentence] = (),
    among: Iterable[int] | None = None,
    shortest: int = SHORTEST,
    longest: int = LONGEST,
) -> list[int]:
    """Indices of the most useful sentences of the pool, best first; all, if it has too few.

    `confidences` holds one number per word (n,) for each sentence; without it, as for the first batch, only
    the tags count. `corrected` are sentences that have trees already. Only sentences of shortest to longest
    words are chosen, and only those whose indices are `among` these (None: all).

    Raises: ValueError, confidences and pool differ in shape.
    """
    if confidences is not None and [len(row) for row in confidences] != [len(s) for s in pool]:
        raise ValueError("confidences are not one a word")
    frequency = Counter(pair for sentence in pool for pair in pairs_of(sentence))
    seen = Counter(pair for sentence in corrected for pair in pairs_of(sentence))

    def value(k: int) -> float:
        unsure = [1.0] * len(pool[k]) if confidences is None else [1 - c for c in confidences[k]]
        pairs = pairs_of(pool[k])
        return sum(d * frequency[b] / (1 + seen[b]) for d, b in zip(unsure, pairs)) / len(pairs)

    # Choosing a sentence can only lower the value of others. So the best of the heap is the best of all if
    # its value, computed again, is still not below that of the next one.
    candidates = range(len(pool)) if among is None else among
    heap = [(-value(k), k) for k in candidates if shortest <= len(pool[k]) <= longest]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < count:
        k = heap[0][1]
        now = (-value(k), k)
        if now > heap[0]:
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        chosen.append(k)
        seen.update(pairs_of(pool[k]))
    return chosen


def pairs_of(sentence: Sentence) -> list[tuple[str, str]]:
    """The pair of tags of each word and the word before it."""
    return list(zip(("<", *sentence.tags), sentence.tags))


def to_correct(
    parser: Parser,
    text: Sequence[Sentence],
    count: int,
    *,
    covered: Sequence[Sentence] = (),
    labels: LabelTable | None = None,
) -> Iterator[str]:
    """The blocks of the most useful sentences of a text, best first; all, if the text has too few.

    `covered` are sentences that have been corrected already: they are not chosen, and their pairs of tags
    count less. Of equal sentences only one is chosen. A parser without confidences chooses by tags alone.

    Raises: UsageError, nothing is left to choose.
    """
    how = How(confidence=True)
    try:
        check(parser, how)
    except UsageError as error:
        logger.warning("%s; the sentences are chosen by their tags alone", error)
        how = How()
    parser = parser.adapted(text)
    parses = parser.parse_all(text, how, relations=labels is not None)
    removed, seen = parser.protocol.removed_tags, {sentence.forms for sentence in covered}

    def bare(sentence: Sentence) -> Sentence:
        return without_punctuation(replace(sentence, heads=None, deprels=(), source=None), removed)[0]

    def confidence(sentence: Sentence, parse: Parse) -> list[float]:
        return [(parse.confidence or ())[p - 1] or 0.0 for p in without_punctuation(sentence, removed)[1]]

    new = {sentence.forms: k for k, sentence in reversed([*enumerate(text)]) if sentence.forms not in seen}
    chosen = choose(
        [bare(sentence) for sentence in text],
        count,
        confidences=[*map(confidence, text, parses)] if how.confidence else None,
        corrected=[bare(sentence) for sentence in covered],
        among=sorted(new.values()),
    )
    if not chosen:
        raise UsageError(f"nothing to choose: no sentence of {SHORTEST} to {LONGEST} words that is not covered already")
    blocks = []
    for number, k in enumerate(chosen, 1):
        sentence = on_its_own(text[k])
        block = with_tree(sentence, parses[k], how)
        block = f"# choice = {number}\n{conllu_writing.comment(block[:-2].split(chr(10)))}\n{block}"
        blocks.append((block, sentence.source.extra if sentence.source else ()))
    yield from with_headers(blocks)


def on_its_own(sentence: Sentence) -> Sentence:
    """The sentence without comments about its place in the text."""
    source = sentence.source
    if source is None:
        return sentence
    kept = [row for row, line in enumerate(source.lines) if not _OF_THE_TEXT.match(line)]
    rows = tuple(kept.index(row) for row in source.rows)
    return replace(sentence, source=replace(source, lines=tuple(source.lines[row] for row in kept), rows=rows))


# ------------------------------------------------------------------------------------------- expectations
RELATED_DISTANCE, RELATED_WORDS = 0.5, 2000
"""A text of at least this many words, whose nearest treebank is at a distance below this, is probably in a
language learnt from, or a near relative (`benchmarks/expect.py near`). Of texts of 3,000 words, those in ten
languages learnt from have .27 to .56 to the nearest treebank, those in seventeen others .54 or more. With
1,500 words these are .38 to .68 and .51 or more, so shorter texts do not tell."""


@dataclass(frozen=True)
class Outlook:
    """The beginning of a text, as a universal parser sees it."""

    n_sentences: int
    n_words: int  # without punctuation
    nearest: list[tuple[str, float]]  # treebanks learnt from, with distances, see `expectation.nearest`
    shares: list[ExpectedShare]  # of right heads, without gold trees first; if tags are guessed, only that
    right_tags: float = 1.0  # share of the tags, as expected
    silence: str = ""  # what shows that the tags say next to nothing; then there are no shares

    @property
    def learnt_from(self) -> str:
        """The treebank learnt from that is of the same language, or nearly, by its distance.

        "": none is, or the text is too short to tell.
        """
        name, distance = self.nearest[0] if self.nearest else ("", RELATED_DISTANCE)
        if self.silence:
            return ""
        return name if distance < RELATED_DISTANCE and self.n_words >= RELATED_WORDS else ""


def look(
    parser: Parser, sentences: Iterable[Sentence], tag_accuracy: Callable[[int], float] = lambda n_words: 1.0
) -> Outlook:
    """Measures and parses the first 20,000 words of a text; warns if they are few, or their tags say little.

    tag_accuracy: the share of right tags among this number of first words.

    Raises: UsageError, the model is not a universal one, or says nothing about its accuracy; DataError, the
    text has no words, or none with a tag that the model knows.
    """
    first = list(beginning(sentences))
    counts = Counter(tag for sentence in first for tag in sentence.tags)
    source = first[0].source if first else None
    check_known(counts, parser.model.vocabulary.tags, source.path if source else "the text", TO_A_MODEL)
    tell_unsuited(counts)
    tell_uninformative(counts, UD_TAGS)
    measured = parser.adapted(first)
    engine = universal(measured.engine)
    if engine is None or engine.expectation is None:
        raise UsageError("this model does not say how accurate it is: name `universal`, or a run of that preset")
    marginals = [p for parse in measured.parse_all(first, How(confidence=True)) for p in parse.marginals]
    tell_unknown(parser.unknown_tags, set())
    if not marginals:
        raise DataError("the text", None, "has no words, or nothing but punctuation")
    assert engine.measures is not None
    if parser.needs_text:
        engine.measures.tell()
    right_tags = tag_accuracy(sum(map(len, first)))
    now = engine.expectation(float(np.mean(marginals)), len(marginals), right_tags)
    numbers = engine.measures.profile.numbers.astype(np.float64)
    names = list(parser.model.provenance.treebanks)
    near = nearest(numbers, engine.sources, names)
    if silence := uninformative(counts, UD_TAGS):
        return Outlook(len(first), len(marginals), near, [], right_tags, silence)
    trees = engine.expectation.with_trees(now) if right_tags == 1 else []
    return Outlook(len(first), len(marginals), near, [now, *trees], right_tags)

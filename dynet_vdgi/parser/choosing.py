"""What somebody should look at next, words in doubt and sentences to correct; and what to expect
before that: the share of right heads of a universal parser.

Sentences: greedily, the one with the highest

    1/n * sum over its words of (1 - confidence) * frequency(b) / (1 + seen(b))

where b is the pair of tags of the word and the word before it, frequency(b) its frequency in the
text, and seen(b) how often the chosen sentences have it. Confidence alone would pick odd sentences.
It should be estimated again, with the corrected trees, after each batch of ten or twenty.
"""

from __future__ import annotations

import heapq
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dynet_vdgi.conllu import guess_marks
from dynet_vdgi.conllu.extra_columns import with_headers
from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import UsageError
from dynet_vdgi.parser.file_parser import with_tree
from dynet_vdgi.parser.parser import How, Parse, Parser, check
from dynet_vdgi.relations.label_table import LabelTable

logger = logging.getLogger("dynet_vdgi")

SHORTEST_SENTENCE, LONGEST_SENTENCE = 4, 25
"""The length in words, shortest and longest, of a sentence worth an annotator's time."""

_OF_THE_TEXT = re.compile(r"#\s*(new(doc|par)\b|(choice|guess|global\.columns)\s*=)")
"""Comments about more than the sentence: where documents begin, its place in an earlier choice."""


def choose(
    pool: Sequence[Sentence],
    count: int,
    *,
    confidences: Sequence[Sequence[float]] | None = None,
    corrected: Iterable[Sentence] = (),
    among: Iterable[int] | None = None,
    shortest: int = SHORTEST_SENTENCE,
    longest: int = LONGEST_SENTENCE,
) -> list[int]:
    """Indices of the most useful sentences of the pool, best first; all, if it has too few.

    `confidences` holds one number per word (n,) for each sentence; without it, as for the first
    batch, only the tags count. `corrected` are sentences that have trees already. Only sentences of
    shortest to longest words are chosen, and only those whose indices are `among` these (None:
    all).

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

    # Choosing a sentence can only lower the value of others. So the best of the heap is the best of
    # all if its value, computed again, is still not below that of the next one.
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

    `covered` are sentences that have been corrected already: they are not chosen, and their pairs
    of tags count less. Of equal sentences only one is chosen. A parser without confidences chooses
    by tags alone.

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

    def words_of(sentence: Sentence) -> Sentence:
        bare, _ = without_punctuation(
            replace(sentence, heads=None, deprels=(), source=None), removed
        )
        return bare

    def confidences_of(sentence: Sentence, parse: Parse) -> list[float]:
        _, places = without_punctuation(sentence, removed)
        confidence = parse.confidence or ()
        return [confidence[place - 1] or 0.0 for place in places]

    confidences = None
    if how.confidence:
        confidences = [confidences_of(*pair) for pair in zip(text, parses)]
    first_with: dict[tuple[str, ...], int] = {}  # of equal sentences
    for k, sentence in enumerate(text):
        if sentence.forms not in seen:
            first_with.setdefault(sentence.forms, k)
    chosen = choose(
        [words_of(sentence) for sentence in text],
        count,
        confidences=confidences,
        corrected=[words_of(sentence) for sentence in covered],
        among=sorted(first_with.values()),
    )
    if not chosen:
        lengths = f"{SHORTEST_SENTENCE} to {LONGEST_SENTENCE} words"
        raise UsageError(f"nothing to choose: no sentence of {lengths} that is not covered already")
    blocks = []
    for number, k in enumerate(chosen, 1):
        sentence = without_place(text[k])
        block = with_tree(sentence, parses[k], how)
        block = f"# choice = {number}\n{guess_marks.comment(block[:-2].split(chr(10)))}\n{block}"
        blocks.append((block, sentence.source.extra if sentence.source else ()))
    yield from with_headers(blocks)


def without_place(sentence: Sentence) -> Sentence:
    """The sentence without comments about its place in the text."""
    source = sentence.source
    if source is None:
        return sentence
    remaining = [row for row, line in enumerate(source.lines) if not _OF_THE_TEXT.match(line)]
    rows = tuple(remaining.index(row) for row in source.rows)
    return replace(
        sentence,
        source=replace(source, lines=tuple(source.lines[row] for row in remaining), rows=rows),
    )

"""The sentences of a text to correct next, as CoNLL-U with trees, relations and confidences."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dynet_vdgi.data import guesses
from dynet_vdgi.data.punctuation import kept_positions, without_punctuation
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import UsageError
from dynet_vdgi.labels.label_table import LabelTable
from dynet_vdgi.parsing.files import with_tree
from dynet_vdgi.parsing.parser import How, Parse, Parser, check
from dynet_vdgi.parsing.worth import LONGEST, SHORTEST, choose

logger = logging.getLogger("dynet_vdgi")

_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*\S")
_OF_THE_TEXT = re.compile(r"#\s*(new(doc|par)\b|(choice|guess)\s*=)")
"""Comments about more than the sentence: beginnings of documents, its place in an earlier choice."""


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
    removed = parser.protocol.removed_tags
    bare = [_bare(parser, sentence) for sentence in text]
    confidences = [_sure(sentence, parse, removed) for sentence, parse in zip(text, parses)]
    chosen = choose(
        bare,
        count,
        confidences=confidences if how.confidence else None,
        corrected=[_bare(parser, sentence) for sentence in covered],
        among=_new(text, covered),
    )
    if not chosen:
        raise UsageError(
            f"nothing to choose: no sentence of {SHORTEST} to {LONGEST} words that is not covered already"
        )
    for number, k in enumerate(chosen, 1):
        block = with_tree(on_its_own(text[k]), parses[k], how)
        guess = guesses.comment(block[:-2].split("\n"))
        yield f"# choice = {number}\n{guess}\n{block}"


def _bare(parser: Parser, sentence: Sentence) -> Sentence:
    """The sentence without the words that the model's protocol removes, and without a tree."""
    bare = replace(sentence, heads=None, deprels=(), source=None)
    return without_punctuation(bare, parser.protocol.removed_tags)[0]


def _sure(sentence: Sentence, parse: Parse, removed: frozenset[str]) -> list[float]:
    """The parser's confidence in each word that the protocol keeps."""
    if parse.confidence is None:
        return []
    return [parse.confidence[p - 1] or 0.0 for p in kept_positions(sentence, removed)]


def _new(text: Sequence[Sentence], covered: Sequence[Sentence]) -> list[int]:
    """Indices of sentences that are not covered, the first of equal ones; equal means with equal words."""
    seen = {sentence.forms for sentence in covered}
    places = []
    for k, sentence in enumerate(text):
        if sentence.forms not in seen:
            seen.add(sentence.forms)
            places.append(k)
    return places


def on_its_own(sentence: Sentence, ending: str = "") -> Sentence:
    """The sentence without comments about its place in the text, and with an ending to its `sent_id`."""
    if sentence.source is None:
        return sentence
    lines: list[str] = []
    rows: list[int] = []
    words = set(sentence.source.rows)
    for row, line in enumerate(sentence.source.lines):
        if _OF_THE_TEXT.match(line):
            continue
        if row in words:
            rows.append(len(lines))
        lines.append(f"{line.rstrip()}{ending}" if _SENT_ID.match(line) else line)
    return replace(sentence, source=replace(sentence.source, lines=tuple(lines), rows=tuple(rows)))

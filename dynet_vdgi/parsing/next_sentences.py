"""The sentences of a text to correct next, as CoNLL-U with trees, relations and confidences."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dynet_vdgi.data import guesses
from dynet_vdgi.data.punctuation import kept_positions, without_punctuation
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import UsageError
from dynet_vdgi.labels.label_table import LabelTable
from dynet_vdgi.parsing.labellers import labeller_of
from dynet_vdgi.parsing.parser import How, Parse, Parser
from dynet_vdgi.parsing.rendering import on_its_own, with_tree
from dynet_vdgi.parsing.worth import LONGEST, SHORTEST, choose

logger = logging.getLogger("dynet_vdgi")


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
        parser.check(how)
    except UsageError as error:
        logger.warning("%s; the sentences are chosen by their tags alone", error)
        how = How()
    parses = parser.measured(text).parse_all(text, how)
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
    relations = _relations(parser, labels, text, [parse.heads for parse in parses])
    for number, k in enumerate(chosen, 1):
        block = with_tree(on_its_own(text[k]), parses[k], how, relations[k])
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


def _relations(
    parser: Parser, labels: LabelTable | None, text: Sequence[Sentence], heads: Sequence[tuple[int, ...]]
) -> Sequence[tuple[str, ...] | None]:
    if labels is None:
        return [None] * len(text)
    labeller = labeller_of(parser.model, parser.engine, labels)
    verb_order = labeller.verb_order_in(sentence.upos or sentence.tags for sentence in text)
    return labeller.relations(text, heads, verb_order)

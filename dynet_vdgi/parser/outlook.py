"""What to expect for a text before it is parsed: how many heads will be right, and its nearest
languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tag_sets import UD_TAGS
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.parser.expectation import ExpectedShare, nearest
from dynet_vdgi.parser.parser import How, Parser
from dynet_vdgi.rule_tables.tag_warnings import (
    TO_A_MODEL,
    check_known,
    tell_uninformative,
    tell_unknown,
    tell_unsuited,
    uninformative,
)
from dynet_vdgi.universal.stored import beginning

RELATED_DISTANCE, RELATED_WORDS = 0.5, 2000
"""A text of at least this many words, whose nearest treebank is at a distance below this, is
probably in a language learnt from, or a near relative (`experiments/expect.py near`). Of texts
of 3,000 words, those in ten languages learnt from have .27 to .56 to the nearest treebank, those
in seventeen others .54 or more. With 1,500 words these are .38 to .68 and .51 or more, so
shorter texts do not tell."""


@dataclass(frozen=True)
class Outlook:
    """The beginning of a text, as a universal parser sees it."""

    n_sentences: int
    n_words: int  # without punctuation
    # treebanks learnt from, with distances, see `expectation.nearest`
    nearest: list[tuple[str, float]]
    # of right heads, without gold trees first; if tags are guessed, only that
    shares: list[ExpectedShare]
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
    parser: Parser,
    sentences: Iterable[Sentence],
    tag_accuracy: Callable[[int], float] = lambda n_words: 1.0,
) -> Outlook:
    """Measures and parses the first 20,000 words of a text; warns if they are few, or their tags
    say little.

    tag_accuracy: the share of right tags among this number of first words.

    Raises: UsageError, the model is not a universal one, or says nothing about its accuracy;
    DataError, the text has no words, or none with a tag that the model knows.
    """
    first = list(beginning(sentences))
    counts = Counter(tag for sentence in first for tag in sentence.tags)
    source = first[0].source if first else None
    check_known(
        counts, parser.model.vocabulary.tags, source.path if source else "the text", TO_A_MODEL
    )
    tell_unsuited(counts)
    tell_uninformative(counts, UD_TAGS)
    measured = parser.adapted(first)
    engine = measured.engine
    if engine.expectation is None:
        raise UsageError(
            "this model does not say how accurate it is: name `universal`, or a run of that preset"
        )
    marginals = [
        p for parse in measured.parse_all(first, How(confidence=True)) for p in parse.marginals
    ]
    tell_unknown(parser.unknown_tags, set())
    if not marginals:
        raise DataError("the text", None, "has no words, or nothing but punctuation")
    assert engine.measures is not None
    assert engine.sources is not None
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

"""What to expect of a universal parser on a text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.grammar.tag_warnings import TO_A_MODEL, check_known
from dynet_vdgi.parsing.expectation import ExpectedShare, nearest
from dynet_vdgi.parsing.parser import Parser
from dynet_vdgi.parsing.universal_engine import UniversalEngine
from dynet_vdgi.universal.stored import beginning

AKIN, CHANCE = 0.4, 100.0
"""Distances of long texts below the first are within a language, or between near relatives: between the
treebanks learnt from, the smallest are .28 (two standards of Norwegian), .34 (Russian and Belarusian), .39
(Spanish and Portuguese), and half have no other within .69. The second, divided by the number of words, is
what chance adds to the square of a distance: of 34 of these treebanks, a hundred sentences have .45 to their
own in the median, fifty have .54."""


@dataclass(frozen=True)
class Outlook:
    """The beginning of a text, as a universal parser sees it."""

    n_sentences: int
    n_words: int  # without punctuation
    nearest: list[tuple[str, float]]  # treebanks learnt from, with distances, see `expectation.nearest`
    shares: list[ExpectedShare]  # of right heads, without gold trees first
    right_tags: float = 1.0  # share of the tags, as expected

    @property
    def learnt_from(self) -> str:
        """The treebank learnt from that is of the same language, or nearly, by its distance; "": none is."""
        most = math.sqrt(AKIN**2 + CHANCE / self.n_words)
        return next((name for name, distance in self.nearest[:1] if distance < most), "")


def look(
    parser: Parser, sentences: Iterable[Sentence], tag_accuracy: Callable[[int], float] = lambda n_words: 1.0
) -> Outlook:
    """Measures and parses the first 20,000 words of a text.

    tag_accuracy: the share of right tags among this number of first words.

    Raises: UsageError, the model is not a universal one, or says nothing about its accuracy; DataError, the
    text has no words, or none with a tag that the model knows.
    """
    first = list(beginning(sentences))
    counts = Counter(tag for sentence in first for tag in sentence.tags)
    source = first[0].source if first else None
    check_known(counts, parser.model.vocabulary.tags, source.path if source else "the text", TO_A_MODEL)
    measured = parser.measured(first)
    engine = measured.engine
    if not isinstance(engine, UniversalEngine) or engine.expectation is None:
        raise UsageError(
            "this model does not say how accurate it is: name `universal`, or a run of that preset"
        )
    marginals = [p for parse in measured.confidences(first) for p in parse.marginals]
    if not marginals:
        raise DataError("the text", None, "has no words, or nothing but punctuation")
    right_tags = tag_accuracy(sum(map(len, first)))
    now = engine.expectation(float(np.mean(marginals)), len(marginals), right_tags)
    assert engine.measures is not None
    numbers, names = (
        engine.measures.profile.numbers.astype(np.float64),
        list(parser.model.provenance.treebanks),
    )
    return Outlook(
        len(first),
        len(marginals),
        nearest(numbers, engine.sources, names),
        [now, *engine.expectation.with_trees(now)],
        right_tags,
    )

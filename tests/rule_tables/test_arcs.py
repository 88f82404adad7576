"""What lines of a rule table add to arcs, and how they read a sentence: tests/tables/arcs.txt and
readings.txt."""

from __future__ import annotations

import pytest
from cases import Case, paragraphs
from said import arcs, prior, said, tagged

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.prior import Prior


def sentence_of(words: str) -> Sentence:
    """Of forms with tags, or of tags alone."""
    return said(words) if "/" in words else tagged(words)


def prior_of(case: Case) -> Prior:
    """The case's lines with its text."""
    text: list[Sentence] = []
    for line in case.of("+"):
        words, _, times = line.rpartition(" x")
        text += [sentence_of(words)] * int(times) if words else [sentence_of(line)]
    return prior(case.of("|"), *text)


def arcs_of(line: str) -> dict[tuple[int, int], float]:
    """The arcs that a table writes as `1-3 2, 2-3 -6`."""
    found = {}
    for arc in line.split(", ") if line != "none" else ():
        ends, potential = arc.split(" ")
        head, dependent = ends.split("-")
        found[int(head), int(dependent)] = float(potential)
    return found


@pytest.mark.parametrize("case", paragraphs("arcs.txt"), ids=lambda case: case.title)
def test_arcs_of_a_rule_table(case: Case) -> None:
    of = prior_of(case)
    for words, expected in case.pairs(">", "="):
        assert arcs(of, sentence_of(words)) == arcs_of(expected), words


@pytest.mark.parametrize("case", paragraphs("readings.txt"), ids=lambda case: case.title)
def test_readings_of_a_rule_table(case: Case) -> None:
    of = prior_of(case)
    sentences = case.of(">")
    assert sentences
    if case.of("~"):
        views = [(words, of.view(sentence_of(words)).symbols) for words in sentences]
        assert views == [(words, line.split()) for words, line in case.pairs(">", "~")]
    else:
        views = [(words, of.view(sentence_of(words)).read) for words in sentences]
        assert [(words, " ".join(tags)) for words, tags in views] == case.pairs(">", "=")

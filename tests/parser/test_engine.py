"""What a parser asks of its engine, and that it does not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import universal_toys
from few import trees

from dynet_vdgi.api import train
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.parser.engine import Scores, ScoringEngine
from dynet_vdgi.parser.parser import Parser
from dynet_vdgi.parser.universal_engine import UniversalEngine
from dynet_vdgi.settings.registry import RECIPES


class Turned(ScoringEngine):
    """Each word hangs from the one before, or in a text that begins with a noun, from the one
    after."""

    def __init__(self, text: Sequence[Sentence] | None = None) -> None:
        self.text = text

    @property
    def needs_text(self) -> bool:
        return self.text is None

    def for_text(self, sentences: Sequence[Sentence], *, tag_accuracy: float = 1.0) -> Turned:
        return Turned(sentences)

    def scores(self, sentences: Sequence[Sentence]) -> Scores:
        assert self.text is not None
        if self.text[0].tags[0] == "DET":
            return Scores([9.0 * np.eye(len(s) + 1, k=1) for s in sentences])
        arcs = [9.0 * np.eye(len(s) + 1, k=-1) for s in sentences]
        for each in arcs:
            each[0, -1] = 9.0
        return Scores(arcs)


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> Parser:
    monkeypatch.setattr(RECIPES, "_places", {**RECIPES._places, "toy": "toys:RECIPE"})
    model = train(trees(12), settings={"recipe": "toy"}).model
    return Parser(model, engine=Turned())


def test_an_engine_that_needs_a_text_gets_it_without_a_change_of_parser(parser: Parser) -> None:
    text = [Sentence.of_tags(["DET", "NOUN", "VERB"]), Sentence.of_tags(["NOUN", "VERB"])]
    assert parser.needs_text
    assert [one.heads for one in parser.parse_all(text)] == [(0, 1, 2), (0, 1)]
    assert [one.heads for one in parser.parse_all(text[::-1])] == [(2, 0), (2, 3, 0)]
    assert [one.heads for one in parser.pipe(text[::-1], window=1)] == [(2, 0), (2, 3, 0)]
    adapted = parser.adapted(text)
    assert parser.needs_text
    assert not adapted.needs_text
    assert [one.heads for one in adapted.parse_all(text[::-1])] == [(0, 1), (0, 1, 2)]


def test_a_parser_cannot_be_changed(parser: Parser) -> None:
    for name in ("engine", "model", "verb_order", "tag_accuracy", "labels"):
        with pytest.raises(FrozenInstanceError):
            setattr(parser, name, None)


def test_a_text_of_its_own_stays_the_text_of_a_universal_engine() -> None:
    engine, text = (
        UniversalEngine(universal_toys.model()),
        [replace(one, heads=None) for one in trees(8)],
    )
    assert engine.measures is None
    measured = engine.for_text(text[:4], tag_accuracy=0.75)
    assert measured.measures is not None
    assert (measured.measures.n_sentences, measured.measures.tag_accuracy) == (4, 0.75)
    assert measured.for_text(text) is measured
    assert engine.measures is None

"""The universal parser as a teacher: it has learnt from trees of other languages, and measures the text."""

from __future__ import annotations

from collections.abc import Iterable

from dynet_vdgi.data.corpus import in_memory
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.teachers.common import Teacher
from dynet_vdgi.universal.scorer import Scorer
from dynet_vdgi.universal.text_base import TextBase


class UniversalTeacher(Teacher):
    """A scorer, and the share of the rule table beside it."""

    name = "universal parser"

    def __init__(self, scorer: Scorer, table_share: float = 0.5) -> None:
        self.scorer, self.table_share = scorer, table_share
        self._base: TextBase | None = None

    def fit(self, text: Iterable[Sentence], prior: Prior) -> UniversalTeacher:
        sentences = list(in_memory(text))
        if not sentences:
            raise ValueError("no sentences to measure")
        self._base = TextBase.of_text(self.scorer, sentences, prior, self.table_share)
        return self

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        if self._base is None:
            raise VdgiError(f"this {self.name} has measured no text yet: call fit(text, prior) first")
        return [chart.marginals(potentials) for potentials in self._base.all_potentials(list(sentences))]

    def start(self, text: Iterable[Sentence], prior: Prior) -> TextBase:
        if self._base is None:
            self.fit(text, prior)
        assert self._base is not None
        return self._base

    def log_rows(self) -> list[dict[str, float]]:
        return []

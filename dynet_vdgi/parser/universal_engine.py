"""The engine of the universal parser, with what it measures of a text."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.parser.engine import Engine, Scores, ScoringEngine
from dynet_vdgi.parser.expectation import SOURCES, Expectation
from dynet_vdgi.relations.labeller import LogP
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.universal import relation_scores as relations
from dynet_vdgi.universal.scorer import TextScorer, by_sentence
from dynet_vdgi.universal.stored import Measures, scorer_of


class UniversalEngine(ScoringEngine):
    """The universal parser: log p(h | d) in a text whose kind of language was measured.

    A model without measures of a text measures the beginning of what it parses, so sentences of one text
    belong together.

    Raises: ModelError, the model's arrays do not fit each other or this version.
    """

    finds_most_probable = True

    def __init__(self, model: ModelFile) -> None:
        self.scorer = scorer_of(model.parameters)
        self.measures = Measures.from_arrays(model.parameters, self.scorer)
        self.expectation = Expectation.from_arrays(model.parameters)
        """What share of heads will be right; None: the model does not say."""
        n_numbers = len(self.scorer.mean)
        self.sources = model.parameters.get(SOURCES, np.zeros((0, n_numbers)))
        """The standardised numbers (S, U) of the treebanks learnt from."""
        if self.sources.shape not in ((0, n_numbers), (len(model.provenance.treebanks), n_numbers)):
            raise ModelError("the numbers of the treebanks learnt from do not fit the model")
        self._in_text = None if self.measures is None else self.measures.parser(self.scorer)

    def adapted(self, measures: Measures) -> UniversalEngine:
        """This parser in the text with these measures."""
        engine = copy(self)
        engine.measures, engine._in_text = measures, measures.parser(self.scorer)
        return engine

    def scores(self, sentences: Sequence[Sentence]) -> Scores:
        scorer = self._text_scorer(sentences)
        encoded = scorer.encode(sentences)
        log_p = scorer.log_probabilities(encoded)
        arcs = []
        for each in by_sentence(log_p, encoded.lengths):
            arcs.append(np.zeros((len(each), len(each))))
            arcs[-1][:, 1:] = each
        return Scores(arcs, lambda heads: relations.log_p_of(scorer, encoded, heads))

    @property
    def log_p(self) -> LogP:
        return self._log_p

    def _log_p(self, sentences: Sequence[Sentence], heads: Ints) -> Floats:
        return relations.log_p(self._text_scorer(sentences), sentences, heads)

    def _text_scorer(self, sentences: Sequence[Sentence]) -> TextScorer:
        """The scorer for the model's text; if it has none, for that of these sentences."""
        return self._in_text or Measures.of(self.scorer, sentences).parser(self.scorer)


def universal(engine: Engine) -> UniversalEngine | None:
    """The engine, if it is that of a universal parser."""
    return engine if isinstance(engine, UniversalEngine) else None

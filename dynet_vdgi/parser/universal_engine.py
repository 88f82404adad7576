"""The engine of the universal parser, with what it measures of a text."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tag_sets import UD_TAGS
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.parser.confidence import Calibration
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.engine import Scores, ScoringEngine
from dynet_vdgi.parser.expectation import SOURCES, Expectation
from dynet_vdgi.relations.labeller import LogP
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.universal import relation_scores as relations
from dynet_vdgi.universal.scorer import TextScorer, by_sentence
from dynet_vdgi.universal.stored import Measures, scorer_of


class UniversalEngine(ScoringEngine):
    """The universal parser: log p(h | d) in a text whose kind of language was measured.

    A model without measures of a text measures the beginning of what it parses, so sentences of one
    text belong together.

    Raises: ModelError, the model's arrays do not fit each other or this version.
    """

    finds_most_probable = True
    informative_tags = UD_TAGS
    knows_relations = True
    margins_are_log_odds = True

    def __init__(self, model: ModelFile) -> None:
        self.scorer = scorer_of(model.parameters)
        self.measures = Measures.from_arrays(model.parameters, self.scorer)
        self.expectation = Expectation.from_arrays(model.parameters)
        n_numbers = len(self.scorer.mean)
        self.sources: Floats = model.parameters.get(SOURCES, np.zeros((0, n_numbers)))
        if self.sources.shape not in ((0, n_numbers), (len(model.provenance.treebanks), n_numbers)):
            raise ModelError("the numbers of the treebanks learnt from do not fit the model")
        self._in_text = None if self.measures is None else self.measures.parser(self.scorer)

    @property
    def needs_text(self) -> bool:
        return self.measures is None

    def for_text(
        self, sentences: Sequence[Sentence], *, tag_accuracy: float = 1.0
    ) -> UniversalEngine:
        """The parser in the text whose beginning is measured; itself, if it has measured one
        already."""
        if self.measures is not None:
            return self
        return self.with_measures(
            replace(Measures.of(self.scorer, sentences), tag_accuracy=tag_accuracy)
        )

    def with_measures(self, measures: Measures) -> UniversalEngine:
        """The parser in the text with these measures."""
        engine = copy(self)
        engine.measures, engine._in_text = measures, measures.parser(self.scorer)
        return engine

    def measures_with_shift(self, calibration: Calibration) -> Measures | None:
        """The measures of the text, with the shift of its confidences.

        The parser is too sure of one language and not sure enough of another, but the share of
        right heads can be predicted. So the log-odds of a text's confidences are shifted by one
        number, after which their mean, over a sample of the text, is the predicted share. It is a
        property of the text, because a word's confidence must not depend on what else is parsed at
        the same time. Models without an expectation have no shift.
        """
        measures = self.measures
        if measures is None or self.expectation is None or not measures.sample:
            return measures
        parsed = find(self, measures.sample, margins=True)
        heads, margins = [tree.heads for tree in parsed], [tree.margins for tree in parsed]
        calibration = calibration.with_wrong_tags(1 - measures.tag_accuracy)
        arcs = calibration.arcs([s.tags for s in measures.sample], heads, margins)
        mean_marginal = float((1 / (1 + np.exp(-arcs.margins))).mean())
        share = self.expectation(mean_marginal, len(arcs.margins), measures.tag_accuracy).share
        return replace(measures, shift=calibration.shift_to(share, arcs), sample=())

    @property
    def exact(self) -> UniversalEngine:
        """This parser, with the trees that have the most heads expected to be right."""
        engine = copy(self)
        engine.finds_most_probable = False
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

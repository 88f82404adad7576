"""The universal parser: exact trees under log p(h | d), for a text whose kind of language was measured.

Letters: N words, S sentences, n words of one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.grammar import chart
from dynet_vdgi.parsing.confidence import Calibration
from dynet_vdgi.parsing.exact_trees import ExactEngine, Found, Tree, in_batches, margins
from dynet_vdgi.parsing.expectation import SOURCES, Expectation
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.universal import relations
from dynet_vdgi.universal.encoding import CodedText
from dynet_vdgi.universal.scorer import TextScorer, by_sentence
from dynet_vdgi.universal.stored import Measures, beginning, scorer_of


class UniversalEngine(ExactEngine):
    """The universal parser's trees.

    A model without measures of a text measures the beginning of what it parses, so sentences of one text
    belong together.

    Raises: ModelError, the model's arrays do not fit each other or this version.
    """

    is_lean, is_exact, is_universal = False, False, True  # see `engines.universal`

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
        self._check()

    def text_scorer(self, sentences: Sequence[Sentence]) -> TextScorer:
        """The scorer for the model's text; if it has none, for that of these sentences."""
        if self.measures is not None:
            return self._own
        return self._scorer_for(Measures.of(self.scorer, list(beginning(sentences))))

    @cached_property
    def _own(self) -> TextScorer:
        assert self.measures is not None
        return self._scorer_for(self.measures)

    def _scorer_for(self, measures: Measures) -> TextScorer:
        return measures.parser(self.scorer)

    def settled(self, calibration: Calibration) -> Measures | None:
        """The measures of the text, with the shift of its confidences.

        The parser is too sure of one language and not sure enough of another, but the share of right heads
        can be predicted. So the log-odds of a text's confidences are shifted by one number, after which their
        mean, over a sample of the text, is the predicted share. It is a property of the text, because a
        word's confidence must not depend on what else is parsed at the same time. Models without an
        expectation have no shift.
        """
        measures = self.measures
        if measures is None or self.expectation is None or not measures.sample:
            return measures
        trees, margins = zip(*self.with_margins(measures.sample, keep_heads=False))
        arcs = calibration.arcs([s.tags for s in measures.sample], trees, margins)
        mean_marginal = float((1 / (1 + np.exp(-arcs.margins))).mean())
        share = self.expectation(mean_marginal, len(arcs.margins), measures.tag_accuracy).share
        return replace(measures, shift=calibration.shift_to(share, arcs), sample=())

    def parse(self, sentences: Sequence[Sentence]) -> list[Tree]:
        """The most probable trees, projective and with one root."""
        return [tree for tree, _ in self._found(sentences, has_margins=False, keep_heads=False)]

    def with_margins(self, sentences: Sequence[Sentence], *, keep_heads: bool) -> list[Found]:
        """The trees of `parse`; margins are the log-odds of the arcs' marginal probabilities."""
        return self._found(sentences, has_margins=True, keep_heads=keep_heads)

    def log_p(self, sentences: Sequence[Sentence], heads: Ints) -> Floats:
        """log p (N, L) of the relations of arcs from heads (N,), see `universal.relations`."""
        return relations.log_p(self.text_scorer(sentences), sentences, heads)

    def scores(self, sentence: Sentence) -> Floats:
        """log p(h | d) (n + 1, n + 1) of a sentence's arcs, as `grammar.chart` has them."""
        scorer = self.text_scorer([sentence])
        return _square(_scores(scorer, scorer.encode([sentence])).reshape(len(sentence) + 1, -1))

    def _found(self, sentences: Sequence[Sentence], *, has_margins: bool, keep_heads: bool) -> list[Found]:
        scorer = self.text_scorer(sentences)

        def parse(batch: list[Sentence]) -> list[Found]:
            encoded = scorer.encode(batch)
            scores = _scores(scorer, encoded)
            heads, starts = chart.best_in_a_row(scores, encoded.lengths), encoded.start.tolist()
            trees = [tuple(heads[start:end].tolist()) for start, end in zip(starts, starts[1:])]
            if not has_margins:
                return [(tree, np.zeros(0)) for tree in trees]
            log_p = map(_square, by_sentence(scores, encoded.lengths))
            return [
                _with_margins(of_sentence, tree, sentence.heads if keep_heads else None)
                for of_sentence, tree, sentence in zip(log_p, trees, batch)
            ]

        return in_batches(sentences, parse, keep_heads=keep_heads)


def best_heads(scorer: TextScorer, encoded: CodedText) -> Ints:
    """Heads (N,) of the most probable trees."""
    return chart.best_in_a_row(_scores(scorer, encoded), encoded.lengths)


def _scores(scorer: TextScorer, encoded: CodedText) -> Floats:
    with one_thread():
        return scorer.log_probabilities(encoded).astype(np.float64)


def _square(scores: Floats) -> Floats:
    """Scores (n + 1, n + 1), as `grammar.chart` has them, from those without a column of ROOT (n + 1, n)."""
    return np.pad(scores, ((0, 0), (1, 0)))


def _with_margins(scores: Floats, tree: Tree, given: Sequence[int] | None) -> Found:
    if given is not None:
        scores = chart.constrained(scores, given)
        tree = chart.best(scores)
    return tree, margins(chart.marginals(scores), tree)

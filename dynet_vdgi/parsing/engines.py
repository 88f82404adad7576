"""What parses: each kind of model as an engine, behind one interface; sentences have no punctuation.

An engine gives scores of arcs, of which `decoding` makes trees; a greedy one gives heads at once. The
engines of the universal parser, of a CRF and of a student are here; that of the neural parser, which needs
DyNet, is in `model.greedy`.

Letters: n words of a sentence, N words of several in a row, L relations of `labels.label_table.LABELS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

import numpy as np

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.parsing.expectation import SOURCES, Expectation
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.students.word_perceptron import WordPerceptron
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.side_by_side import one_thread
from dynet_vdgi.teachers.arc_crf import ArcCrf
from dynet_vdgi.universal import scorer as relations
from dynet_vdgi.universal.scorer import TextScorer, by_sentence
from dynet_vdgi.universal.stored import Measures, scorer_of

Tree = tuple[int, ...]
LogP = Callable[[Sequence[Sentence], Ints], Floats]
"""log p (N, L) of the relations of sentences, given the heads (N,) of their words."""


class Scores(NamedTuple):
    """What an engine knows about some sentences."""

    arcs: Sequence[Floats]  # log-scores (n + 1, n + 1) of each one's arcs, by head and dependent, ROOT at 0
    log_p: Callable[[Ints], Floats] | None = None
    """From the heads (N,) of all words in a row to log p (N, L) of their relations; None: not known."""


class Found(NamedTuple):
    """A tree and what is known about it."""

    heads: Tree
    margins: Floats  # (n,), in the units of the calibration; (0,) if they are not requested
    log_p: Floats | None = None  # (n, L) of its relations, if they are requested and known


class ScoringEngine(ABC):
    """An engine that scores arcs."""

    windows = 1
    """How many windows of a text are parsed together."""
    finds_most_probable = False
    """If it parses with the most probable tree, not with the one that has most heads expected to be right."""

    @property
    def log_p(self) -> LogP | None:
        """What it knows about relations; None: nothing."""
        return None

    @abstractmethod
    def scores(self, sentences: Sequence[Sentence]) -> Scores:
        """The scores of sentences of similar length."""


class GreedyEngine(ABC):
    """An engine that decides about one head after the other."""

    windows = 1
    """How many windows of a text are parsed together."""

    @abstractmethod
    def found(self, sentences: Sequence[Sentence], *, margins: bool, keep_heads: bool) -> list[Found]:
        """Projective trees with one root, with the margins of their heads if they are requested.

        With `keep_heads`, heads that are given (not FREE) stay; they must fit into a projective tree.

        Raises: UsageError, this kind of parser has no margins, or cannot keep heads.
        """


Engine = ScoringEngine | GreedyEngine


class StudentEngine(GreedyEngine):
    """The linear-time student of a teacher, of a CRF or of a universal parser."""

    def __init__(self, model: ModelFile) -> None:
        self.student = WordPerceptron.from_arrays(model.parameters)

    def found(self, sentences: Sequence[Sentence], *, margins: bool, keep_heads: bool) -> list[Found]:
        found = self.student.predict_with_margins(sentences, keep_heads=keep_heads)
        return [Found(tree.heads or (), own) for tree, own in found]


class CrfEngine(ScoringEngine):
    """A CRF that has learnt from trees on top of a universal parser or a rule table, or such a table itself.

    Raises: ModelError, the CRF's arrays do not fit each other.
    """

    def __init__(self, crf: ArcCrf) -> None:
        self.crf = crf
        try:
            self.scores([Sentence.of_tags(["VERB"])])
        except (ValueError, IndexError) as error:
            raise ModelError(f"parameters do not fit the model: {error}") from None

    @property
    def log_p(self) -> LogP | None:
        return self.crf.base.log_p if self.crf.base else None

    def scores(self, sentences: Sequence[Sentence]) -> Scores:
        known = self.log_p
        return Scores(list(self.crf.all_scores(sentences)), partial(known, sentences) if known else None)


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
        with one_thread():
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

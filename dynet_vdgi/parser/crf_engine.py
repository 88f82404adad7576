"""The engine of a CRF that has learnt from a few gold trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.few_trees.arc_crf import ArcCrf
from dynet_vdgi.parser.engine import Scores, ScoringEngine
from dynet_vdgi.relations.labeller import LogP


class CrfEngine(ScoringEngine):
    """A CRF that has learnt from trees on top of a universal parser or a rule table, or such a
    table itself.

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
        log_p = self.log_p
        return Scores(
            list(self.crf.all_scores(sentences)), partial(log_p, sentences) if log_p else None
        )

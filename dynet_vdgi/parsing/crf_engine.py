"""The parser of a model that has learnt from trees on top of a universal parser: the CRF's own trees."""

from __future__ import annotations

from collections.abc import Sequence

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar import chart
from dynet_vdgi.parsing.exact_trees import ExactEngine, Found, Tree, in_batches, margins
from dynet_vdgi.teachers.arc_crf import ArcCrf


class CrfEngine(ExactEngine):
    """The trees with the most heads expected to be right under a CRF (`teachers.arc_crf`), in cubic time.

    Raises: ModelError, the CRF's arrays do not fit each other.
    """

    is_lean, is_exact = False, True

    def __init__(self, crf: ArcCrf) -> None:
        self.crf = crf
        self.log_p = crf.base.log_p if crf.base else None
        """log p of relations, see `universal.relations`; None: the CRF has learnt from a table alone."""
        self._check()

    def parse(self, sentences: Sequence[Sentence]) -> list[Tree]:
        return [tree for tree, _ in self.with_margins(sentences, keep_heads=False)]

    def with_margins(self, sentences: Sequence[Sentence], *, keep_heads: bool) -> list[Found]:
        """The trees of `parse`; margins are the log-odds of the arcs' marginal probabilities."""
        return best_trees(self.crf, sentences, keep_heads=keep_heads)


def best_trees(crf: ArcCrf, sentences: Sequence[Sentence], *, keep_heads: bool) -> list[Found]:
    """What `CrfEngine.with_margins` finds with a CRF that is known to be sound."""

    def parse(batch: list[Sentence]) -> list[Found]:
        found = []
        for scores, sentence in zip(crf.all_scores(batch), batch):
            given = sentence.heads if keep_heads else None
            arcs = chart.marginals(scores if given is None else chart.constrained(scores, given))
            tree = chart.expected_best(arcs, given)
            found.append((tree, margins(arcs, tree)))
        return found

    return in_batches(sentences, parse, keep_heads=keep_heads)

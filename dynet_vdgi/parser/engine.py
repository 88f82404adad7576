"""What parses: each kind of model as an engine, behind one interface; sentences have no punctuation.

An engine gives scores of arcs, of which `decoding` makes trees; a greedy one gives heads at once. The
engines of the universal parser, of a CRF and of a student are beside this file; that of the paper's parser,
which needs DyNet, is in `paper.recipe`.

Letters: n words of a sentence, N words of several in a row, L relations of `relations.label_table.LABELS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.relations.labeller import LogP
from dynet_vdgi.system.array_types import Floats, Ints

Tree = tuple[int, ...]


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

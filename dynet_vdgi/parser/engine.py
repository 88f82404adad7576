"""What parses: each kind of model as an engine, behind one interface; sentences have no
punctuation.

An engine gives scores of arcs, of which `decoding` makes trees; a greedy one gives heads at once.
One that needs a text, to see what kind of language it is in, gives an engine for that text:
`engine.for_text(sentences)`.

A model file names its recipe (the setting `recipe`), and `settings.registry.RECIPES` finds the
recipe's module by this name; `Parser` asks the recipe for the engine of the model,
`RECIPES.named(name).engine(model)`:

    universal   training.universal    universal_engine.UniversalEngine
    few-trees   training.few_trees    crf_engine.CrfEngine, or student_engine.StudentEngine
    taught      training.taught       student_engine.StudentEngine
    neural      paper.recipe          paper.recipe.NeuralEngine, which needs DyNet

Letters: n words of a sentence, N words of several in a row, L relations of
`relations.label_table.LABELS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple

from dynet_vdgi.conllu.sentence import Sentence, Tree
from dynet_vdgi.parser.confidence import Calibration
from dynet_vdgi.parser.expectation import Expectation
from dynet_vdgi.relations.labeller import LogP
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.universal.stored import Measures


class Scores(NamedTuple):
    """What an engine knows about some sentences."""

    # log-scores (n + 1, n + 1) of each one's arcs, by head and dependent, ROOT at 0
    arcs: Sequence[Floats]
    log_p: Callable[[Ints], Floats] | None = None
    """From the heads (N,) of all words in a row to log p (N, L) of their relations; None: not
    known."""


class ScoredTree(NamedTuple):
    """A tree and what is known about it."""

    heads: Tree
    margins: Floats  # (n,), in the units of the calibration; (0,) if they are not requested
    log_p: Floats | None = None  # (n, L) of its relations, if they are requested and known


class AnyEngine:
    """What is asked of every engine, with the answers of one that only parses."""

    windows_at_once = 1
    """How many windows of a text, see `conllu.blocks.windows`, are parsed together."""
    measures: Measures | None = None
    """What it has measured in its text; None: nothing."""
    expectation: Expectation | None = None
    """What share of heads will be right, in a text that it has measured; None: it does not say."""
    sources: Floats | None = None
    """The standardised numbers (S, U) of the S treebanks learnt from; None: not known."""
    informative_tags: Collection[str] = ()
    """The only tags that tell it something; empty: any tag that the model has seen does."""
    knows_relations = False
    """If its `log_p` counts although no labeller has learnt beside it."""
    margins_are_log_odds = False
    """If margins are the log-odds of the marginal probabilities of heads."""

    @property
    def needs_text(self) -> bool:
        """If it needs a text that it does not have yet, see `for_text`."""
        return False

    def for_text(self, sentences: Sequence[Sentence], *, tag_accuracy: float = 1.0) -> Engine:
        """The engine for the text that begins with these sentences; by default this one.

        `tag_accuracy`: the share of right tags in the text.
        """
        return self  # type: ignore[return-value]  # there are two kinds of engines

    def measures_with_shift(self, calibration: Calibration) -> Measures | None:
        """The measures, with the shift of confidences in the text, if the engine can tell it."""
        return self.measures

    @property
    def log_p(self) -> LogP | None:
        """What it knows about relations; None: nothing."""
        return None

    @property
    def exact(self) -> ScoringEngine | None:
        """This engine, with the trees of `How.exact`; None: the recipe knows what makes them."""
        return None


class ScoringEngine(AnyEngine, ABC):
    """An engine that scores arcs."""

    is_greedy: Literal[False] = False
    finds_most_probable = False
    """If it parses with the most probable tree, not with the one that has most heads expected to be
    right."""

    @abstractmethod
    def scores(self, sentences: Sequence[Sentence]) -> Scores:
        """The scores of sentences of similar length."""


class GreedyEngine(AnyEngine, ABC):
    """An engine that decides about one head after the other."""

    is_greedy: Literal[True] = True

    @abstractmethod
    def parse(
        self, sentences: Sequence[Sentence], *, margins: bool, keep_heads: bool
    ) -> list[ScoredTree]:
        """Projective trees with one root, with the margins of their heads if they are requested.

        With `keep_heads`, heads that are given (not FREE) stay; they must fit into a projective
        tree.

        Raises: UsageError, this kind of parser has no margins, or cannot keep heads.
        """


Engine = ScoringEngine | GreedyEngine

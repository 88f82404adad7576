"""What parses, each kind of model as an engine; the relations of its trees; how many heads it will find.

How many heads a universal parser will find, before there is a tree to count them with.

The log-odds of the share of right heads are a line in the log-odds of the mean marginal probability of the
heads found. Wrong tags lower the log-odds in proportion to their share. For gold trees of the language, the
log-odds with k of them are a line in those without. All of this comes from languages whose branch was kept
from the parser (benchmarks/expect.py).

Letters: S treebanks learnt from, U numbers of a text, K numbers of trees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import UD_PUNCTUATION, Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.grammar.statistics import VERB_INITIAL, Statistics, Text, VerbOrder, levels
from dynet_vdgi.grammar.table import Grouped, Measure, Table
from dynet_vdgi.labels.label_table import DEFAULT, LabelTable, load
from dynet_vdgi.labels.labeller import PREFIX, SHARE, Labeller, LogP
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.settings.config import rules_path
from dynet_vdgi.students.word_perceptron import WordPerceptron
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.teachers.arc_crf import ArcCrf
from dynet_vdgi.universal import scorer as relations
from dynet_vdgi.universal.scorer import TextScorer, by_sentence
from dynet_vdgi.universal.stored import TEXT, Measures, scorer_of

EXPECTATION, SOURCES = "expectation/", "sources/numbers"
"""How the names of arrays begin; standardised numbers (S, U) of the treebanks learnt from."""

FARTHEST = 8.0
"""Log-odds are kept this far from 0."""

LITTLE = 0.75
"""Where a smaller share of heads is expected to be right, messages name what gold trees would give."""

NORMAL = 1.645
"""Nine of ten draws of a normal distribution are within this many standard deviations."""

EARLIER = NORMAL / (0.75 * 0.25)
"""What turns a standard error of a share, as earlier files have it, into a width, near a share of .75."""


class ExpectedShare(NamedTuple):
    """A share of right heads, from 0 to 1, with this many gold trees."""

    trees: int
    share: float
    width: float  # 9 of 10 languages are within this much of it, in nats of log-odds

    @property
    def interval(self) -> tuple[float, float]:
        """The shares between which 9 of 10 languages are."""
        odds = float(log_odds(self.share))
        return float(sigmoid(odds - self.width)), float(sigmoid(odds + self.width))


@dataclass(frozen=True, eq=False)
class Expectation:
    """Predicts shares of right heads from mean marginal probabilities."""

    line: Floats  # (2,): constant and slope
    width: float  # 9 of 10 languages whose branch was kept from the parser are within it
    trees: Floats  # (K, 4): number of trees, constant, slope, and the width of this line
    tags: Floats  # (2,): log-odds lost if all tags were wrong, and the width of this loss

    def __call__(self, mean_marginal: float, n_words: int, tag_accuracy: float = 1.0) -> ExpectedShare:
        """The share without trees, if this share of the tags is right.

        Its width also has that of counting in a text of `n_words` words, and that of what wrong tags cost.
        """
        loss, spread = (1 - tag_accuracy) * self.tags
        share = float(sigmoid(log_odds(float(on_line(self.line, mean_marginal))) - loss))
        counting = NORMAL / np.sqrt(max(1, n_words) * share * (1 - share))
        return ExpectedShare(0, share, float(np.linalg.norm([self.width, counting, spread])))

    def with_trees(self, without: ExpectedShare) -> list[ExpectedShare]:
        """The shares with gold trees of the language, given the share without."""
        return [
            ExpectedShare(
                int(trees),
                float(on_line(np.array([constant, slope]), without.share)),
                float(np.hypot(width, slope * without.width)),
            )
            for trees, constant, slope, width in self.trees.tolist()
        ]

    def advice(self, without: ExpectedShare) -> str:
        """What trees that somebody corrects would give where few heads are right without; "" elsewhere."""
        some = [each for each in self.with_trees(without) if each.trees in (10, 50)]
        if without.share >= LITTLE or not some:
            return ""
        told = ", ".join(f"with {each.trees} trees of yours {100 * each.share:.0f} %" for each in some)
        return f"; {told}: vdgi choose writes the sentences to correct"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back."""
        return {
            EXPECTATION + "line": self.line,
            EXPECTATION + "width": np.array([self.width]),
            EXPECTATION + "trees": self.trees,
            EXPECTATION + "tags": self.tags,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Expectation | None:
        """The expectation in a model's arrays; None: there is none. Raises: ModelError, it is damaged."""
        if EXPECTATION + "line" not in arrays:
            return None
        is_earlier = EXPECTATION + "error" in arrays
        names = "line", "error" if is_earlier else "width", "trees", "tags"
        line, width, trees, tags = (arrays.get(EXPECTATION + name, np.zeros(0)) for name in names)
        shapes = line.shape, width.shape, trees.shape[1:], tags.shape
        is_sound = shapes == ((2,), (1,), (4,), (2,))
        numbers = np.concatenate([each.ravel() for each in (line, width, trees, tags)])
        if not is_sound or not np.isfinite(numbers).all() or width[0] < 0:
            raise ModelError("the expected share of right heads cannot be computed: its numbers are damaged")
        if is_earlier:
            width, trees, tags = EARLIER * width, trees * [1, 1, 1, EARLIER], tags * [1, NORMAL]
        return cls(line, float(width[0]), trees, tags)


def log_odds(share: float | Floats) -> Floats:
    """The log-odds of shares from 0 to 1, in nats."""
    with np.errstate(divide="ignore"):
        odds = np.log(share) - np.log1p(-np.asarray(share))
    return np.asarray(np.clip(odds, -FARTHEST, FARTHEST))


def on_line(line: Floats, share: float | Floats) -> Floats:
    """The shares whose log-odds are on the line (2,) at those of the given shares."""
    return sigmoid(line[0] + line[1] * log_odds(np.clip(share, 0.0, 1.0)))


def sigmoid(odds: float | Floats) -> Floats:
    """The shares with these log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.asarray(odds))))


def nearest(numbers: Floats, sources: Floats, names: Sequence[str]) -> list[tuple[str, float]]:
    """The treebanks by their distance: the root mean square of differences between standardised numbers.

    numbers (U,); sources (S, U).
    """
    distances = np.sqrt(((sources.astype(np.float64) - numbers) ** 2).mean(1))
    return [(names[k], float(distances[k])) for k in np.argsort(distances, kind="stable").tolist()]


# ----------------------------------------------------------------------------------------------------
# What parses: each kind of model as an engine, behind one interface; sentences have no punctuation.
#
# An engine gives scores of arcs, of which `decoding` makes trees; a greedy one gives heads at once. The
# engines of the universal parser, of a CRF and of a student are here; that of the neural parser, which
# needs DyNet, is in `model.lockstep`.
#
# Letters: n words of a sentence, N words of several in a row, L relations of `labels.label_table.LABELS`.


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


# ----------------------------------------------------------------------------------------------------
# Relations of parsed sentences: from the model's labeller if it has learnt one, else from its base.


FEWEST, LOOKED_AT = 20, 500
"""Sentences at the beginning of a text that determine its verb order: at least, at most."""

_VERBS_END = Table(verb_final=Grouped(0.7, (("VERB", "AUX"),)))

VERB_ORDER = TEXT + "verb_order"
"""The name of the array that holds the verb order of the text that a parser was adapted to."""

Relations = tuple[str, ...]


class ModelLabeller:
    """Labels the trees of a model's parser, under a table and the log p of a universal parser, if it is one.

    Raises: ModelError, the arrays of the model's own labeller are damaged.
    """

    def __init__(self, model: ModelFile, table: LabelTable, log_p: LogP | None = None) -> None:
        is_taught = PREFIX + "shape" in model.parameters
        self._labeller = Labeller(table, log_p=log_p)
        if is_taught:
            self._labeller = Labeller.from_arrays(model.parameters, table, log_p)
        self._ignored = model.settings.data.ignore
        self.columns = ("feats", "lemmas") if is_taught else ("feats",)
        """The columns of sentences that it reads, besides forms and tags."""
        self._tags_are_universal = model.settings.data.tags == "upos"
        self.verb_order = known_verb_order(model)
        """The verb order of the training text; None: not known."""

    def relations(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[Sequence[int]],
        verb_order: int | None = None,
        found: Sequence[Found] | None = None,
    ) -> list[Relations | None]:
        """The relations of each sentence under these heads; None for one without universal tags.

        `verb_order`: of this text; None: the one that the model knows, else neither final nor initial.
        `found`: the parser's trees without punctuation, whose log p is used where the heads are theirs.
        """
        relations: list[Relations | None] = [None] * len(sentences)
        tagged = [k for k, sentence in enumerate(sentences) if self._has_tags(sentence)]
        rows = self._labeller.relations(
            [sentences[k] for k in tagged],
            [heads[k] for k in tagged],
            verb_order=self.verb_order if verb_order is None else verb_order,
            ignored=self._ignored,
            known=[(found[k].heads, found[k].log_p) for k in tagged] if found else None,
        )
        for k, names in zip(tagged, rows):
            relations[k] = names
        return relations

    def _has_tags(self, sentence: Sentence) -> bool:
        universal = sentence.upos or (sentence.tags if self._tags_are_universal else ("_",))
        return "_" not in universal

    def labelled(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[tuple[int, ...]],
        verb_order: int | None = None,
    ) -> list[Sentence]:
        """The sentences with these heads, and with relations if they have universal tags."""
        relations = self.relations(sentences, heads, verb_order)
        return [replace(s, heads=h, deprels=r or ()) for s, h, r in zip(sentences, heads, relations)]

    def verb_order_in(self, tagged: Iterable[Sequence[str]]) -> int:
        """The verb order of a text with these tags: the model's, else that of the text's beginning."""
        if self.verb_order is not None:
            return self.verb_order
        bare = [[tag for tag in tags if tag not in UD_PUNCTUATION] for tags in islice(tagged, LOOKED_AT)]
        order = Statistics.measure(bare, _VERBS_END)
        if order.sentences < FEWEST:
            return VerbOrder.OTHER
        views: Any = [_Tags(len(tags), tags) for tags in bare if tags]
        measures = levels(_measures(), views)
        return Text(order, measures).verb_order


class _Tags(NamedTuple):
    """The part of a sentence that measures of verb order read."""

    n: int
    tags: Sequence[str]


@cache
def _measures() -> list[Measure]:
    """The measures by which the table `best` finds whether clauses begin with their verbs."""
    table = load_rules(rules_path("best")).table
    return [measure for measure in table.measures if measure.name == VERB_INITIAL] if table else []


def known_verb_order(model: ModelFile) -> int | None:
    """The verb order of the text that the model was trained on, or adapted to; None: not known.

    Models of several languages do not know the language of a text, and so have no verb order.
    """
    if (order := model.parameters.get(VERB_ORDER)) is not None and order.size:  # adapted to a text
        return int(order.flat[0])
    if len(model.provenance.languages) > 1:
        return None
    if PREFIX + "shape" in model.parameters:
        return int(model.parameters[PREFIX + "shape"][-1])
    table = model.rules.table
    if model.text is None or table is None or table.verb_final is None:
        return None
    return Text.from_json(model.text).verb_order


def labeller_of(model: ModelFile, engine: Engine, table: LabelTable | None = None) -> ModelLabeller:
    """The labeller of a model's trees. Another table than the default one replaces what a universal parser
    knows, unless the model has learnt beside that. Raises: ModelError, see `ModelLabeller`."""
    default = load(DEFAULT)
    is_asked = SHARE in model.parameters or (universal(engine) is not None and table in (None, default))
    log_p = engine.log_p if is_asked and isinstance(engine, ScoringEngine) else None
    return ModelLabeller(model, default if table is None else table, log_p)

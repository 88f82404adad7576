"""The parser of each kind of model, with a model file's parameters; sentences have no punctuation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.data.vocabulary import UNKNOWN, Encoded
from dynet_vdgi.errors import ModelError, UsageError
from dynet_vdgi.parsing.confidence import PREFIX as CONFIDENCE
from dynet_vdgi.parsing.confidence import Calibration
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.settings.neural_settings import NeuralSettings
from dynet_vdgi.settings.registry import RECIPES
from dynet_vdgi.students.codes import Codes
from dynet_vdgi.students.perceptron import PerceptronModel
from dynet_vdgi.system.arrays import Floats

if TYPE_CHECKING:
    from dynet_vdgi.parsing.arena import SampledTrees
    from dynet_vdgi.parsing.universal_engine import UniversalEngine
    from dynet_vdgi.teachers.arc_crf import ArcCrf
    from dynet_vdgi.universal.stored import Measures

Tree = tuple[int, ...]


class Engine(Protocol):
    """The parser of a model: in linear time, or in cubic time if it is universal or a CRF."""

    is_lean: bool
    """If it reads forms and tags only."""

    is_exact: bool
    """If its trees are those of `How.exact` anyway."""

    def make_ready(self) -> None:
        """Compiles the code it needs, or loads it from disk."""

    def parse(self, sentences: Sequence[Sentence]) -> list[Tree]:
        """Projective trees with one root."""

    def with_margins(self, sentences: Sequence[Sentence], *, keep_heads: bool) -> list[tuple[Tree, Floats]]:
        """The trees of `parse`, each with the margins (n,) of its heads, in the units of the calibration.

        With `keep_heads`, heads that are given (not FREE) stay; they must fit into a projective tree.

        Raises: UsageError, this kind of parser has no margins, or cannot keep heads.
        """


def universal(engine: Engine) -> UniversalEngine | None:
    """The engine if it is that of a universal parser, whose modules other models do not need."""
    return cast("UniversalEngine", engine) if getattr(engine, "is_universal", False) else None


class NeuralEngine:
    """The encoder of a neural model."""

    is_lean, is_exact = True, False

    def __init__(self, model: ModelFile) -> None:
        from dynet_vdgi.parsing.arena import Arena

        assert isinstance(model.settings, NeuralSettings)
        self._arena = Arena(model.parameters, model.settings.parser)
        self._vocabulary = model.vocabulary
        tags, words = len(self._vocabulary.tags), len(self._vocabulary.words)
        try:
            self._arena.parse([Encoded((tags, UNKNOWN, tags), (words, UNKNOWN, words))])
        except (ValueError, IndexError) as error:
            raise ModelError(f"parameters do not fit the model: {error}") from None

    def make_ready(self) -> None:
        self._arena.make_ready()

    def parse(self, sentences: Sequence[Sentence]) -> list[Tree]:
        return self._arena.parse([self._vocabulary.encode(s.forms, s.tags) for s in sentences])

    def with_margins(self, sentences: Sequence[Sentence], *, keep_heads: bool) -> list[tuple[Tree, Floats]]:
        raise UsageError("a neural model cannot do that")

    def draw(
        self, sentences: Sequence[Sentence], n_samples: int, rng: np.random.Generator
    ) -> list[SampledTrees]:
        """Trees drawn from the model's distribution."""
        encoded = [self._vocabulary.encode(s.forms, s.tags) for s in sentences]
        return self._arena.draw(encoded, n_samples, rng)


class SymbolEngine:
    """A perceptron that reads tags, or the symbols that a rule table gives to words."""

    is_exact = False

    def __init__(self, model: ModelFile) -> None:
        self.model = PerceptronModel.from_arrays(model.parameters)
        self._vocabulary = model.vocabulary
        self.codes = Codes.from_json(model.rules, model.symbols) if model.symbols is not None else None
        self.is_lean = self.codes is None
        n_tags = self.codes.n_tags if self.codes is not None else len(model.vocabulary.tags)
        if self.model.n_tags != n_tags:
            raise ModelError(f"the perceptron has {self.model.n_tags} tags, its vocabulary {n_tags}")

    def make_ready(self) -> None:
        self.model.make_ready()

    def parse(self, sentences: Sequence[Sentence]) -> list[Tree]:
        return self.model.parse(self._rows(sentences))

    def with_margins(self, sentences: Sequence[Sentence], *, keep_heads: bool) -> list[tuple[Tree, Floats]]:
        given = [s.heads or (FREE,) * len(s) for s in sentences] if keep_heads else None
        return self.model.with_margins(self._rows(sentences), given)

    def _rows(self, sentences: Sequence[Sentence]) -> list[Sequence[int]]:
        if self.codes is not None:
            return [self.codes(sentence) for sentence in sentences]
        return [self._vocabulary.encode(s.forms, s.tags).tags for s in sentences]


class WordEngine:
    """The parser of words, FEATS and punctuation that the recipe `few_trees` learns."""

    is_lean, is_exact = False, False

    def __init__(self, model: ModelFile) -> None:
        from dynet_vdgi.students.word_perceptron import WordPerceptron

        self.model = WordPerceptron.from_arrays(model.parameters)

    def make_ready(self) -> None:
        self.model.make_ready()

    def parse(self, sentences: Sequence[Sentence]) -> list[Tree]:
        return [tree.heads or () for tree in self.model.predict(sentences)]

    def with_margins(self, sentences: Sequence[Sentence], *, keep_heads: bool) -> list[tuple[Tree, Floats]]:
        found = self.model.predict_with_margins(sentences, keep_heads=keep_heads)
        return [(tree.heads or (), margins) for tree, margins in found]


class Engines:
    """All parsers of a model file; those rarely needed are made on demand.

    Raises: ModelError, the model's parameters do not fit, or it is of a kind that is not known here.
    """

    def __init__(self, model: ModelFile) -> None:
        self._model = model
        self._recipe = RECIPES.named(model.settings.recipe)
        self.own: Engine = self._recipe.engine(model)

    @property
    def neural(self) -> NeuralEngine | None:
        """The engine that draws trees, if the model is neural."""
        return self.own if isinstance(self.own, NeuralEngine) else None

    @cached_property
    def exact(self) -> ArcCrf | UniversalEngine:
        """The distribution over trees that the parser learnt from; without gold trees, the rule table's.

        Raises: UsageError, the model has none.
        """
        found: ArcCrf | UniversalEngine = self._recipe.exact(self._model)
        return found

    @cached_property
    def measures(self) -> Measures | None:
        """What a universal parser has measured of its text, with the shift of confidences if it has any."""
        engine = universal(self.own)
        if engine is None:
            return None
        if not self._is_calibrated:
            return engine.measures
        return engine.settled(Calibration.from_arrays(self._model.parameters))

    @property
    def _is_calibrated(self) -> bool:
        return any(name.startswith(CONFIDENCE) for name in self._model.parameters)

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration that turns margins into probabilities, in the text that was measured, if any.

        Raises: UsageError, the model has none.
        """
        if self._is_calibrated:
            found = Calibration.from_arrays(self._model.parameters)
            shift = self.measures and self.measures.shift
            return found.shifted(shift) if shift else found
        why = "was trained without text and teacher: train it again, with --train TEXT"
        if self.neural:
            why = "is neural: use --probs, or train with --preset best"
        elif universal(self.own) is not None:
            why = "was learnt without a calibration"
        raise UsageError(f"this model has no confidence values, because it {why}")

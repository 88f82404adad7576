"""What every teacher gives, heads and potentials of arcs, and what teachers of symbols share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.corpus import in_memory
from dynet_vdgi.conllu.sentence import Sentence, Tree
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.inference import eisner
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.symbol_levels import coarse, fallbacks
from dynet_vdgi.rule_tables.views import View
from dynet_vdgi.settings.settings import TeacherSettings
from dynet_vdgi.settings.values import checked, checked_seed
from dynet_vdgi.system.array_types import Floats

LONGEST_VOTER = 40
"""Longest sentence, in words, whose arc marginals teachers give for calibrating confidences."""


Model = TypeVar("Model", bound="LoggedModel")

Self = TypeVar("Self", bound="Teacher")

TagSelf = TypeVar("TagSelf", bound="SymbolTeacher[Any]")


class Base(Protocol):
    """A text's model before learning from its trees, for instance a `Prior`: a sum of m parts."""

    @property
    def shares(self) -> Floats:
        """The shares (m,) of the parts before learning."""

    @property
    def learns_shares(self) -> bool:
        """If trees tell how much each part is worth; else all shares fall with the number of
        trees."""

    @property
    def log_p(self) -> Callable[[Sequence[Sentence], NDArray[np.int64]], Floats] | None:
        """log p of relations, a `relations.labeller.LogP`; None: it knows none."""

    def all_parts(self, sentences: Sequence[Sentence], /) -> Iterable[Floats]:
        """Log-potentials (m, n + 1, n + 1) of each sentence's arcs [part, head, dependent], ROOT at
        0."""

    def arrays(self) -> Mapping[str, Any]:
        """What a model file keeps of it beside the rule table and the table's measurements of the
        text."""


class Teacher(ABC):
    """A learner that parses a text under a prior, without gold trees, and makes trees for
    students."""

    name: str
    """Its name in messages."""

    @abstractmethod
    def fit(self: Self, text: Iterable[Sentence], prior: Prior) -> Self:
        """Learns from the tags of a text without punctuation; sentences of up to 15 words will do.

        Raises: ValueError, there is no sentence.
        """

    @abstractmethod
    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """Probabilities (n + 1, n) of each sentence's arcs, by head, ROOT first, and dependent."""

    def start(self, text: Iterable[Sentence], prior: Prior) -> Base:
        """What a CRF of the text that it was fit to starts from; of this text, if it was fit to
        none."""
        return prior

    @abstractmethod
    def log_rows(self) -> list[dict[str, float]]:
        """The log of learning, a row an iteration."""

    def heads(self, sentences: Iterable[Sentence]) -> list[Tree]:
        """The projective trees with one root that have the most arcs expected to be right."""
        return eisner.expected_best_of_all(self.marginals(sentences))

    def heads_and_votes(
        self, sentences: Sequence[Sentence], n_votes: int
    ) -> tuple[list[Tree], list[tuple[Sentence, Floats]]]:
        """The trees of `heads`, and the first `n_votes` voters among the sentences with their
        marginals."""
        voters = [sentence for sentence in sentences if is_voter(sentence)][:n_votes]
        return self.heads(sentences), list(zip(voters, self.marginals(voters)))

    def predict(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences with the trees of `heads`; their own trees are not used."""
        given = list(sentences)
        return [replace(s, heads=heads, source=None) for s, heads in zip(given, self.heads(given))]


def is_voter(sentence: Sentence) -> bool:
    """If the sentence is short enough for its marginals to be used in calibration."""
    return len(sentence) <= LONGEST_VOTER


class SymbolText(NamedTuple):
    """The text that a teacher of symbols learns from."""

    symbols: list[list[int]]  # ids (n,) of each sentence
    potentials: list[Floats]  # (n + 1, n + 1) of each sentence
    n_symbols: int  # all ids are below
    prior: Prior
    names: list[list[str]]  # the symbols of each sentence's words
    finer: list[list[str]]  # these symbols split by words
    sentences: list[Sentence]


class LoggedModel(Protocol):
    """A model that has a record of its learning: a named tuple an iteration."""

    @property
    def log(self) -> Sequence[Any]: ...


class SymbolTeacher(Teacher, Generic[Model]):
    """A teacher with one model of symbols and arc potentials.

    After `fit`: `model`; `prior`; `symbols`, the tags of the text, or the symbols that the prior's
    table makes of them. An unknown symbol falls back to a coarser one; if none is known, it has the
    id T - 1. Arguments are settings of `kind` or single numbers of them; the seed is for teachers
    that draw some.

    Raises: ConfigError, a number is unknown or out of its range; settings and numbers exclude each
    other.
    """

    kind: ClassVar[type[TeacherSettings]]
    settings: TeacherSettings

    def __init__(
        self, settings: TeacherSettings | None = None, seed: int = 1, **numbers: Any
    ) -> None:
        self.settings = checked(self.kind, numbers, settings)
        self.seed = checked_seed(seed, self.settings.kind)
        self.prior: Prior
        self.symbols: tuple[str, ...] = ()
        self._model: Model | None = None

    @property
    def model(self) -> Model:
        """The learnt model. Raises: VdgiError, `fit` has not run."""
        if self._model is None:
            raise self._not_yet()
        return self._model

    def fit(self: TagSelf, text: Iterable[Sentence], prior: Prior) -> TagSelf:
        sentences = list(in_memory(text))
        short = [s for s in sentences if len(s) <= self.max_len] if self.max_len else sentences
        learnt_from = short or sentences
        if not any(map(len, learnt_from)):
            raise ValueError("no sentences to learn from")
        views = prior.views(learnt_from)
        rows, finer = (
            [symbols(view) for view in views] for symbols in (prior.symbols, prior.split_symbols)
        )
        potentials = prior.potentials_of(views)
        self.symbols = with_coarse(rows)
        ids, n_symbols = symbol_ids(rows, self.symbols), len(self.symbols) + 1
        model = self._learnt(
            SymbolText(ids, potentials, n_symbols, prior, rows, finer, learnt_from)
        )
        self.prior, self._model = prior, model
        return self

    @property
    def max_len(self) -> int:
        """Longest sentence it learns from, in words; 0: any. It takes longer ones if all are
        longer."""
        return int(getattr(self.settings, "max_len", 0))

    def log_rows(self) -> list[dict[str, float]]:
        return [row._asdict() for row in self.model.log]

    @abstractmethod
    def _learnt(self, text: SymbolText) -> Model:
        """The model learnt from a text, whose `symbols` it may replace by more."""

    def encoded(self, sentences: Iterable[Sentence]) -> tuple[list[list[int]], list[Floats]]:
        """Symbol ids (n,) and potentials (n + 1, n + 1) of each sentence. Raises: VdgiError, before
        `fit`."""
        if self._model is None:
            raise self._not_yet()
        views = self.prior.views(sentences)
        return symbol_ids(map(self._names, views), self.symbols), self.prior.potentials_of(views)

    def _names(self, view: View) -> list[str]:
        """The symbols that the prior gives to a sentence's words; the model may not know all of
        them."""
        return self.prior.symbols(view)

    def _not_yet(self) -> VdgiError:
        return VdgiError(f"this {self.name} has not learnt yet: call fit(text, prior) first")


def with_coarse(rows: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The symbols of a text and the coarser ones that they fall back to, sorted."""
    seen = {symbol for row in rows for symbol in row}
    return tuple(sorted(seen | set(map(coarse, seen))))


def symbol_ids(rows: Iterable[Iterable[str]], symbols: Sequence[str]) -> list[list[int]]:
    """Numbers of each sentence's symbols; an unknown one gets a coarser one's number, or else
    len(symbols)."""
    ids = {symbol: k for k, symbol in enumerate(symbols)}
    return [
        [next((ids[name] for name in fallbacks(symbol) if name in ids), len(ids)) for symbol in row]
        for row in rows
    ]

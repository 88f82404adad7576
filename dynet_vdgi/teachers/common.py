"""What all teachers share: their interface, how tags become numbers, trees from marginals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.projective import decode

Floats = NDArray[np.float64]
Heads = tuple[int, ...]
Model = TypeVar("Model")
Self = TypeVar("Self", bound="Teacher")
TagSelf = TypeVar("TagSelf", bound="TagTeacher[Any]")


class Teacher(ABC):
    """What learns to parse a text under a prior, without trees, and makes trees for students."""

    name: str
    """In messages."""

    @abstractmethod
    def fit(self: Self, text: Iterable[Sentence], prior: Prior) -> Self:
        """Learns from the tags of a text without punctuation; sentences of up to 15 words will do.

        Raises:
            ValueError: there is no sentence.
        """

    @abstractmethod
    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """How probable each arc is, (n + 1, n) by head, ROOT first, and dependent."""

    @abstractmethod
    def log_rows(self) -> list[dict[str, float]]:
        """What the log says of learning, a row an iteration."""

    def heads(self, sentences: Iterable[Sentence]) -> list[Heads]:
        """The projective tree with one root of which most arcs are expected to be right."""
        return best_trees(self.marginals(sentences))

    def predict(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences with these trees; their own are not used."""
        given = list(sentences)
        return [replace(s, heads=heads, source=None) for s, heads in zip(given, self.heads(given))]


class TagTeacher(Teacher, Generic[Model]):
    """A teacher with one model of tags and arc potentials.

    After `fit`: `model`; `prior`; `tags`, those of the text. Any other tag has the id T - 1.
    """

    def __init__(self) -> None:
        self.prior: Prior
        self.tags: tuple[str, ...] = ()
        self._model: Model | None = None

    @property
    def model(self) -> Model:
        """What was learnt. Raises: VdgiError, nothing yet."""
        if self._model is None:
            raise self._not_yet()
        return self._model

    def fit(self: TagSelf, text: Iterable[Sentence], prior: Prior) -> TagSelf:
        sentences = list(text)
        tags = tags_of(sentences)
        model = self._learnt(*_encoded(sentences, tags, prior), len(tags) + 1)
        self.tags, self.prior, self._model = tags, prior, model
        return self

    @abstractmethod
    def _learnt(self, tags: list[list[int]], potentials: list[Floats], n_tags: int) -> Model:
        """The model of sentences of tag ids (n,) below n_tags, with potentials (n + 1, n + 1)."""

    def encoded(self, sentences: Iterable[Sentence]) -> tuple[list[list[int]], list[Floats]]:
        """Tag ids (n,) and potentials (n + 1, n + 1) of each sentence. Raises: VdgiError, nothing learnt."""
        if self._model is None:
            raise self._not_yet()
        return _encoded(list(sentences), self.tags, self.prior)

    def _not_yet(self) -> VdgiError:
        return VdgiError(f"this {self.name} has not learnt yet: call fit(text, prior) first")


def _encoded(
    sentences: Sequence[Sentence], tags: Sequence[str], prior: Prior
) -> tuple[list[list[int]], list[Floats]]:
    ids = [tag_ids(sentence.tags, tags) for sentence in sentences]
    return ids, [prior.potentials(sentence) for sentence in sentences]


def best_trees(marginals: Sequence[Floats]) -> list[Heads]:
    """For marginals (n + 1, n) of each sentence, the projective tree with one root and the highest sum."""
    return decode([np.pad(matrix, ((0, 0), (1, 0))) for matrix in marginals])


def tags_of(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    """The tags of a text, sorted."""
    return tuple(sorted({tag for sentence in sentences for tag in sentence.tags}))


def tag_ids(tags: Sequence[str], known: Sequence[str]) -> list[int]:
    """Numbers of a sentence's tags; of one that is not known, the next after all others."""
    ids = {tag: k for k, tag in enumerate(known)}
    return [ids.get(tag, len(known)) for tag in tags]

"""Teachers that vote on every arc: minimum Bayes risk decoding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Callable, Protocol

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.teachers.dmv import best_trees

Floats = NDArray[np.float64]
Heads = tuple[int, ...]


class Teacher(Protocol):
    """What has learnt to parse tagged sentences."""

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """How probable each arc is, (n + 1, n) by head, ROOT first, and dependent."""

    def parse(self, sentences: Iterable[Sentence]) -> list[Heads]:
        """The projective tree, with one root, of each sentence."""


Learner = Callable[[Sequence[Sentence], Prior], Teacher]
"""What makes a teacher from sentences, under a prior."""


@dataclass(frozen=True)
class Ensemble:
    """Teachers with equal votes."""

    members: tuple[Teacher, ...]

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """The means of the members' marginals."""
        text = list(sentences)
        votes = [member.marginals(text) for member in self.members]
        return [np.mean(of_sentence, axis=0) for of_sentence in zip(*votes)]

    def parse(self, sentences: Iterable[Sentence]) -> list[Heads]:
        """The trees of which most arcs are expected to be right."""
        return best_trees(self.marginals(sentences))


def learn(sentences: Sequence[Sentence], prior: Prior, learners: Sequence[Learner]) -> Ensemble:
    """The ensemble of what these make of the sentences."""
    return Ensemble(tuple(member(sentences, prior) for member in learners))

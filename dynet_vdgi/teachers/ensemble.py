"""Teachers that vote on every arc: minimum Bayes risk decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.teachers.dmv import best_trees

Floats = NDArray[np.float64]
Heads = tuple[int, ...]


class Teacher(Protocol):
    """What has learnt to parse tagged sentences."""

    def marginals(self, tagged: Iterable[Sequence[str]]) -> list[Floats]:
        """How probable each arc is, (n + 1, n) by head, ROOT first, and dependent."""

    def parse(self, tagged: Iterable[Sequence[str]]) -> list[Heads]:
        """The projective tree, with one root, of each sentence."""


Learner = Callable[[Sequence[Sequence[str]], Prior], Teacher]
"""What makes a teacher from tagged sentences, under a prior."""


@dataclass(frozen=True)
class Ensemble:
    """Teachers with equal votes."""

    members: tuple[Teacher, ...]

    def marginals(self, tagged: Iterable[Sequence[str]]) -> list[Floats]:
        """The means of the members' marginals."""
        sentences = list(tagged)
        votes = [member.marginals(sentences) for member in self.members]
        return [np.mean(of_sentence, axis=0) for of_sentence in zip(*votes)]

    def parse(self, tagged: Iterable[Sequence[str]]) -> list[Heads]:
        """The trees of which most arcs are expected to be right."""
        return best_trees(self.marginals(tagged))


def learn(tagged: Sequence[Sequence[str]], prior: Prior, learners: Sequence[Learner]) -> Ensemble:
    """The ensemble of what these make of the sentences."""
    return Ensemble(tuple(member(tagged, prior) for member in learners))

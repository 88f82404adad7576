"""Teachers that vote on every arc: minimum Bayes risk decoding."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dynet_vdgi.data.corpus import in_memory
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.rivals.convex_mst import ConvexMst, ConvexMstSettings
from dynet_vdgi.settings.config import TeacherKind, TeacherSettings
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.teachers.common import Teacher
from dynet_vdgi.teachers.dmv import Dmv
from dynet_vdgi.teachers.dmv_settings import DmvSettings


class EnsembleSettings(TeacherSettings, frozen=True, tag_field="kind", tag="ensemble"):
    """A DMV and Convex-MST with equal votes."""

    dmv: DmvSettings = DmvSettings()
    convex_mst: ConvexMstSettings = ConvexMstSettings()

    def idle(self, longest: int | None = None) -> dict[str, str]:
        return {
            f"{name}.{key}": why
            for name, member in (("dmv", self.dmv), ("convex_mst", self.convex_mst))
            for key, why in member.idle(longest).items()
        }


class Ensemble(Teacher):
    """Teachers with equal votes: `Ensemble(Dmv(), ConvexMst()).fit(text, prior)`.

    Raises:
        ValueError: there are none.
    """

    def __init__(self, *members: Teacher) -> None:
        if not members:
            raise ValueError("an ensemble needs teachers")
        self.members = members
        self.name = " + ".join(member.name for member in members)

    def fit(self, text: Iterable[Sentence], prior: Prior) -> Ensemble:
        """Every member learns. Raises: ValueError, there is no sentence."""
        sentences = list(in_memory(text))
        for member in self.members:
            member.fit(sentences, prior)
        return self

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """The means of the members' marginals."""
        given = list(sentences)
        votes = [member.marginals(given) for member in self.members]
        return [np.asarray(np.mean(of_sentence, axis=0)) for of_sentence in zip(*votes)]

    def log_rows(self) -> list[dict[str, float]]:
        """The rows of all members, one after the other."""
        return [row for member in self.members for row in member.log_rows()]


KIND = TeacherKind(
    EnsembleSettings, lambda settings, seed: Ensemble(Dmv(settings.dmv), ConvexMst(settings.convex_mst))
)

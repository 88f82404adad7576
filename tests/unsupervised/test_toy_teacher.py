"""A teacher as another package would bring it: from `ChainSettings` to `TEACHER`, well below forty
lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from few import trees

from dynet_vdgi.api import train
from dynet_vdgi.settings.registry import TEACHERS
from dynet_vdgi.settings.settings import TeacherKind, TeacherSettings
from dynet_vdgi.unsupervised.teacher import Teacher


class ChainSettings(TeacherSettings, frozen=True, tag_field="kind", tag="chain"):
    """Every word hangs from the one before."""


class Chain(Teacher):
    name = "chain"

    def fit(self, text, prior):
        return self

    def marginals(self, sentences):
        return [np.eye(len(s) + 1, len(s)) for s in sentences]

    def log_rows(self):
        return []


TEACHER = TeacherKind(ChainSettings, lambda settings, seed: Chain())


def test_a_teacher_from_outside_teaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TEACHERS, "_places", {**TEACHERS._places})
    TEACHERS.register("chain", f"{Path(__file__).stem}:TEACHER")
    parser = train(trees(60), "best", settings={"teacher": {"kind": "chain"}})
    assert parser(["a", "b", "c"], ["NOUN", "VERB", "NOUN"]).heads == (0, 1, 2)
    assert parser.model.settings.to_dict()["teacher"] == {"kind": "chain"}

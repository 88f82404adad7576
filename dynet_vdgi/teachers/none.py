"""The setting `teacher.kind = "none"`."""

from __future__ import annotations

from typing import NoReturn

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.settings.config import NoTeacher, TeacherKind


def _make(settings: NoTeacher, seed: int) -> NoReturn:
    raise ConfigError(
        "config: 'teacher.kind' is none, and few-trees starts from a teacher: with --preset best a "
        "perceptron learns from the trees alone"
    )


KIND = TeacherKind(NoTeacher, _make)

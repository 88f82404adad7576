"""The DMV, and no teacher, in the registry; the code of the DMV is imported when one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.settings.settings import DmvSettings, NoTeacher, TeacherKind

if TYPE_CHECKING:
    from dynet_vdgi.unsupervised.dmv import Dmv


def _make(settings: DmvSettings, seed: int) -> Dmv:
    from dynet_vdgi.unsupervised.dmv import Dmv

    return Dmv(settings)


DMV = TeacherKind(DmvSettings, _make)


def _refuse(settings: NoTeacher, seed: int) -> NoReturn:
    raise ConfigError(
        "config: 'teacher.kind' is none, and few-trees starts from a teacher: with --preset best a "
        "perceptron learns from the trees alone"
    )


NONE = TeacherKind(NoTeacher, _refuse)

"""The DMV in the registry of teachers; its code is imported when a DMV is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynet_vdgi.settings.config import TeacherKind
from dynet_vdgi.teachers.dmv_settings import DmvSettings

if TYPE_CHECKING:
    from dynet_vdgi.teachers.dmv import Dmv


def _make(settings: DmvSettings, seed: int) -> Dmv:
    from dynet_vdgi.teachers.dmv import Dmv

    return Dmv(settings)


KIND = TeacherKind(DmvSettings, _make)

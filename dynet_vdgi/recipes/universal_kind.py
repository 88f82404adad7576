"""The universal parser in the registry of teachers: its settings, and how it is read from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from dynet_vdgi.errors import ModelError
from dynet_vdgi.settings.config import TeacherKind, TeacherSettings

if TYPE_CHECKING:
    from dynet_vdgi.recipes.universal_teacher import UniversalTeacher


class UniversalTeacherSettings(TeacherSettings, frozen=True, tag_field="kind", tag="universal"):
    """A parser learnt from trees of other languages, see `recipes.universal_teacher`."""

    model: Annotated[
        str, Meta(description="model file with a universal parser, or the folder of its run")
    ] = "universal"
    table: Annotated[
        float,
        Meta(
            ge=0, description="weight of the rule table's log-probabilities beside the parser's, before trees"
        ),
    ] = 0.5

    needs_text: ClassVar[bool] = False
    is_universal: ClassVar[bool] = True
    pace: ClassVar[float] = (
        0.5  # it is right more often than a rule table: a few trees would spoil more of it
    )

    @property
    def files(self) -> dict[str, str]:
        from dynet_vdgi.runs.run_folder import model_path

        return {"universal parser": str(model_path(self.model))}

    @property
    def gold_trees(self) -> tuple[str, ...]:
        return (f"teacher: universal parser {Path(self.model).name}, learnt from trees of other languages",)


def _make(settings: UniversalTeacherSettings, seed: int) -> UniversalTeacher:
    """Raises: ModelError, there is no such file, or it has no universal parser."""
    from dynet_vdgi.recipes.universal_teacher import UniversalTeacher
    from dynet_vdgi.runs.model_file import load
    from dynet_vdgi.runs.run_folder import model_path
    from dynet_vdgi.universal.stored import scorer_of

    try:
        scorer = scorer_of(load(model_path(settings.model)).parameters)
    except ModelError as error:
        raise ModelError(f"teacher.model: {error}") from None
    return UniversalTeacher(scorer, settings.table)


KIND = TeacherKind(UniversalTeacherSettings, _make)

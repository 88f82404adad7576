"""The recipe of the universal parser: its settings, measuring a text, learning from treebanks; and
as a teacher."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta

from dynet_vdgi.conllu.corpus import in_memory
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError, VdgiError
from dynet_vdgi.inference import eisner
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.settings.settings import TeacherKind, TeacherSettings
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.universal.scorer import Scorer
from dynet_vdgi.universal.text_base import TextBase
from dynet_vdgi.unsupervised.teacher import Teacher


class UniversalTeacherSettings(TeacherSettings, frozen=True, tag_field="kind", tag="universal"):
    """A parser learnt from trees of other languages, see `UniversalTeacher`."""

    model: Annotated[
        str, Meta(description="model file with a universal parser, or the folder of its run")
    ] = "universal"
    table: Annotated[
        float,
        Meta(
            ge=0,
            description="weight of the rule table's log-probabilities beside the parser's, "
            "before trees",
        ),
    ] = 0.5

    needs_text: ClassVar[bool] = False
    is_universal: ClassVar[bool] = True
    # it is right more often than a rule table: a few trees would spoil more of it
    pace: ClassVar[float] = 0.5

    @property
    def files(self) -> dict[str, str]:
        from dynet_vdgi.models.run_folder import model_path

        return {"universal parser": str(model_path(self.model))}

    @property
    def gold_trees(self) -> tuple[str, ...]:
        return (
            f"teacher: universal parser {Path(self.model).name}, "
            "learnt from trees of other languages",
        )


def _make(settings: UniversalTeacherSettings, seed: int) -> UniversalTeacher:
    """Raises: ModelError, there is no such file, or it has no universal parser."""
    from dynet_vdgi.models.model_file import load
    from dynet_vdgi.models.run_folder import model_path
    from dynet_vdgi.universal.stored import scorer_of

    try:
        scorer = scorer_of(load(model_path(settings.model)).parameters)
    except ModelError as error:
        raise ModelError(f"teacher.model: {error}") from None
    return UniversalTeacher(scorer, settings.table)


KIND = TeacherKind(UniversalTeacherSettings, _make)


class UniversalTeacher(Teacher):
    """A scorer, and the share of the rule table beside it."""

    name = "universal parser"

    def __init__(self, scorer: Scorer, table_share: float = 0.5) -> None:
        self.scorer, self.table_share = scorer, table_share
        self._base: TextBase | None = None

    def fit(self, text: Iterable[Sentence], prior: Prior) -> UniversalTeacher:
        sentences = list(in_memory(text))
        if not sentences:
            raise ValueError("no sentences to measure")
        self._base = TextBase.of_text(self.scorer, sentences, prior, self.table_share)
        return self

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        if self._base is None:
            raise VdgiError(
                f"this {self.name} has measured no text yet: call fit(text, prior) first"
            )
        return [
            eisner.marginals(potentials)
            for potentials in self._base.all_potentials(list(sentences))
        ]

    def start(self, text: Iterable[Sentence], prior: Prior) -> TextBase:
        if self._base is None:
            self.fit(text, prior)
        assert self._base is not None
        return self._base

    def log_rows(self) -> list[dict[str, float]]:
        return []

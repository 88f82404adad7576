"""What all settings of a run share: sections, the bounds of their values, and how they become a
file.

A setting's name is `section.name`, as in `--set teacher.iterations=30`; `recipe`, `seed` and
`rules` have no section. The `recipe` decides which parser is trained and how, and has sections of
its own: see `recipes`. `teacher.kind` decides which settings the teacher has: they are defined
beside its code in `teachers`. The files that a run writes into its folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

MODEL_NAME, LOG_NAME, SETTINGS_NAME = "model.vdgi", "log.jsonl", "settings.toml"

FAST_NAME = "fast.vdgi"  # the student of a universal parser

DEFAULT_RECIPE = "taught"

Seed = Annotated[int, Meta(ge=0, le=2**63 - 1, description="seed of everything random")]

ONLY_TREES = "there is no text to learn from, only trees"


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings that belong together."""

    def idle(self, longest: int | None = None) -> dict[str, str]:
        """Keys without effect, given the other keys and the longest sentence (in words), with
        reasons."""
        return {}

    @property
    def files(self) -> dict[str, str]:
        """The files that the section names, by their role, for the record of a run."""
        return {}

    @property
    def gold_trees(self) -> tuple[str, ...]:
        """The uses of gold trees that the section implies, a line each."""
        return ()


class DataSettings(Section, frozen=True):
    """Which words and sentences are used."""

    protocol: Annotated[
        Literal["standard", "as_released"], Meta(description="which words and trees count")
    ] = "standard"
    tags: Annotated[Literal["upos", "xpos"], Meta(description="column that holds the tags")] = (
        "upos"
    )
    max_len: Annotated[int, Meta(ge=2, description="longest training sentence, in words")] = 40
    ignore: Annotated[
        tuple[Literal["feats", "xpos", "forms", "punctuation"], ...],
        Meta(
            description="word columns hidden from the teacher and the parser, "
            "in training and parsing"
        ),
    ] = ()


class TeacherSettings(Section, frozen=True, tag_field="kind"):
    """The settings of a teacher; `max_len` is the longest sentence it learns from."""

    teaches: ClassVar[bool] = True
    """If there is a teacher."""
    is_universal: ClassVar[bool] = False
    """See `Settings.is_universal`."""
    needs_text: ClassVar[bool] = True
    """If it knows nothing without text beside the rule table."""
    pace: ClassVar[float] = 1.0
    """The factor of the learning rate of a CRF that starts from it."""

    def idle(self, longest: int | None = None) -> dict[str, str]:
        if longest is not None and getattr(self, "max_len", 0) > longest:
            return {"max_len": "the text is cut at data.max_len already"}
        return {}

    @property
    def kind(self) -> str:
        """The name in the registry of teachers."""
        return str(self.__struct_config__.tag)


class TeacherKind(NamedTuple):
    """An entry in the registry of teachers: a type of settings, and a function that makes the
    teacher."""

    settings: type[TeacherSettings]
    make: Callable[[Any, int], Any]  # of settings and seed, to a `unsupervised.teacher.Teacher`


class NoTeacher(TeacherSettings, frozen=True, tag_field="kind", tag="none"):
    """No teacher: the parser learns from the text itself, or from gold trees."""

    teaches: ClassVar[bool] = False


class DmvSettings(TeacherSettings, frozen=True, tag_field="kind", tag="dmv"):
    """The dependency model with valence, learnt by EM, see `unsupervised.dmv_model`."""

    max_len: Annotated[
        int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")
    ] = 15
    iterations: Annotated[int, Meta(ge=0, description="iterations of EM, stage one")] = 20
    valence_iterations: Annotated[int, Meta(ge=0, description="iterations of EM, stage two")] = 10
    smoothing: Annotated[float, Meta(gt=0, description="pseudo-count added to every parameter")] = (
        0.1
    )
    backoff: Annotated[
        float, Meta(gt=0, description="pseudo-counts that stage two takes from stage one")
    ] = 100.0

    def idle(self, longest: int | None = None) -> dict[str, str]:
        reasons = super().idle(longest)
        if not self.valence_iterations:
            reasons["backoff"] = "there is no second stage: valence_iterations is 0"
            if not self.iterations:
                reasons["smoothing"] = "there are no iterations of EM"
        return reasons


class Circumstances(NamedTuple):
    """What a run is given, see `Settings.without_effect`."""

    has_text: bool
    has_dev: bool
    has_init: bool
    in_a_run: bool


Exclusions = tuple[tuple[str, str, Callable[[Any, Circumstances], object]], ...]
"""Settings without effect: their names, the reason, which may name the settings as {0}, and
when."""


class Settings(Section, frozen=True, tag_field="recipe"):
    """The settings of a run that every recipe has; each recipe adds sections of its own.

    `chooses_on_dev`: gold dev trees choose the model. `counts_in_trees`: the expectations of rules
    are counted in gold trees. `counts_rules`: learning counts how often each rule holds.
    """

    seed: Seed = 1
    rules: Annotated[
        str,
        Meta(
            description="rule table of teacher, prior and posterior: "
            "a file, or a name in resources/rules"
        ),
    ] = "best"
    data: DataSettings = DataSettings()

    exclusions: ClassVar[Exclusions] = ()
    """What has no effect beside other settings; later lines win."""

    @property
    def recipe(self) -> str:
        """The name of the recipe that these settings belong to."""
        return str(self.__struct_config__.tag)

    @property
    def chooses_on_dev(self) -> bool:
        return False

    @property
    def counts_in_trees(self) -> bool:
        return False

    @property
    def counts_rules(self) -> bool:
        return False

    @property
    def is_universal(self) -> bool:
        """If a universal parser parses or teaches, which reads universal tags."""
        return False

    @property
    def with_trees(self) -> dict[str, Any]:
        """Settings for the recipe that takes over where there are gold trees.

        They come on top of the settings that both recipes have.
        """
        return {}

    @property
    def sections(self) -> dict[str, Section]:
        """The sections by their names."""
        every = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: section for name, section in every if isinstance(section, Section)}

    def check_together(self) -> None:
        """Raises: ConfigError, settings contradict each other, though each is valid alone."""

    def without_effect(
        self,
        *,
        has_text: bool = True,
        has_dev: bool = True,
        has_init: bool = False,
        in_a_run: bool = False,
    ) -> dict[str, str]:
        """Sections and keys that have no effect in a run with these settings, with reasons.

        `has_text`: there is text, not only trees; `has_dev`: there are gold dev trees; `has_init`:
        there is a model to start from; `in_a_run`: also settings that files keep nevertheless, such
        as a bound on lengths that is too high to matter, because a default may be lower.
        """
        given = Circumstances(has_text, has_dev, has_init, in_a_run)
        longest = self.data.max_len if in_a_run else None
        idle = {
            f"{name}.{key}": why
            for name, section in self.sections.items()
            for key, why in section.idle(longest).items()
        }
        for names, why, holds in self.exclusions:
            if holds(self, given):
                idle.update(dict.fromkeys(names.split(), why.format(self)))
        return {
            name: why
            for name, why in idle.items()
            if "." not in name or name.split(".")[0] not in idle
        }

    def to_dict(self) -> dict[str, Any]:
        """The sections and keys that have an effect, in the form of a preset."""
        idle, effective = self.without_effect(), dict[str, Any]()
        for name, value in msgspec.json.decode(msgspec.json.encode(self)).items():
            if isinstance(value, dict):
                value = {key: inner for key, inner in value.items() if f"{name}.{key}" not in idle}
            if name not in idle and value != {}:
                effective[name] = value
        return effective

    def to_toml(self) -> str:
        """The settings as the text of a preset file, from which they can be read back."""
        values = self.to_dict()
        lines = _toml_lines(
            {name: value for name, value in values.items() if not isinstance(value, dict)}
        )
        for name, value in values.items():
            if isinstance(value, dict):
                lines += [f"\n[{name}]", *_toml_lines(value)]
        return "\n".join(lines) + "\n"


def _toml_lines(values: Mapping[str, Any]) -> list[str]:
    """TOML and JSON have the same literals except for two escapes."""
    literals = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
    return [f"{name} = " + value.replace("\x7f", "\\u007f") for name, value in literals.items()]


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Full names and values of all settings in nested sections."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value

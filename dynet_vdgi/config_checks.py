"""Settings from nested values, checked; what is wrong with them is told in words for their users."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from dynet_vdgi.config import (
    ConvexMstSettings,
    DataSettings,
    DmvSettings,
    FinetuneSettings,
    LanguageModelSettings,
    ModelSettings,
    PerceptronSettings,
    PosteriorSettings,
    Section,
    Seed,
    Settings,
    TeacherSettings,
    TrainSettings,
    TransferSettings,
    WordSettings,
    leaves,
)
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.names import did_you_mean

_UNIONS: dict[str, tuple[type[Section], ...]] = {
    "teacher": get_args(TeacherSettings),
    "parser": (PerceptronSettings, ModelSettings),
}
_SECTIONS: dict[str, tuple[type[Section], ...]] = {
    "data": (DataSettings,),
    **_UNIONS,
    "transfer": (TransferSettings,),
    "words": (WordSettings,),
    "posterior": (PosteriorSettings,),
    "train": (TrainSettings,),
    "finetune": (FinetuneSettings,),
    "language_model": (LanguageModelSettings,),
}
_INNER: dict[str, type[Section]] = {"teacher.dmv": DmvSettings, "teacher.convex_mst": ConvexMstSettings}
"""Sections inside a section."""

RENAMED = {
    "posterior.rules": "rules",
    "teacher.prior": "rules",
    "train.seed": "seed",
    "train.learner": "parser.kind",
    **{f"data.{name}": f"words.{name}" for name in WordSettings.__struct_fields__},
    **{f"model.{name}": f"parser.{name}" for name in ModelSettings.__struct_fields__},
}
"""Names of settings in version 0.1."""


def every_setting() -> Iterator[tuple[str, str, type[Section]]]:
    """Section, key and section type of every setting; the section of `seed` and `rules` is empty."""
    for key in ("seed", "rules"):
        yield "", key, Settings
    for section, kinds in _SECTIONS.items():
        for kind in kinds:
            for key in kind.__struct_fields__:
                yield section, key, kind


def from_dict(values: Mapping[str, Any]) -> Settings:
    """Settings from nested values, checked.

    Raises:
        ConfigError: an unknown section or key (names the nearest one), a wrong type, a value out of bounds,
            settings that contradict each other.
    """
    _check_names(values)
    try:
        settings = msgspec.convert(_with_kinds(values), Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(_explained(str(error), values)) from None
    _check_values(settings, "config")
    _check_together(settings)
    return settings


def _check_values(settings: Section, owner: str) -> None:
    """Raises: ConfigError for a number that is none, or a text that cannot be written."""
    for key, value in leaves(msgspec.to_builtins(settings)):
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{owner}: '{key}' must be a finite number, not {value}")
        if isinstance(value, str) and value != value.encode("utf-8", "replace").decode():
            raise ConfigError(f"{owner}: '{key}' must be a text in UTF-8, not {value!r}")


def _with_kinds(values: Mapping[str, Any]) -> dict[str, Any]:
    """With the kinds of teacher and parser where they are left out."""
    defaults = {"teacher": "dmv", "parser": "perceptron"}
    return {
        name: {"kind": defaults[name], **section} if name in defaults else section
        for name, section in values.items()
    }


Numbers = TypeVar("Numbers", bound=Section)


def checked(kind: type[Numbers], numbers: Mapping[str, Any], settings: Numbers | None = None) -> Numbers:
    """Settings of one kind, from the arguments of a constructor: single numbers, or the settings themselves.

    Raises:
        ConfigError: a number is unknown or out of its range; or both are there.
    """
    owner = str(kind.__struct_config__.tag)
    for name in numbers:
        if name not in kind.__struct_fields__:
            raise ConfigError(f"{owner}: no setting '{name}'{did_you_mean(name, kind.__struct_fields__)}")
    if settings is not None:
        if numbers:
            raise ConfigError(
                f"{owner}: give settings or single numbers such as {next(iter(numbers))}, not both"
            )
        return settings
    plain = {name: _plain(number) for name, number in numbers.items()}
    try:
        found = msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(_explained(str(error), plain, owner, kind)) from None
    _check_values(found, owner)
    return found


def checked_seed(seed: int, owner: str) -> int:
    """The seed of a constructor. Raises: ConfigError."""
    try:
        return msgspec.convert(_plain(seed), Seed)
    except msgspec.ValidationError as error:
        message = f"{error} - at `$.seed`"
        raise ConfigError(_explained(message, {"seed": seed}, owner, Settings)) from None


def _plain(number: Any) -> Any:
    """Of a number from NumPy, the one of Python."""
    return number.item() if hasattr(number, "item") else number


# ------------------------------------------------------------------------------------------- names
def _check_names(values: Mapping[str, Any]) -> None:
    """Raises: ConfigError for sections and keys that there are not."""
    for name, section in values.items():
        if name in ("seed", "rules"):
            if isinstance(section, Mapping):
                raise ConfigError(f"config: '{name}' is a key, not a section; write {name} = ...")
            continue
        if name not in _SECTIONS and not any(old.startswith(f"{name}.") for old in RENAMED):
            near = did_you_mean(str(name), [*_SECTIONS, "seed", "rules"])
            raise ConfigError(f"config: no section '{name}'{near}")
        _check_keys(name, section)


def _check_keys(name: str, section: Any) -> None:
    """The same for the keys of one section."""
    if not isinstance(section, Mapping):
        raise ConfigError(f"config: '{name}' is a section, not a key; write '{name}.NAME'")
    known = [f"{part}.{key}".lstrip(".") for part, key, _ in every_setting()]
    known += [f"{part}.{key}" for part, kind in _INNER.items() for key in kind.__struct_fields__]
    for key, value in section.items():
        full = f"{name}.{key}"
        if full in RENAMED and full not in known:
            raise ConfigError(f"config: '{full}' is called '{RENAMED[full]}' now")
        if full not in known and not (key == "kind" and name in (*_UNIONS, *_INNER)):
            raise ConfigError(f"config: no key '{full}'" + did_you_mean(full, known))
        if full in _INNER:
            _check_keys(full, value)
        elif isinstance(value, Mapping):
            inner = f"{full}.{next(iter(value), 'NAME')}"
            raise ConfigError(f"config: no key '{inner}'" + did_you_mean(inner, known))


# ------------------------------------------------------------------------------------------- values
_PLACE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_IN_WORDS = {"`int`": "a whole number", "`float`": "a number", "`bool`": "true or false", "`str`": "a text"}


def _explained(
    message: str, values: Mapping[str, Any], owner: str = "config", kind: type[Section] | None = None
) -> str:
    """A message of the validation library in the words of this program.

    `owner` is whose values they are; `kind`: of one section's values.
    """
    match = _PLACE.fullmatch(message)
    assert match is not None
    what, place = match[1], re.sub(r"\[[^]]*\]$", "", match[2] or "")
    section, _, key = place.rpartition(".")
    unknown = re.search(r"unknown field `(.*)`", what)
    if unknown:
        return _not_of_this_kind(place, unknown[1], values)
    value: Any = values
    for part in place.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    kinds = (kind,) if kind else _kinds(section)
    choices = _choices(section, key, kinds)
    if choices and isinstance(_default(key, kinds), tuple):
        listed = ", ".join(choices)
        wrong = [item for item in value if item not in choices] if isinstance(value, list) else []
        near = did_you_mean(str(wrong[0]), choices) if wrong else ""
        such = f'{listed}, such as ["{choices[0]}"]'
        return f"{owner}: '{place}' must be a list of any of {such}, not {value!r}{near}"
    if choices and isinstance(value, str):
        listed = f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]
        return f"{owner}: '{place}' must be {listed}, not {value!r}" + did_you_mean(value, choices)
    if re.search(" (>=|<=|>) ", what) and not isinstance(value, str):
        return f"{owner}: '{place}' must be {_bounds(key, kinds)}, not {value!r}"
    expected = re.sub(r", got .*", "", what.removeprefix("Expected "))
    expected = _IN_WORDS.get(expected, "a number of a usable size" if "out of range" in what else expected)
    return f"{owner}: '{place}' must be {expected}, not {value!r}"


def _kinds(section: str) -> tuple[type[Section], ...]:
    """The types that a section may have; the section of `seed` and `rules` is empty."""
    if section in _INNER:
        return (_INNER[section],)
    return _SECTIONS.get(section, (Settings,))


def _not_of_this_kind(section: str, key: str, values: Mapping[str, Any]) -> str:
    kinds = [kind for name, name_key, kind in every_setting() if name == section and name_key == key]
    own = _with_kinds(values)[section]["kind"]
    listed = " or ".join(f"{section}.kind={kind.__struct_config__.tag}" for kind in kinds)
    return f"config: '{section}.{key}' is for {listed}, and {section}.kind is {own}"


def _choices(section: str, key: str, kinds: tuple[type[Section], ...]) -> tuple[str, ...]:
    """The values that a setting may have, where they are names."""
    if key == "kind":
        return tuple(str(kind.__struct_config__.tag) for kind in kinds)
    for kind in kinds:
        hint = get_type_hints(kind).get(key)
        if get_origin(hint) is tuple:  # a list of such values
            hint = get_args(hint)[0]
        if get_origin(hint) is Literal:
            return tuple(map(str, get_args(hint)))
    return ()


def _default(key: str, kinds: tuple[type[Section], ...]) -> Any:
    """The default of a setting that some of these types have."""
    found = {item.name: item.default for kind in kinds for item in msgspec.structs.fields(kind)}
    return found.get(key)


def _bounds(key: str, kinds: tuple[type[Section], ...]) -> str:
    """The values that a number may have, in words."""
    for kind in kinds:
        hint = get_type_hints(kind, include_extras=True).get(key)
        if get_origin(hint) is Annotated:
            bounds = get_args(hint)[1]
            if bounds.gt is not None:
                return f"above {bounds.gt}"
            if bounds.le is not None:
                return f"from {bounds.ge} to {bounds.le}"
            return f"at least {bounds.ge}"
    return "in its bounds"


def _check_together(settings: Settings) -> None:
    """Raises: ConfigError for settings that are fine by themselves and impossible together."""
    if not settings.is_neural:
        return
    if not settings.pretrains and not settings.finetunes:
        raise ConfigError(
            "config: 'train.updates' and 'train.epochs' cannot both be 0, unless 'finetune' has updates "
            "or epochs: nothing would be trained"
        )
    if not settings.pretrains and settings.has_teacher:
        raise ConfigError(
            "config: 'train.updates' and 'train.epochs' cannot both be 0 with a teacher: nothing would "
            "learn from its trees; set teacher.kind=none"
        )
    if settings.train.select == "teacher" and not settings.has_teacher:
        raise ConfigError("config: 'train.select' = teacher asks a teacher; set teacher.kind=dmv")
    if settings.posterior.features == "potentials":
        for key, value, other in (("dynamics", "released", "fixed"), ("expectations", "trees", "rules")):
            if getattr(settings.posterior, key) == value:
                raise ConfigError(
                    f"config: 'posterior.{key}' = {value} is for counts of rules; set "
                    f"posterior.{key}={other}, or posterior.features=counts"
                )

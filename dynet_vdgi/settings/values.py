"""From nested values to settings: each value is checked, and messages name what may be meant.

>>> try:
...     from_dict({"recipe": "taught", "teacher": {"iteration": 3}})
... except ConfigError as error:
...     print(*str(error).split("; "), sep="\\n")
config: no key 'teacher.iteration'
did you mean 'teacher.iterations'?
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.settings.registry import PRESETS, RECIPES, TEACHERS
from dynet_vdgi.settings.settings import DEFAULT_RECIPE, Section, Seed, Settings, TeacherSettings
from dynet_vdgi.system.messages import did_you_mean, nearest

Numbers = TypeVar("Numbers", bound=Section)

_IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


class SettingPlace(NamedTuple):
    """The place of a setting; for `seed` and `rules` the section is empty."""

    recipes: tuple[str, ...]
    section: str
    key: str
    kind: type[Section]  # of the section

    @property
    def name(self) -> str:
        """The name that `--set` takes: section and key with a dot between them."""
        return f"{self.section}.{self.key}".lstrip(".")


def every_setting() -> list[SettingPlace]:
    """Every setting of every recipe and teacher."""
    recipes_of: dict[tuple[str, str, type[Section]], list[str]] = {}
    teachers = [TEACHERS.named(name).settings for name in TEACHERS.names()]
    for recipe in RECIPES.names():
        settings = RECIPES.named(recipe).settings
        for name, hint in hints_of(settings).items():
            places = [("", name, Settings if name in Settings.__struct_fields__ else settings)]
            if _is_section(hint):
                kinds = teachers if hint is TeacherSettings else [hint]
                places = [(name, key, kind) for kind in kinds for key in kind.__struct_fields__]
            for place in places:
                recipes_of.setdefault(place, []).append(recipe)
    return [SettingPlace(tuple(recipes), *place) for place, recipes in recipes_of.items()]


@cache
def hints_of(kind: type[Section]) -> Mapping[str, Any]:
    """The types of a section's keys, with their bounds."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in kind.__struct_fields__}


def _is_section(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Section)


def from_dict(values: Mapping[str, Any]) -> Settings:
    """Checked settings from nested values; without a recipe, the default recipe is meant.

    Raises: ConfigError, an unknown recipe, section or key (names the nearest one), a wrong type, a
    value out of bounds, settings that contradict each other.
    """
    recipe = values.get("recipe", DEFAULT_RECIPE)
    if not isinstance(recipe, str):
        raise ConfigError(f"config: 'recipe' must be a text, not {recipe!r}")
    kind: type[Settings] = RECIPES.named(recipe).settings
    rest = {name: value for name, value in values.items() if name != "recipe"}
    settings = _read(kind, "", rest, recipe)
    settings.check_together()
    return settings


def _read(kind: type[Numbers], section: str, values: Mapping[str, Any], recipe: str) -> Numbers:
    checked: dict[str, Any] = {}
    hints = hints_of(kind)
    for key, value in values.items():
        name = f"{section}.{key}".lstrip(".")
        if key not in hints:
            raise ConfigError(f"config: {_unknown_name(section, str(key), value, kind, recipe)}")
        hint = hints[key]
        if not _is_section(hint):
            checked[key] = _value(name, hint, value, "config")
            continue
        if not isinstance(value, Mapping):
            raise ConfigError(f"config: '{name}' is a section, not a key; write '{name}.NAME'")
        inner, numbers = hint, dict(value)
        if hint is TeacherSettings:  # chosen by its kind
            default = next(
                item.default for item in msgspec.structs.fields(kind) if item.name == key
            )
            teacher_kind = numbers.pop("kind", default.kind)
            if not isinstance(teacher_kind, str):
                raise ConfigError(f"config: '{name}.kind' must be a text, not {teacher_kind!r}")
            inner = TEACHERS.named(teacher_kind).settings
        checked[key] = _read(inner, name, numbers, recipe)
    return kind(**checked)


def _unknown_name(section: str, key: str, value: Any, kind: type[Section], recipe: str) -> str:
    """The message about a name that its section does not have."""
    name = f"{section}.{key}".lstrip(".")
    if isinstance(value, Mapping) and not section and value:
        # a section that the recipe lacks: the message is about its first key
        name = f"{key}.{next(iter(value))}"
    places = every_setting()
    sections = list(dict.fromkeys(place.section for place in places if place.section))
    if "." in key:
        opened, closed = key.replace(".", "': {'"), "}" * key.count(".")
        message = f"no key '{key}': keys are nested, as in {{'{opened}': {value!r}{closed}}}"
    elif any(place.name == name for place in places):
        message = _of_another_kind(name, section, kind, recipe)
    elif not section and key not in sections:
        keys = ("recipe", *Settings.__struct_fields__)
        message = f"no section '{key}'{did_you_mean(key, [*sections, *keys])}"
    elif "." not in name:
        of_recipe = [place.name for place in places if recipe in place.recipes]
        message = f"no key '{name}'{did_you_mean(name, of_recipe)}"
    else:
        message = f"no key '{name}'{_nearest_setting(name, section, key, kind, recipe)}"
    return message


def _of_another_kind(name: str, section: str, kind: type[Section], recipe: str) -> str:
    """The message about a setting that other recipes, or other kinds of its section, have."""
    places = [place for place in every_setting() if place.name == name]
    of_others = [place for place in places if recipe not in place.recipes]
    if of_others:
        return f"'{name}' {_of_other_recipes(_recipes_of(of_others), recipe)}"
    tags = dict.fromkeys(f"{section}.kind={place.kind.__struct_config__.tag}" for place in places)
    kind_here = kind.__struct_config__.tag
    return f"'{name}' is for {' or '.join(tags)}, and {section}.kind is {kind_here}"


def _recipes_of(places: Iterable[SettingPlace]) -> list[str]:
    """The recipes that have one of these settings, in their order."""
    recipes: dict[str, None] = {}
    for place in places:
        recipes.update(dict.fromkeys(place.recipes))
    return list(recipes)


def _nearest_setting(name: str, section: str, key: str, kind: type[Section], recipe: str) -> str:
    """The end of the message about an unknown setting of a section: the one that may be meant.

    That is a setting of this name elsewhere in the recipe, else one of a similar name in the
    section, else one of a similar name in the section as another recipe has it.
    """
    places = every_setting()
    of_recipe = [place for place in places if recipe in place.recipes]
    unknown, of_section = name.rpartition(".")[2], section or key
    elsewhere = [place.name for place in of_recipe if place.key == unknown]
    if elsewhere:
        return f"; did you mean '{elsewhere[0]}'?"
    within: Sequence[str] = kind.__struct_fields__
    if not section:
        within = [place.key for place in of_recipe if place.section == key]
    if near := nearest(unknown, within):
        return f"; did you mean '{of_section}.{near}'?"
    in_others = [place for place in places if place.section == of_section]
    if near := nearest(unknown, [place.key for place in in_others], 0.6):
        recipes = _recipes_of(place for place in in_others if place.key == near)
        return f"; '{of_section}.{near}' {_of_other_recipes(recipes, recipe)}"
    return ""


def _of_other_recipes(recipes: Sequence[str], recipe: str) -> str:
    """The end of a message about a setting that other recipes have, with a preset of the first
    one."""
    preset = PRESETS.get(recipes[0])
    remedy = f"; try --preset {preset}" if preset else ""
    return f"is for recipe={' or recipe='.join(recipes)}, and recipe is {recipe}{remedy}"


def checked(
    kind: type[Numbers],
    numbers: Mapping[str, Any],
    settings: Numbers | None = None,
    owner: str = "",
) -> Numbers:
    """Settings of one kind from a constructor's arguments: single values, or the settings
    themselves.

    Messages begin with `owner`, by default the tag of the kind.

    Raises: ConfigError, a setting is unknown or out of its range; or both settings and single
    values are given.
    """
    owner = owner or str(kind.__struct_config__.tag)
    for name in numbers:
        if name not in kind.__struct_fields__:
            raise ConfigError(
                f"{owner}: no setting '{name}'{did_you_mean(name, kind.__struct_fields__)}"
            )
    if settings is not None:
        if numbers:
            raise ConfigError(
                f"{owner}: give settings or single numbers such as {next(iter(numbers))}, not both"
            )
        return settings
    hints = hints_of(kind)
    return kind(
        **{name: _value(name, hints[name], _plain(value), owner) for name, value in numbers.items()}
    )


def checked_seed(seed: int, owner: str) -> int:
    """The checked seed of a constructor. Raises: ConfigError."""
    checked: int = _value("seed", Seed, _plain(seed), owner)
    return checked


def _plain(number: Any) -> Any:
    """A NumPy number as a Python number; anything else as it is."""
    return number.item() if hasattr(number, "item") else number


def _value(name: str, hint: Any, value: Any, owner: str) -> Any:
    """The value as this type of setting has it. Raises: ConfigError."""
    if isinstance(value, Mapping):
        if not _is_section(hint) and "." not in name and owner == "config":
            raise ConfigError(f"{owner}: '{name}' is a key, not a section; write {name} = ...")
        inner = f"{name}.{next(iter(value), 'NAME')}"
        raise ConfigError(f"{owner}: no key '{inner}'; did you mean '{name}'?")
    if _is_section(hint):
        if isinstance(value, hint):
            return value
        raise ConfigError(f"{owner}: '{name}' must be {hint.__name__}, not {value!r}")
    try:
        converted = msgspec.convert(value, hint)
    except (msgspec.ValidationError, OverflowError):
        raise ConfigError(f"{owner}: '{name}' must be {_wanted(hint, value)}") from None
    if isinstance(converted, int) and not -(2**63) <= converted < 2**63:
        raise ConfigError(f"{owner}: '{name}' must be a number of a usable size, not {converted}")
    if isinstance(converted, float) and not math.isfinite(converted):
        raise ConfigError(f"{owner}: '{name}' must be a finite number, not {converted}")
    if isinstance(converted, str) and converted != converted.encode("utf-8", "replace").decode():
        raise ConfigError(f"{owner}: '{name}' must be a text in UTF-8, not {converted!r}")
    return converted


def _wanted(hint: Any, value: Any) -> str:
    """The message that a value is not of this type, and what the type allows."""
    bare, bounds = hint, None
    if get_origin(hint) is Annotated:
        bare, bounds = get_args(hint)[:2]
    if get_origin(bare) is tuple:
        return _wanted_list([str(choice) for choice in get_args(get_args(bare)[0])], value)
    if get_origin(bare) is Literal and isinstance(value, str):
        choices = [str(choice) for choice in get_args(bare)]
        listed = f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]
        return f"{listed}, not {value!r}{did_you_mean(value, choices)}"
    if isinstance(value, int) and not isinstance(value, bool) and bare is int:
        return f"{_range(bounds) if bounds else 'a number of a usable size'}, not {value!r}"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_too_large = isinstance(value, int) and abs(value) > sys.float_info.max
    if bare is float and bounds and is_number and not is_too_large:
        return f"{_range(bounds)}, not {value!r}"
    return f"{_IN_WORDS.get(bare, 'a text')}, not {value!r}"


def _wanted_list(choices: Sequence[str], value: Any) -> str:
    """The message that a value is no list of some of these names."""
    wrong = [item for item in value if item not in choices] if isinstance(value, list) else []
    near = did_you_mean(str(wrong[0]), choices) if wrong else ""
    such = f'{", ".join(choices)}, such as ["{choices[0]}"]'
    return f"a list of any of {such}, not {value!r}{near}"


def _range(bounds: Meta) -> str:
    if bounds.gt is not None:
        return f"above {bounds.gt}"
    if bounds.le is not None:
        return f"from {bounds.ge} to {bounds.le}"
    return f"at least {bounds.ge}"

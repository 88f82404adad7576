"""Settings from presets, files and assignments, each value checked, with messages for the people who wrote them."""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from dynet_vdgi.errors import ConfigError, check_kind
from dynet_vdgi.settings.config import (
    DEFAULT_RECIPE,
    PRESETS,
    RECIPES,
    TEACHERS,
    Section,
    Seed,
    Settings,
    TeacherSettings,
    bundled,
    leaves,
)
from dynet_vdgi.system import toml
from dynet_vdgi.system.names import did_you_mean, nearest, of_these, read_table

Numbers = TypeVar("Numbers", bound=Section)


# ------------------------------------------------------------------------------------------- what there is
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
    found: dict[tuple[str, str, type[Section]], list[str]] = {}
    teachers = [TEACHERS.named(name).settings for name in TEACHERS.names()]
    for recipe in RECIPES.names():
        settings = RECIPES.named(recipe).settings
        for name, hint in hints_of(settings).items():
            places = [("", name, Settings if name in Settings.__struct_fields__ else settings)]
            if _is_section(hint):
                kinds = teachers if hint is TeacherSettings else [hint]
                places = [(name, key, kind) for kind in kinds for key in kind.__struct_fields__]
            for place in places:
                found.setdefault(place, []).append(recipe)
    return [SettingPlace(tuple(recipes), *place) for place, recipes in found.items()]


@cache
def hints_of(kind: type[Section]) -> Mapping[str, Any]:
    """The types of a section's keys, with their bounds."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in kind.__struct_fields__}


def _is_section(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Section)


# ------------------------------------------------------------------------------------------- settings
def from_dict(values: Mapping[str, Any]) -> Settings:
    """Checked settings from nested values; without a recipe, the default recipe is meant.

    Raises: ConfigError, an unknown recipe, section or key (names the nearest one), a wrong type, a value out
    of bounds, settings that contradict each other.
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
    found: dict[str, Any] = {}
    hints = hints_of(kind)
    for key, value in values.items():
        name = f"{section}.{key}".lstrip(".")
        if key not in hints:
            raise ConfigError(f"config: {_unknown(section, str(key), value, kind, recipe)}")
        hint = hints[key]
        if not _is_section(hint):
            found[key] = _value(name, hint, value, "config")
            continue
        if not isinstance(value, Mapping):
            raise ConfigError(f"config: '{name}' is a section, not a key; write '{name}.NAME'")
        inner, numbers = hint, dict(value)
        if hint is TeacherSettings:  # chosen by its kind
            default = next(item.default for item in msgspec.structs.fields(kind) if item.name == key)
            said = numbers.pop("kind", default.kind)
            if not isinstance(said, str):
                raise ConfigError(f"config: '{name}.kind' must be a text, not {said!r}")
            inner = TEACHERS.named(said).settings
        found[key] = _read(inner, name, numbers, recipe)
    return kind(**found)


def _unknown(section: str, key: str, value: Any, kind: type[Section], recipe: str) -> str:
    """The message about a name that its section does not have."""
    name = f"{section}.{key}".lstrip(".")
    if "." in key:
        opened, closed = key.replace(".", "': {'"), "}" * key.count(".")
        return f"no key '{key}': keys are nested, as in {{'{opened}': {value!r}{closed}}}"
    parts = [f"{key}.{inner}" for inner in value] if isinstance(value, Mapping) and not section else [name]
    name = parts[0] if parts else name
    places = every_setting()
    if elsewhere := [place for place in places if place.name == name]:
        if of := dict.fromkeys(other for place in elsewhere if recipe not in place.recipes for other in place.recipes):
            return f"'{name}' {_of_others(of, recipe)}"
        tags = dict.fromkeys(f"{section}.kind={place.kind.__struct_config__.tag}" for place in elsewhere)
        return f"'{name}' is for {' or '.join(tags)}, and {section}.kind is {kind.__struct_config__.tag}"
    sections = list(dict.fromkeys(place.section for place in places if place.section))
    if not section and key not in sections:
        keys = ("recipe", *Settings.__struct_fields__)
        return f"no section '{key}'{did_you_mean(key, [*sections, *keys])}"
    if "." not in name:
        known = [place.name for place in places if recipe in place.recipes]
        return f"no key '{name}'{did_you_mean(name, known)}"
    own, inner = [place for place in places if recipe in place.recipes], name.rpartition(".")[2]
    within = kind.__struct_fields__ if section else [place.key for place in own if place.section == key]
    if same := [place.name for place in own if place.key == inner]:
        return f"no key '{name}'; did you mean '{same[0]}'?"
    if near := nearest(inner, within):
        return f"no key '{name}'; did you mean '{section or key}.{near}'?"
    elsewhere = [place for place in places if place.section == (section or key)]
    if found := nearest(inner, [place.key for place in elsewhere], 0.6):
        of = dict.fromkeys(other for place in elsewhere if place.key == found for other in place.recipes)
        return f"no key '{name}'; '{section or key}.{found}' {_of_others(of, recipe)}"
    return f"no key '{name}'"


def _of_others(recipes: Iterable[str], recipe: str) -> str:
    """The end of a message about a setting that other recipes have, with a preset of the first one."""
    preset = PRESETS.get(next(iter(recipes)))
    remedy = f"; try --preset {preset}" if preset else ""
    return f"is for recipe={' or recipe='.join(recipes)}, and recipe is {recipe}{remedy}"


# ------------------------------------------------------------------------------------------- constructors
def checked(
    kind: type[Numbers], numbers: Mapping[str, Any], settings: Numbers | None = None, owner: str = ""
) -> Numbers:
    """Settings of one kind from a constructor's arguments: single values, or the settings themselves.

    Messages begin with `owner`, by default the tag of the kind.

    Raises: ConfigError, a setting is unknown or out of its range; or both settings and single values are
    given.
    """
    owner = owner or str(kind.__struct_config__.tag)
    for name in numbers:
        if name not in kind.__struct_fields__:
            raise ConfigError(f"{owner}: no setting '{name}'{did_you_mean(name, kind.__struct_fields__)}")
    if settings is not None:
        if numbers:
            raise ConfigError(f"{owner}: give settings or single numbers such as {next(iter(numbers))}, not both")
        return settings
    hints = hints_of(kind)
    return kind(**{name: _value(name, hints[name], _plain(value), owner) for name, value in numbers.items()})


def checked_seed(seed: int, owner: str) -> int:
    """The checked seed of a constructor. Raises: ConfigError."""
    found: int = _value("seed", Seed, _plain(seed), owner)
    return found


def _plain(number: Any) -> Any:
    """A NumPy number as a Python number; anything else as it is."""
    return number.item() if hasattr(number, "item") else number


# ------------------------------------------------------------------------------------------- single values
_IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


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
        found = msgspec.convert(value, hint)
    except (msgspec.ValidationError, OverflowError):
        raise ConfigError(f"{owner}: '{name}' must be {_wanted(hint, value)}") from None
    if isinstance(found, int) and not -(2**63) <= found < 2**63:
        raise ConfigError(f"{owner}: '{name}' must be a number of a usable size, not {found}")
    if isinstance(found, float) and not math.isfinite(found):
        raise ConfigError(f"{owner}: '{name}' must be a finite number, not {found}")
    if isinstance(found, str) and found != found.encode("utf-8", "replace").decode():
        raise ConfigError(f"{owner}: '{name}' must be a text in UTF-8, not {found!r}")
    return found


def _wanted(hint: Any, value: Any) -> str:
    """The message that a value is not of this type, and what the type allows."""
    bare, bounds = hint, None
    if get_origin(hint) is Annotated:
        bare, bounds = get_args(hint)[:2]
    if get_origin(bare) is tuple:  # a list of such names
        choices = [str(choice) for choice in get_args(get_args(bare)[0])]
        wrong = [item for item in value if item not in choices] if isinstance(value, list) else []
        such = f'{", ".join(choices)}, such as ["{choices[0]}"]'
        near = did_you_mean(str(wrong[0]), choices) if wrong else ""
        return f"a list of any of {such}, not {value!r}{near}"
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


def _range(bounds: Meta) -> str:
    if bounds.gt is not None:
        return f"above {bounds.gt}"
    if bounds.le is not None:
        return f"from {bounds.ge} to {bounds.le}"
    return f"at least {bounds.ge}"


# ----------------------------------------------------------------------------------------------------
# Settings from presets and assignments: layers of nested values, each on top of the one before.
#
# A preset is a TOML file of settings. `base = "NAME"` puts it on top of another preset; without a base it
# is put on the defaults of `config`, which are those of the preset `best`. A layer that changes the
# `recipe` or the kind of teacher drops the settings that lower layers gave the old one. A layer that sets
# something without effect is refused.


logger = logging.getLogger("dynet_vdgi")

LONGEST = 10_000
"""Characters of saved settings, which are some hundreds."""

DEFAULT_PRESET = "universal"

DEFAULT_WITH_TREES = "universal-trees"
"""The default where there are gold trees to learn from."""

Values = dict[str, Any]
Presets = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def preset_names() -> list[str]:
    """Names of the presets that come with the package."""
    return sorted(bundled("presets"))


def default_preset(*, has_trees: bool) -> str:
    """The preset of a run that names none."""
    if has_trees:
        logger.info("preset: %s, because there are gold trees", DEFAULT_WITH_TREES)
        return DEFAULT_WITH_TREES
    return DEFAULT_PRESET


# ------------------------------------------------------------------------------------------- layers
def merged(values: Mapping[str, Any], layer: Mapping[str, Any]) -> Values:
    """The values with those of a layer on top.

    A layer that changes the recipe keeps the settings that mean the same in both recipes. One that changes
    the kind of teacher starts the teacher's section afresh. `updates` replaces `epochs`, and the reverse.
    """
    result = _kept(values, layer)
    for name, section in layer.items():
        if not isinstance(section, Mapping):
            result[name] = section
            continue
        below = result.get(name, {})
        below = below if isinstance(below, Mapping) else {}
        if name == "teacher" and section.get("kind", below.get("kind")) != below.get("kind"):
            below = {}
        if name in ("train", "finetune") and ("updates" in section) != ("epochs" in section):
            below = {**below, "updates": 0, "epochs": 0}
        result[name] = merged(below, section)
    return result


def _kept(values: Mapping[str, Any], layer: Mapping[str, Any]) -> Values:
    """The values without sections that mean something different, or nothing, in the layer's recipe."""
    old, new = values.get("recipe", DEFAULT_RECIPE), layer.get("recipe")
    if new is None or new == old or not isinstance(new, str):
        return dict(values)
    ours, theirs = hints_of(RECIPES.named(new).settings), hints_of(RECIPES.named(old).settings)
    same = {name for name in ours if ours[name] == theirs.get(name)} | {"teacher"} & set(ours)
    return {name: value for name, value in values.items() if name in same}


def in_recipe(recipe: str, settings: Settings, names: Iterable[str]) -> Settings:
    """The settings that another recipe can take over, together with the settings of these names.

    Raises: ConfigError, the other recipe lacks a setting of these names.
    """
    values, named = settings.to_dict(), set(names)
    layer: Values = {"recipe": recipe, **settings.with_trees}
    for name, value in leaves(values):
        if name in named and name != "recipe":
            layer = _with(layer, nested(name, value))
    return from_dict(merged(values, layer))


def merge(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with some of them changed.

    Raises: ConfigError, see `config_checks.from_dict`; or a change has no effect.
    """
    return _checked(merged(settings.to_dict(), changes), changes)


def _checked(values: Mapping[str, Any], layer: Mapping[str, Any]) -> Settings:
    """The settings with these values. Raises: ConfigError, a value of the last layer has no effect."""
    settings = from_dict(values)
    refuse(said(layer), settings.without_effect())
    return settings


def said(layer: Mapping[str, Any]) -> list[str]:
    """Full names of the settings in a layer."""
    return [name for name, _ in leaves(layer)]


def refuse(names: Iterable[str], idle: Mapping[str, str]) -> None:
    """Raises: ConfigError, a setting of these names has no effect, see `Settings.without_effect`."""
    for name in names:
        reason = idle.get(name) or idle.get(name.partition(".")[0])
        if reason:
            raise ConfigError(f"config: '{name}' would have no effect: {reason}")


# ------------------------------------------------------------------------------------------- sources
def load_settings(
    presets: Presets = DEFAULT_PRESET,
    assignments: Iterable[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings of a preset (its name, or the path of a TOML file) or of several, each on top of the one
    before, and then of single changes: `section.key=value`, or nested values, which win.

    Raises: ConfigError, no such preset; see `config_checks.from_dict`; or a setting of a layer has no effect.
    """
    check_kind("preset", presets, (str, os.PathLike, Iterable), "the name of a preset, or the path of one,")
    names = [presets] if isinstance(presets, (str, os.PathLike)) else list(presets)
    values, applied = Values(), list[Path]()
    for name in names:
        check_kind("preset", name, (str, os.PathLike), "the name of a preset, or the path of one,")
        for path, layer in _chain(str(os.fspath(name))):
            if path in applied:
                continue
            applied.append(path)
            values = merged(values, layer)
            try:
                _checked(values, layer)
            except ConfigError as error:
                raise ConfigError(f"{path}: {error}") from None
    top = changed(assignments, changes or {})
    return _checked(merged(values, top), top)


def changed(assignments: Iterable[str], changes: Mapping[str, Any]) -> Values:
    """Assignments and changes as nested values."""
    top: Values = {}
    for assignment in assignments:
        top = _with(top, parse_assignment(assignment))
    return _with(top, changes)


def _with(layer: Values, other: Mapping[str, Any]) -> Values:
    result = dict(layer)
    for name, value in other.items():
        both = isinstance(value, Mapping) and isinstance(result.get(name), Mapping)
        result[name] = _with(dict(result[name]), value) if both else value
    return result


def from_toml(text: str, where: str) -> Settings:
    """Settings from a saved `settings.toml`, which may be of a model file that somebody else has made.

    Raises: ConfigError, the text is at fault.
    """
    if len(text) > LONGEST:
        raise ConfigError(f"{where}: of more than {LONGEST} characters")
    try:
        values = toml.loads(text)
    except ValueError as error:
        raise ConfigError(f"{where}: not a TOML file: {error}") from None
    try:
        return from_dict(values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def parse_assignment(text: str) -> Values:
    """An assignment (`section.key=value`, `seed=3`) as nested values; TOML, whose quotes may be left out."""
    name, equals, value = text.partition("=")
    parts = name.strip().split(".")
    alone = ("recipe", "seed", "rules")
    if not equals or not all(parts) or len(parts) > 20 or (len(parts) == 1 and parts[0] not in alone):
        raise ConfigError(f"config: cannot read '{text}'; write section.key=value, as in parser.epochs=5")
    try:
        parsed = toml.loads(f"x = {value.strip()}")["x"]
    except ValueError:
        parsed = value.strip()
    return nested(name.strip(), parsed)


def nested(name: str, value: Any) -> Values:
    """The value of a setting as nested values."""
    for part in reversed(name.split(".")):
        value = {part: value}
    return dict(value)


def _chain(preset: str) -> list[tuple[Path, Values]]:
    """The files of a preset and their values, its base first. Raises: ConfigError, bases form a circle."""
    chain: list[tuple[Path, Values]] = []
    name: Any = preset
    folder, names = Path(), preset_names()
    while name is not None:
        if name.endswith(".toml"):
            path = folder / name  # a base that a file names is looked for beside that file
        elif name in names:
            path = bundled("presets")[name]
        else:
            where = f"{chain[-1][0]}: " if chain else ""
            raise ConfigError(f"{where}config: no preset '{name}'{of_these(name, names)}")
        if any(path == before for before, _ in chain):
            raise ConfigError(f"{path}: its base leads back to itself")
        values = read_toml(path, "preset")
        name, folder = values.pop("base", None), path.parent
        chain.append((path, values))
        if name is not None and not isinstance(name, str):
            raise ConfigError(f"{path}: base must be the name of a preset, not {name!r}")
    return chain[::-1]


def read_toml(path: Path, what: str) -> Values:
    """The content of a TOML file; messages call it `what`. Raises: ConfigError, with the path."""
    try:
        return toml.loads(read_table(path, what))
    except ValueError as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from None

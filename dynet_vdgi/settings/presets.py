"""Settings from presets and assignments: layers of nested values, each on top of the one before.

A preset is a TOML file of settings. `base = "NAME"` puts it on top of another preset; without a
base it is put on the defaults of `config`, which are those of the preset `best`. A layer that
changes the `recipe` or the kind of teacher drops the settings that lower layers gave the old one. A
layer that sets something without effect is refused.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dynet_vdgi.errors import ConfigError, check_kind
from dynet_vdgi.settings.bundled import bundled
from dynet_vdgi.settings.registry import RECIPES
from dynet_vdgi.settings.settings import DEFAULT_RECIPE, Settings, leaves
from dynet_vdgi.settings.values import from_dict, hints_of
from dynet_vdgi.system import toml
from dynet_vdgi.system.limits import read_table
from dynet_vdgi.system.messages import of_these

logger = logging.getLogger("dynet_vdgi")

LONGEST_SETTINGS = 10_000
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


def merged(values: Mapping[str, Any], layer: Mapping[str, Any]) -> Values:
    """The values with those of a layer on top.

    A layer that changes the recipe keeps the settings that mean the same in both recipes. One that
    changes the kind of teacher starts the teacher's section afresh. `updates` replaces `epochs`,
    and the reverse.
    """
    result = _without_other_recipes(values, layer)
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


def _without_other_recipes(values: Mapping[str, Any], layer: Mapping[str, Any]) -> Values:
    """The values without sections that mean something different, or nothing, in the layer's
    recipe."""
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
            layer = _with_values(layer, nested(name, value))
    return from_dict(merged(values, layer))


def merge(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with some of them changed.

    Raises: ConfigError, see `values.from_dict`; or a change has no effect.
    """
    return _checked_settings(merged(settings.to_dict(), changes), changes)


def _checked_settings(values: Mapping[str, Any], layer: Mapping[str, Any]) -> Settings:
    """The settings with these values.

    Raises: ConfigError, a value of the last layer has no effect.
    """
    settings = from_dict(values)
    refuse(setting_names(layer), settings.without_effect())
    return settings


def setting_names(layer: Mapping[str, Any]) -> list[str]:
    """Full names of the settings in a layer."""
    return [name for name, _ in leaves(layer)]


def refuse(names: Iterable[str], idle: Mapping[str, str]) -> None:
    """Raises: ConfigError, a setting of these names has no effect, see
    `Settings.without_effect`."""
    for name in names:
        reason = idle.get(name) or idle.get(name.partition(".")[0])
        if reason:
            raise ConfigError(f"config: '{name}' would have no effect: {reason}")


def load_settings(
    presets: Presets = DEFAULT_PRESET,
    assignments: Iterable[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings of a preset (its name, or the path of a TOML file) or of several, each on top
    of the one before, and then of single changes: `section.key=value`, or nested values, which
    win.

    Raises: ConfigError, no such preset; see `values.from_dict`; or a setting of a layer has no
    effect.
    """
    check_kind(
        "preset", presets, (str, os.PathLike, Iterable), "the name of a preset, or the path of one,"
    )
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
                _checked_settings(values, layer)
            except ConfigError as error:
                raise ConfigError(f"{path}: {error}") from None
    top = changed(assignments, changes or {})
    return _checked_settings(merged(values, top), top)


def changed(assignments: Iterable[str], changes: Mapping[str, Any]) -> Values:
    """Assignments and changes as nested values."""
    top: Values = {}
    for assignment in assignments:
        top = _with_values(top, parse_assignment(assignment))
    return _with_values(top, changes)


def _with_values(layer: Values, other: Mapping[str, Any]) -> Values:
    result = dict(layer)
    for name, value in other.items():
        both = isinstance(value, Mapping) and isinstance(result.get(name), Mapping)
        result[name] = _with_values(dict(result[name]), value) if both else value
    return result


def from_toml(text: str, where: str) -> Settings:
    """Settings from a saved `settings.toml`, which may be of a model file that somebody else has
    made.

    Raises: ConfigError, the text is at fault.
    """
    if len(text) > LONGEST_SETTINGS:
        raise ConfigError(f"{where}: of more than {LONGEST_SETTINGS} characters")
    try:
        values = toml.loads(text)
    except ValueError as error:
        raise ConfigError(f"{where}: not a TOML file: {error}") from None
    try:
        return from_dict(values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def parse_assignment(text: str) -> Values:
    """An assignment (`section.key=value`, `seed=3`) as nested values; TOML, whose quotes may be
    left out."""
    name, equals, value = text.partition("=")
    parts = name.strip().split(".")
    alone = ("recipe", "seed", "rules")
    if (
        not equals
        or not all(parts)
        or len(parts) > 20
        or (len(parts) == 1 and parts[0] not in alone)
    ):
        raise ConfigError(
            f"config: cannot read '{text}'; write section.key=value, as in parser.epochs=5"
        )
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
    """The files of a preset and their values, its base first. Raises: ConfigError, bases form a
    circle."""
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

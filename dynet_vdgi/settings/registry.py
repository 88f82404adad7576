"""The recipes and teachers that settings can name, each with its module.

A module is imported when its name is first used, so that parsing imports no teacher and `--help` imports
nothing. Other packages add their own with `register`.
"""

from __future__ import annotations

import importlib
from typing import Any, Generic, TypeVar, cast

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.system.names import did_you_mean

Item = TypeVar("Item")


class Registry(Generic[Item]):
    """Objects by name; each is stored as `module:attribute` and imported when first used."""

    def __init__(self, setting: str, places: dict[str, str]) -> None:
        self.setting = setting
        self._places: dict[str, str] = places
        self._found: dict[str, Item] = {}

    def names(self) -> list[str]:
        return [*self._places]

    def register(self, name: str, place: str) -> None:
        """Adds or replaces a name; `place` is `module:attribute`."""
        self._places[name] = place
        self._found.pop(name, None)

    def named(self, name: str) -> Item:
        """The object of this name. Raises: ConfigError, the name is unknown."""
        if name not in self._places:
            raise ConfigError(
                f"config: '{self.setting}' must be one of {', '.join(self._places)}, not {name!r}"
                + did_you_mean(str(name), self._places)
            )
        if name not in self._found:
            module, _, attribute = self._places[name].partition(":")
            self._found[name] = cast(Item, getattr(importlib.import_module(module), attribute))
        return self._found[name]


RECIPES: Registry[Any] = Registry(
    "recipe",
    {
        "taught": "dynet_vdgi.recipes.taught:RECIPE",
        "few-trees": "dynet_vdgi.recipes.few_trees:RECIPE",
        "neural": "dynet_vdgi.recipes.neural:RECIPE",
        "universal": "dynet_vdgi.recipes.universal:RECIPE",
    },
)
"""The values of the setting `recipe`, each a `recipes.base.Recipe`."""

PRESETS = {"taught": "best", "few-trees": "universal-trees", "neural": "paper", "universal": "universal"}
"""A preset of each recipe, for messages."""

TEACHERS: Registry[Any] = Registry(
    "teacher.kind",
    {
        "none": "dynet_vdgi.teachers.kinds:NONE",
        "dmv": "dynet_vdgi.teachers.kinds:DMV",
        "universal": "dynet_vdgi.recipes.universal_kind:KIND",
        "convex-mst": "dynet_vdgi.rivals.convex_mst:KIND",
        "lc-dmv": "dynet_vdgi.rivals.lc_dmv:KIND",
        "hdp-dmv": "dynet_vdgi.rivals.hdp_dmv:KIND",
        "ndmv": "dynet_vdgi.rivals.neural_dmv:KIND",
        "rf": "dynet_vdgi.rivals.rasooli_faili:KIND",
    },
)
"""The values of the setting `teacher.kind`, each a `config.TeacherKind`."""

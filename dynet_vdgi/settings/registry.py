"""The registry of recipes and teachers by name, which other modules look up.

A module is imported when its name is first used, so that parsing imports no teacher and `--help`
imports nothing. Other packages add their own with `register`.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, Generic, TypeVar, cast

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.system.messages import did_you_mean

Item = TypeVar("Item")


class Registry(Generic[Item]):
    """Objects by name; each is stored as `module:attribute` and imported when first used."""

    def __init__(self, setting: str, places: dict[str, str]) -> None:
        self.setting = setting
        self._places = places

    def names(self) -> list[str]:
        return [*self._places]

    def register(self, name: str, place: str) -> None:
        """Adds or replaces a name; `place` is `module:attribute`."""
        self._places[name] = place

    def named(self, name: str) -> Item:
        """The object of this name. Raises: ConfigError, the name is unknown."""
        if name not in self._places:
            raise ConfigError(
                f"config: '{self.setting}' must be one of {', '.join(self._places)}, not {name!r}"
                + did_you_mean(str(name), self._places)
            )
        return cast(Item, resolve_name(self._places[name]))


RECIPES: Registry[Any] = Registry(
    "recipe",
    {
        "taught": "dynet_vdgi.training.taught:RECIPE",
        "few-trees": "dynet_vdgi.training.few_trees:RECIPE",
        "neural": "dynet_vdgi.paper.recipe:RECIPE",
        "universal": "dynet_vdgi.training.universal:RECIPE",
    },
)
"""The values of the setting `recipe`, each a `training.recipe.Recipe`."""

PRESETS = {
    "taught": "best",
    "few-trees": "universal-trees",
    "neural": "paper",
    "universal": "universal",
}
"""A preset of each recipe, for messages."""

TEACHERS: Registry[Any] = Registry(
    "teacher.kind",
    {
        "none": "dynet_vdgi.unsupervised:NONE",
        "dmv": "dynet_vdgi.unsupervised:DMV",
        "universal": "dynet_vdgi.training.universal_teacher:KIND",
        "rf": "dynet_vdgi.rivals.rf:KIND",
        "convex-mst": "dynet_vdgi.rivals.convex_mst:KIND",
        "hdp-dep": "dynet_vdgi.rivals.hdp_dep:KIND",
        "lc-dmv": "dynet_vdgi.rivals.lc_dmv:KIND",
    },
)
"""The values of the setting `teacher.kind`, each a `settings.TeacherKind`."""

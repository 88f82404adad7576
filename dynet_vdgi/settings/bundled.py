"""Files that come with the package: rules, presets, head tables, plans, the demo treebank."""

from __future__ import annotations

import os
from pathlib import Path

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.system.messages import of_these


def resources() -> Path:
    """The folder of rules, presets and the demo treebank: inside an installed package, or beside
    it."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "resources"
    return inside if inside.is_dir() else package.parent / "resources"


def bundled(what: str) -> dict[str, Path]:
    """The "rules", "presets" or "models" that come with the package, those of `rivals` included, by
    name."""
    folders = (resources() / what, Path(__file__).resolve().parents[1] / "rivals" / what)
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.*"))}


def rules_path(name: str) -> Path:
    """The file that the setting `rules` names: a file of resources/rules, without its ending, or
    else a path.

    So a file or folder called `ud` in the current directory does not replace the rules `ud`.

    Raises: ConfigError, no rules have this name.
    """
    tables = bundled("rules")
    if name in tables:
        return tables[name]
    if not Path(name).suffix and not os.path.exists(name):
        raise ConfigError(f"config: no rules '{name}'{of_these(name, sorted(tables))}")
    return Path(name)

"""Files that come with the package: rules, presets, head tables, plans, the demo treebank."""

from __future__ import annotations

import os
from pathlib import Path

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.names import did_you_mean


def resources() -> Path:
    """The folder of rules, presets and the demo treebank: inside an installed package, or beside it."""
    package = Path(__file__).resolve().parent
    inside = package / "resources"
    return inside if inside.is_dir() else package.parent / "resources"


def rules_path(name: str) -> Path:
    """The file that the setting `rules` names: one of resources/rules, without its ending, or else a path.

    So a file or folder called `ud` where the program is started does not stand in for the rules `ud`.

    Raises:
        ConfigError: there are no such rules.
    """
    bundled = {path.stem: path for path in (resources() / "rules").glob("*.txt")}
    if name in bundled:
        return bundled[name]
    if not Path(name).suffix and not os.path.exists(name):
        there_are = f"(there are: {', '.join(sorted(bundled))})"
        raise ConfigError(f"config: no rules '{name}'{did_you_mean(name, bundled)} {there_are}")
    return Path(name)

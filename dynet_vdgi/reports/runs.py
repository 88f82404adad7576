"""The runs that a page is about: their folders, model files and logs."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynet_vdgi.errors import UsageError
from dynet_vdgi.runs import model_file
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.runs.run_folder import model_path
from dynet_vdgi.runs.runlog import RunLog
from dynet_vdgi.settings import config


@dataclass(frozen=True)
class Run:
    """A run as read from its folder: `meta` of the model file, `settings` as TOML, `rows` of the log."""

    name: str
    meta: Mapping[str, Any]
    settings: str
    n_weights: int = 0
    rows: Sequence[Mapping[str, Any]] = ()


def run_folders(patterns: Sequence[str]) -> dict[str, Path]:
    """Folders of runs by unique name: the folder's own name, or else the whole path.

    Raises: UsageError if a folder does not exist, or is a file.
    """
    found: dict[str, Path] = {}  # by real path, so that each run is shown once
    for pattern in patterns:
        names = [pattern]
        if not os.path.exists(pattern) and glob.has_magic(pattern):
            names = sorted(name for name in glob.glob(pattern, recursive=True) if os.path.isdir(name))
            if not names:
                raise UsageError(f"no folder matches {pattern!r}")
        for name in names:
            if not os.path.exists(name):
                raise UsageError(f"no such folder: {name!r}")
            if not os.path.isdir(name):
                raise UsageError(f"{name!r} is not the folder of a run (name the one that vdgi train wrote)")
            found.setdefault(os.path.realpath(name), Path(name))
    short = [path.resolve().name for path in found.values()]
    return {name if short.count(name) == 1 else str(path): path for name, path in zip(short, found.values())}


def load_models(folders: Mapping[str, Path]) -> dict[str, ModelFile]:
    """Raises: ModelError for a folder without a model, or with a damaged one."""
    return {name: model_file.load(model_path(folder)) for name, folder in folders.items()}


def run_of(name: str, folder: Path, model: ModelFile) -> Run:
    """The run in a folder, as the page presents it."""
    return Run(
        name,
        model.meta,
        model.settings.to_toml().rstrip(),
        model.n_weights,
        [row for row in RunLog(folder / config.LOG_NAME).rows() if isinstance(row, dict)],
    )

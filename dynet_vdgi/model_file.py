"""Model files: everything needed to parse, to go on training, and to know where a model comes from.

A model file is a zip of plain data, never code: `meta.json`, `settings.toml`, `vocabulary.json`,
`rules.txt`, `parameters.npz` (weights for parsing), `training.npz` (weights, AdaGrad sums, averages, lambda
as the last update left them) and `progress.json` (how far training is). Random numbers are drawn from the
seed and the number of the update, so those two are the state of the generators.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.config import Settings, from_toml
from dynet_vdgi.data.files import atomic_bytes_writer
from dynet_vdgi.data.vocabulary import Vocabulary
from dynet_vdgi.errors import ConfigError, ModelError
from dynet_vdgi.grammar.rules import RuleSet, parse_rules

FORMAT = 1

Arrays = dict[str, NDArray[Any]]


@dataclass
class ModelFile:
    """Content of a model file; `training` and `progress` are empty where only parsing is wanted."""

    meta: dict[str, Any]
    settings: Settings
    vocabulary: Vocabulary
    rules: RuleSet
    parameters: Arrays
    training: Arrays = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)


def _npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    # One entry named by a list, because names such as encoder/state are no good as file names.
    buffer = io.BytesIO()
    names = list(arrays)
    numbered = {f"a{k}": arrays[name] for k, name in enumerate(names)}
    np.savez(buffer, names=np.array(names, dtype=np.str_), **numbered)  # type: ignore[arg-type]
    return buffer.getvalue()


def _arrays(data: bytes) -> Arrays:
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {str(name): stored[f"a{k}"] for k, name in enumerate(stored["names"])}


def save(path: str | Path, model: ModelFile) -> None:
    """Writes a model file atomically: the old one stays until the new one is complete."""
    entries: dict[str, bytes] = {
        # A file name that is not UTF-8 holds lone surrogates; the error handler writes them as JSON would.
        "meta.json": json.dumps({"format": FORMAT, **model.meta}, indent=1, ensure_ascii=False).encode(
            errors="backslashreplace"
        ),
        "settings.toml": model.settings.to_toml().encode(),
        "vocabulary.json": json.dumps(model.vocabulary.to_json(), ensure_ascii=False).encode(),
        "rules.txt": model.rules.text.encode(),
        "parameters.npz": _npz(model.parameters),
        "training.npz": _npz(model.training),
        "progress.json": json.dumps(model.progress).encode(),
    }
    with (
        atomic_bytes_writer(str(path)) as handle,
        zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z,
    ):
        for name, data in entries.items():
            z.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def load(path: str | Path, *, training: bool = False) -> ModelFile:
    """Reads a model file; with `training`, also what is needed to go on training.

    Raises:
        ModelError: no such file, not a model file, damaged, or written by a newer version.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            meta = json.loads(archive.read("meta.json"))
            if not isinstance(meta, dict) or not isinstance(meta.get("format"), int):
                raise ModelError(f"{path}: not a vdgi model file (its meta.json names no format)")
            if meta["format"] > FORMAT:
                raise ModelError(
                    f"{path}: model format {meta['format']} is newer than this program's ({FORMAT}); "
                    "update dynet_vdgi to use it"
                )
            return ModelFile(
                meta=meta,
                settings=from_toml(archive.read("settings.toml").decode(), f"{path}: settings.toml"),
                vocabulary=Vocabulary.from_json(json.loads(archive.read("vocabulary.json"))),
                rules=parse_rules(archive.read("rules.txt").decode(), f"{path}: rules.txt"),
                parameters=_arrays(archive.read("parameters.npz")),
                training=_arrays(archive.read("training.npz")) if training else {},
                progress=json.loads(archive.read("progress.json")) if training else {},
            )
    except FileNotFoundError:
        raise ModelError(f"{path}: no such model file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot read the model file: {error.strerror or error}") from None
    except zipfile.BadZipFile:
        raise ModelError(f"{path}: not a vdgi model file (not a zip archive, or damaged)") from None
    except ConfigError as error:
        raise ModelError(f"{error}; the model file is damaged or of another version") from None
    except ModelError:
        raise
    except Exception as error:
        # On nonsense the parsers of zip, JSON and NPZ raise whatever comes: zlib.error, TokenError, ...
        raise ModelError(f"{path}: the model file is damaged ({error})") from None

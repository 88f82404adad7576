"""Model files: a zip of plain data, never code, unpacked only if the sizes it declares are
plausible."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ConfigError, ModelError
from dynet_vdgi.settings.bundled import bundled
from dynet_vdgi.settings.settings import MODEL_NAME
from dynet_vdgi.system.files import atomic_bytes_writer, check_path
from dynet_vdgi.system.limits import limit, to_raise
from dynet_vdgi.system.messages import nearest, there_are

Arrays = dict[str, NDArray[Any]]

MODEL = "model file"

ALWAYS_FAIR, FAIR_RATIO = 1 << 26, 30
"""Bytes that an unpacked archive may always have; above them, at most this many times its packed
size."""

_STORED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

Content = TypeVar("Content")

STEPS = ("tokeniser", "tagger")
"""What comes before parsing; has files of its own, or is inside a model file."""


class Archive:
    """The members of a model file, or of one inside it with this content; a context manager.

    Raises: ModelError, the path is not a file, or the sizes that the archive declares for its
    members are implausible or beyond the limit.
    """

    def __init__(self, path: str | Path, content: bytes | None = None) -> None:
        # A device may never end, and a pipe may never begin.
        if content is None and not stat.S_ISREG(os.stat(path).st_mode):
            raise ModelError("not a file, but a folder, a device or a pipe")
        self._zip = zipfile.ZipFile(path if content is None else io.BytesIO(content))
        try:
            _check_sizes(self._zip)
        except ModelError:
            self._zip.close()
            raise
        self.names = frozenset(self._zip.namelist())

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exception: object) -> None:
        self._zip.close()

    def read(self, name: str) -> bytes:
        return self._zip.read(name)

    def json(self, name: str) -> Any:
        """A small member as JSON. Raises: ModelError, it is larger than the limit of tables."""
        if self._zip.getinfo(name).file_size > limit("table"):
            raise ModelError(
                f"the model file is damaged: its {name} is of more than {limit('table')} bytes"
            )
        return json.loads(self._zip.read(name))

    @property
    def step(self) -> str:
        """Which of STEPS it is a file of; "" for anything else. Raises: any exception, it is
        damaged."""
        meta = self.json("meta.json") if "meta.json" in self.names else {}
        kind = meta.get("kind") if isinstance(meta, dict) else None
        return kind if kind in STEPS else ""

    def check_step(self, wanted: str) -> None:
        """Raises: ModelError, it is a file of another of STEPS than the wanted one."""
        if self.step not in ("", wanted):
            verbs = {"tokeniser": "tokenize", "tagger": "tag"}
            use = f"vdgi {verbs[self.step]} uses it, and vdgi parse with --{self.step}"
            raise ModelError(f"this is a {self.step}, not a {wanted}: {use}")

    def content(self, name: str, kind: type[Content]) -> Content:
        """A member as JSON of this type. Raises: ModelError, it is of another type, and where."""
        try:
            return msgspec.json.decode(self._zip.read(name), type=kind)
        except msgspec.MsgspecError as error:
            raise ModelError(f"the model file is damaged: {name}: {error}") from None

    def arrays(self, name: str) -> Arrays:
        """The arrays of a member. Raises: ModelError, one holds something other than finite
        numbers."""
        data = self._zip.read(name)
        with zipfile.ZipFile(io.BytesIO(data)) as inner:
            _check_sizes(inner)
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            names = stored["names"]
            if names.ndim != 1 or names.dtype.kind != "U":
                raise ModelError(
                    f"the model file is damaged: {name}: the names are not a list of texts"
                )
            arrays = {str(each): stored[f"a{k}"] for k, each in enumerate(names)}
        for fault in faults(arrays):
            raise ModelError(f"the model file is damaged: {name}: {fault}")
        return arrays


def faults(arrays: Mapping[str, Any]) -> Iterable[str]:
    """The arrays that cannot be computed with, because they hold no numbers or some that are not
    finite."""
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            yield f"{name} is no array"
        elif array.dtype.kind not in "fiub":
            yield f"{name} holds {array.dtype}, not numbers"
        elif array.dtype.kind == "f" and not np.isfinite(array).all():
            yield f"{name} holds numbers that are not finite"


def _check_sizes(archive: zipfile.ZipFile) -> None:
    infos = archive.infolist()
    packed, unpacked = (
        sum(sizes) for sizes in zip((0, 0), *((i.compress_size, i.file_size) for i in infos))
    )
    if unpacked > limit("model"):
        raise ModelError(f"the model file holds {unpacked} bytes: {to_raise('model', unpacked)}")
    if unpacked > ALWAYS_FAIR and unpacked > FAIR_RATIO * packed:
        raise ModelError(f"the model file is damaged: it says that {packed} bytes hold {unpacked}")
    for info in infos:
        if info.compress_type not in _STORED:
            raise ModelError(
                f"the model file is damaged: {info.filename} is packed in an unknown way"
            )


@contextmanager
def opened(path: str | Path, what: str = MODEL, content: bytes | None = None) -> Iterator[Archive]:
    """The archive of a model file, or whatever `what` is, and a block that reads it.

    content: what the file holds, if it is inside another one, which `path` then names.

    Raises: ModelError, no such file, none of this program's, or damaged; anything else that the
    block raises.
    """
    try:
        with Archive(path, content) as archive:
            yield archive
    except FileNotFoundError:
        raise ModelError(f"{path}: no such {what}{_near(Path(path), what)}") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot read the {what}: {error.strerror or error}") from None
    except zipfile.BadZipFile:
        raise ModelError(f"{path}: not a vdgi {what} (not a zip archive, or damaged)") from None
    except ConfigError as error:
        raise ModelError(f"{error}; the {what} is damaged or of another version") from None
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except Exception as error:
        # On damaged input the parsers of zip, JSON and NPZ raise all sorts of errors: zlib.error,
        # TokenError, ...
        reason = str(error) or type(error).__name__
        raise ModelError(f"{path}: the {what} is damaged ({reason})") from None


def _near(path: Path, what: str) -> str:
    """A hint at a file, a run, or a model of the package, whose name is like the missing one, or
    else at the runs beside it and the models of the package."""
    if what == MODEL and (model := nearest(str(path), bundled("models"), 0.7)):
        return f"; did you mean '{model}'?"
    try:
        neighbours = [
            each for each in path.parent.iterdir() if each.suffix == path.suffix or each.is_dir()
        ]
    except OSError:
        neighbours = []
    name = nearest(path.name, [each.name for each in neighbours], 0.6)
    if name or what != MODEL:
        return f"; did you mean '{path.parent / name}'?" if name else ""
    runs = sorted(str(each) for each in neighbours if (each / MODEL_NAME).is_file())
    return there_are([*runs, *bundled("models")])


def write(path: str | Path, entries: Mapping[str, bytes]) -> None:
    """Writes an archive with these members atomically: the old file stays until the new one is
    complete.

    Raises: UsageError, the argument is no path.
    """
    check_path("path", path)
    with atomic_bytes_writer(str(path)) as handle:
        handle.write(packed(entries))


def packed(entries: Mapping[str, bytes]) -> bytes:
    """What `write` writes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
        for name, data in entries.items():
            z.writestr(
                zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED
            )
    return buffer.getvalue()


def npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays as `Archive.arrays` reads them: equal ones, in whatever order, give equal bytes."""
    # One entry lists the names, because names such as encoder/state do not work as file names.
    buffer: IO[bytes] = io.BytesIO()
    names = sorted(arrays)
    numbered = {f"a{k}": arrays[name] for k, name in enumerate(names)}
    np.savez(buffer, names=np.array(names, dtype=np.str_), **numbered)  # type: ignore[arg-type]
    buffer.seek(0)
    return buffer.read()

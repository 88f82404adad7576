"""Model files: a zip of plain data, never code, unpacked only if the sizes it declares are plausible."""

from __future__ import annotations

import io
import json
import os
import platform
import re
import shlex
import stat
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dynet_vdgi._version import __version__
from dynet_vdgi.data.corpus import Vocabulary
from dynet_vdgi.data.files import atomic_bytes_writer, check_path
from dynet_vdgi.errors import ConfigError, ModelError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet, parse_rules
from dynet_vdgi.settings.config import MODEL_NAME, RECIPES, Settings, bundled, leaves
from dynet_vdgi.settings.presets import from_toml
from dynet_vdgi.system.names import limit, nearest, there_are, to_raise

Arrays = dict[str, NDArray[Any]]

MODEL = "model file"

ALWAYS_FAIR, FAIR_RATIO = 1 << 26, 30
"""Bytes that an unpacked archive may always have; above them, at most this many times its packed size."""

_STORED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

Content = TypeVar("Content")

STEPS = ("tokeniser", "tagger")
"""What comes before parsing; has files of its own, or is inside a model file."""


class Archive:
    """The members of a model file, or of one inside it with this content; a context manager.

    Raises: ModelError, the path is not a file, or the sizes that the archive declares for its members are
    implausible or beyond the limit.
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
            raise ModelError(f"the model file is damaged: its {name} is of more than {limit('table')} bytes")
        return json.loads(self._zip.read(name))

    @property
    def step(self) -> str:
        """Which of STEPS it is a file of; "" for anything else. Raises: any exception, it is damaged."""
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
        """The arrays of a member. Raises: ModelError, one holds something other than finite numbers."""
        data = self._zip.read(name)
        with zipfile.ZipFile(io.BytesIO(data)) as inner:
            _check_sizes(inner)
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            names = stored["names"]
            if names.ndim != 1 or names.dtype.kind != "U":
                raise ModelError(f"the model file is damaged: {name}: the names are not a list of texts")
            arrays = {str(each): stored[f"a{k}"] for k, each in enumerate(names)}
        for fault in faults(arrays):
            raise ModelError(f"the model file is damaged: {name}: {fault}")
        return arrays


def faults(arrays: Mapping[str, Any]) -> Iterable[str]:
    """The arrays that cannot be computed with, because they hold no numbers or some that are not finite."""
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            yield f"{name} is no array"
        elif array.dtype.kind not in "fiub":
            yield f"{name} holds {array.dtype}, not numbers"
        elif array.dtype.kind == "f" and not np.isfinite(array).all():
            yield f"{name} holds numbers that are not finite"


def _check_sizes(archive: zipfile.ZipFile) -> None:
    infos = archive.infolist()
    packed, unpacked = (sum(sizes) for sizes in zip((0, 0), *((i.compress_size, i.file_size) for i in infos)))
    if unpacked > limit("model"):
        raise ModelError(f"the model file holds {unpacked} bytes: {to_raise('model', unpacked)}")
    if unpacked > ALWAYS_FAIR and unpacked > FAIR_RATIO * packed:
        raise ModelError(f"the model file is damaged: it says that {packed} bytes hold {unpacked}")
    for info in infos:
        if info.compress_type not in _STORED:
            raise ModelError(f"the model file is damaged: {info.filename} is packed in an unknown way")


@contextmanager
def opened(path: str | Path, what: str = MODEL, content: bytes | None = None) -> Iterator[Archive]:
    """The archive of a model file, or whatever `what` is, and a block that reads it.

    content: what the file holds, if it is inside another one, which `path` then names.

    Raises: ModelError, no such file, none of this program's, or damaged; anything else that the block raises.
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
        # On damaged input the parsers of zip, JSON and NPZ raise all sorts of errors: zlib.error, TokenError, ...
        reason = str(error) or type(error).__name__
        raise ModelError(f"{path}: the {what} is damaged ({reason})") from None


def _near(path: Path, what: str) -> str:
    """A hint at a file, a run, or a model of the package, whose name is like the missing one, or
    else at the runs beside it and the models of the package."""
    if what == MODEL and (own := nearest(str(path), bundled("models"), 0.7)):
        return f"; did you mean '{own}'?"
    try:
        beside = [each for each in path.parent.iterdir() if each.suffix == path.suffix or each.is_dir()]
    except OSError:
        beside = []
    found = nearest(path.name, [each.name for each in beside], 0.6)
    if found or what != MODEL:
        return f"; did you mean '{path.parent / found}'?" if found else ""
    runs = sorted(str(each) for each in beside if (each / MODEL_NAME).is_file())
    return there_are([*runs, *bundled("models")])


def write(path: str | Path, entries: Mapping[str, bytes]) -> None:
    """Writes an archive with these members atomically: the old file stays until the new one is complete.

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
            z.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
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


# ----------------------------------------------------------------------------------------------------
# Model files: everything needed to parse, to continue training, and to know how a model was made.
#
# A model file is a zip of plain data, never code: `meta.json` (the provenance), `settings.toml`, `vocabulary.json`,
# `rules.txt`, perhaps `text.json`, perhaps the files of a tokeniser and a tagger (`tokeniser.zip`, `tagger.zip`),
# `parameters.npz` (weights for parsing), `training.npz` (weights, AdaGrad sums, averages and lambda after the last
# update) and `progress.json` (how far training has come). Random numbers are drawn from the seed and the number of
# the update, so these two are the state of the generators.
FORMAT = 3


class DataFile(Struct, frozen=True):
    """A file that a model was made from."""

    role: str
    name: str
    sha256: str


class Amount(Struct, frozen=True):
    """How much text."""

    sentences: int
    words: int


class OtherTreebank(Struct, frozen=True):
    """A treebank of another language that a parser was started, or learnt, from."""

    trees: int  # learnt from
    share: float  # its weight in the start; all sum to 1
    licence: str = ""
    branch: str = ""  # of the family of its language


LAST_SECOND = 253_402_300_799
"""The end of the year 9999, in seconds since 1970."""


class Provenance(Struct, frozen=True, kw_only=True):
    """How a model was made, recorded by the code that made it.

    `gold_trees` has a line for each use of gold trees; empty: they were not used. `treebanks` are the
    treebanks of other languages, by label.
    """

    version: str = __version__
    python: str = ""
    numpy: str = ""
    dynet: str | None = None  # None: not needed
    machine: str = ""
    created: str = ""  # in UTC
    command: tuple[str, ...] = ()
    preset: str = ""
    seed: int = 1
    recipe: str = "neural"  # see `recipes`
    protocol: str = ""
    gold_trees: tuple[str, ...] = ()
    data: tuple[DataFile, ...] = ()
    tags: str = "as given"  # where the tags of the training text are from
    trained_on: Amount = Amount(0, 0)
    dropped: tuple[str, ...] = ()
    languages: dict[str, Amount] = {}
    facts: tuple[str, ...] = ()  # about languages, besides the evidence of their texts
    treebanks: dict[str, OtherTreebank] = {}
    updates: int = 0
    complete: bool = True
    dev_dda: float | None = None

    @classmethod
    def now(cls, **told: Any) -> Provenance:
        """A provenance with the present versions, machine and time, in UTC.

        SOURCE_DATE_EPOCH (seconds since 1970) replaces the time, so equal runs make equal files.

        Raises: ConfigError, it is no number of seconds, or one beyond the year 9999.
        """
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        if epoch and not (re.fullmatch("[0-9]{1,12}", epoch) and int(epoch) <= LAST_SECOND):
            expected = f"seconds since 1970, from 0 to {LAST_SECOND}, or nothing"
            raise ConfigError(f"SOURCE_DATE_EPOCH={epoch!r:.40} in the environment (expected: {expected})")
        now = time.gmtime(int(epoch) if epoch else None)
        return cls(
            python=platform.python_version(),
            numpy=np.__version__,
            machine=platform.machine(),
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
            **told,
        )

    def with_(self, **told: Any) -> Provenance:
        """A copy with some fields replaced."""
        return msgspec.structs.replace(self, **told)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: lists instead of tuples."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass
class ModelFile:
    """Content of a model file; `training` and `progress` are empty if it was read only for parsing."""

    provenance: Provenance
    settings: Settings
    vocabulary: Vocabulary
    rules: RuleSet
    parameters: Arrays
    training: Arrays = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)
    text: dict[str, Any] | None = None  # of `grammar.statistics`: the rule table's measurements of the text
    steps: dict[str, bytes] = field(default_factory=dict)  # files of a tokeniser and a tagger, see STEPS

    @property
    def base(self) -> Prior | None:
        """The rule table with its measurements of the text; None if the model has no such measurements."""
        return None if self.text is None else Prior.from_json(self.rules, self.text)

    @property
    def meta(self) -> dict[str, Any]:
        """The provenance, ready for JSON."""
        return self.provenance.to_dict()

    @property
    def n_weights(self) -> int:
        """The number of trained weights."""
        return sum(array.size for array in self.parameters.values() if array.dtype.kind == "f")


def save(path: str | Path, model: ModelFile) -> None:
    """Writes a model file atomically: the old one stays until the new one is complete.

    Raises: ModelError, a weight is not a finite number.
    """
    for fault in faults({**model.parameters, **model.training}):
        reason = "training diverged (a smaller train.lr may help); what was saved before is as it was"
        raise ModelError(f"{path}: {fault}: {reason}")
    write(path, members(model))


def members(model: ModelFile) -> dict[str, bytes]:
    """What a model file holds, for `write`."""
    meta = {"format": FORMAT, **model.provenance.to_dict()}
    entries: dict[str, bytes] = {
        # A file name that is not UTF-8 holds lone surrogates; the error handler writes them as JSON would.
        "meta.json": json.dumps(meta, indent=1, ensure_ascii=False).encode(errors="backslashreplace"),
        "settings.toml": model.settings.to_toml().encode(),
        "vocabulary.json": json.dumps(model.vocabulary.to_json(), ensure_ascii=False).encode(),
        "rules.txt": model.rules.text.encode(),
        "parameters.npz": npz(model.parameters),
        "training.npz": npz(model.training),
        "progress.json": json.dumps(model.progress).encode(),
    }
    if model.text is not None:
        entries["text.json"] = json.dumps(model.text, ensure_ascii=False).encode()
    return entries | {f"{step}.zip": content for step, content in model.steps.items()}


def load(path: str | Path, content: bytes | None = None, *, training: bool = False) -> ModelFile:
    """Reads a model file, or this content of one; with `training`, also the members needed to continue training.

    Raises: ModelError, no such file, not a model file, damaged, or of another format.
    """
    with opened(path, content=content) as archive:
        return _read(archive, training)


def _read(archive: Archive, training: bool) -> ModelFile:
    """The content of an archive. Raises: any exception, it is damaged."""
    meta = archive.json("meta.json")
    if step := archive.step:
        raise ModelError(f"this is a {step}, not a parser: name it with --{step} (in Python {step}=)")
    if not isinstance(meta, dict) or type(meta.get("format")) is not int:
        raise ModelError("not a vdgi model file (its meta.json names no format)")
    if meta["format"] > FORMAT:
        raise ModelError(
            f"model format {meta['format']} is newer than this program's ({FORMAT}); update dynet_vdgi to use it"
        )
    if meta["format"] < FORMAT:
        raise ModelError(f"model format {meta['format']} is of version 0.1; train it again, or use it with version 0.1")
    if (recipe := meta.get("recipe")) not in RECIPES.names():
        raise ModelError(f"the model is of an unknown recipe, {recipe!r}; update dynet_vdgi to use it")
    provenance = msgspec.convert(meta, Provenance)
    try:
        settings = from_toml(_GONE.sub("", archive.read("settings.toml").decode()), "settings.toml")
        text = archive.read("rules.txt").decode()
        if text or "rules" not in settings.without_effect():  # else its recipe has no rules
            rules = parse_rules(_OF_EARLIER_STUDENTS.sub("", text), "rules.txt")
        else:
            rules = RuleSet(())
    except ConfigError as error:
        raise ModelError(f"{error}; the model file is damaged, or {of_earlier_version(provenance)}") from None
    if settings.recipe != provenance.recipe:
        raise ModelError(f"its settings are of recipe {settings.recipe}, its meta.json of {provenance.recipe}")
    return ModelFile(
        provenance=provenance,
        settings=settings,
        vocabulary=Vocabulary.from_json(archive.read("vocabulary.json")),
        rules=rules,
        parameters=archive.arrays("parameters.npz"),
        training=archive.arrays("training.npz") if training else {},
        progress=archive.content("progress.json", dict[str, int | float | None]) if training else {},
        text=archive.content("text.json", dict[str, Any]) if "text.json" in archive.names else None,
        steps={step: archive.read(f"{step}.zip") for step in STEPS if f"{step}.zip" in archive.names},
    )


_GONE = re.compile(r'^(?:features = "counts"|objective = "elbo")\n', re.MULTILINE)  # settings of earlier versions
_OF_EARLIER_STUDENTS = re.compile(r" ; (?:student|told) [0-9.]+(?= (?:if|unless|;) |[ \r]*$)", re.MULTILINE)
"""Options of lines in tables of earlier versions: what a student that is gone did not see."""


def of_earlier_version(provenance: Provenance) -> str:
    """What to say about a model that this version cannot read or use: how to make it again."""
    again = shlex.join(provenance.command) or f"vdgi train --preset {provenance.preset}"
    return f"made by version {provenance.version}, which had other parsers; make it again: {again}"


def differences(
    model: ModelFile, settings: Settings, rules: RuleSet, vocabulary: Vocabulary, data: tuple[DataFile, ...]
) -> list[str]:
    """The differences between a model file and the present run; if there are none, it can be resumed."""
    ours, theirs = dict(leaves(settings.to_dict())), dict(leaves(model.settings.to_dict()))
    names = dict.fromkeys([*ours, *theirs])
    changed = [
        f"{name} was {theirs.get(name, 'not set')}, now {ours.get(name, 'not set')}"
        for name in names
        if name != "rules" and ours.get(name) != theirs.get(name)
    ]
    found = [f"settings ({'; '.join(changed)})"] if changed else []
    found += ["rules"] if rules.meaning != model.rules.meaning else []
    found += ["data"] if data_keys(data) != data_keys(model.provenance.data) else []
    return found + (["vocabulary"] if vocabulary != model.vocabulary else [])


def data_keys(data: tuple[DataFile, ...]) -> list[tuple[str, str, str]]:
    """The properties by which data files are compared."""
    return [(item.role, item.name, item.sha256) for item in data]

"""Model files: everything needed to parse, to continue training, and to know how a model was made.

A model file is a zip of plain data, never code: `meta.json` (the provenance), `settings.toml`,
`vocabulary.json`, `rules.txt`, perhaps `text.json`, perhaps the files of a tokeniser and a tagger
(`tokeniser.zip`, `tagger.zip`), `parameters.npz` (weights for parsing), `training.npz` (weights,
AdaGrad sums, averages and lambda after the last update) and `progress.json` (how far training has
come). Random numbers are drawn from the seed and the number of the update, so these two are the
state of the generators.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from dynet_vdgi._version import __version__
from dynet_vdgi.conllu.vocabulary import Vocabulary
from dynet_vdgi.errors import ConfigError, ModelError
from dynet_vdgi.models.archive import STEPS, Archive, Arrays, faults, npz, opened, write
from dynet_vdgi.models.shipped_table import with_table
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import RuleSet, parse_rules
from dynet_vdgi.settings.presets import from_toml
from dynet_vdgi.settings.registry import RECIPES
from dynet_vdgi.settings.settings import Settings, leaves

FORMAT = 3

LAST_SECOND = 253_402_300_799
"""The end of the year 9999, in seconds since 1970."""

# settings of earlier versions
_GONE = re.compile(r'^(?:features = "counts"|objective = "elbo")\n', re.MULTILINE)

_OF_EARLIER_STUDENTS = re.compile(
    r" ; (?:student|told) [0-9.]+(?= (?:if|unless|;) |[ \r]*$)", re.MULTILINE
)
"""Options of lines in tables of earlier versions: what a student that is gone did not see."""


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


class Provenance(Struct, frozen=True, kw_only=True):
    """How a model was made, recorded by the code that made it.

    `gold_trees` has a line for each use of gold trees; empty: they were not used. `treebanks` are
    the treebanks of other languages, by label.
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
    def now(cls, **fields: Any) -> Provenance:
        """A provenance with the present versions, machine and time, in UTC.

        SOURCE_DATE_EPOCH (seconds since 1970) replaces the time, so equal runs make equal files.

        Raises: ConfigError, it is no number of seconds, or one beyond the year 9999.
        """
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        if epoch and not (re.fullmatch("[0-9]{1,12}", epoch) and int(epoch) <= LAST_SECOND):
            expected = f"seconds since 1970, from 0 to {LAST_SECOND}, or nothing"
            raise ConfigError(
                f"SOURCE_DATE_EPOCH={epoch!r:.40} in the environment (expected: {expected})"
            )
        now = time.gmtime(int(epoch) if epoch else None)
        return cls(
            python=platform.python_version(),
            numpy=np.__version__,
            machine=platform.machine(),
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
            **fields,
        )

    def with_(self, **fields: Any) -> Provenance:
        """A copy with some fields replaced."""
        return msgspec.structs.replace(self, **fields)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: lists instead of tuples."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }


@dataclass
class ModelFile:
    """The content of a model file.

    `training` and `progress` are empty if it was read only for parsing.
    """

    provenance: Provenance
    settings: Settings
    vocabulary: Vocabulary
    rules: RuleSet
    parameters: Arrays
    training: Arrays = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)
    # of `rule_tables.statistics`: the rule table's measurements of the text
    text: dict[str, Any] | None = None
    # files of a tokeniser and a tagger, see STEPS
    steps: dict[str, bytes] = field(default_factory=dict)

    @property
    def base(self) -> Prior | None:
        """The rule table with its measurements of the text; None if the model has no such
        measurements."""
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
        reason = (
            "training diverged (a smaller train.lr may help); what was saved before is as it was"
        )
        raise ModelError(f"{path}: {fault}: {reason}")
    write(path, members(model))


def members(model: ModelFile) -> dict[str, bytes]:
    """What a model file holds, for `write`."""
    meta = {"format": FORMAT, **model.provenance.to_dict()}
    entries: dict[str, bytes] = {
        # A file name that is not UTF-8 holds lone surrogates; the error handler writes them as JSON
        # would.
        "meta.json": json.dumps(meta, indent=1, ensure_ascii=False).encode(
            errors="backslashreplace"
        ),
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
    """Reads a model file, or this content of one; with `training`, also the members needed to
    continue training.

    Raises: ModelError, no such file, not a model file, damaged, or of another format.
    """
    with opened(path, content=content) as archive:
        return _read(archive, training)


def _read(archive: Archive, training: bool) -> ModelFile:
    """The content of an archive. Raises: any exception, it is damaged."""
    meta = archive.json("meta.json")
    if step := archive.step:
        raise ModelError(
            f"this is a {step}, not a parser: name it with --{step} (in Python {step}=)"
        )
    if not isinstance(meta, dict) or type(meta.get("format")) is not int:
        raise ModelError("not a vdgi model file (its meta.json names no format)")
    if meta["format"] > FORMAT:
        raise ModelError(
            f"model format {meta['format']} is newer than this program's ({FORMAT}); "
            "update dynet_vdgi to use it"
        )
    if meta["format"] < FORMAT:
        raise ModelError(
            f"model format {meta['format']} is of version 0.1; "
            "train it again, or use it with version 0.1"
        )
    if (recipe := meta.get("recipe")) not in RECIPES.names():
        raise ModelError(
            f"the model is of an unknown recipe, {recipe!r}; update dynet_vdgi to use it"
        )
    provenance = msgspec.convert(meta, Provenance)
    try:
        settings = from_toml(_GONE.sub("", archive.read("settings.toml").decode()), "settings.toml")
        text = archive.read("rules.txt").decode()
        if text or "rules" not in settings.without_effect():  # else its recipe has no rules
            rules = parse_rules(_OF_EARLIER_STUDENTS.sub("", text), "rules.txt")
        else:
            rules = RuleSet(())
    except ConfigError as error:
        raise ModelError(
            f"{error}; the model file is damaged, or {of_earlier_version(provenance)}"
        ) from None
    if settings.recipe != provenance.recipe:
        raise ModelError(
            f"its settings are of recipe {settings.recipe}, its meta.json of {provenance.recipe}"
        )
    return ModelFile(
        provenance=provenance,
        settings=settings,
        vocabulary=Vocabulary.from_json(archive.read("vocabulary.json")),
        rules=rules,
        parameters=with_table(archive.arrays("parameters.npz")),
        training=archive.arrays("training.npz") if training else {},
        progress=archive.content("progress.json", dict[str, int | float | None])
        if training
        else {},
        text=archive.content("text.json", dict[str, Any]) if "text.json" in archive.names else None,
        steps={
            step: archive.read(f"{step}.zip") for step in STEPS if f"{step}.zip" in archive.names
        },
    )


def of_earlier_version(provenance: Provenance) -> str:
    """What to say about a model that this version cannot read or use: how to make it again."""
    again = shlex.join(provenance.command) or f"vdgi train --preset {provenance.preset}"
    return f"made by version {provenance.version}, which had other parsers; make it again: {again}"


def differences(
    model: ModelFile,
    settings: Settings,
    rules: RuleSet,
    vocabulary: Vocabulary,
    data: tuple[DataFile, ...],
) -> list[str]:
    """The differences between a model file and the present run; if there are none, it can be
    resumed."""
    ours, theirs = dict(leaves(settings.to_dict())), dict(leaves(model.settings.to_dict()))
    names = dict.fromkeys([*ours, *theirs])
    changed = [
        f"{name} was {theirs.get(name, 'not set')}, now {ours.get(name, 'not set')}"
        for name in names
        if name != "rules" and ours.get(name) != theirs.get(name)
    ]
    parts = [f"settings ({'; '.join(changed)})"] if changed else []
    parts += ["rules"] if rules.meaning != model.rules.meaning else []
    parts += ["data"] if data_keys(data) != data_keys(model.provenance.data) else []
    return parts + (["vocabulary"] if vocabulary != model.vocabulary else [])


def data_keys(data: tuple[DataFile, ...]) -> list[tuple[str, str, str]]:
    """The properties by which data files are compared."""
    return [(item.role, item.name, item.sha256) for item in data]

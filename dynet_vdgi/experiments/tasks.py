"""One task of an experiment: a training run, or the baselines of a treebank; its key and its progress.

A task's key is a checksum of all that determines its result: settings, the content of the files, rules, the
code that it runs, and the key of the run that it starts from. Names and places of files do not count. The
model's key leaves out parts that matter only after training: if these change, the model is only scored again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from dynet_vdgi.data import files
from dynet_vdgi.experiments import code_version
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.config import Settings, TeacherSettings
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.settings.registry import RECIPES, TEACHERS

RESULT_NAME, TASK_NAME, PARSED = "result.json", "task.json", ".parsed.conllu"

SCORING = "scoring"
"""The part of a run's key that does not affect its model."""


@dataclass(frozen=True)
class Task:
    """The work of one process. Without a system: the baselines of a treebank. Files are as expanded.

    `parts` are the checksums that make up the key.
    """

    out: str
    treebank: str
    system: str = ""
    seed: int = 0
    presets: tuple[str, ...] = ("best",)
    set: tuple[str, ...] = ()
    train: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # of each file of `train`, if the text has several
    dev: tuple[str, ...] = ()
    expectations: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()  # to score under; a run has one
    lengths: tuple[int, ...] = ()  # limits to report; not part of the key
    after: str = ""
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """The task's name in messages; its folder below that of the experiment."""
        return f"{self.treebank}/{self.system}/{self.seed}" if self.system else f"{self.treebank}/baselines"

    @property
    def folder(self) -> Path:
        """The folder of all output of a run; for baselines, the treebank's folder."""
        return Path(self.out, *self.label.split("/")) if self.system else Path(self.out, self.treebank)

    @property
    def result(self) -> Path:
        """The file that exists once the task is done."""
        return self.folder / RESULT_NAME if self.system else self.folder / "baselines.json"

    @property
    def log(self) -> Path:
        """The task's log."""
        return self.folder / ("log.txt" if self.system else "baselines.log.txt")

    @property
    def start(self) -> Path | None:
        """Folder of the run whose model this run starts from."""
        return Path(self.out, self.treebank, self.after, str(self.seed)) if self.after else None

    @property
    def key(self) -> str:
        """Checksum of all parts."""
        return _hash(dict(self.parts))

    @property
    def model_key(self) -> str:
        """Checksum of the parts that determine the model."""
        return model_key(dict(self.parts))

    def by_language(self) -> dict[str, list[str]]:
        """The training files of each language; empty if there is only one."""
        found: dict[str, list[str]] = {}
        for language, name in zip(self.languages, self.train):
            found.setdefault(language, []).append(name)
        return found

    def settings(self) -> Settings:
        """The settings of the run, without expectations that are still to be counted."""
        return load_settings(self.presets, [*self.set, f"seed={self.seed}"])

    def to_dict(self) -> dict[str, Any]:
        """A dict that JSON can hold."""
        keys = {"key": self.key, "model_key": self.model_key}
        return {**keys, **asdict(self), "parts": dict(self.parts)}


def from_dict(content: Mapping[str, Any]) -> Task:
    """The task that `Task.to_dict` described."""
    values: dict[str, Any] = {item.name: content[item.name] for item in fields(Task)}
    for name, value in values.items():
        if not isinstance(value, (str, int)):
            values[name] = tuple(value.items() if isinstance(value, dict) else value)
    return Task(**values)


def parsed_path(task: Task, test: str) -> Path:
    """The path for the parse of a test file."""
    return task.folder / f"{files.without_ending(Path(test).name)}{PARSED}"


# ------------------------------------------------------------------------------------------- keys
def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def model_key(parts: Mapping[str, str]) -> str:
    """Checksum of the parts that determine a model."""
    return _hash({name: value for name, value in parts.items() if name != SCORING})


def _sha256(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return files.sha256(path)  # gives the right error message
    return _sha256_at(os.path.abspath(path), found.st_mtime_ns, found.st_size)


@cache
def _sha256_at(path: str, _changed: int, _size: int) -> str:
    return files.sha256(path)


def _registered(settings: Settings) -> list[str]:
    """The registry modules that a run with these settings uses."""
    teacher = getattr(settings, "teacher", None)
    teachers = [TEACHERS.module_of(teacher.kind)] if isinstance(teacher, TeacherSettings) else []
    return [RECIPES.module_of(settings.recipe), *teachers]


def key_parts(task: Task, start_key: str = "") -> tuple[tuple[str, str], ...]:
    """The checksums of a task, by their subject; `start_key` is that of the initial model.

    Raises: ConfigError, DataError, settings or a file are at fault.
    """
    settings = task.settings()
    rules = [_sha256(str(rules_path(settings.rules)))]
    scoring = [_sums(task.test), task.protocols, code_version.code_version(module_of(task))]
    if not task.system:
        return _parts(rules=[*rules, settings.data.tags], scoring=scoring)
    values = settings.to_dict()
    values["rules"], values["seed"] = "", 0
    words = values.get("words", {})
    for name in ("vectors", "clusters"):
        if words.get(name):
            words[name] = _sha256(words[name])
    return _parts(
        settings=values,
        seed=task.seed,
        data=[_sums(task.train), task.languages, _sums(task.dev)],
        rules=[*rules, *_sums(task.expectations)],
        code=code_version.code_version("dynet_vdgi.recipes.run", *_registered(settings)),
        start=start_key,
        scoring=scoring,
    )


def _sums(names: Sequence[str]) -> list[str]:
    return [_sha256(name) for name in names]


def _parts(**values: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name, _hash(value)) for name, value in values.items())


def module_of(task: Task) -> str:
    """The module whose `perform` carries the task out."""
    return f"dynet_vdgi.experiments.{'training_run' if task.system else 'baseline_run'}"


# ------------------------------------------------------------------------------------------- progress
@dataclass(frozen=True)
class TaskState:
    """The state of a task: `done`, `new`, `resume` (begun), `score` (trained), or `anew`.

    The last two replace results made before these `changes`.
    """

    name: str
    changes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name + (f" ({', '.join(self.changes)} changed)" if self.changes else "")


def state(task: Task) -> TaskState:
    """The state of a task, judged by the contents of its folder."""
    done = recorded(task.result)
    if done.get("key") == task.key:
        return TaskState("done")
    if not task.system:
        return TaskState("score", _changes(task, done)) if done else TaskState("new")
    begun = recorded(task.folder / TASK_NAME)
    if begun.get("model_key") == task.model_key:
        return TaskState("score", _changes(task, done)) if done else TaskState("resume")
    if not task.folder.is_dir() or not any(task.folder.iterdir()):
        return TaskState("new")
    return TaskState("anew", _changes(task, begun or done))


def _changes(task: Task, before: Mapping[str, Any]) -> tuple[str, ...]:
    parts = before.get("parts")
    if not isinstance(parts, dict):
        return ("folder",)
    return tuple(name for name, value in task.parts if parts.get(name) != value)


def recorded(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if the file is missing or unreadable."""
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes an object, one line for each key; the file appears only when it is complete."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in content.items()
    )
    with files.atomic_writer(path) as handle:
        handle.write("{\n" + ",\n".join(lines) + "\n}\n")

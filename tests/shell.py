"""The `vdgi` command run by tests, in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tiny

from dynet_vdgi import cli
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.paper.trainer import Trainer

ROOT = Path(__file__).parents[1]


class Result(NamedTuple):
    """What a script sees of a command."""

    status: int
    out: str
    err: str


class Vdgi:
    """Runs the command in this process; there must never be a traceback."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str | Path) -> Result:
        self.capsys.readouterr()
        status = cli.main([str(argument) for argument in arguments])
        captured = self.capsys.readouterr()
        assert "Traceback" not in captured.err
        return Result(status, captured.out, captured.err)

    def good(self, *arguments: str | Path) -> Result:
        """Runs the command, which must succeed."""
        result = self(*arguments)
        assert result.status == 0, result.err
        return result


def process(*arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """The command in a process of its own; its streams are pipes unless `options` say otherwise."""
    pipe = subprocess.PIPE
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **options.pop("env", {})}
    command = [sys.executable, "-m", "dynet_vdgi", *map(str, arguments)]
    options = {"stdin": pipe, "stdout": pipe, "stderr": pipe, **options}
    return subprocess.Popen(command, env=environment, **options)


def finished(*arguments: str | Path, **options: Any) -> tuple[int, bytes | None, bytes | None]:
    """Status, output and messages of the command in a process of its own; None where there is no
    pipe."""
    with process(*arguments, **options) as running:
        out, err = running.communicate()
    return running.returncode, out, err


def wait_for(condition: Callable[[], object], running: subprocess.Popen[bytes]) -> None:
    """Waits until something is so, while a process runs."""
    end = time.monotonic() + 90
    while not condition():
        assert running.poll() is None, running.stderr.read() if running.stderr else ""
        assert time.monotonic() < end
        time.sleep(0.002)


def training_arguments(out: str = "run", *more: str) -> list[str]:
    """A tiny training in the present folder."""
    tiny.write(Path("train.conllu"))
    return ["train", "--train", "train.conllu", "--out", out, *tiny.SMALL_OPTIONS, *more]


def stop_at(monkeypatch: pytest.MonkeyPatch, update: int, error: BaseException) -> None:
    """Training stops with this error where so many updates are done."""
    original = Trainer.update

    def stopping(self: Trainer, batch: Any) -> float:
        if self.optimiser.updates == update:
            raise error
        return original(self, batch)

    monkeypatch.setattr(Trainer, "update", stopping)


def interrupt_at(monkeypatch: pytest.MonkeyPatch, *updates: int, before: bool = True) -> list[int]:
    """Control-C once at each of these numbers of updates done in all stages, before or after the
    next one."""
    left = list(updates)
    original = Trainer.update

    def update(self: Trainer, batch: Any) -> float:
        done = self.updates
        norm = 0.0 if before and done in left else original(self, batch)
        if done in left:
            left.remove(done)
            raise KeyboardInterrupt
        return norm

    monkeypatch.setattr(Trainer, "update", update)
    return left


def interrupt_saving(monkeypatch: pytest.MonkeyPatch, nth: int) -> None:
    """Ctrl-C is pressed when a model is to be saved for the nth time."""
    original, calls = model_file.save, []

    def save(path: Path, model: ModelFile) -> None:
        calls.append(path)
        if len(calls) == nth:
            raise KeyboardInterrupt
        original(path, model)

    monkeypatch.setattr(model_file, "save", save)


def names_in(folder: Path) -> list[str]:
    """What is in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


def last_line(text: str) -> str:
    """The last line that is not empty."""
    return text.rstrip("\n").rpartition("\n")[2]

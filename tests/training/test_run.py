"""Runs of the recommended recipe: going on with them, what they warn of, and that they do without
DyNet."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny
from shell import ROOT, last_line, names_in
from wording import Wording

from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import model_file
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.run import FEW_SENTENCES, run

SMALL: dict[str, Any] = {
    "parser": {"log2_buckets": 8},
    "teacher": {"iterations": 2, "valence_iterations": 1},
}
RULES = "ROOT VERB 0.5\nVERB NOUN 0.5\n"


def trained(folder: Path, changes: dict[str, Any] | None = None, *, resume: bool = False) -> Any:
    """A perceptron of train.conllu, under rules.txt, in the folder `run`."""
    rules = {"rules": str(folder / "rules.txt")}
    settings = load_settings("best", changes={**SMALL, **rules, **(changes or {})})
    text = (str(folder / "train.conllu"),)
    return run(Inputs({"": text}), settings, out=folder / "run", resume=resume)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A folder with a finished run."""
    tiny.write(tmp_path / "train.conllu", 60)
    (tmp_path / "rules.txt").write_text(RULES, encoding="utf-8")
    trained(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "run").iterdir()}


def test_a_finished_run_is_kept_and_that_is_said(
    finished: Path, caplog: pytest.LogCaptureFixture, wording: Wording
) -> None:
    before = contents(finished)
    assert sorted(before) == ["log.jsonl", "model.vdgi", "settings.toml"]
    with caplog.at_level(logging.INFO, "dynet_vdgi"):
        model = trained(finished, resume=True)
    wording.check(caplog.messages[-1])
    assert contents(finished) == before
    kept = model_file.load(finished / "run" / "model.vdgi")
    assert tiny.same_arrays(model.parameters, kept.parameters)


def refusal(folder: Path, changes: dict[str, Any] | None = None) -> str:
    before = contents(folder)
    with pytest.raises(ModelError) as caught:
        trained(folder, changes, resume=True)
    assert contents(folder) == before
    message = str(caught.value)
    assert message.startswith(f"{folder / 'run' / 'model.vdgi'}: its ")
    assert message.endswith("so it cannot be resumed; choose another folder")
    return message


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 2},
        {"teacher": {"iterations": 3, "valence_iterations": 1}},
        {"parser": {"log2_buckets": 9}},
        {"teacher": {"kind": "lc-dmv"}},
    ],
)
def test_other_settings_are_refused_by_name(
    finished: Path, changes: dict[str, Any], wording: Wording
) -> None:
    wording.check(refusal(finished, changes))


def test_other_rules_under_the_same_name_are_refused(finished: Path, wording: Wording) -> None:
    (finished / "rules.txt").write_text("ROOT NOUN 0.5\n", encoding="utf-8")
    wording.check(refusal(finished))


def test_a_folder_without_a_model_is_begun(finished: Path) -> None:
    before = contents(finished)
    (finished / "run" / "model.vdgi").unlink()
    again = trained(finished, resume=True)
    old = finished / "old.vdgi"
    old.write_bytes(before["model.vdgi"])
    assert tiny.same_arrays(model_file.load(old).parameters, dict(sorted(again.parameters.items())))


@pytest.mark.parametrize("n_sentences", [2, FEW_SENTENCES - 1, FEW_SENTENCES])
def test_little_text_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, n_sentences: int
) -> None:
    tiny.write(tmp_path / "train.conllu", n_sentences)
    (tmp_path / "rules.txt").write_text(RULES, encoding="utf-8")
    trained(tmp_path)
    message = f"only {n_sentences} sentences to learn from: expect a poor parser; a few hundred make a fair one"
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert (message in warned) == (n_sentences < FEW_SENTENCES)


BLOCKED = """
import sys
sys.modules["dynet"] = None
from dynet_vdgi.cli import main
for line in sys.argv[1:]:
    status = main(line.split())
    assert status == 0, (line, status)
assert not any(name == "_dynet" or name.startswith("dynet.") for name in sys.modules)
"""


def test_the_recommended_recipe_does_without_dynet(folder: Path) -> None:
    tiny.write(Path("train.conllu"), 60)
    lines = [
        "train --train train.conllu --out run",
        "parse run train.conllu -o parsed.conllu",
        "evaluate train.conllu parsed.conllu --baselines",
        "info run",
    ]
    command = [sys.executable, "-c", BLOCKED, *lines]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert {"parsed.conllu", "run"} <= set(names_in(folder))
    assert model_file.load("run/model.vdgi").provenance.dynet is None


def test_the_neural_parser_needs_dynet_and_says_so(folder: Path, wording: Wording) -> None:
    tiny.write(Path("train.conllu"), 60)
    line = "train --train train.conllu --preset fixed-lambda --set train.updates=1 --out run"
    code = "import sys; sys.modules['dynet'] = None; from dynet_vdgi.cli import main; "
    code += "sys.exit(main(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, *line.split()]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 1
    message = "the neural parser is trained with DyNet, which cannot be imported ("
    assert last_line(result.stderr).startswith(message)
    wording.check(last_line(result.stderr))
    assert "bug" not in result.stderr

"""The `vdgi` command as scripts see it: usage, exit statuses, messages, interrupts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny
from shell import ROOT, Vdgi, finished, last_line, process, stop_at, training_arguments
from wording import Wording

import dynet_vdgi
from dynet_vdgi import cli
from dynet_vdgi.models import model_file
from dynet_vdgi.paper import trainer

VERBS = dynet_vdgi.cli.VERBS

# Help, version, wrong use


def test_help_of_everything(vdgi: Vdgi) -> None:
    result = vdgi.good("--help")
    assert all(f"\n  {verb} " in result.out for verb in VERBS)
    assert len(VERBS) <= 17
    assert result.out.count("\n") <= 24
    for verb in VERBS:
        assert vdgi.good(verb, "--help").out.startswith(f"usage: vdgi {verb} ")
    assert vdgi.good("--version").out == f"vdgi {dynet_vdgi.__version__}\n"


HEAVY = """
import json, sys
from dynet_vdgi.cli import main
for arguments in json.loads(sys.argv[1]):
    status = main(arguments)
    found = {"dynet", "gensim", "tqdm", "matplotlib"} & set(sys.modules)
    print(*arguments, sorted(found), status, file=sys.stderr)
"""


def test_what_is_heavy_is_imported_only_where_needed(folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    light = [
        ["--help"],
        ["--version"],
        *([verb, "--help"] for verb in VERBS),
        ["check", "good.conllu"],
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HEAVY, json.dumps(light)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert result.stderr.splitlines() == [" ".join([*arguments, "[]", "0"]) for arguments in light]


# Interrupts, closed pipes, bugs


@pytest.mark.slow
def test_an_interrupted_training_names_its_checkpoint(
    vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr(trainer, "SAVE_EVERY_S", -1.0)
    with monkeypatch.context() as patch:
        stop_at(patch, 3, KeyboardInterrupt())
        status, out, err = vdgi(*training_arguments())
    assert (status, out) == (130, "")
    wording.check(last_line(err))
    result = vdgi.good(*training_arguments(), "--resume")
    wording.lines(result.err, "resuming")
    vdgi.good(*training_arguments("whole"))
    ends = [model_file.load(f"{out}/model.vdgi", training=True) for out in ("run", "whole")]
    for one, other in zip(ends[0].training.values(), ends[1].training.values()):
        assert one.tobytes() == other.tobytes()


def test_a_reader_that_goes_away(model: Path, folder: Path) -> None:
    (folder / "big.conllu").write_text(tiny.treebank(12) * 200, encoding="utf-8")
    with process("-q", "parse", model, "big.conllu") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == b"# sent_id = 0\n"
        running.stdout.close()
        err = running.stderr.read()
    assert (running.returncode, err) == (141, b"")


def test_a_bug_is_called_one(
    vdgi: Vdgi, model: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("matrix is not a number")

    vdgi.good("info", model)  # so that no module takes over the broken function when it is imported
    monkeypatch.setattr(model_file, "load", broken)
    status, out, err = vdgi("info", model)
    assert (status, out) == (1, "")
    wording.check(err)


def test_divergence_is_no_bug_but_a_failure(folder: Path) -> None:
    """In a process of its own: what is not finite stays in DyNet's memory and spoils its later
    products."""
    status, out, err = finished(*training_arguments("run", "--set", "train.lr=1e20"))
    assert (status, out) == (1, b"")
    assert last_line(err.decode()).startswith("training diverged: ")
    assert b"Traceback" not in err


# The order of arguments, help, hints


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["parse", "M", "--confidence", "F"], {"model": "M", "files": ["F"], "confidence": True}),
        (["parse", "M", "-o", "O", "F", "G"], {"model": "M", "files": ["F", "G"], "output": "O"}),
        (["parse", "-o", "O", "M"], {"model": "M", "files": ["-"], "output": "O"}),
        (["parse", "M", "--", "-F"], {"model": "M", "files": ["-F"]}),
        (["parse", "M", "F", "--jobs", "2", "-"], {"model": "M", "files": ["F", "-"], "jobs": 2}),
        (["evaluate", "G", "--max-len", "10", "P"], {"gold": "G", "max_len": "10"}),
        (["check", "A", "--max-faults", "3", "B"], {"files": ["A", "B"], "max_faults": 3}),
        (["convert", "wsj", "--sections", "2", "D"], {"folder": "D", "sections": "2"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_options_may_stand_between_files(arguments: list[str], expected: dict[str, Any]) -> None:
    found = vars(cli.build_parser().parse_args(arguments))
    assert {name: found[name] for name in expected} == expected


def test_shells_are_told_the_completions(tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")
    completions = tmp_path / "completions"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(completions),
        "COMP_LINE": "vdgi parse --con",
        "COMP_POINT": "16",
    }
    subprocess.run([sys.executable, "-m", "dynet_vdgi"], env=environment, check=False)
    assert completions.read_text().strip() == "--confidence"

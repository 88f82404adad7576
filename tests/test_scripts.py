"""The scripts of `run/`, the commands that the README shows, and the set-up they rest on."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dynet_vdgi import cli, config

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """An environment that counts as set up: the scripts find this interpreter there and install nothing."""
    venv = tmp_path_factory.mktemp("venv")
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(sys.executable)
    vdgi = venv / "bin" / "vdgi"
    vdgi.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dynet_vdgi "$@"\n')
    vdgi.chmod(0o755)
    (venv / "installed").touch()
    return {**os.environ, "VDGI_VENV": str(venv), "PYTHONPATH": str(ROOT)}


def run(script, *arguments, env, cwd=ROOT):
    command = ["bash", str(ROOT / "run" / script), *map(str, arguments)]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_first_readme_command(environment, tmp_path):
    """Trains on the demo treebank; the parser beats every baseline."""
    result = run("train_ud.sh", env={**environment, "VDGI_RUN": str(tmp_path / "demo")})
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("DDA on 200 of 200 sentences, 1714 words; protocol standard")
    table = result.stdout.split("\n\n")[1].splitlines()
    dda = {line[:27].strip(): float(line.split()[-1]) for line in table[3:]}
    assert list(dda)[1:] == ["left branching", "right branching", "random", "rules only"]
    assert dda["demo-ud-test.parsed.conllu"] == max(dda.values())
    written = result.stdout.split("written: ")[1].strip().split(", ")
    assert len(written) == 4
    assert all(Path(name).stat().st_size for name in written)


def test_a_treebank_folder(environment, tmp_path):
    """LANG DIR: several training files, results where VDGI_RUN says; run again, it does not train again."""
    folder, other = tmp_path / "UD_Demo", tmp_path / "more text"
    folder.mkdir()
    other.mkdir()
    demo = ROOT / "resources" / "demo"
    lines = (demo / "demo-ud-train.conllu").read_text(encoding="utf-8").split("\n\n")
    (folder / "xx_demo-ud-train-1.conllu").write_text("\n\n".join(lines[:50]) + "\n\n", encoding="utf-8")
    (other / "xx-ud-train-2.conllu").write_text("\n\n".join(lines[50:90]) + "\n\n", encoding="utf-8")
    for part in ("dev", "test"):
        sentences = (demo / f"demo-ud-{part}.conllu").read_text(encoding="utf-8").split("\n\n")
        text = "\n\n".join(sentences[:20]) + "\n\n"
        (folder / f"xx_demo-ud-{part}.conllu").write_text(text, encoding="utf-8")
    env = {**environment, "VDGI_RUN": str(tmp_path / "run")}
    options = ("--set", "train.updates=3", "--set", "model.hidden_dim=8")
    result = run("train_ud.sh", "xx", "UD_Demo", other, "--", *options, env=env, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "gold trees used: none" in result.stderr
    assert "rules only" in result.stdout
    assert (tmp_path / "run" / "xx_demo-ud-test.parsed.conllu").exists()
    again = run("train_ud.sh", "xx", "UD_Demo", other, "--", *options, env=env, cwd=tmp_path)
    assert again.returncode == 0
    assert again.stdout == result.stdout
    assert "resuming after update 3" in again.stderr
    as_released = ("--preset", "as_released", *options, "--set", "train.epochs=1")
    env["VDGI_RUN"] = str(tmp_path / "released")
    released = run("train_ud.sh", "xx", folder, "--", *as_released, env=env)
    assert released.returncode == 0, released.stderr
    assert "dev: choice of the model" in released.stderr
    assert "protocol as_released" in released.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["xx"], "bash run/train_ud.sh LANG DIR"),
        (["--help"], "bash run/train_ud.sh LANG DIR"),
        (["xx", "no/such/folder"], "no xx-ud-train*.conllu in"),
    ],
)
def test_wrong_use_of_the_script(environment, arguments, message):
    result = run("train_ud.sh", *arguments, env=environment)
    assert result.returncode == 2
    assert message in result.stderr


def test_an_interpreter_without_wheels_gets_a_clear_message(tmp_path):
    old = tmp_path / "python3.8"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.8.1"\nexit 1\n')
    old.chmod(0o755)
    env = {**os.environ, "VDGI_PYTHON": str(old), "VDGI_VENV": str(tmp_path / "venv")}
    result = run("train_ud.sh", env=env)
    assert result.returncode == 2
    assert "No Python 3.9 to 3.13 found" in result.stderr
    assert "Traceback" not in result.stderr


def readme_commands():
    """The lines of the README's code blocks that call `vdgi`, without their comments."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\n(.*?)```", text, flags=re.DOTALL)
    lines = [line.split(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("vdgi ")]


def test_the_readme_shows_every_verb():
    assert len(readme_commands()) >= 5
    shown = {command.split()[1] for command in readme_commands()}
    assert shown >= set(cli.VERBS) - {"demo"}


@pytest.mark.parametrize("command", readme_commands())
def test_commands_of_the_readme_are_understood(command):
    arguments = cli.build_parser().parse_args(shlex.split(command)[1:])
    assert callable(arguments.run)


def test_presets_of_the_readme_are_those_there_are():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`[a-z_-]+`(?:, )?)+) \| ", text, flags=re.MULTILINE)
    assert sorted(name.strip("`") for row in rows for name in row.split(", ")) == config.preset_names()


def test_setup_names_the_wheel_of_dynet():
    code = "import runpy, setuptools; setuptools.setup = lambda **k: print(k['install_requires'])"
    run_setup = f"{code}; runpy.run_path('setup.py')"
    result = subprocess.run(
        [sys.executable, "-c", run_setup], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "'dyNET38>=2.2'" in result.stdout
    assert "'dynet" not in result.stdout

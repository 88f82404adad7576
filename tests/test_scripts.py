"""The scripts of `run/`, and the set-up they rest on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    options = ("--set", "train.updates=3", "--set", "parser.hidden_dim=8")
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


# ------------------------------------------------------------------------------------------- the WSJ
FAKE = """#!/bin/sh
echo "$@" >>"$VDGI_LOG"
while [ $# -gt 0 ]; do
    [ "$1" != -o ] || echo "made by vdgi" >"$2"
    shift
done
"""
"""Stands for `vdgi`: notes what it is asked for, and makes the file after -o."""

TREE = "( (S (NP-SBJ (DT the) (NN {noun})) (VP (VBD {verb}) (NP (JJ old) (NN {noun}))) (. .)) )\n"


@pytest.fixture
def wsj(environment, tmp_path):
    """A function that runs train_wsj.sh with a fake program, and gives the result and the commands noted."""
    venv, log = tmp_path / "venv", tmp_path / "log"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)
    (venv / "bin" / "vdgi").write_text(FAKE)
    (venv / "bin" / "vdgi").chmod(0o755)
    (venv / "installed").touch()
    (tmp_path / "ptb" / "02").mkdir(parents=True)
    for number in range(25):
        (tmp_path / "ptb" / "02" / f"wsj_02{number:02}.mrg").write_text("")
    env = {**environment, "VDGI_VENV": str(venv), "VDGI_LOG": str(log), "VDGI_RUN": str(tmp_path / "out")}

    def commands(*arguments, **more):
        log.write_text("")
        result = run("train_wsj.sh", *arguments, env={**env, **more}, cwd=tmp_path)
        return result, log.read_text().replace(str(tmp_path) + "/", "").splitlines()

    return commands


DATA = [
    "vectors out/data/train.conllu -o out/data/vectors.vec",
    "clusters out/data/train.conllu -o out/data/clusters.paths",
]
END = ["experiment paper-wsj --data out/data --out out", "table out --like paper"]


def test_the_treebank_is_converted_and_every_row_is_run(wsj):
    parts = {"train": "2-21", "dev": "22", "test": "23"}
    made = [f"convert wsj ptb --sections {n} -o out/data/{part}.conllu" for part, n in parts.items()]
    result, commands = wsj("ptb")
    assert (result.returncode, commands) == (0, [*made, *DATA, *END])
    assert "Trained on sections 2-21 of the WSJ, dev section 22, test section 23." in result.stdout
    assert "word vectors are made from the training text" in result.stderr
    # Run again, only what is not there is made; the experiment knows by itself what is done.
    _, commands = wsj("ptb", "--", "--jobs", "2", "--only", "RL-BL")
    assert commands == [f"{END[0]} --jobs 2 --only RL-BL", END[1]]


def test_options_of_the_wsj_script(wsj, tmp_path):
    (tmp_path / "glove.txt").write_text("the 1 2\n")
    result, commands = wsj("--sample", "ptb", "--glove", "glove.txt", "--quick")
    files = {"train": "1-20", "dev": "21-22", "test": "23-25"}
    made = [f"convert wsj ptb --files {n} -o out/data/{part}.conllu" for part, n in files.items()]
    quick = f"{END[0]} --seeds 1 --only UniversalRules L-WeaklySupervised"
    assert (result.returncode, commands) == (0, [*made, DATA[1], quick, END[1]])
    assert "NOT the paper's data: trained on the first 80 % of 25 files, dev the next 10 %" in result.stdout
    assert (tmp_path / "out" / "data" / "vectors.vec").read_text() == "the 1 2\n"
    # Another treebank, or other vectors: the files are made anew, and those of the user stay.
    _, commands = wsj("--sample", "ptb", VDGI_PLAN="paper-wsj-released")
    assert commands == [*made, *DATA, END[0].replace("paper-wsj", "paper-wsj-released"), END[1]]
    assert (tmp_path / "glove.txt").read_text() == "the 1 2\n"
    _, commands = wsj("ptb", VDGI_PLAN="mine.toml")
    assert commands[0] == "convert wsj ptb --sections 2-21 -o out/data/train.conllu"
    assert commands[-2] == "experiment mine.toml --data out/data --out out"


def test_without_a_treebank_the_script_says_what_is_needed_and_runs_the_demo(wsj):
    result, commands = wsj()
    assert (result.returncode, commands) == (0, ["demo --out out"])
    assert "No Penn Treebank named: bash run/train_wsj.sh PTB_DIR" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--help"], "bash run/train_wsj.sh PTB_DIR"),
        (["--quick"], "bash run/train_wsj.sh PTB_DIR"),
        (["ptb", "ptb"], "bash run/train_wsj.sh PTB_DIR"),
        (["ptb", "--glove"], "bash run/train_wsj.sh PTB_DIR"),
        (["--sample", "out"], "out: 0 files wsj_*.mrg; at least 10 are needed"),
    ],
)
def test_wrong_use_of_the_wsj_script(wsj, tmp_path, arguments, message):
    (tmp_path / "out").mkdir()
    result, commands = wsj(*arguments)
    assert (result.returncode, result.stdout, commands) == (2, "", [])
    assert message in result.stderr


@pytest.mark.slow
def test_a_small_treebank_is_set_beside_the_paper(environment, tmp_path):
    """All steps in earnest, on twenty files of invented trees, with two systems of a plan of its own."""
    folder = tmp_path / "sample"
    folder.mkdir()
    for number in range(20):
        words = [{"noun": f"noun{k}", "verb": f"verb{k}"} for k in range(number % 3 + 2)]
        text = "".join(TREE.format(**pair) for pair in words)
        (folder / f"wsj_00{number:02}.mrg").write_text(text)
    plan = tmp_path / "plan.toml"
    small = "'parser.hidden_dim=4', 'parser.tag_dim=4', 'train.samples=3', 'train.updates=2', "
    small += "'finetune.updates=1'"
    treebank = (ROOT / "resources" / "experiments" / "paper-wsj.toml").read_text(encoding="utf-8")
    treebank = re.search(r"\[\[treebank\]\](\n.+)+\n", treebank)[0]
    plan.write_text(
        f"seeds = [1]\n{treebank}[[system]]\nname = 'weak'\npublished = 'L-WeaklySupervised'\n"
        f"presets = ['ud-weak-lexicalised']\nset = [{small}, 'words.vectors=vectors.vec', "
        f"'words.clusters=clusters.paths']\n[[system]]\nname = 'universal'\npublished = 'UniversalRules'\n"
        f"presets = ['ud-universal']\nset = [{small}]\n"
    )
    env = {**environment, "VDGI_RUN": str(tmp_path / "out"), "VDGI_PLAN": "plan.toml"}
    (tmp_path / "glove.txt").write_text("noun0 1 2 3\nverb1 4 5 6\n")
    result = run("train_wsj.sh", "--sample", "sample", "--glove", "glove.txt", env=env, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = dict(re.findall(r"^\| &nbsp;&nbsp;(\S+) \(here\)(?: †)? \| (.*) \|$", result.stdout, re.MULTILINE))
    for name in ("weak", "universal"):
        short, every = (float(cell) for cell in rows[name].split(" | "))
        assert 0 <= short == every <= 100  # all sentences have five words
    assert "| UniversalRules | 54.7 (58.2) | 37.8 (39.3) |" in result.stdout
    assert (
        "† weak used gold trees: training: expectations of the rules counted in its trees." in result.stdout
    )
    settings = (tmp_path / "out" / "wsj" / "weak" / "1" / "settings.toml").read_text(encoding="utf-8")
    assert 'tags = "xpos"' in settings
    assert "NOT the paper's data" in result.stdout


def test_an_interpreter_without_wheels_gets_a_clear_message(tmp_path):
    old = tmp_path / "python3.8"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.8.1"\nexit 1\n')
    old.chmod(0o755)
    env = {**os.environ, "VDGI_PYTHON": str(old), "VDGI_VENV": str(tmp_path / "venv")}
    result = run("train_ud.sh", env=env)
    assert result.returncode == 2
    assert "No Python 3.10 to 3.13 found" in result.stderr
    assert "Traceback" not in result.stderr


def test_setup_names_the_wheel_of_dynet():
    code = "import runpy, setuptools; setuptools.setup = lambda **k: print(k['install_requires'])"
    run_setup = f"{code}; runpy.run_path('setup.py')"
    result = subprocess.run(
        [sys.executable, "-c", run_setup], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "'dyNET38>=2.2'" in result.stdout
    assert "'dynet" not in result.stdout

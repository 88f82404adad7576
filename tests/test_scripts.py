"""The scripts of `run/`, and the set-up they rest on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
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
    # The link is to a Python without this one's packages, which the installation would have brought.
    path = os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])
    return {**os.environ, "VDGI_VENV": str(venv), "PYTHONPATH": path}


def run(script, *arguments, env, cwd=ROOT):
    command = ["bash", str(ROOT / "run" / script), *map(str, arguments)]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_first_readme_command(environment, tmp_path):
    """Trains on the demo treebank; each parser beats its own rules alone, and the best every other one."""
    result = run("train_ud.sh", env={**environment, "VDGI_RUN": str(tmp_path / "demo")})
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("DDA on 200 of 200 sentences, 1,714 words; protocol standard")
    table = result.stdout.split("\n\n")[1].splitlines()
    dda = {line.split("  ")[0]: float(line.split()[-1]) for line in table[3:9]}
    assert table[9].startswith("95 % interval")
    paper, best, *baselines = dda
    assert paper == "demo-ud-test.parsed.conllu"
    assert best.endswith("demo/best/demo-ud-test.parsed.conllu")
    assert baselines == ["left branching", "right branching", "random", "rules only"]
    assert dda[best] == max(dda.values())
    assert dda[paper] > max(dda[name] for name in baselines[:3])
    assert result.stderr.count("gold trees used: none") == 2
    for name in ("paper", "best"):
        written = {path.name for path in (tmp_path / "demo" / name).iterdir() if path.stat().st_size}
        assert written == {"demo-ud-test.parsed.conllu", "log.jsonl", "model.vdgi", "settings.toml"}


# ------------------------------------------------------------------------------------------- a fake program
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
def noted(environment, tmp_path):
    """A function that runs a script with a fake program, and gives the result and the commands noted."""
    venv, log = tmp_path / "venv", tmp_path / "log"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)
    (venv / "bin" / "vdgi").write_text(FAKE)
    (venv / "bin" / "vdgi").chmod(0o755)
    (venv / "installed").touch()
    env = {**environment, "VDGI_VENV": str(venv), "VDGI_LOG": str(log)}

    def commands(script, *arguments, **more):
        log.write_text("")
        result = run(script, *arguments, env={**env, **more}, cwd=tmp_path)
        return result, log.read_text().replace(str(tmp_path) + "/", "").splitlines()

    return commands


# ------------------------------------------------------------------------------------------- UD
def on_ud(presets, train, tests, more=""):
    """The commands of a run; `tests` by the stems of their names."""
    commands = []
    for preset in presets:
        dev = " --dev UD_French/fr-ud-dev.conllu" if preset == "as_released" else ""
        commands.append(f"train --train {train}{dev} --preset {preset}{more} --out out/{preset} --resume")
        commands += [
            f"parse out/{preset} {path} -o out/{preset}/{t}.parsed.conllu" for t, path in tests.items()
        ]
    for stem, path in tests.items():
        parses = " ".join(f"out/{preset}/{stem}.parsed.conllu" for preset in presets)
        commands.append(f"evaluate {path} {parses} --baselines")
        runs = " ".join(f"out/{preset}" for preset in presets)
        known = "" if stem.startswith("demo") else " --published UD1.4-French"
        commands.append(f"info {runs} --gold {path}{known} -o out/report-{stem}.html")
    return commands


DEMO = "resources/demo/demo-ud-train.conllu", {"demo-ud-test": "resources/demo/demo-ud-test.conllu"}
FRENCH = "UD_French/fr-ud-train.conllu", {"fr_x-ud-test": "more text/fr_x-ud-test.conllu.gz"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], on_ud(["paper", "best"], *DEMO)),
        (["fr", "UD_French", "more text"], on_ud(["paper", "best"], *FRENCH)),
        (
            ["fr", "UD_French", "more text", "--", "--seed", "2"],
            on_ud(["paper", "best"], *FRENCH, " --seed 2"),
        ),
        (
            ["fr", "UD_French", "more text", "--", "--preset", "as_released", "--preset", "best"],
            on_ud(["as_released", "best"], *FRENCH),
        ),
    ],
)
def test_training_on_ud(noted, tmp_path, arguments, expected):
    for name in ("UD_French/fr-ud-train.conllu", "UD_French/fr-ud-dev.conllu", FRENCH[1]["fr_x-ud-test"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    result, commands = noted("train_ud.sh", *arguments, VDGI_RUN=str(tmp_path / "out"))
    assert (result.returncode, commands) == (0, expected)


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("train_ud.sh", ["xx"], "bash run/train_ud.sh LANG DIR"),
        ("train_ud.sh", ["--nonsense"], "bash run/train_ud.sh LANG DIR"),
        ("train_ud.sh", ["xx", "--", "--seed", "2"], "bash run/train_ud.sh LANG DIR"),
        ("train_wsj.sh", ["--quick"], "bash run/train_wsj.sh PTB_DIR"),
        ("train_wsj.sh", ["ptb", "ptb"], "bash run/train_wsj.sh PTB_DIR"),
        ("train_wsj.sh", ["ptb", "--glove"], "bash run/train_wsj.sh PTB_DIR"),
        ("train_wsj.sh", ["--sample", "out"], "out: 0 files wsj_*.mrg; at least 10 are needed"),
    ],
)
def test_wrong_use_of_the_scripts(noted, tmp_path, script, arguments, message):
    for name in ("out", "ptb"):
        (tmp_path / name).mkdir()
    result, commands = noted(script, *arguments)
    assert (result.returncode, result.stdout, commands) == (2, "", [])
    assert message in result.stderr


# ------------------------------------------------------------------------------------------- the WSJ
@pytest.fixture
def wsj(noted, tmp_path):
    """A function that runs train_wsj.sh on a treebank of empty files, as `noted` does."""
    (tmp_path / "ptb" / "02").mkdir(parents=True)
    for number in range(25):
        (tmp_path / "ptb" / "02" / f"wsj_02{number:02}.mrg").write_text("")
    return lambda *arguments, **more: noted(
        "train_wsj.sh", *arguments, **{"VDGI_RUN": str(tmp_path / "out"), **more}
    )


DATA = [
    "vectors out/data/train.conllu -o out/data/vectors.vec",
    "clusters out/data/train.conllu -o out/data/clusters.paths",
]
END = ["experiment paper-wsj --data out/data --out out", "experiment table out --like paper"]


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
    assert (result.returncode, commands) == (0, on_ud(["paper", "best"], *DEMO))
    assert "No Penn Treebank named: bash run/train_wsj.sh PTB_DIR" in result.stderr


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
    words = "'parser.word_dim=8', 'words.vectors=vectors.vec', 'words.clusters=clusters.paths'"
    plan.write_text(
        f"seeds = [1]\n{treebank}[[system]]\nname = 'L-WeaklySupervised'\npresets = ['rl-pc']\n"
        f"set = [{small}, {words}, 'posterior.expectations=trees']\n"
        f"[[system]]\nname = 'UniversalRules'\npresets = ['rl-pc']\nset = [{small}]\n"
    )
    env = {**environment, "VDGI_RUN": str(tmp_path / "out"), "VDGI_PLAN": "plan.toml"}
    (tmp_path / "glove.txt").write_text("noun0 1 2 3\nverb1 4 5 6\n")
    result = run("train_wsj.sh", "--sample", "sample", "--glove", "glove.txt", env=env, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = dict(re.findall(r"^\| &nbsp;&nbsp;(\S+) \(here\)(?: †)? \| (.*) \|$", result.stdout, re.MULTILINE))
    for name in ("L-WeaklySupervised", "UniversalRules"):
        short, every = (float(cell) for cell in rows[name].split(" | "))
        assert 0 <= short == every <= 100  # all sentences have five words
    assert "| UniversalRules | 54.7 (58.2) | 37.8 (39.3) |" in result.stdout
    used = "training: expectations of the rules counted in its trees"
    assert f"† L-WeaklySupervised used gold trees: {used}." in result.stdout
    run_folder = tmp_path / "out" / "wsj" / "L-WeaklySupervised" / "1"
    settings = (run_folder / "settings.toml").read_text(encoding="utf-8")
    assert 'tags = "xpos"' in settings
    assert "NOT the paper's data" in result.stdout


def test_an_interpreter_without_wheels_gets_a_clear_message(tmp_path):
    old = tmp_path / "python3.8"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.8.1"\nexit 1\n')
    old.chmod(0o755)
    env = {**os.environ, "VDGI_PYTHON": str(old), "VDGI_VENV": str(tmp_path / "venv")}
    result = run("train_ud.sh", env=env)
    assert result.returncode == 2
    only = "DyNet has wheels for Python 3.10 to 3.13 only"
    assert result.stderr == f"VDGI_PYTHON={old} is Python 3.8.1, but {only}\n"
    result = run("train_ud.sh", env={**env, "VDGI_PYTHON": "no-such-python"})
    assert result.returncode == 2
    assert result.stderr == f"VDGI_PYTHON=no-such-python is no interpreter, but {only}\n"


@pytest.mark.parametrize("script", ["train_ud.sh", "train_wsj.sh"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_a_script_explains_itself(noted, script, option):
    result, commands = noted(script, option)
    assert (result.returncode, result.stderr, commands) == (0, "", [])
    assert f"bash run/{script}" in result.stdout


def test_an_editable_installation_is_one_that_type_checkers_find(tmp_path):
    venv, log = tmp_path / "venv", tmp_path / "log"
    (venv / "bin").mkdir(parents=True)
    for name in ("python", "vdgi"):
        (venv / "bin" / name).write_text(f'#!/bin/sh\n[ "$1" = -c ] || echo "$@" >>"{log}"\n')
        (venv / "bin" / name).chmod(0o755)
    for _ in range(2):
        assert run("train_ud.sh", env={**os.environ, "VDGI_VENV": str(venv)}).returncode == 0
    installed, *demos = log.read_text().splitlines()
    assert installed.endswith("--config-settings editable_mode=compat --editable .")
    assert [line.split()[0] for line in demos] == 2 * ["train", "parse", "train", "parse", "evaluate", "info"]


# ------------------------------------------------------------------------------------------- tests
TOOL = """#!/bin/sh
case "$(basename "$0") $*" in
    "python -c "*) exit 0 ;;
    "npm ci "*) exit 0 ;;
    "$FAILING"*) exit 3 ;;
esac
[ "$2" != fuzz ] || echo "0 failures"
"""
"""Stands for the tools of the development; the one of this name, with these arguments, fails."""


@pytest.mark.parametrize(
    "failing", ["none", "codespell", "mypy", "npm run", "python -m pytest", "python -m fuzz"]
)
def test_whatever_fails_the_script_of_the_tests_fails(environment, tmp_path, failing):
    (tmp_path / "bin").mkdir()
    for name in ("python", "ruff", "codespell", "mypy", "lint-imports", "npm"):
        (tmp_path / "bin" / name).write_text(TOOL)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "installed[dev]").touch()
    found_first = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])  # no other npm
    env = {**environment, "VDGI_VENV": str(tmp_path), "FAILING": failing, "PATH": found_first}
    result = run("test.sh", env=env)
    assert (result.returncode == 0) == (failing == "none")
    assert ("fuzzing: 0 failures" in result.stderr) == (failing in ("none", "python -m pytest"))

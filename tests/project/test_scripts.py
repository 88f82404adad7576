"""The scripts of `run/`, and the set-up they rest on."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from wording import Wording

from dynet_vdgi.lexicon import vectors

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """An environment that counts as set up: the scripts find this interpreter there and install
    nothing."""
    venv = tmp_path_factory.mktemp("venv")
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(sys.executable)
    vdgi = venv / "bin" / "vdgi"
    vdgi.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dynet_vdgi "$@"\n')
    vdgi.chmod(0o755)
    (venv / "installed").touch()
    # The link is to a Python without this one's packages, which the installation would have
    # brought.
    path = os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])
    return {**os.environ, "VDGI_VENV": str(venv), "PYTHONPATH": path}


def run(script, *arguments, env, cwd=ROOT):
    command = ["bash", str(ROOT / "run" / script), *map(str, arguments)]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_papers_parser_of_the_demo_beats_what_learns_nothing(
    environment, tmp_path, wording: Wording
):
    """In earnest, but for the number of updates; the commands of the usual run are compared below."""
    options = ["--", "--preset", "paper", "--set", "train.updates=60"]
    env = {**environment, "VDGI_RUN": str(tmp_path / "demo")}
    result = run("train_ud.sh", "demo", ROOT / "resources" / "demo", *options, env=env)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("DDA on 200 of 200 sentences, 1,714 words; protocol standard")
    table = result.stdout.split("\n\n")[1].splitlines()
    assert [block.split()[0] for block in result.stdout.split("\n\n")[1:]] == [
        "DDA",
        "UDA",
        "root",
        "LAS",
        "labels",
    ]
    assert not re.search(r"  -( |$)", result.stdout, re.MULTILINE)  # no relations, no row
    dda = {line.split("  ")[0]: float(line.split()[-1]) for line in table[3:8]}
    assert table[8].startswith("95 % interval")
    paper, *baselines = dda
    assert paper == "demo-ud-test.parsed.conllu"
    assert baselines == ["left branching", "right branching", "random", "rules only: best"]
    assert dda[paper] > 20 + max(dda[name] for name in baselines[:3])
    wording.lines(result.stderr, "gold trees")
    written = {path.name for path in (tmp_path / "demo" / "paper").iterdir() if path.stat().st_size}
    assert written == {"demo-ud-test.parsed.conllu", "log.jsonl", "model.vdgi", "settings.toml"}


FAKE = """#!/bin/sh
echo "$@" >>"$VDGI_LOG"
while [ $# -gt 0 ]; do
    [ "$1" != -o ] || echo "made by vdgi" >"$2"
    shift
done
"""
"""Stands for `vdgi`: notes what it is asked for, and makes the file after -o."""

FAKE_PYTHON = f"""#!/bin/sh
case "$1" in
    run/*) echo "$@" >>"$VDGI_LOG"; for made; do :; done; touch "$made" ;;
    *) exec "{sys.executable}" "$@" ;;
esac
"""
"""Stands for Python: notes what script it is asked for, and makes the last file named."""

TREE = "( (S (NP-SBJ (DT the) (NN {noun})) (VP (VBD {verb}) (NP (JJ old) (NN {noun}))) (. .)) )\n"


@pytest.fixture
def noted(environment, tmp_path):
    """A function that runs a script with a fake program, and gives the result and the commands
    noted."""
    venv, log = tmp_path / "venv", tmp_path / "log"
    (venv / "bin").mkdir(parents=True)
    for name, text in (("python", FAKE_PYTHON), ("vdgi", FAKE)):
        (venv / "bin" / name).write_text(text)
        (venv / "bin" / name).chmod(0o755)
    (venv / "installed").touch()
    env = {**environment, "VDGI_VENV": str(venv), "VDGI_LOG": str(log)}

    def commands(script, *arguments, **more):
        log.write_text("")
        result = run(script, *arguments, env={**env, **more}, cwd=tmp_path)
        return result, log.read_text().replace(str(tmp_path) + "/", "").splitlines()

    return commands


def on_ud(presets, train, tests, more=""):
    """The commands of a run; `tests` by the stems of their names."""
    commands = []
    for preset in presets:
        dev = " --dev UD_French/fr-ud-dev.conllu" if preset == "as_released" else ""
        commands.append(
            f"train --train {train}{dev} --preset {preset}{more} --out out/{preset} --resume"
        )
        commands += [
            f"parse out/{preset} {path} -o out/{preset}/{t}.parsed.conllu"
            for t, path in tests.items()
        ]
    for stem, path in tests.items():
        parses = " ".join(f"out/{preset}/{stem}.parsed.conllu" for preset in presets)
        beside = " --published fr" if "UD_French" in train else ""
        commands.append(f"evaluate {path} {parses} --baselines{beside}")
    return commands


DEMO = "resources/demo/demo-ud-train.conllu", {"demo-ud-test": "resources/demo/demo-ud-test.conllu"}
FRENCH = "UD_French/fr-ud-train.conllu", {"fr_x-ud-test": "more text/fr_x-ud-test.conllu.gz"}
TABLE_6 = [
    "experiment paper-ud --data out/data --out out/table6 --seeds 1"
    " --only fr RF+H1+H2 LC-DMV Convex-MST UniversalRules",
    "run/vectors.py out/data/UD_French/fr-ud-train-1.conllu out/data/fr.vec",
    "clusters out/data/UD_French/fr-ud-train-1.conllu -o out/data/fr.paths",
    "experiment paper-ud-words --data out/data --out out/table6-words --seeds 1"
    " --only fr L-WeaklySupervised-dev",
    "experiment table out/table6 out/table6-words --like Li2019-T6",
]
"""What makes the rows of the paper's table 6, for its languages."""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], on_ud(["paper", "best"], *DEMO)),
        (["fr", "UD_French", "more text"], [*on_ud(["paper", "best"], *FRENCH), *TABLE_6]),
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
    for name in (
        "UD_French/fr-ud-train.conllu",
        "UD_French/fr-ud-dev.conllu",
        FRENCH[1]["fr_x-ud-test"],
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with (
            gzip.open(tmp_path / name, "w") if name.endswith(".gz") else open(tmp_path / name, "w")
        ):
            pass
    result, commands = noted("train_ud.sh", *arguments, VDGI_RUN=str(tmp_path / "out"))
    assert (result.returncode, commands) == (0, expected)


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("train_ud.sh", ["xx"]),
        ("train_ud.sh", ["--nonsense"]),
        ("train_ud.sh", ["xx", "--", "--seed", "2"]),
        ("train_wsj.sh", ["--quick"]),
        ("train_wsj.sh", ["ptb", "ptb"]),
        ("train_wsj.sh", ["ptb", "--glove"]),
        ("train_wsj.sh", ["--sample", "out"]),
        ("train_wsj.sh", ["--sample", "nix"]),
        ("train_wsj.sh", ["ptb", "--glove", "nix"]),
        (
            "train_wsj.sh",
            ["ptb"],
        ),
        (
            "train_wsj.sh",
            ["few"],
        ),
    ],
)
def test_wrong_use_of_the_scripts(noted, tmp_path, script, arguments, wording: Wording):
    for name in ("out", "ptb", "few/a/b"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "few" / "a" / "b" / "wsj_0200.mrg").touch()
    result, commands = noted(script, *arguments)
    assert (result.returncode, result.stdout, commands) == (2, "", [])
    wording.check(result.stderr.replace(f"{tmp_path}/", ""))


@pytest.fixture
def wsj(noted, tmp_path):
    """A function that runs train_wsj.sh on a treebank of empty files, as `noted` does."""
    for section in ("02", "22", "23"):
        (tmp_path / "deep" / "ptb" / section).mkdir(parents=True)
        for number in range(10):
            (tmp_path / "deep" / "ptb" / section / f"wsj_{section}{number:02}.mrg").touch()
    return lambda *arguments, **more: noted(
        "train_wsj.sh", *arguments, **{"VDGI_RUN": str(tmp_path / "out"), **more}
    )


VECTORS = "run/vectors.py out/data/train.conllu out/data/vectors.vec"
CLUSTERS = "clusters out/data/train.conllu -o out/data/clusters.paths"
END = ["experiment paper-wsj --data out/data --out out", "experiment table out --like paper"]


def test_the_treebank_is_converted_and_every_row_is_run(wsj, wording: Wording):
    parts = {"train": "2-21", "dev": "22", "test": "23"}
    made = [
        f"convert wsj deep/ptb --sections {n} -o out/data/{part}.conllu"
        for part, n in parts.items()
    ]
    result, commands = wsj("deep/ptb")
    assert (result.returncode, commands) == (0, [*made, VECTORS, CLUSTERS, *END])
    assert (
        "trained on sections 2-21, dev section 22, test section 23.\nWord vectors are made"
        in result.stdout
    )
    wording.lines(result.stderr, "word vectors are")
    # Run again, only what is not there is made; the experiment knows by itself what is done.
    _, commands = wsj("deep/ptb", "--", "--jobs", "2", "--only", "RL-BL")
    assert commands == [f"{END[0]} --jobs 2 --only RL-BL", END[1]]


def test_a_sample_is_found_however_deep_it_lies(wsj, tmp_path, wording: Wording):
    parts = {"train": "1-24", "dev": "25-27", "test": "28-30"}
    made = [
        f"convert wsj deep/ptb --files {n} -o out/data/{part}.conllu" for part, n in parts.items()
    ]
    (tmp_path / "glove.txt.gz").touch()
    result, commands = wsj("--sample", ".", "--quick", "--glove", "glove.txt.gz")
    quick = f"{END[0]} --seeds 1 --only UniversalRules L-WeaklySupervised RF RF+H1+H2 Convex-MST HDP-DEP"
    assert (result.returncode, commands) == (0, [*made, CLUSTERS, quick, END[1]])
    assert (tmp_path / "out" / "data" / "vectors.vec.gz").is_symlink()
    wording.lines(result.stdout, "not with the", "published ones")
    assert result.stdout.endswith(
        "\n--quick: one seed of the systems of table 5, where the paper has means (and bests) of five.\n\n"
    )


@pytest.mark.slow
def test_a_small_treebank_is_set_beside_the_paper(environment, tmp_path):
    """All steps in earnest, on twenty files of invented trees, with two systems of a plan of its
    own."""
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
        f"seeds = [1]\n{treebank}[[system]]\nname = 'L-WeaklySupervised'\npresets = ['paper']\n"
        f"set = [{small}, {words}, 'posterior.expectations=trees']\n"
        f"[[system]]\nname = 'UniversalRules'\npresets = ['paper']\nset = [{small}]\n"
    )
    env = {**environment, "VDGI_RUN": str(tmp_path / "out"), "VDGI_PLAN": "plan.toml"}
    (tmp_path / "glove.txt").write_text("noun0 1 2 3\nverb1 4 5 6\n")
    result = run(
        "train_wsj.sh", "--sample", "sample", "--glove", "glove.txt", env=env, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    rows = dict(
        re.findall(
            r"^\| &nbsp;&nbsp;(\S+) \(here\)(?: †)? \| (.*) \|$", result.stdout, re.MULTILINE
        )
    )
    for name in ("L-WeaklySupervised", "UniversalRules"):
        short, every = (float(cell) for cell in rows[name].split(" | "))
        assert 0 <= short == every <= 100  # all sentences have five words
    assert "| UniversalRules | 54.7 (58.2) | 37.8 (39.3) |" in result.stdout
    own, published = re.split(
        r"\nA sample of the WSJ, NOT the paper's data: .*\n.*\n.*\n\n", result.stdout
    )
    assert (
        own.count("DDA, protocol"),
        re.findall(r"^Li\S+(?= beside)", published, re.MULTILINE),
    ) == (
        1,
        ["Li2019-T4", "Li2019-T5"],
    )
    assert "| rules only: wsj |" in own
    assert ";rules only: wsj (here) |" in published
    assert "Over 1 seed." in published
    assert not re.search("1 seeds|Warning", result.stdout)
    used = "training: expectations of the rules counted in its trees"
    assert f"† L-WeaklySupervised used gold trees: {used}." in result.stdout
    run_folder = tmp_path / "out" / "wsj" / "L-WeaklySupervised" / "1"
    settings = (run_folder / "settings.toml").read_text(encoding="utf-8")
    assert 'tags = "xpos"' in settings
    log = (run_folder / "log.txt").read_text(encoding="utf-8")
    # no header: GloVe
    assert re.search(r"vectors: 2 of \d+ words .*, 3 dimensions, .*vectors\.vec", log)
    assert re.search(r"clusters: (\d+) of \1 words, (9|1\d) classes", log)


def test_vectors_are_learnt_from_text(tmp_path):
    """Words in like places get like vectors; words with a space inside are left out."""
    rng = np.random.default_rng(1)
    sorts = {"mmm": ["aaa", "bbb", "ccc"], "nnn": ["xxx", "yyy", "zzz"]}
    lines = [
        f"{rng.choice(sort)} {frame} {rng.choice(sort).upper()}\n"
        for frame, sort in sorts.items()
        for _ in range(100)
    ]
    (tmp_path / "a b.txt").write_text("".join(lines))
    command = [sys.executable, "run/vectors.py", str(tmp_path / "a b.txt")]
    subprocess.run([*command, str(tmp_path / "one.vec")], cwd=ROOT, check=True)
    words = [word for sort in sorts.values() for word in sort]
    found = vectors.load_vectors(str(tmp_path / "one.vec"), words)
    assert found.dim == 300
    units = found.values / np.linalg.norm(found.values, axis=1, keepdims=True)
    alike = units @ units.T
    assert min(alike[:3, :3].min(), alike[3:, 3:].min()) > alike[:3, 3:].max()
    assert (
        "run/vectors.py TEXT... OUT.vec"
        in subprocess.run(command[:2], cwd=ROOT, capture_output=True, text=True).stderr
    )


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


@pytest.mark.slow
def test_every_row_of_table_5_stands_beside_the_published_one(environment, tmp_path):
    """The systems of other papers by their own trees, as the plan paper-wsj has them."""
    folder = tmp_path / "sample"
    folder.mkdir()
    for number in range(20):
        words = [{"noun": f"noun{k}", "verb": f"verb{k}"} for k in range(number % 3 + 2)]
        (folder / f"wsj_00{number:02}.mrg").write_text("".join(TREE.format(**two) for two in words))
    rivals = ["RF", "RF+H1+H2", "Convex-MST", "HDP-DEP"]
    env = {**environment, "VDGI_RUN": str(tmp_path / "out")}
    only = ["--", "--seeds", "1", "--only", *rivals]
    result = run("train_wsj.sh", "--sample", "sample", *only, env=env, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    table = result.stdout.split("Li2019-T5 beside this experiment")[1]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
    names = [row[0].removeprefix("| ").replace("&nbsp;", "") for row in rows]
    for name in rivals:
        here = rows[names.index(f"{name} (here)")]
        assert names[names.index(f"{name} (here)") - 1] == name
        assert 0 <= float(here[1].split()[0]) <= 100
    assert "| RF+H1+H2 | 51.0 (52.7) | 37.2 (37.6) |" in table
    parsed = tmp_path / "out" / "wsj" / "HDP-DEP" / "1" / "test.parsed.conllu"
    assert parsed.read_text(encoding="utf-8").count("\n\n") > 1

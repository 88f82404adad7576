"""Every script of experiments runs, on the demo treebank and with as little work as it can be
given."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from universal_toys import scorer as random_scorer
from universal_toys import written_scorer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "resources" / "demo"
SIZES = {"train": 60, "dev": 24, "test": 24}
"""How many sentences of each of its files are enough."""

DEV = "{folder}/demo-ud-dev.conllu"
DEMO_LISTED = f"--list '{ROOT}/experiments/lists/demo.csv' --data '{{folder}}'"
LISTED = f"{DEMO_LISTED} --scored test"

RUNS = {
    "second_stage": ("", ["seeds 1 2 3", "seeds 4 5", "all .95"]),
    "rivals": ("--data '{folder}' --rows rows.csv --languages none", []),
    "executed": ("", ["vdgi parse universal: ", "vdgi train --preset paper: "]),
    "train_speed": (
        f"'{DEV}' --repeats 1 --length 3 --sentences 1 --epochs 1",
        ["| lockstep | 1 |", "| epoch | 1 |"],
    ),
    "knowledge": (
        f"{DEMO_LISTED} --systems best best-tags-only best-tags strict-rules-only delexicalised --seeds 1 "
        "--max-text 40 --max-test 20 --out rows.csv",
        [
            "| demo | mean | xx | yy |",
            "| best (test 20) |",
            "| best-tags-only (test 20) |",
            "| strict-rules-only",
            "| delexicalised (test 20) (gold trees of other languages) |",
        ],
    ),
    "teacher_accuracy": (
        f"--language xx '{DEV}' '{DEV}' --max-len 6 --iterations 2 --tables best --teachers dmv lc-dmv --ablate strict",
        [
            "| system | avg | xx |",
            "| best, rules only |",
            "| best, DMV |",
            "| best, LC-DMV |",
            "| strict without short arcs, LC-DMV |",
            "| system | learning, CPU s |",
        ],
    ),
    "long_sentences": (
        f"--name demo --train '{DEV}' --dev '{DEV}' --max-len 10 --supervised 8 --short-arcs 10 --seeds 1 --samples 3 "
        "--updates 2 2 --rows rows.csv",
        [
            "| no learning: rules, short arcs | ",
            "| fixed-lambda, 10: votes, rules, short arcs | ",
            "| short arcs, 10: greedy | ",
            "| supervised, 8: gold | 100.0 / ",
        ],
    ),
    "parsing_speed": (
        f"--train '{DEV}' --test '{DEV}' --repeats 1 --seconds 0 --iterations 1 --rows rows.csv",
        [
            "| LC-DMV, published | 663 | 193 | 74 | 0.11 |",
            "| lexicalised, one at a time (here) | ",
            "| all / <=15 |",
        ],
    ),
    "label_table": (
        f"{LISTED} --tables ud2",
        ["|  | verbs | ud2 | ud2, nsubj | ud2, obj |", "| xx |"],
    ),
    "own_relations": (f"{LISTED} --trees 5", ["|  | UD | universal part | upper case |", "| xx |"]),
    "whole_program": (
        f"'{DEV}' --words 300 --repeats 1",
        ["| parse, strict, confidence | ", "| evaluate, without bootstrap | ", "| --help | "],
    ),
    "first_run": ("two.conllu --megabytes 0.0001", ["| first | ", "| second | "]),
    "validate": (f"{DEMO_LISTED} --out parses", ["| xx |", "Level 3 by kind"]),
    "annotate": (
        f"--language xx '{DEV}' --sentences 4 --every 2 --rows rows.jsonl",
        [
            "| this program |",
            "| never learns | 100.0 | 100.0 |",
            "| labels, this program |",
            "order: choose",
        ],
    ),
    "annotate_changes": ("--sentences 12 --changes 8", ["| 8 |", "CPU ms a change"]),
    "annotate_text": (
        "ud2.conllu --sentences 2 --out out.conllu",
        ["| multiword tokens | 0 |", "treebank's: 2 of 2, with the same text: 2"],
    ),
    "annotate_keys": (
        "--language xx ud2.conllu --whole --sentences 1 --rows rows.jsonl",
        ["| as before |", "| xx | 1 |", "xx: 1 of 1 sentences equal; other cells by column: {}"],
    ),
    "feature_bundles": (
        "--data '{folder}' --treebanks treebanks.csv --out out.txt",
        ["1 bundles of 1 tags"],
    ),
    "few_trees": (
        f"{LISTED} --rows rows.jsonl --trees 0 3 --shuffles 1 --both --universal scorer.vdgi "
        "--systems this universal partial 'trees only' --picture curves.svg",
        [
            "| this, exact | - |",
            "| universal, fast | ",
            "| trees only | - |",
            "| labels on gold heads |",
        ],
    ),
    "tokenising": (
        f"{LISTED} --sentences 20 --random 20",
        ["|  | system | Tokens | Sentences | Words |", "not recovered byte for byte: 0."],
    ),
    "raw_trees": (
        f"{LISTED} --sentences 20 --raw 20 --systems tags trees --out rows.csv",
        ["| language | system | Tokens | Sentences | Words |", "| xx | tags |", "| yy | trees |"],
    ),
    "fast_student": (
        f"universal=xx {DEMO_LISTED} --text 20 --rows rows.csv",
        ["20 sentences of text", "| universal-fast |"],
    ),
    "universal": (
        "score universal --data '{folder}' --set demo",
        ["python experiments/universal.py score universal", "xx ", "yy ", "mean of 2: "],
    ),
    "expect": (
        "check universal --data '{folder}' --set demo --rows rows.csv",
        ["python experiments/expect.py check universal", "xx: expected ", "2 texts: off by "],
    ),
    "consistency": (
        f"{LISTED} --words 600 --share .1 --out rows.csv",
        ["| language | kind | words | errors | first 50 |", "| xx | all |", "| yy | flip |"],
    ),
    "confidence": (
        f"{LISTED} --learn",
        ["|  | ECE | AUC | least sure tenth right |", "| mean |", "Weights(forced="],
    ),
    "raw_text": (
        f"{LISTED} --tagged 5 --systems vdgi one-pass --out rows.csv",
        ["python experiments/raw_text.py", "xx test 5 vdgi", "xx test 5 one-pass"],
    ),
    "guessed_tags": (
        f"universal=xx {LISTED} --tagged 20 --most 20 --out rows.csv",
        [
            "python experiments/guessed_tags.py",
            "20 gold mean of 1 uas ",
            "20 retagged mean of 1 uas ",
        ],
    ),
    "retagger": (
        "score --data '{folder}' --set demo --tagged 5 --out rows.csv",
        ["python experiments/retagger.py", "yy text 5 ", "5 sentences, 2 texts: "],
    ),
}
"""Arguments of each script, with the folder of `demo_in`, and the starts of the tables' headers."""

SHARED = {"languages", "measuring", "result_rows", "result_tables", "udpipe"}
"""Modules that are no scripts."""

PAGES = {"curves", "figures", "page_tables", "replication", "table_rows"}
"""Those that write tables, figures and pictures of the documentation; see
tests/project/test_docs.py."""


def demo_in(folder: Path) -> None:
    """Writes the demo treebank's files, shortened."""
    for part, n_sentences in SIZES.items():
        name = f"demo-ud-{part}.conllu"
        blocks = (DEMO / name).read_text(encoding="utf-8").split("\n\n")[:n_sentences]
        (folder / name).write_text("\n\n".join([*blocks, ""]), encoding="utf-8")
    (folder / "two.conllu").write_text("\n\n".join([*blocks[:2], ""]), encoding="utf-8")


def run(script: str, arguments: str, folder: Path) -> str:
    """What a script prints; it must succeed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [
        sys.executable,
        str(ROOT / "experiments" / f"{script}.py"),
        *shlex.split(arguments.replace("{folder}", str(folder))),
    ]
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_script_is_tested() -> None:
    assert set(RUNS) == {path.stem for path in (ROOT / "experiments").glob("*.py")} - SHARED - PAGES


def test_every_script_makes_committed_rows_or_a_page_names_it() -> None:
    """Of figures.csv the commands count, too."""
    paths = [
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "CONTRIBUTING.md",
        ROOT / "docs" / "results" / "figures.csv",
    ]
    paths += [*(ROOT / "run").glob("*.sh"), *(ROOT / "resources").rglob("*.txt")]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    assert [name for name in sorted(RUNS) if f"experiments/{name}.py" not in texts] == []


def written_bundles(folder: Path) -> None:
    """Treebanks in which one bundle has three branches, and another has two and a treebank that is
    not free."""
    word = "1\ta\ta\tNOUN\t_\t{}\t0\troot\t_\t_\n\n"
    rows = ["files,branch,licence"]
    for name, bundles, licence in (
        ("a", "AB", "CC0"),
        ("b", "AB", "CC0"),
        ("c", "A", "CC0"),
        ("d", "B", "NC"),
    ):
        text = "".join(word.format(f"Case={one}") for one in bundles)
        (folder / f"{name}.conllu").write_text(text, encoding="utf-8")
        rows.append(f"{name}.conllu,{name},{licence}")
    (folder / "treebanks.csv").write_text("\n".join(rows), encoding="utf-8")


@pytest.mark.parametrize("script", sorted(RUNS))
def test_script_prints_its_tables(script: str, tmp_path: Path) -> None:
    if script == "validate":
        pytest.importorskip(
            "udtools", reason="the validator of Universal Dependencies is not installed"
        )
    if script == "annotate_keys":
        pytest.importorskip("playwright", reason="Playwright, of the extra dev, is not installed")
        if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
            pytest.skip("no Chromium on the PATH")
    demo_in(tmp_path)
    if script == "few_trees":
        written_scorer(tmp_path, random_scorer())
    if script in ("annotate_keys", "annotate_text"):  # the page has the tags of UD 2
        demo = (
            (tmp_path / "demo-ud-dev.conllu")
            .read_text(encoding="utf-8")
            .replace("\tCONJ\t", "\tCCONJ\t")
        )
        (tmp_path / "ud2.conllu").write_text(demo, encoding="utf-8")
    if script == "feature_bundles":
        written_bundles(tmp_path)
    arguments, headers = RUNS[script]
    printed = run(script, arguments, tmp_path)
    assert f"python experiments/{script}.py" in printed
    for header in headers:
        assert header in printed
    for own in (ROOT, tmp_path):
        assert str(own) not in printed, "the script shows a folder of the machine"

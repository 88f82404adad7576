"""Every benchmark script runs, on the demo treebank and with as little work as it can be given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from universal_toys import scorer as random_scorer
from universal_toys import written_scorer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "resources" / "demo"
DEV = str(DEMO / "demo-ud-dev.conllu")

DEMO_LISTED = ["--list", str(ROOT / "benchmarks" / "lists" / "demo.csv"), "--data", str(DEMO)]
LISTED = [*DEMO_LISTED, "--scored", "test"]

RUNS = {
    "parse_speed": (
        [DEV, "--repeats", "1", "--words", "80", "--file-words", "300", "--no-memory"],
        ["| sentences | words | reference engine | DyNet |", "| whole program | words | CPU s |"],
    ),
    "train_speed": (
        [DEV, "--repeats", "1", "--length", "3", "--sentences", "1", "--epochs", "1", "--no-memory"],
        ["| engine | batch | sentences / CPU s |", "| epoch | 1 |"],
    ),
    "engine_agreement": ([DEV, "--sentences", "1"], ["| engine | log q, log p | gradients |"]),
    "brown_clusters": ([DEV, "-c", "8"], ["| clusters of | types | tokens |", "| dynet_vdgi |"]),
    "knowledge": (
        [
            *DEMO_LISTED,
            "--systems",
            "best",
            "best-tags-only",
            "best-tags",
            "strict-rules-only",
            "delexicalised",
            "--seeds",
            "1",
            "--max-text",
            "40",
            "--max-test",
            "20",
            "--out",
            "rows.csv",
        ],
        [
            "| demo | mean | xx | yy |",
            "| best (test 20) |",
            "| best-tags-only (test 20) |",
            "| strict-rules-only",
            "| delexicalised (test 20) (gold trees of other languages) |",
        ],
    ),
    "teacher_accuracy": (
        [
            "--language",
            "xx",
            DEV,
            DEV,
            "--max-len",
            "6",
            "--iterations",
            "2",
            "--tables",
            "best",
            "--teachers",
            "dmv",
            "convex-mst",
            "ensemble",
            "--ablate",
            "strict",
        ],
        [
            "| system | avg | xx |",
            "| best, rules only |",
            "| best, DMV |",
            "| best, Convex-MST |",
            "| best, DMV + Convex-MST |",
            "| strict without short arcs, Convex-MST |",
            "| system | learning, CPU s |",
        ],
    ),
    "label_table": ([*LISTED, "--tables", "ud2"], ["|  | verbs | ud2 | ud2, nsubj | ud2, obj |", "| xx |"]),
    "own_relations": ([*LISTED, "--trees", "5"], ["|  | UD | universal part | upper case |", "| xx |"]),
    "whole_program": (
        [DEV, "--words", "3000", "--repeats", "1"],
        ["| parse, best, confidence | ", "| evaluate, without bootstrap | ", "| --help | "],
    ),
    "quick_paths": ([DEV, "--count", "200"], ["200 {", "'quick': ", "'faulty': "]),
    "hardening": (
        ["--only", "output is the gold file", "output without a name"],
        ["| output is the gold file | 2 | ", "| output without a name | 2 | "],
    ),
    "validate": (
        [
            *DEMO_LISTED,
            "--out",
            "parses",
        ],
        ["| xx |", "Level 3 by kind"],
    ),
    "punctuation": (
        [
            *DEMO_LISTED,
            "--out",
            "rows.csv",
        ],
        ["| treebank | punctuation | gold heads |", "| xx | ", "| **all** (2) | "],
    ),
    "annotate": (
        ["--language", "xx", DEV, "--sentences", "4", "--every", "2", "--rows", "rows.jsonl"],
        ["| this program |", "| never learns | 100.0 | 100.0 |", "| labels, this program |", "order: choose"],
    ),
    "few_trees": (
        [
            *LISTED,
            "--rows",
            "rows.jsonl",
            "--trees",
            "0",
            "3",
            "--shuffles",
            "1",
            "--exact",
            "--universal",
            "scorer.vdgi",
            "--systems",
            "this",
            "universal",
            "partial",
            "trees only",
            "transfer",
            "--picture",
            "curves.svg",
        ],
        [
            "| this, exact | - |",
            "| universal, exact | ",
            "| trees only | - |",
            "| labels on gold heads |",
            "| ECE, corrected by",
        ],
    ),
    "tokenising": (
        [*LISTED, "--sentences", "20", "--random", "20"],
        ["|  | system | Tokens | Sentences | Words |", "not recovered byte for byte: 0."],
    ),
    "universal": (
        ["score", "universal", "--data", str(DEMO), "--set", "demo"],
        ["python benchmarks/universal.py score universal", "xx ", "yy ", "mean of 2: "],
    ),
    "confidence": (
        [*LISTED, "--learn"],
        ["|  | ECE | AUC | least sure tenth right |", "| mean |", "Weights(forced="],
    ),
    "raw_text": (
        [*LISTED, "--tagged", "5", "--systems", "vdgi", "one-pass", "--out", "rows.csv"],
        ["python benchmarks/raw_text.py", "xx test 5 vdgi", "xx test 5 one-pass"],
    ),
    "word_orders": (
        [*LISTED, "--tables", "text", "--orders", "original", "mirror", "head-final", "--max-text", "40"],
        ["| language | text | text, mirror | text, head-final |", "| xx |", "| mean |"],
    ),
    "choice_of_settings": (
        [*LISTED, "--parts", "short arcs", "markers", "--factors", "2", "--max-text", "40"],
        [
            "| numbers | DMV teacher |",
            "| as shipped |",
            "| short arcs x2 |",
            "| language | chosen on the oth",
        ],
    ),
}
"""Arguments of each script, and the starts of the tables' headers."""

EVERY = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {
    "languages",
    "measuring",
    "torch_parser",
}


def run(script: str, arguments: list[str], folder: Path) -> str:
    """What a script prints; it must succeed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(ROOT / "benchmarks" / f"{script}.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_script_is_tested() -> None:
    assert set(RUNS) == EVERY


@pytest.mark.parametrize("script", sorted(RUNS.keys() - {"parse_speed"}))
def test_benchmark_prints_its_tables(script: str, tmp_path: Path) -> None:
    if script == "validate":
        pytest.importorskip("udtools", reason="the validator of Universal Dependencies is not installed")
    if script == "few_trees":
        written_scorer(tmp_path, random_scorer())
    arguments, headers = RUNS[script]
    printed = run(script, arguments, tmp_path)
    assert f"python benchmarks/{script}.py" in printed or script == "engine_agreement"
    for header in headers:
        assert header in printed
    assert str(ROOT) not in printed, "the script shows a folder of the machine"


def test_parse_speed_compares_parsers_that_agree(tmp_path: Path) -> None:
    arguments, headers = RUNS["parse_speed"]
    printed = run("parse_speed", [*arguments, "--json", "figures.json"], tmp_path)
    assert all(header in printed for header in headers)
    content = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    speeds = content["speed"]["unlexicalised"]
    assert speeds["words_per_cpu_s"]["all"]["arena"] > 0
    for system, trees in speeds["same_trees"].items():
        # On another processor rounding may change a tree.
        assert trees["equal"] >= trees["sentences"] - 1, system


def test_memory_is_measured_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import measuring

    nothing = measuring.peak_memory([sys.executable, "-c", ""])
    much = measuring.peak_memory([sys.executable, "-c", "b'x' * 100_000_000"])
    assert 85 < much - nothing < 115

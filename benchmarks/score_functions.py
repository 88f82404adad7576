"""Score functions and settings of the paper on UD treebanks: trains what is missing, prints Markdown tables.

    python benchmarks/score_functions.py --out runs/scores --jobs 2 \
        --treebank standard fr fr-train.conllu - fr-test.conllu \
        --treebank as_released fr fr-train.conllu,fr-dev.conllu fr-dev.conllu fr-test.conllu \
        --expectations fr fr-train.conllu --vectors fr fr.vec --clusters fr fr.paths

A --treebank is a protocol, a language, training files joined by commas, a dev file (- where no gold dev trees
may be used) and a test file. UniversalRules take the rules `ud`, WeaklySupervised those that `vdgi rules
estimate` makes from the files after --expectations. Every pretraining is done once for a seed, and all
fine-tunings start from it. Runs are kept in --out and not repeated; their order, two stages in two runs,
differs from a preset's single run only in the random numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from dynet_vdgi import model_file
from dynet_vdgi.commands import evaluate
from dynet_vdgi.config import MODEL_NAME
from dynet_vdgi.data import protocols
from dynet_vdgi.errors import VdgiError

VDGI = [sys.executable, "-m", "dynet_vdgi", "--quiet"]
LIMITS = (15, 40, None)
RULES = {"universal": "UniversalRules", "weak": "WeaklySupervised"}
PRETRAINING, LEXICALISED = "pretraining only", "lexicalised, pretraining only"
SCORES = ("rl-bl", "rl-sn", "rl-c", "rl-pc")


@dataclass(frozen=True)
class Variant:
    """A row of the tables: a name, presets, settings, and the row whose model it starts from, if any."""

    name: str
    presets: tuple[str, ...]
    settings: tuple[str, ...] = ()
    start: str = ""
    lexicalised: bool = False
    rules: tuple[str, ...] = ("universal", "weak")


def standard(updates: Sequence[str]) -> list[Variant]:
    """Rows of the protocol `standard`."""
    start = ("train.updates=0", *updates)
    rows = [
        Variant("unsupervised", ("unsupervised",), rules=("universal",)),
        Variant("no pretraining, rl-pc", ("no-pretraining",), rules=("universal",)),
        Variant(PRETRAINING, ("pretraining",)),
    ]
    for score in SCORES:
        rows.append(Variant(score, (score,), start, start=PRETRAINING))
    for score in SCORES:
        plain = (*start, "finetune.decoder=plain")
        rows.append(Variant(f"{score}, plain decoder", (score,), plain, start=PRETRAINING))
    for name in ("leave-one-out", "rule-aware"):
        rows.append(Variant(name, (name,), start, start=PRETRAINING))
    rows.append(Variant(LEXICALISED, ("lexicalised",), lexicalised=True))
    with_words = (*start, "model.word_dim=80")
    return [*rows, Variant("lexicalised, rl-pc", ("rl-pc",), with_words, start=LEXICALISED)]


def as_released(pretraining: Sequence[str], finetuning: Sequence[str]) -> list[Variant]:
    """Rows of the protocol `as_released`."""
    start = ("train.updates=0", "train.epochs=0", *finetuning)
    rows = [Variant(PRETRAINING, ("as_released",), ("finetune.epochs=0", *pretraining))]
    for score in SCORES:
        on_top = ("as_released-rl-bl",) if score == "rl-bl" else ()
        rows.append(Variant(score, (score, "as_released", *on_top), start, start=PRETRAINING))
    return rows


@dataclass(frozen=True)
class Treebank:
    """Where a language's files are, under one protocol."""

    protocol: str
    language: str
    train: str
    dev: str
    test: str


@dataclass(frozen=True)
class Run:
    """One training."""

    treebank: Treebank
    variant: Variant
    rules: str
    seed: int

    def folder(self, out: Path, name: str | None = None) -> Path:
        """Of this run, or of another variant with the same treebank, rules and seed."""
        group = f"{self.treebank.language}-{self.rules}-{self.seed}"
        return (
            out
            / self.treebank.protocol
            / group
            / (name or self.variant.name).replace(", ", "-").replace(" ", "-")
        )


def environment() -> dict[str, str]:
    """One BLAS thread a process, and this checkout's package."""
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}


def train(run: Run, arguments: argparse.Namespace) -> None:
    """Trains a run that is not complete yet, and parses the test file."""
    folder, bank, variant = run.folder(arguments.out), run.treebank, run.variant
    model, parsed = folder / MODEL_NAME, folder / "test.parsed.conllu"
    if not is_complete(model):
        command = [*VDGI, "train", "--train", *bank.train.split(","), "--seed", str(run.seed), "--resume"]
        command += ["--out", str(folder)]
        command += [word for preset in variant.presets for word in ("--preset", preset)]
        settings = [*variant.settings, *arguments.set]
        if bank.dev != "-":
            command += ["--dev", bank.dev]
        if run.rules == "weak":
            command += ["--rules", str(arguments.out / f"{bank.language}-weak.txt")]
        if variant.start:
            command += ["--init", str(run.folder(arguments.out, variant.start) / MODEL_NAME)]
        if variant.lexicalised:
            for key in ("vectors", "clusters"):
                name = dict(getattr(arguments, key)).get(bank.language)
                settings += [f"data.{key}={name}"] if name else []
        command += [word for setting in settings for word in ("--set", setting)]
        subprocess.run(command, check=True, env=environment())
    if not parsed.exists():
        subprocess.run(
            [*VDGI, "parse", str(model), bank.test, "-o", str(parsed)], check=True, env=environment()
        )
    print(f"done: {folder}", file=sys.stderr)


def is_complete(model: Path) -> bool:
    """True if training of this model came to its end."""
    try:
        return bool(model_file.load(model).meta["complete"])
    except VdgiError:
        return False


def scores(run: Run, arguments: argparse.Namespace) -> dict[int | None, float]:
    """DDA in per cent by length limit."""
    protocol = protocols.protocol_named(run.treebank.protocol)
    parsed = str(run.folder(arguments.out) / "test.parsed.conllu")
    reports, _ = evaluate.score_files(run.treebank.test, [parsed], protocol=protocol, max_lens=LIMITS)
    report = next(iter(reports.values()))
    return {limit: 100 * report.by_length[limit].dda for limit in LIMITS}


def seconds(run: Run, arguments: argparse.Namespace) -> tuple[float, float]:
    """CPU seconds and sentences a CPU second of a run's training."""
    log = (run.folder(arguments.out) / "log.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in log]
    cpu = sum(row["cpu_s"] for row in rows)
    return cpu, sum(row["sentences"] for row in rows) / max(cpu, 1e-9)


def cell(values: Sequence[float]) -> str:
    """Mean (best) and standard deviation."""
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f} ({max(values):.1f}){spread}"


def print_table(bank: Treebank, runs: Sequence[Run], arguments: argparse.Namespace) -> None:
    """The table of one treebank under one protocol, baselines first."""
    protocol = protocols.protocol_named(bank.protocol)
    print(f"\n{bank.language}, {Path(bank.test).name}; protocol {protocol.name}: {protocol.description}\n")
    print("| system | rules | <=15 | <=40 | all | CPU s a seed | sentences/CPU-s |")
    print("|---|---|---|---|---|---|---|")
    reports, _ = evaluate.score_files(bank.test, [], protocol=protocol, max_lens=LIMITS, baselines=True)
    for name, report in reports.items():
        cells = " | ".join(f"{100 * report.by_length[m].dda:.1f}" for m in LIMITS)
        print(f"| {name} |  | {cells} |  |  |")
    rows = dict.fromkeys((run.variant.name, run.rules) for run in runs)
    for name, rules in rows:
        mine = [run for run in runs if (run.variant.name, run.rules) == (name, rules)]
        results = [scores(run, arguments) for run in mine]
        cells = " | ".join(cell([result[m] for result in results]) for m in LIMITS)
        cpu, speed = zip(*(seconds(run, arguments) for run in mine))
        shown = "none" if name == "unsupervised" else RULES[rules]
        print(
            f"| {name} | {shown} | {cells} | {statistics.mean(cpu):.0f} | {statistics.mean(speed):.0f} |",
            flush=True,
        )


def estimate(language: str, files: str, out: Path) -> None:
    """The rule file of WeaklySupervised."""
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"{language}-weak.txt"
    if not target.exists():
        command = [*VDGI, "rules", "estimate", *files.split(","), "-o", str(target)]
        subprocess.run(command, check=True, env=environment())


def main() -> None:
    """Trains and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ("PROTOCOL", "LANG", "TRAIN", "DEV", "TEST")
    parser.add_argument("--treebank", nargs=5, action="append", required=True, metavar=names)
    for option in ("--expectations", "--vectors", "--clusters"):
        parser.add_argument(option, nargs=2, action="append", default=[], metavar=("LANG", "FILE"))
    parser.add_argument("--updates", nargs="*", default=[], help="settings of the fine-tuning, standard")
    parser.add_argument("--pretrain", nargs="*", default=[], help="settings of the pretraining, as_released")
    parser.add_argument("--finetune", nargs="*", default=[], help="settings of the fine-tuning, as_released")
    parser.add_argument("--set", action="append", default=[], help="a setting of all runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="+", help="names of the rows wanted; those they start from, too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/scores"))
    arguments = parser.parse_args()
    banks = [Treebank(*words) for words in arguments.treebank]
    for language, files in arguments.expectations:
        estimate(language, files, arguments.out)
    rows = {
        "standard": standard(arguments.updates),
        "as_released": as_released(arguments.pretrain, arguments.finetune),
    }
    runs = [
        Run(bank, variant, rules, seed)
        for bank in banks
        for variant in rows[bank.protocol]
        if not arguments.only or variant.name in arguments.only
        for rules in variant.rules
        if rules == "universal" or bank.language in dict(arguments.expectations)
        for seed in arguments.seeds
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for starts in (False, True):  # those that others start from come first
            part = [run for run in runs if bool(run.variant.start) == starts]
            list(pool.map(lambda run: train(run, arguments), part))
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    # Folders are the reader's own.
    words = [",".join(Path(part).name for part in word.split(",")) for word in sys.argv[1:]]
    today = time.strftime("%Y-%m-%d", time.gmtime())
    print(f"`python benchmarks/score_functions.py {' '.join(words)}`\n")
    print(f"Commit {commit}, {today}, {platform.machine()}, Python {platform.python_version()}.", end=" ")
    print(f"{len(arguments.seeds)} seeds: DDA in per cent, mean (best) ± std.")
    for bank in banks:
        print_table(bank, [run for run in runs if run.treebank == bank], arguments)


if __name__ == "__main__":
    main()

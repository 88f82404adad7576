"""Accuracy on UD treebanks: trains with several seeds, scores each model on test, prints a Markdown table.

    python benchmarks/ud_accuracy.py --train eu-ud-train.conllu --test eu-ud-test.conllu --seeds 1 2 3

Several treebanks: repeat --train and --test in the same order; a training text may be several files joined by
commas. Presets that choose the model by gold dev trees need a --dev for each treebank too. Runs are kept in
--out and not repeated.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dynet_vdgi import config
from dynet_vdgi.commands import evaluate, parse, train
from dynet_vdgi.data import protocols

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # for the worker processes

LIMITS = (15, 40, None)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Trains, parses and scores one seed; in a process of its own."""
    from dynet_vdgi.parsing.stream import Stream

    start = time.process_time()
    settings = config.load_settings(job["preset"], [*job["set"], f"train.seed={job['seed']}"])
    out = Path(job["out"])
    model = train.train(
        train_files=job["train"].split(","),
        dev_files=[job["dev"]] if job["dev"] else [],
        out=out,
        settings=settings,
        resume=True,
        preset=job["preset"],
    )
    trained = time.process_time() - start
    parsed = out / f"{Path(job['test']).stem}.parsed.conllu"
    with Stream(str(model)) as stream:
        parse.parse_files(stream, [job["test"]], str(parsed))
    protocol = protocols.protocol_named(settings.data.protocol)
    reports, _ = evaluate.score_files(job["test"], [str(parsed)], protocol=protocol, max_lens=LIMITS)
    report = next(iter(reports.values()))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**job, "scores": report.by_length, "policy": report.policy, "cpu_s": trained, "memory_mb": memory}


def cell(values: list[float]) -> str:
    """Mean (best) and standard deviation in per cent."""
    percent = [100 * value for value in values]
    spread = f" ± {statistics.stdev(percent):.1f}" if len(percent) > 1 else ""
    return f"{statistics.mean(percent):.1f} ({max(percent):.1f}){spread}"


def baseline_rows(test: str, protocol: protocols.Protocol, rules: str) -> list[tuple[str, list[str]]]:
    """Rows of the parsers that learn nothing."""
    reports, _ = evaluate.score_files(
        test, [], protocol=protocol, max_lens=LIMITS, rules=rules, baselines=True
    )
    return [
        (name, [f"{100 * report.by_length[m].dda:.1f}" for m in LIMITS]) for name, report in reports.items()
    ]


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", action="append", required=True)
    parser.add_argument("--dev", action="append", default=[])
    parser.add_argument("--test", action="append", required=True)
    parser.add_argument("--preset", default=config.DEFAULT_PRESET)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default="runs/accuracy")
    arguments = parser.parse_args()
    settings = config.load_settings(arguments.preset, arguments.set)
    protocol = protocols.protocol_named(settings.data.protocol)
    devs = arguments.dev or [None] * len(arguments.train)
    jobs = [
        {
            "train": train_file,
            "dev": dev,
            "test": test,
            "seed": seed,
            "preset": arguments.preset,
            "set": arguments.set,
            "out": f"{arguments.out}/{Path(test).name.split('-')[0]}-{seed}",
        }
        for train_file, dev, test in zip(arguments.train, devs, arguments.test)
        for seed in arguments.seeds
    ]
    # A fresh process for each run, so that its memory is its own.
    with get_context("spawn").Pool(arguments.jobs, maxtasksperchild=1) as pool:
        results = pool.map(run, jobs, chunksize=1)
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    # Folders are the reader's own.
    words = [",".join(Path(part).name for part in word.split(",")) for word in sys.argv[1:]]
    print(f"`python benchmarks/ud_accuracy.py {' '.join(words)}`\n")
    today = time.strftime("%Y-%m-%d", time.gmtime())
    print(f"Commit {commit}, {today}, {platform.machine()}, Python {platform.python_version()}.", end=" ")
    print(f"Preset {arguments.preset}, {len(arguments.seeds)} seeds: DDA in per cent, mean (best) ± std.")
    for test in arguments.test:
        mine = [result for result in results if result["test"] == test]
        print(f"\n{Path(test).name}: {mine[0]['policy']}\n")
        print("| system | <=15 | <=40 | all |\n|---|---|---|---|")
        for name, cells in baseline_rows(test, protocol, settings.posterior.rules):
            print(f"| {name} | {' | '.join(cells)} |")
        cells = [cell([result["scores"][m].dda for result in mine]) for m in LIMITS]
        print(f"| **{arguments.preset}** | {' | '.join(cells)} |")
        cpu = statistics.mean(result["cpu_s"] for result in mine)
        memory = max(result["memory_mb"] for result in mine)
        print(f"\nTraining: {cpu:.0f} CPU s a seed, at most {memory:.0f} MB.")


if __name__ == "__main__":
    main()

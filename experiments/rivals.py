"""Systems of other papers, scored by their own trees, as rows of docs/results/replication.csv.

    python experiments/rivals.py --data DATA --rows docs/results/replication.csv [--only RF ...]
    [--languages eu ...]

Treebanks are those of the plan paper-ud. Each run learns from the training text without reading
heads, under protocol standard, and its trees of the test part are scored up to 15 and up to 40
words. A run that has its rows is left out, so the command can be stopped and started again. HDP-DEP
and RF draw random numbers and have several seeds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

from languages import LIMITS, dda, read
from measuring import argument_parser, conditions, write_csv
from replication import COLUMNS
from result_rows import rows_of

from dynet_vdgi.evaluation.attachment import length_label
from dynet_vdgi.experiments import plan as plans
from dynet_vdgi.experiments.job import commit
from dynet_vdgi.rivals.convex_mst import ConvexMst
from dynet_vdgi.rivals.hdp_dep import HdpDep
from dynet_vdgi.rivals.lc_dmv import LcDmv
from dynet_vdgi.rivals.rf import RasooliFaili
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.unsupervised.teacher import Teacher


class Rival(NamedTuple):
    """How a system is made from a seed, its rule table, and its seeds."""

    make: Callable[[int], Teacher]
    rules: str
    seeds: tuple[int, ...] = (1,)


RIVALS = {
    "RF": Rival(lambda seed: RasooliFaili(seed=seed), "none", (1, 2, 3, 4, 5)),
    "RF+H1+H2": Rival(lambda seed: RasooliFaili(seed=seed), "rf-h1-h2", (1, 2, 3, 4, 5)),
    "Convex-MST": Rival(lambda seed: ConvexMst(), "ud"),
    "HDP-DEP": Rival(lambda seed: HdpDep(seed=seed), "hdp-dep", (1, 2, 3)),
    "LC-DMV": Rival(lambda seed: LcDmv(), "lc-dmv"),
}


def figures_of(
    rival: Rival, seed: int, train: list[Path], test: list[Path]
) -> tuple[list[tuple[str, float]], float]:
    """DDA by length, in per cent, and the CPU seconds of learning and parsing."""
    text, gold = read(train, "ignored"), read(test, "required", max(LIMITS))
    start = time.process_time()
    teacher = rival.make(seed).fit(text, Prior.of_text(load_rules(rules_path(rival.rules)), text))
    trees = teacher.heads(gold)
    spent = time.process_time() - start
    return [
        (length_label(limit), float(share)) for limit, share in zip(LIMITS, dda(gold, trees))
    ], spent


def main() -> None:
    """Adds the rows that are missing, one run after the other."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--data", required=True, help="folder of treebanks, as for `vdgi experiment paper-ud`"
    )
    parser.add_argument("--rows", type=Path, required=True, help="CSV file to add rows to")
    parser.add_argument("--only", nargs="+", choices=RIVALS, default=list(RIVALS), metavar="SYSTEM")
    parser.add_argument("--languages", nargs="+", metavar="CODE")
    arguments = parser.parse_args()
    print(conditions())
    path = plans.path_of("paper-ud")
    folders = plans.folders_of(path, arguments.data)
    for treebank in plans.load_plan(path).treebanks:
        if arguments.languages and treebank.name not in arguments.languages:
            continue
        files = plans.files_of(treebank, folders, "train", "test")
        train, test = ([Path(name) for name in files[part]] for part in ("train", "test"))
        for system in arguments.only:
            for seed in RIVALS[system].seeds:
                add_missing(arguments.rows, treebank.name, system, seed, train, test)


def add_missing(
    rows: Path, language: str, system: str, seed: int, train: list[Path], test: list[Path]
) -> None:
    """Makes one run, unless the file has it."""
    lines = rows_of(rows)
    run = {"language": language, "system": system, "seed": str(seed), "protocol": "standard"}
    if any(run.items() <= line.items() for line in lines):
        return
    figures, spent = figures_of(RIVALS[system], seed, train, test)
    run |= {"gold_trees": "", "commit": commit() or "", "cpu_s": f"{spent:.1f}", "lambda": ""}
    lines += [{**run, "length": length, "dda": f"{share:.3f}"} for length, share in figures]
    lines.sort(key=lambda line: [line.get(name, "") for name in COLUMNS])
    write_csv(rows, COLUMNS, lines)
    print(
        language,
        system,
        seed,
        *(f"{share:.1f}" for _, share in figures),
        f"{spent:.1f} CPU s",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()

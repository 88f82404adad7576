"""Accuracy and CPU time of rule tables, decoded directly and as the prior of a teacher.

    python experiments/teacher_accuracy.py --language eu eu-ud-train.conllu eu-ud-dev.conllu

Several languages: repeat --language NAME TRAIN TEST; a training text may be several files joined by
commas. Teachers learn from sentences of up to --max-len words; statistics are measured in all
sentences; heads in the training files are not read. --teachers names them: dmv or lc-dmv; neither
draws random numbers. --ablate removes each part of a table in turn, for teachers only.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import numpy as np
from languages import LIMITS, LIMITS_SHOWN, dda, read
from measuring import argument_parser, cell, conditions, print_table

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.evaluation.rules_only import TIE_SEEDS, break_ties
from dynet_vdgi.inference import eisner
from dynet_vdgi.rivals.lc_dmv import LcDmv
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.settings import DmvSettings
from dynet_vdgi.unsupervised.dmv import Dmv
from dynet_vdgi.unsupervised.teacher import Teacher

TEACHER_KINDS = ("dmv", "lc-dmv")
TABLES = ("strict", "text", "best")


@dataclass(frozen=True)
class Language:
    """The training text and the sentences to be scored, without punctuation."""

    name: str
    train: list[Sentence]
    test: list[Sentence]

    @classmethod
    def of_files(cls, name: str, train: str, test: str) -> Language:
        """Training files are joined by commas, and their heads are not read."""
        return cls(
            name,
            read(map(Path, train.split(",")), "ignored"),
            read([Path(test)], "required", max(LIMITS)),
        )


@dataclass(frozen=True)
class Result:
    """DDA of each length limit in per cent; CPU seconds of learning and of parsing."""

    dda: tuple[float, ...]
    learning: float
    parsing: float


def rules_only(language: Language, rules: RuleSet) -> Result:
    """The most probable trees under the prior alone; ties fall at random, figures are means over
    seeds."""
    start = time.process_time()
    prior = Prior.of_text(rules, language.train)
    learnt = time.process_time()
    potentials = [prior.potentials(sentence) for sentence in language.test]
    draws = []
    for seed in range(TIE_SEEDS):
        rng = np.random.default_rng(seed)
        draws.append([eisner.best(break_ties(matrix, rng)) for matrix in potentials])
    parsed = time.process_time()
    means = np.mean([dda(language.test, trees) for trees in draws], axis=0)
    return Result(tuple(means), learnt - start, (parsed - learnt) / TIE_SEEDS)


def teacher(
    language: Language, rules: RuleSet, make: Callable[[], Teacher], max_len: int
) -> Result:
    """A teacher under a table."""
    start = time.process_time()
    prior = Prior.of_text(rules, language.train)
    made = make().fit([sentence for sentence in language.train if len(sentence) <= max_len], prior)
    learnt = time.process_time()
    trees = made.heads(language.test)
    return Result(dda(language.test, trees), learnt - start, time.process_time() - learnt)


def accuracy_row(name: str, results: Sequence[Result]) -> list[str]:
    """The averages over languages and the figures of each."""
    cells = [
        *np.mean([result.dda for result in results], axis=0)[None],
        *(result.dda for result in results),
    ]
    return [name, *(cell(values) for values in cells)]


def time_row(name: str, languages: Sequence[Language], results: Sequence[Result]) -> list[str]:
    """CPU seconds of learning, and words parsed in a CPU second."""
    words = sum(len(sentence) for language in languages for sentence in language.test)
    learning = [result.learning for result in results]
    speed = words / sum(result.parsing for result in results)
    return [name, f"{statistics.mean(learning):.2f}", f"{max(learning):.2f}", f"{speed:.0f}"]


def run(systems: dict[str, Callable[[Language], Result]], languages: Sequence[Language]) -> None:
    """Measures and prints."""
    results: dict[str, list[Result]] = {name: [] for name in systems}
    for name, system in systems.items():
        for language in languages:
            results[name].append(system(language))
            print(
                f"{name}, {language.name}: {cell(results[name][-1].dda)}",
                file=sys.stderr,
                flush=True,
            )
    header = ["system", "avg", *(language.name for language in languages)]
    rows = []
    for name, of_system in results.items():
        rows.append(accuracy_row(name, of_system))
    print_table(f"DDA {LIMITS_SHOWN}, protocol standard:", header, rows)
    header = ["system", "learning, CPU s", "slowest language", "words parsed / CPU s"]
    rows = [time_row(name, languages, of_system) for name, of_system in results.items()]
    print_table("CPU time of a language:", header, rows)


def systems_of(arguments: argparse.Namespace) -> dict[str, Callable[[Language], Result]]:
    """The measurements, by their names in the tables."""
    settings = DmvSettings(
        iterations=arguments.iterations, valence_iterations=arguments.valence_iterations
    )
    makers: dict[str, Callable[[], Teacher]] = {"dmv": lambda: Dmv(settings), "lc-dmv": LcDmv}
    systems: dict[str, Callable[[Language], Result]] = {}

    def add_teachers(name: str, rules: RuleSet) -> None:
        for kind in arguments.teachers:
            measured = partial(teacher, rules=rules, make=makers[kind], max_len=arguments.max_len)
            systems[f"{name}, {makers[kind]().name}"] = measured

    def add_rules_only(name: str, rules: RuleSet) -> None:
        systems[name] = lambda language: rules_only(language, rules)

    tables = {table: load_rules(rules_path(table)) for table in arguments.tables}
    for table, rules in tables.items():
        add_rules_only(f"{Path(table).stem}, rules only", rules)
    for table, rules in tables.items():
        add_teachers(Path(table).stem, rules)
    if arguments.ablate:
        whole = load_rules(rules_path(arguments.ablate))
        # the first is the table, the second has no value by itself
        needed = {"rules", "kinds of words"}
        for part in whole.parts:
            if part.name not in needed:
                add_teachers(
                    f"{Path(arguments.ablate).stem} without {part.name}", whole.without(part.name)
                )
    return systems


def main() -> None:
    """Prints the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--language", nargs=3, action="append", required=True, metavar=("NAME", "TRAIN", "TEST")
    )
    parser.add_argument("--tables", nargs="*", default=TABLES, metavar="RULES")
    parser.add_argument(
        "--teachers", nargs="*", default=["dmv"], choices=TEACHER_KINDS, metavar="KIND"
    )
    parser.add_argument("--ablate", metavar="RULES")
    parser.add_argument("--max-len", type=int, default=15)
    parser.add_argument("--iterations", type=int, default=DmvSettings().iterations)
    parser.add_argument("--valence-iterations", type=int, default=DmvSettings().valence_iterations)
    arguments = parser.parse_args()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    print(conditions())
    run(systems_of(arguments), [Language.of_files(*language) for language in arguments.language])


if __name__ == "__main__":
    main()

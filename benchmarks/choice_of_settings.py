"""Do numbers chosen on some languages suit another? Leave-one-language-out choice of the weights of parts.

    python benchmarks/choice_of_settings.py --list benchmarks/lists/ud2.csv --set choose --data DIR
    python benchmarks/choice_of_settings.py --list benchmarks/lists/ud14.csv --scored dev --data DIR

The weight of each of some parts of a table is multiplied by some factors, all else as shipped, and the DMV
teacher is scored on every language. For each language every part gets the factor with the best mean over the
other languages; a teacher with these factors learns and is scored on that language. The output compares this
table with the one whose factors are best over all languages, and with the table as shipped. Gold trees of the
scored files determine the choice: never name test files to choose anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import numpy as np
from languages import LIMITS_SHOWN, Listed, dda, drawn, list_parser, listed, read
from measuring import cell, conditions, print_table
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet, load_rules, parse_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.teachers.dmv import Dmv

PARTS = (
    "rules",
    "short arcs",
    "conjuncts",
    "following conjunct",
    "clause barrier",
    "punctuation",
    "phrase edges",
    "markers",
)
Factors = Mapping[str, float]


@dataclass(frozen=True)
class Task:
    """A language: its text, the sentences of it for EM, and the sentences to score."""

    name: str
    text: list[Sentence]
    short: list[Sentence]
    gold: list[Sentence]


def multiplied(table: RuleSet, factors: Factors) -> RuleSet:
    """The table with the weights of these parts, the first numbers of their lines, multiplied by factors."""
    lines = table.text.split("\n")
    part = ""
    for number, line in enumerate(lines):
        if heading := re.match(r"\[(.*?)\]", line):
            part = heading[1]
        weight = re.match(r"([a-z][a-z -]* = )(\d+(?:\.\d+)?)(?= |$)", line)
        if part in factors and weight:
            value = float(weight[2]) * factors[part]
            lines[number] = f"{weight[1]}{value:g}{line[weight.end() :]}"
    return parse_rules("\n".join(lines), "<table>")


def shown(factors: Factors) -> str:
    """The factors in a table."""
    changed = [f"{part} x{factor:g}" for part, factor in factors.items() if factor != 1]
    return ", ".join(changed) or "as shipped"


def task_of(bank: Listed, max_text: int, max_test: int, max_len: int) -> Task:
    """The sentences of a language without punctuation; learning does not read heads of the text."""

    text = read(bank.text, "ignored")
    short = [sentence for sentence in text if len(sentence) <= max_len]
    return Task(bank.name, text, short[:max_text], drawn(read(bank.scored), max_test))


def figure(task: Task, rules: RuleSet) -> tuple[float, ...]:
    """DDA of the DMV teacher under a table."""
    teacher = Dmv().fit(task.short, Prior.of_text(rules, task.text))
    return dda(task.gold, teacher.heads(task.gold))


def best_factors(parts: Sequence[str], tried: Sequence[float], figures: NDArray[np.float64]) -> Factors:
    """For each part the factor with the best mean over the languages.

    `figures` (1 + parts x factors, languages, limits) start with the table as shipped; limits count equally.
    """
    means = figures.mean(axis=(1, 2))
    chosen = {}
    for number, part in enumerate(parts):
        of_part = [means[0], *means[1 + number * len(tried) : 1 + (number + 1) * len(tried)]]
        chosen[part] = (1.0, *tried)[int(np.argmax(of_part))]
    return chosen


def main() -> None:
    """Prints the tables."""
    parser = list_parser(__doc__)
    parser.add_argument("--table", default="best", metavar="RULES")
    parser.add_argument("--parts", nargs="+", default=PARTS, metavar="PART", help="whose weights change")
    parser.add_argument("--factors", nargs="+", type=float, default=(0.5, 2.0), metavar="FACTOR")
    arguments = parser.parse_args()
    print(conditions())
    table = load_rules(rules_path(arguments.table))
    parts, tried = arguments.parts, arguments.factors
    variants: list[Factors] = [{}, *({part: factor} for part in parts for factor in tried)]
    tables = [multiplied(table, variant) for variant in variants]
    for variant, changed in zip(variants[1:], tables[1:]):
        if changed.text == tables[0].text:
            parser.error(f"the table has no weight in a part '{next(iter(variant))}'")
    numbers = (arguments.max_text, arguments.max_test, arguments.max_len)
    tasks = [task_of(bank, *numbers) for bank in listed(arguments)]
    figures = np.array([[figure(task, changed) for changed in tables] for task in tasks]).swapaxes(0, 1)
    rows = [[shown(variant), cell(means)] for variant, means in zip(variants, figures.mean(axis=1))]
    print_table(f"DDA {LIMITS_SHOWN}, mean over languages:", ["numbers", "DMV teacher"], rows)
    on_all = best_factors(parts, tried, figures)
    rows, both = [], []
    for number, task in enumerate(tasks):
        without = np.delete(figures, number, axis=1)
        chosen = best_factors(parts, tried, without) if len(tasks) > 1 else on_all
        both.append([figure(task, multiplied(table, factors)) for factors in (chosen, on_all)])
        rows.append([task.name, shown(chosen), *map(cell, (*both[-1], figures[0, number]))])
    means = [*np.mean(both, axis=0), figures[0].mean(axis=0)]
    rows.append(["mean", "", *map(cell, means)])
    header = ["language", "chosen on the others", "its DDA", f"chosen on all: {shown(on_all)}", "as shipped"]
    print_table(f"DDA {LIMITS_SHOWN}, leave one language out:", header, rows)


if __name__ == "__main__":
    main()

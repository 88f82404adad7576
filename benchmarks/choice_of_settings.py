"""Do settings chosen on some languages suit another? Leave-one-language-out choice of the teacher's settings.

    python benchmarks/choice_of_settings.py --language eu TRAIN DEV --language fr TRAIN DEV --language ...

Every combination of rule table, strength of the rules, penalty of long arcs and longest training sentence is
scored on every language by the DMV teacher. For each language the combination with the best mean over the
others is taken, and its figure set beside those of the combination that is best over all, and of the shipped
one. Gold trees of the scored files choose; so name development files.
"""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import numpy as np
from languages import LIMITS_SHOWN, argument_parser, read
from measuring import cell, conditions, print_conditions, print_table
from numpy.typing import NDArray
from teacher_accuracy import teacher

from dynet_vdgi.bundled import rules_path
from dynet_vdgi.grammar.rules import RuleSet, load_rules, parse_rules
from dynet_vdgi.teachers.dmv import Dmv


@dataclass(frozen=True)
class Choice:
    """One combination of settings; None: as the table has it."""

    table: str
    strength: float | None
    short_arcs: float | None
    max_len: int

    def __str__(self) -> str:
        named = [("strength", self.strength), ("short arcs", self.short_arcs)]
        changes = [f"{name} {value:g}" for name, value in named if value is not None]
        return ", ".join([self.table, *changes, f"<={self.max_len} words"])

    def rules(self) -> RuleSet:
        """The table with these settings."""
        text = load_rules(rules_path(self.table)).text
        for name, value in (("rule strength", self.strength), ("short arcs", self.short_arcs)):
            if value is not None:
                text, found = re.subn(rf"(?m)^{name} = \S+", f"{name} = {value:g}", text)
                assert found == 1, name
        return parse_rules(text, self.table)


def leave_one_out(figures: NDArray[np.float64]) -> list[int]:
    """For each language the index of the combination with the best mean over the other languages.

    `figures` (combinations, languages, limits) are DDA; the limits count equally.
    """
    by_language = figures.mean(axis=2)
    others = by_language.sum(axis=1, keepdims=True) - by_language
    return [int(k) for k in others.argmax(axis=0)]


def main() -> None:
    """Prints the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--table", default="best", metavar="RULES")
    parser.add_argument("--strengths", nargs="*", type=float, default=(2.0, 3.0))
    parser.add_argument("--short-arcs", nargs="*", type=float, default=(0.1, 0.3))
    parser.add_argument("--max-lens", nargs="+", type=int, default=(10, 15))
    parser.add_argument("--shipped-max-len", type=int, default=15)
    arguments = parser.parse_args()
    shipped = Choice(arguments.table, None, None, arguments.shipped_max_len)
    grid = itertools.product((None, *arguments.strengths), (None, *arguments.short_arcs), arguments.max_lens)
    choices = list(dict.fromkeys([shipped, *(Choice(arguments.table, *values) for values in grid)]))
    languages = [read(*language) for language in arguments.language]
    print_conditions(conditions())
    figures = np.array(
        [
            [teacher(language, choice.rules(), Dmv, choice.max_len).dda for language in languages]
            for choice in choices
        ]
    )
    rows = [[str(choice), cell(means)] for choice, means in zip(choices, figures.mean(axis=1))]
    print_table(f"DDA {LIMITS_SHOWN}, mean over languages:", ["settings", "DMV teacher"], rows)
    best_of_all = int(figures.mean(axis=(1, 2)).argmax())
    without = leave_one_out(figures)
    left_out = figures[without, range(len(languages))]
    rows = [
        [language.name, str(choices[k]), *map(cell, (left_out[i], figures[best_of_all, i], figures[0, i]))]
        for i, (language, k) in enumerate(zip(languages, without))
    ]
    means = [cell(table.mean(axis=0)) for table in (left_out, figures[best_of_all], figures[0])]
    header = [
        "language",
        "chosen on the others",
        "its DDA",
        f"chosen on all: {choices[best_of_all]}",
        "shipped",
    ]
    print_table(f"DDA {LIMITS_SHOWN}, leave one language out:", header, [*rows, ["mean", "", *means]])


if __name__ == "__main__":
    main()

"""Check that CoNLL-U files follow Universal Dependencies.

Lists what is wrong as FILE:LINE, then counts it by rule. Levels are those of UD's own validator: 1, the lines
can be read; 2, comments, columns, trees and enhanced graphs have UD's form; 3, the trees follow guidelines of
all languages, such as which tags a relation has, and what may hang from a function word. What needs the lists
of a language (its features, auxiliaries, subtypes) is left to the official validator. Exits with status 3 if
anything is wrong. vdgi check, by contrast, tells whether this program can use a file.

  vdgi validate my.conllu
  vdgi validate my.conllu --level 2 --max-faults 1000
"""

from __future__ import annotations

import argparse
from collections import Counter

from dynet_vdgi.commands.check import FaultsFoundError
from dynet_vdgi.data import file_checks, files
from dynet_vdgi.data.conllu_faults import is_other_format
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system.names import count, told


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="CoNLL-U files; - is standard input")
    parser.add_argument(
        "--level", choices=("1", "2", "3"), default="3", help="the last level (default: %(default)s)"
    )
    parser.add_argument(
        "--max-faults", type=int, default=20, metavar="N", help="faults shown per file (default: 20)"
    )


def run(arguments: argparse.Namespace) -> None:
    if arguments.max_faults < 0:
        raise UsageError(f"--max-faults {arguments.max_faults}: a number of faults, or 0 for none")
    names = files.expand(arguments.files)
    file_checks.check_read_once(names)
    n_faults = sum(_validate(name, int(arguments.level), arguments.max_faults) for name in names)
    if n_faults:
        raise FaultsFoundError(f"{count(n_faults, 'fault')} found")


def _validate(name: str, level: int, most: int) -> int:
    """Prints what is wrong with a file; returns the number of faults."""
    from dynet_vdgi.system.text_tables import aligned
    from dynet_vdgi.validation.checking import problems_in_file
    from dynet_vdgi.validation.form import NO_HEADS

    times: Counter[tuple[int, str]] = Counter()
    treeless: list[str] = []  # the places of sentences without a tree, which are told together
    n_sentences = n_shown = 0

    def tell(level: int, rule: str, text: str) -> None:
        nonlocal n_shown
        if n_shown < most:
            print(told(text))
            n_shown += 1
        times[level, rule] += 1

    try:
        for found in problems_in_file(name, level):
            if isinstance(found, DataError):
                tell(1, "lines", str(found))
                continue
            block, problems = found
            n_sentences += 1
            for problem in problems:
                word = f"word {problem.word}: " if problem.word else ""
                place = f"{block.path}:{block.line + problem.row}"
                if problem.text == NO_HEADS:
                    treeless.append(place)
                    times[problem.level, problem.rule] += 1
                    continue
                tell(problem.level, problem.rule, f"{place}: {word}{problem.text} [{problem.rule}]")
            if problems and is_other_format(problems[0].text):  # each further line is a fault
                break
    except DataError as error:  # the file cannot be read on
        tell(1, "lines", str(error))
    if treeless and most:
        n_more = len(treeless) - 1
        more = f", nor in {count(n_more, 'more sentence')}" if n_more else ""
        print(told(f"{treeless[0]}: {NO_HEADS}{more} [head]"))
        n_shown += len(treeless)
    if hidden := times.total() - n_shown:
        print(f"and {hidden:,} more (--max-faults N shows them)")
    print(told(f"{files.shown(name)}: {count(n_sentences, 'sentence')}, {count(times.total(), 'fault')}"))
    if times:
        rows = [[rule, f"level {level}", f"{n:,}"] for (level, rule), n in sorted(times.items())]
        print(aligned([["rule", "", "times"], *rows], left=2))
    return times.total()

"""Validate CoNLL-U files by the rules of Universal Dependencies.

Runs UD's own validator (udtools) on the files together, as one treebank, and lists what it says by rule, with
number and first places: errors, then warnings. Levels 1 and 2 are the form of lines, columns and trees, 3 the
guidelines of all languages, 4 and 5 those of the language that --lang names by its code in UD. Exits with
status 3 if there are errors, with 0 if there are warnings only. Needs the extra `validate`. vdgi check, by
contrast, tells whether this program can use a file.

  vdgi validate my.conllu
  vdgi validate my.conllu --lang ta
  vdgi validate train.conllu test.conllu --level 2
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dynet_vdgi.commands.check import FaultsFoundError
from dynet_vdgi.data import file_checks, files
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.names import count, told

if TYPE_CHECKING:
    from dynet_vdgi.validation.official import Message


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="CoNLL-U files; - is standard input")
    parser.add_argument(
        "--level", choices=tuple("12345"), help="the last level (default: 5 with --lang, else 3)"
    )
    parser.add_argument(
        "--lang", metavar="CODE", help="the language, such as ta; ud: what holds in all (default)"
    )
    parser.add_argument(
        "--max-faults", type=int, default=5, metavar="N", help="places shown of each rule (default: 5)"
    )


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.validation import official

    if arguments.max_faults < 0:
        raise UsageError(f"--max-faults {arguments.max_faults}: a number of places, or 0 for none")
    level, language = arguments.level or "", arguments.lang or ""
    if level in ("4", "5") and not language and not os.environ.get(official.VARIABLE):
        raise UsageError(f"--level {level} needs the language, such as --lang ta")
    names = files.expand(arguments.files)
    file_checks.check_read_once(names)
    try:
        found = official.messages(map(_text, names), language, level)
    except official.CrashError as crash:
        _show(crash.messages, names, arguments.max_faults)
        raise
    _show(found, names, arguments.max_faults)
    program, *given = official.command(language, level) or [""]
    print(told(f"{shlex.join([Path(program).name, *given])}: {official.counted(found)}"))
    if n_errors := sum(message.is_error for message in found):
        raise FaultsFoundError(f"{count(n_errors, 'error')} found")


def _text(name: str) -> str:
    with files.open_text(name, has_lines=False) as handle:
        return handle.read()


def _show(found: Sequence[Message], names: Sequence[str], most: int) -> None:
    for line in _lines(found, names, most):
        print(told(line))


def _lines(found: Sequence[Message], names: Sequence[str], most: int) -> Iterator[str]:
    from dynet_vdgi.validation.official import grouped

    for group in grouped(found):
        first = group[0]
        kind = "error" if first.is_error else "warning"
        yield f"{count(len(group), kind)}: {first.rule} (level {first.level})"
        for message in group[:most]:
            yield f"  {files.shown(names[message.file])}:{message.line}: {message.text}"
        if 0 < most < len(group):
            yield f"  and {len(group) - most:,} more (--max-faults N shows them)"

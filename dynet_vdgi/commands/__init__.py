"""The verbs of the command line, a module each: `add_arguments(parser)` and `run(arguments)`.

A module's docstring is its help text. Modules import what is heavy (NumPy, DyNet) only inside `run`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import textwrap
import zipfile
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from dynet_vdgi.errors import UsageError

WIDEST = 80
"""Columns of help, on a wide terminal, too."""


class HelpFormatter(argparse.HelpFormatter):
    """Help as wide as the terminal: paragraphs are filled, indented lines are commands, one line each."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(shutil.get_terminal_size().columns, WIDEST) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = re.split(r"\n\s*\n", text.strip("\n"))
        return "\n\n".join(_filled(block, width) for block in blocks)


def _filled(block: str, width: int) -> str:
    if block.startswith("  "):
        return "\n".join(_command(line, width) for line in block.split("\n"))
    return textwrap.fill(block, width, break_on_hyphens=False)


def _command(line: str, width: int) -> str:
    """A command, continued on further lines if it is too long, below its comment."""
    if len(line) <= width:
        return line
    command, _, comment = line.partition("  # ")
    words = textwrap.wrap(command.strip(), width - 8, break_on_hyphens=False, break_long_words=False)
    return "\n".join([*([f"  # {comment}"] if comment else []), "  " + " \\\n      ".join(words)])


def model_first(model: str, names: Sequence[str], usual: str) -> None:
    """Raises: UsageError, a text stands where the model belongs; `usual`: a command up to its model."""
    from dynet_vdgi.settings import config
    from dynet_vdgi.settings.bundled import bundled

    def is_model(name: str) -> bool:
        if os.path.isdir(name):
            return os.path.isfile(os.path.join(name, config.MODEL_NAME))
        return zipfile.is_zipfile(name) if os.path.isfile(name) else name in bundled("models")

    if not os.path.isfile(model) or is_model(model):
        return
    for name in names:
        if is_model(name):
            raise UsageError(f"the model comes first: {name} {model}, not {model} {name}")
    from dynet_vdgi.data import files, raw_text

    if files.is_conllu(model) or raw_text.is_named(model):
        raise UsageError(f"{model}: this is a text, and the model before it is missing: {usual} {model}")


def add_parser(parsers: Any, name: str, module: ModuleType) -> argparse.ArgumentParser:
    """The parser of a verb or task: its help is the module's docstring, whose first line is the summary."""
    summary, _, details = (module.__doc__ or "").partition("\n")
    parser: argparse.ArgumentParser = parsers.add_parser(
        name,
        help=summary,
        description=f"{summary}\n{details}",
        formatter_class=HelpFormatter,
    )
    module.add_arguments(parser)
    for options in (("-q", "--quiet"), ("--debug",)):  # as before the verb, where help names them
        parser.add_argument(*options, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return parser


def add_output(parser: argparse.ArgumentParser, replaced: str = "is replaced") -> None:
    """The option -o, by default standard output; `replaced`: what becomes of a file that exists."""
    what = f"where to write (default: standard output); a file that exists {replaced}"
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help=what)


def add_tags(parser: argparse.ArgumentParser) -> None:
    """The option --tags of verbs about rule tables."""
    from dynet_vdgi.data.conllu import TAG_COLUMNS

    parser.add_argument(
        "--tags",
        default="upos",
        choices=TAG_COLUMNS,
        help="column of the rules' tags (default: %(default)s)",
    )


def check_at_least_1(option: str, number: int) -> None:
    """Raises: UsageError, the number of an option is below 1."""
    if number < 1:
        raise UsageError(f"{option} {number}: must be at least 1")

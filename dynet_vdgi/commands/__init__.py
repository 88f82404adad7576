"""The verbs of the command line, a module each: `add_arguments(parser)` and `run(arguments)`.

A module's docstring is its help text. Modules import what is heavy (NumPy, DyNet) only inside `run`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import textwrap
from types import ModuleType
from typing import Any

WIDEST = 100
"""Columns of help on a wide terminal."""


class HelpFormatter(argparse.HelpFormatter):
    """Help as wide as the terminal: paragraphs are filled, indented lines are commands, one line each."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(shutil.get_terminal_size().columns, WIDEST) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = re.split(r"\n\s*\n", text.strip("\n"))
        return "\n\n".join(_filled(block, width) for block in blocks)


def _filled(block: str, width: int) -> str:
    first, _, rest = block.partition("\n")
    if first.startswith("  "):
        return "\n".join(_command(line, width) for line in block.split("\n"))
    if rest and first.endswith("."):  # the summary, which no empty line follows
        return f"{textwrap.fill(first, width)}\n{_filled(rest, width)}"
    return textwrap.fill(block, width, break_on_hyphens=False)


def _command(line: str, width: int) -> str:
    """A command, continued on further lines if it is too long, below its comment."""
    if len(line) <= width:
        return line
    command, _, comment = line.partition("  # ")
    words = textwrap.wrap(command.strip(), width - 8, break_on_hyphens=False, break_long_words=False)
    return "\n".join([*([f"  # {comment}"] if comment else []), "  " + " \\\n      ".join(words)])


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
    return parser

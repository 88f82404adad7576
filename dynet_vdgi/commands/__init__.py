"""The verbs of the command line, a module each: `add_arguments(parser)` and `run(arguments)`.

A module's docstring is its help text. Modules import what is heavy (NumPy, DyNet) only inside `run`.
"""

from __future__ import annotations

import argparse
from types import ModuleType
from typing import Any


def add_parser(parsers: Any, name: str, module: ModuleType) -> argparse.ArgumentParser:
    """The parser of a verb or task: its help is the module's docstring, the first line being the summary."""
    summary, _, details = (module.__doc__ or "").partition("\n")
    parser: argparse.ArgumentParser = parsers.add_parser(
        name,
        help=summary,
        description=f"{summary}\n{details}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    return parser

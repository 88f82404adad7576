"""The verbs of the command line, a module each: `add_arguments(add)` and `run(arguments)`.

A module's docstring is its help text. Modules import what is heavy (NumPy, DyNet) only inside
`run`.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import os
import re
import shutil
import textwrap
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dynet_vdgi.commands.options import Options
from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.messages import count

if TYPE_CHECKING:
    from dynet_vdgi.conllu.places import Place

logger = logging.getLogger("dynet_vdgi")

WIDEST = 80
"""Columns of help, on a wide terminal, too."""

Add = Callable[["Options"], None]

Run = Callable[[argparse.Namespace], None]

Tasks = Mapping[str, tuple[Add, Run]]
"""By name: what adds the arguments of a task, and what carries it out; the latter's docstring is
the help."""


def _width() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)


def wrapped(line: str, indent: str) -> str:
    """A line in as many as the terminal needs, the others indented."""
    return textwrap.fill(line, _width(), subsequent_indent=indent, break_on_hyphens=False)


class HelpFormatter(argparse.HelpFormatter):
    """Help as wide as the terminal: paragraphs are filled, indented lines are commands, one line
    each."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width() - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = []
        for block in re.split(r"\n\s*\n", text.strip("\n")):
            if block.startswith("  "):
                blocks.append("\n".join(_command(line, width) for line in block.split("\n")))
            else:
                blocks.append(textwrap.fill(block, width, break_on_hyphens=False))
        return "\n\n".join(blocks)


def _command(line: str, width: int) -> str:
    """A command, continued on further lines if it is too long, below its comment."""
    if len(line) <= width:
        return line
    command, _, comment = line.partition("  # ")
    words = textwrap.wrap(
        command.strip(), width - 8, break_on_hyphens=False, break_long_words=False
    )
    return "\n".join([*([f"  # {comment}"] if comment else []), "  " + " \\\n      ".join(words)])


class FaultsFoundError(VdgiError):
    """At least one fault was listed."""

    exit_status = 3


def add_parser(parsers: Any, name: str, about: str | None, add: Add, run: Run | None) -> None:
    """The parser of a verb or task, whose help is `about`; its first line is the summary."""
    about = about or ""
    summary = about.partition("\n")[0]
    parser = parsers.add_parser(
        name, help=summary, description=about, formatter_class=HelpFormatter
    )
    parser.set_defaults(run=run, parser=parser)
    add(Options(parser))
    for options in (("-q", "--quiet"), ("--debug",)):  # as before the verb, where help names them
        parser.add_argument(
            *options, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )


def add_tasks(add: Options, tasks: Tasks, usual: str = "", metavar: str = "TASK") -> None:
    """The tasks of a verb; `usual` is the one that is meant where none is named."""
    parsers = add.parser.add_subparsers(dest="task", metavar=metavar, required=True)
    for name, (add_arguments, run) in tasks.items():
        add_parser(parsers, name, inspect.cleandoc(run.__doc__ or ""), add_arguments, run)
    add.parser.default_task = usual  # type: ignore[attr-defined]


def add_output(add: Options, replaced: str = "is replaced") -> None:
    """The option -o, by default standard output; `replaced`: what becomes of a file that exists."""
    what = f"where to write (default: standard output); a file that exists {replaced}"
    add("-o --output FILE", what, default="-")


def add_tags(add: Options) -> None:
    """The option --tags of verbs about rule tables."""
    from dynet_vdgi.conllu.reading import TAG_COLUMNS

    add("--tags", "column of the rules' tags", default="upos", choices=TAG_COLUMNS)


def add_ignore_feats(add: Options) -> None:
    """The option --ignore-feats of verbs that read CoNLL-U."""
    add("--ignore-feats", "read FEATS as _, whatever is there; what is written keeps it as it is")


def print_places(places: Sequence[Place], as_json: bool) -> None:
    """Prints a list of words."""
    from dynet_vdgi.conllu.places import listing

    if places or as_json:
        print(listing(places, as_json=as_json))
    logger.info("%s found", count(len(places), "word"))


def model_first(model: str, names: Sequence[str], usual: str) -> None:
    """Raises: UsageError, a text stands where the model belongs; `usual`: a command up to its
    model."""
    from dynet_vdgi.settings import settings
    from dynet_vdgi.settings.bundled import bundled

    def is_model(name: str) -> bool:
        if os.path.isdir(name):
            return os.path.isfile(os.path.join(name, settings.MODEL_NAME))
        return zipfile.is_zipfile(name) if os.path.isfile(name) else name in bundled("models")

    if not os.path.isfile(model) or is_model(model):
        return
    for name in names:
        if is_model(name):
            raise UsageError(f"the model comes first: {name} {model}, not {model} {name}")
    from dynet_vdgi.conllu import raw_text
    from dynet_vdgi.system import files

    if files.is_conllu(model) or raw_text.is_named(model):
        raise UsageError(
            f"{model}: this is a text, and the model before it is missing: {usual} {model}"
        )


def one_file(pattern: str, what: str) -> str:
    """The file that a name or pattern stands for. Raises: UsageError, there is none, or several."""
    from dynet_vdgi.system import files

    names = files.expand([pattern])
    if len(names) > 1:
        raise UsageError(
            f"{what} must be one file; {pattern!r} stands for {len(names)}: {', '.join(names)}"
        )
    return names[0]

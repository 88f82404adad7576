"""The verbs of the command line, a module each: `add_arguments(add)` and `run(arguments)`.

A module's docstring is its help text. Modules import what is heavy (NumPy, DyNet) only inside `run`.
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

from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.names import count

if TYPE_CHECKING:
    from dynet_vdgi.data.places import Place

logger = logging.getLogger("dynet_vdgi")

WIDEST = 80
"""Columns of help, on a wide terminal, too."""


def _width() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)


def wrapped(line: str, indent: str) -> str:
    """A line in as many as the terminal needs, the others indented."""
    return textwrap.fill(line, _width(), subsequent_indent=indent, break_on_hyphens=False)


class HelpFormatter(argparse.HelpFormatter):
    """Help as wide as the terminal: paragraphs are filled, indented lines are commands, one line each."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width() - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = re.split(r"\n\s*\n", text.strip("\n"))
        return "\n\n".join(
            "\n".join(_command(line, width) for line in block.split("\n"))
            if block.startswith("  ")
            else textwrap.fill(block, width, break_on_hyphens=False)
            for block in blocks
        )


def _command(line: str, width: int) -> str:
    """A command, continued on further lines if it is too long, below its comment."""
    if len(line) <= width:
        return line
    command, _, comment = line.partition("  # ")
    words = textwrap.wrap(command.strip(), width - 8, break_on_hyphens=False, break_long_words=False)
    return "\n".join([*([f"  # {comment}"] if comment else []), "  " + " \\\n      ".join(words)])


class FaultsFoundError(VdgiError):
    """At least one fault was listed."""

    exit_status = 3


Add = Callable[["Options"], None]
Run = Callable[[argparse.Namespace], None]


def add_parser(parsers: Any, name: str, about: str | None, add: Add, run: Run | None) -> None:
    """The parser of a verb or task, whose help is `about`; its first line is the summary."""
    about = about or ""
    summary = about.partition("\n")[0]
    parser = parsers.add_parser(name, help=summary, description=about, formatter_class=HelpFormatter)
    parser.set_defaults(run=run, parser=parser)
    add(Options(parser))
    for options in (("-q", "--quiet"), ("--debug",)):  # as before the verb, where help names them
        parser.add_argument(*options, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


Tasks = Mapping[str, tuple[Add, Run]]
"""By name: what adds the arguments of a task, and what carries it out; the latter's docstring is the help."""


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
    from dynet_vdgi.data.conllu import TAG_COLUMNS

    add("--tags", "column of the rules' tags", default="upos", choices=TAG_COLUMNS)


def add_ignore_feats(add: Options) -> None:
    """The option --ignore-feats of verbs that read CoNLL-U."""
    add("--ignore-feats", "read FEATS as _, whatever is there; what is written keeps it as it is")


def print_places(found: Sequence[Place], as_json: bool) -> None:
    """Prints a list of words."""
    from dynet_vdgi.data.places import listing

    if found or as_json:
        print(listing(found, as_json=as_json))
    logger.info("%s found", count(len(found), "word"))


def model_first(model: str, names: Sequence[str], usual: str) -> None:
    """Raises: UsageError, a text stands where the model belongs; `usual`: a command up to its model."""
    from dynet_vdgi.settings import config
    from dynet_vdgi.settings.config import bundled

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


def one_file(pattern: str, what: str) -> str:
    """The file that a name or pattern stands for. Raises: UsageError, there is none, or several."""
    from dynet_vdgi.data import files

    names = files.expand([pattern])
    if len(names) > 1:
        raise UsageError(f"{what} must be one file; {pattern!r} stands for {len(names)}: {', '.join(names)}")
    return names[0]


# ----------------------------------------------------------------------------------------------------
# The arguments of the verbs: how a module declares them, and which options do not go together.
class Options:
    """Adds arguments to a parser, a line each.

    `NAME` and `[NAME]`, which may be left out, stand for one positional argument, `NAME...` and `[NAME...]`
    for several. An option is `-o --output FILE`, `--dev FILE...` or, without a value, `--retag`. Help tells
    the default.
    """

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser

    def __call__(self, spec: str, help: str, *, least: int | None = None, most: int | None = None, **more: Any) -> None:
        """Adds one. With `least`, its value is a whole number, `most` at most; `more`: of argparse."""
        words = spec.split()
        names = [word for word in words if word.startswith("-")]
        values = words[len(names) :]
        if values:
            last = values[-1]
            is_optional = last.startswith("[") and last.endswith("]")
            values[-1] = last[1:-1] if is_optional else last
            if values[-1].endswith("..."):
                values[-1] = values[-1].removesuffix("...")
                more["nargs"] = "*" if is_optional else "+"
                more.setdefault("default", [] if names else None)
            elif is_optional:
                more["nargs"] = "?"
            more["metavar"] = tuple(values) if len(values) > 1 else values[0]
        elif not {"action", "choices"} & {*more}:
            more["action"] = "store_true"
        if least is not None:
            more["type"] = _number(names[0] if names else values[0], least, most)
        if more.get("default") not in (None, [], "-") and "default" not in help and "const" not in more:
            help += " (default: %(default)s)"
        dest = more.pop("dest", None)
        if names:
            self.parser.add_argument(*names, help=help, **more, **({"dest": dest} if dest else {}))
        else:
            self.parser.add_argument(dest or more["metavar"].lower(), help=help, **more)


def _number(option: str, least: int, most: int | None) -> Callable[[str], int]:
    """The reader of a whole number. It raises: UsageError, the number is out of its range."""

    def read(text: str) -> int:
        number = int(text)
        if most is not None and not least <= number <= most:
            raise UsageError(f"{option} {text}: must be from {least} to {most}")
        if number < least:
            raise UsageError(f"{option} {text}: must be at least {least}")
        return number

    read.__name__ = "int"  # which argparse names if it is none
    return read


APART: dict[str, list[tuple[str, str, str]]] = {
    "annotate": [
        ("--given --every --order --preset --rules --language-facts --tagger --labels --list", "--beside", ""),
        ("--list --given --annotator --every --order --port --allow-host --prefix --preset", "--export", ""),
        ("--rules --language-facts --tagger --tokeniser --lines --labels", "--export", ""),
        ("--no-browser --beside -o", "--export", ""),
    ],
    "check": [
        ("--rules --model --tags --ignore-feats", "--ud", "UD's own validator reads the file"),
        ("--rules --model --tags --max-faults --ud --consistency", "--find", "words are listed, not faults"),
        ("--rules --model --tags --max-faults --ud", "--consistency", "words are listed, not faults"),
        ("--rules", "--model", "it has rules of its own"),
    ],
    "choose": [("--covered --labels --overwrite -o", "--words", "a list of words is printed")],
    "evaluate": [
        ("--raw --by --rules --baselines --published --max-len --protocol --bootstrap", "--agreement", ""),
        ("--by --rules --baselines --published --max-len --protocol --bootstrap", "--raw", "it scores all words"),
        ("--published", "--json", "JSON has our figures only"),
    ],
    "parse": [
        ("--exact", "--fast", "a student has no exact trees"),
        ("--confidence", "--exact", "it is about the tree found without it"),
    ],
    "train": [("--train", "--language", "give each language its files")],
}
"""By verb: options that have no effect with another one, and why."""

NEEDED: dict[str, list[tuple[str, str]]] = {
    "annotate": [("--finished", "--export"), ("--beside", "-o"), ("-o", "--beside")],
    "check": [("--level --lang", "--ud"), ("--number", "--consistency"), ("--json", "--find --consistency")],
    "choose": [("--heads --json", "--words")],
    "evaluate": [("--worst --confusions --no-punct", "--agreement"), ("--rules", "--baselines --by")],
}
"""By verb: options that have an effect only with another one, or one of others."""


def check_together(verb: str, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Raises: UsageError, an option was given that has no effect with, or without, another one."""
    fixed = [action for action in parser._actions if isinstance(action, argparse._StoreConstAction)]
    short = [(action.dest, action.const) for action in fixed]  # --json for --format json
    given: list[str] = []
    for action in parser._actions:
        value = getattr(arguments, action.dest, action.default)
        is_given = value == action.const if action in fixed else value != action.default
        if is_given and (action in fixed or (action.dest, value) not in short):
            given += action.option_strings

    def found(options: str) -> list[str]:
        return [option for option in options.split() if option in given]

    for options, other, reason in APART.get(verb, ()):
        if other in given and found(options):
            why = f": {reason}" if reason else ""
            raise UsageError(f"{found(options)[0]} has no effect with {other}{why}")
    for options, others in NEEDED.get(verb, ()):
        if found(options) and not found(others):
            raise UsageError(f"{found(options)[0]} has no effect without {' or '.join(others.split())}")

"""The arguments of the verbs: how a module declares them, and which options do not go together."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from dynet_vdgi.errors import UsageError

APART: dict[str, list[tuple[str, str, str]]] = {
    "annotate": [
        (
            "--given --every --order --preset --rules --language-facts --tagger --labels --list",
            "--beside",
            "",
        ),
        (
            "--list --given --annotator --every --order --port --allow-host --prefix --preset",
            "--export",
            "",
        ),
        ("--rules --language-facts --tagger --tokeniser --lines --labels", "--export", ""),
        ("--no-browser --beside -o", "--export", ""),
    ],
    "check": [
        ("--rules --model --tags --ignore-feats", "--ud", "UD's own validator reads the file"),
        (
            "--rules --model --tags --max-faults --ud --consistency",
            "--find",
            "words are listed, not faults",
        ),
        (
            "--rules --model --tags --max-faults --ud",
            "--consistency",
            "words are listed, not faults",
        ),
        ("--rules", "--model", "it has rules of its own"),
    ],
    "choose": [("--covered --labels --overwrite -o", "--words", "a list of words is printed")],
    "evaluate": [
        (
            "--raw --by --rules --baselines --published --max-len --protocol --bootstrap",
            "--agreement",
            "",
        ),
        (
            "--by --rules --baselines --published --max-len --protocol --bootstrap",
            "--raw",
            "it scores all words",
        ),
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
    "check": [
        ("--level --lang", "--ud"),
        ("--number", "--consistency"),
        ("--json", "--find --consistency"),
    ],
    "choose": [("--heads --json", "--words")],
    "evaluate": [
        ("--worst --confusions --no-punct", "--agreement"),
        ("--rules", "--baselines --by"),
    ],
}
"""By verb: options that have an effect only with another one, or one of others."""


class Options:
    """Adds arguments to a parser, a line each.

    `NAME` and `[NAME]`, which may be left out, stand for one positional argument, `NAME...` and
    `[NAME...]` for several. An option is `-o --output FILE`, `--dev FILE...` or, without a value,
    `--retag`. Help tells the default.
    """

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser

    def __call__(
        self,
        spec: str,
        help: str,
        *,
        least: int | None = None,
        most: int | None = None,
        **more: Any,
    ) -> None:
        """Adds one. With `least`, its value is a whole number, `most` at most;
        `more`: of argparse."""
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
        if (
            more.get("default") not in (None, [], "-")
            and "default" not in help
            and "const" not in more
        ):
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


def check_together(
    verb: str, parser: argparse.ArgumentParser, arguments: argparse.Namespace
) -> None:
    """Raises: UsageError, an option was given that has no effect with, or without, another one."""
    fixed = [action for action in parser._actions if isinstance(action, argparse._StoreConstAction)]
    short = [(action.dest, action.const) for action in fixed]  # --json for --format json
    given: list[str] = []
    for action in parser._actions:
        value = getattr(arguments, action.dest, action.default)
        is_given = value == action.const if action in fixed else value != action.default
        if is_given and (action in fixed or (action.dest, value) not in short):
            given += action.option_strings

    def given_among(options: str) -> list[str]:
        return [option for option in options.split() if option in given]

    for options, other, reason in APART.get(verb, ()):
        if other in given and given_among(options):
            why = f": {reason}" if reason else ""
            raise UsageError(f"{given_among(options)[0]} has no effect with {other}{why}")
    for options, others in NEEDED.get(verb, ()):
        if given_among(options) and not given_among(others):
            raise UsageError(
                f"{given_among(options)[0]} has no effect without {' or '.join(others.split())}"
            )

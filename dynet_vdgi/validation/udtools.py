"""UD's own validator, where it is installed: it is under the GPL, so it runs as a program of its
own."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.messages import count
from dynet_vdgi.system.optional_packages import how_to_install

_MESSAGE = re.compile(r"\[(?:File (\d+)\.conllu )?Line (\d+)\b.*?\]: \[L(\d) (\w+) ([\w-]+)\] (.*)")

_OF_NORWEGIAN = {"nb": "no", "nn": "no"}
"""UD has one code for both, which are languages of their own to ISO."""


def languages() -> frozenset[str]:
    """The codes of the languages for which udtools has lists; none, if it is not installed beside
    this program."""
    package = importlib.util.find_spec("udtools")
    for folder in (package and package.submodule_search_locations) or ():
        try:
            lists = json.loads(Path(folder, "data", "deprels.json").read_bytes())
            return frozenset(lists["deprels"])
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
        ):  # another version keeps them elsewhere
            continue
    return frozenset()


def code_in_ud(code: str) -> str:
    """The code that UD has for the language of a code of ISO 639; "" if it is this code, or none is
    known.

    UD takes two letters where ISO 639-1 has them, with a few exceptions, such as sme for Northern
    Sami.
    """
    there = languages()
    if not there or code in there or code == "ud":
        return ""
    try:
        import langcodes

        wanted = [
            langcodes.standardize_tag(code, macro=macro).partition("-")[0]
            for macro in (False, True)
        ]
        wanted = [_OF_NORWEGIAN.get(each, each) for each in wanted]
        if named := next((each for each in wanted if each in there), ""):
            return named
        same = [other for other in sorted(there) if langcodes.standardize_tag(other) == wanted[0]]
    except (ImportError, ValueError):  # of the extra `validate`; the code has no form of one
        return ""
    return next(iter(same), wanted[0] if len(wanted[0]) == 2 and wanted[0] != code.lower() else "")


def unknown_language_message(code: str) -> str:
    """What is to be said where the validator has no lists for a language, and all of a file would
    be errors."""
    other = code_in_ud(code)
    meant = f" ({other}?)" if other else ""
    return (
        f"udtools knows no language {code}{meant}; --lang ud, or --level 3, "
        "checks what holds in every language"
    )


class Message(NamedTuple):
    """What the validator says of a line."""

    file: int  # of those given, from 0
    line: int  # from 1
    level: int
    rule: str
    is_error: bool  # else a warning
    text: str


def command(language: str = "", level: str = "") -> list[str] | None:
    """The command that validates files, by default what holds in every language, or all rules of
    one.

    None: udtools is not installed.
    """
    program = shutil.which("udvalidate", path=str(Path(sys.executable).parent)) or shutil.which(
        "udvalidate"
    )
    level = level or ("5" if language else "3")
    return [program, f"--lang={language or 'ud'}", f"--level={level}"] if program else None


def messages(texts: Iterable[str], language: str = "", level: str = "") -> list[Message]:
    """What the validator says of the files of one treebank, given as CoNLL-U, in its order.

    Raises: UsageError, there is no validator, it cannot be run, or fails.
    """
    validator = command(language, level)
    if validator is None:
        what = "the validator of Universal Dependencies is not installed"
        raise UsageError(f"{what}: {how_to_install('validate')}")
    with TemporaryDirectory(prefix="vdgi-", ignore_cleanup_errors=True) as folder:
        paths = []
        for number, text in enumerate(texts):
            paths.append(str(Path(folder, f"{number}.conllu")))
            Path(paths[-1]).write_bytes(text.encode())
        try:
            done = subprocess.run(
                [*validator, "--max-err", "0", *paths],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            )
        except OSError as error:
            raise UsageError(
                f"the validator {shlex.join(validator)} cannot be run: {error}"
            ) from None
    output = done.stdout.decode(errors="replace")
    if done.returncode and "*** FAILED ***" not in output:
        last = (output.strip().splitlines() or ["it says nothing"])[-1]
        raise UsageError(f"the validator {shlex.join(validator)} failed: {last[:200]}")
    return [
        Message(int(file or 0), int(line), int(level), rule, kind.upper() != "WARNING", text)
        for file, line, level, kind, rule, text in _MESSAGE.findall(output)
    ]


def lacks_language(messages: Iterable[Message]) -> bool:
    """Whether the validator has no lists for the language: then not even the relation of the root
    is in one."""
    return any(each.rule == "unknown-deprel" and "'root'" in each.text for each in messages)


def groups_by_rule(messages: Iterable[Message]) -> list[list[Message]]:
    """The messages by rule, errors first, then the rules with the most."""
    groups: dict[tuple[bool, int, str], list[Message]] = {}
    for message in messages:
        groups.setdefault((not message.is_error, message.level, message.rule), []).append(message)
    return [groups[key] for key in sorted(groups, key=lambda key: (key[0], -len(groups[key]), key))]


def report(
    messages: Sequence[Message],
    place: Callable[[Message], str],
    called: Sequence[str],
    most: int = 1,
    hint: str = "",
) -> list[str]:
    """Lines about the messages of a command: by rule, with number and first places; then the sums.

    hint: what stands behind the number of further places.
    """
    lines = []
    for group in groups_by_rule(messages):
        kind = "error" if group[0].is_error else "warning"
        lines.append(f"{count(len(group), kind)}: {group[0].rule} (level {group[0].level})")
        lines += [f"  {place(message)}: {message.text}" for message in group[:most]]
        if 0 < most < len(group):
            lines.append(f"  and {len(group) - most:,} more{hint}")
    n_errors = sum(message.is_error for message in messages)
    sums = f"{count(n_errors, 'error')}, {count(len(messages) - n_errors, 'warning')}"
    return [*lines, f"{shlex.join([Path(called[0]).name, *called[1:]])}: {sums}"]

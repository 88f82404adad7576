"""UD's own validator, where it is installed: it is under the GPL, so it runs as a program of its own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.limits import how_to_install
from dynet_vdgi.system.names import count

VARIABLE = "VDGI_UD_VALIDATOR"
"""Environment variable with the command of another validator, such as `python3 validate.py --lang ta`."""

_MESSAGE = re.compile(r"\[(?:File (\d+)\.conllu )?Line (\d+)\b.*?\]: \[L(\d) (\w+) ([\w-]+)\] (.*)")


class Message(NamedTuple):
    """What the validator says of a line."""

    file: int  # of those given, from 0
    line: int  # from 1
    level: int
    rule: str
    is_error: bool  # else a warning
    is_of_comments: bool  # it stands at the first word's line
    text: str


class CrashError(UsageError):
    """The validator ended early; `messages`: what it had said before."""

    def __init__(self, text: str, messages: Sequence[Message]) -> None:
        super().__init__(text)
        self.messages = messages


def command(language: str = "", level: str = "") -> list[str] | None:
    """The command that validates files, by default what holds in every language, or all rules of one.

    The command in VARIABLE has arguments of its own, and gets more only where they are given here. None: no
    validator is installed.

    Raises: UsageError, the command in VARIABLE is malformed.
    """
    if named := os.environ.get(VARIABLE, "").strip():
        try:
            program = shlex.split(named)
        except ValueError as error:
            raise UsageError(f"{VARIABLE}={named}: {error}") from None
    else:
        beside = str(Path(sys.executable).parent)
        found = shutil.which("udvalidate", path=beside) or shutil.which("udvalidate")
        if not found:
            return None
        program, level = [found], level or ("5" if language else "3")
        language = language or "ud"
    return program + [f"--{name}={value}" for name, value in (("lang", language), ("level", level)) if value]


def messages(
    texts: Iterable[str], language: str = "", level: str = "", patience: float | None = None
) -> list[Message]:
    """What the validator says of the files of one treebank, given as CoNLL-U, in its order.

    Raises: UsageError, there is no validator, it cannot be run, or takes more than `patience` seconds;
    CrashError.
    """
    validator = command(language, level)
    if validator is None:
        message = "the validator of Universal Dependencies is not installed"
        raise UsageError(f"{message}: {how_to_install('validate')} (or name another one in {VARIABLE})")
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
                timeout=patience,
                check=False,
                env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"the validator {shlex.join(validator)} cannot be run: {error}") from None
    said = done.stdout.decode(errors="replace")
    found = [
        Message(
            int(file or 0),
            int(line),
            int(level),
            rule,
            kind.upper() != "WARNING",
            kind.upper() == "METADATA",
            text,
        )
        for file, line, level, kind, rule, text in _MESSAGE.findall(said)
    ]
    if done.returncode and "*** FAILED ***" not in said:
        last = (said.strip().splitlines() or ["it says nothing"])[-1]
        raise CrashError(f"the validator {shlex.join(validator)} failed: {last[:200]}", found)
    return found


def grouped(found: Iterable[Message]) -> list[list[Message]]:
    """The messages by rule, errors first, then the rules with the most."""
    groups: dict[tuple[bool, int, str], list[Message]] = {}
    for message in found:
        groups.setdefault((not message.is_error, message.level, message.rule), []).append(message)
    return [groups[key] for key in sorted(groups, key=lambda key: (key[0], -len(groups[key]), key))]


def counted(found: Sequence[Message]) -> str:
    """Such as "2 errors, 1 warning"."""
    n_errors = sum(message.is_error for message in found)
    return f"{count(n_errors, 'error')}, {count(len(found) - n_errors, 'warning')}"

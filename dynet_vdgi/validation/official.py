"""The official validator of Universal Dependencies, where it is installed: a program of its own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from dynet_vdgi.errors import UsageError

VARIABLE = "VDGI_UD_VALIDATOR"
"""Environment variable with the command of another validator, such as `python3 validate.py --lang ta`."""

ARGUMENTS = ["--lang", "ud", "--level", "3"]
"""What holds in every language; the command in VARIABLE has arguments of its own."""

PATIENCE = 600
"""Seconds after which a validator is ended that says nothing."""

_MESSAGE = re.compile(r"\[Line (\d+)\b.*?\]: (\[L\d .*)")


class Message(NamedTuple):
    """What the validator says of a line, from 1."""

    line: int
    text: str


def command() -> list[str] | None:
    """The command that validates a file; None: no validator is installed.

    Raises: UsageError, the one in VARIABLE is malformed.
    """
    if named := os.environ.get(VARIABLE, "").strip():
        try:
            return shlex.split(named)
        except ValueError as error:
            raise UsageError(f"{VARIABLE}={named}: {error}") from None
    beside = str(Path(sys.executable).parent)
    found = shutil.which("udvalidate", path=beside) or shutil.which("udvalidate")
    return [found, *ARGUMENTS] if found else None


def messages(text: str) -> list[Message]:
    """What the validator says of a text in CoNLL-U, in its order. Raises: UsageError, it cannot be run."""
    validator = command()
    if validator is None:
        raise UsageError(f"no validator is installed: pip install udtools, or name one in {VARIABLE}")
    with TemporaryDirectory(prefix="vdgi-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "text.conllu")
        path.write_bytes(text.encode())
        try:
            done = subprocess.run(
                [*validator, "--max-err", "0", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"the validator {shlex.join(validator)} cannot be run: {error}") from None
    said = done.stdout.decode(errors="replace")
    found = [Message(int(line), text) for line, text in _MESSAGE.findall(said)]
    if done.returncode and not found:
        last = (said.strip().splitlines() or ["it says nothing"])[-1]
        raise UsageError(f"the validator {shlex.join(validator)} failed: {last[:200]}")
    return found

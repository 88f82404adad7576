"""Checks, before any work, that the files a user names can be used together."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress

from dynet_vdgi.data.files import STANDARD, AnyPath, is_conllu, shown, without_ending
from dynet_vdgi.errors import UsageError


def check_output(
    output: AnyPath,
    inputs: Iterable[AnyPath],
    hint: str = "name another file",
    option: str = "-o",
    *,
    ending: str = "",
) -> None:
    """Checks the name of an output; `ending`: the usual one of such files, if they are not CoNLL-U.

    Raises: `UsageError`, the output is one of the inputs, perhaps under another name, or has the name of a
    CoNLL-U file but will be none.
    """
    for name in inputs:
        with suppress(OSError, ValueError, AttributeError):
            found = _status(name)
            if name == STANDARD and not stat.S_ISREG(found.st_mode):  # a terminal: nothing is lost
                continue
            if output != STANDARD and os.path.samestat(found, os.stat(output)):
                what = (
                    "this is an input" if os.fspath(name) == os.fspath(output) else f"this is {shown(name)}"
                )
                raise UsageError(f"{option} {os.fspath(output)}: {what}, which would be lost ({hint})")
    if ending and is_conllu(output):
        name = without_ending(output) + ending
        raise UsageError(f"{option} {os.fspath(output)}: the output is not CoNLL-U (name it {name})")


def check_new(output: AnyPath, *, overwrite: bool) -> None:
    """Raises: `UsageError`, the file is there already, and it may not be overwritten."""
    if os.path.isfile(output) and not overwrite:
        raise UsageError(
            f"-o {os.fspath(output)}: exists already (--overwrite replaces it, or name another file)"
        )


def check_read_once(names: Iterable[AnyPath]) -> None:
    """Raises: `UsageError`, standard input, a pipe or a device is named twice but can be read only once."""
    met: set[tuple[int, int] | AnyPath] = set()
    for name in names:
        one = _read_once(name)
        if one is not None and one in met:
            raise UsageError(f"{_called(name)} can be read only once")
        met.add(one or name)


def check_read_again(names: Iterable[AnyPath], why: str) -> None:
    """Raises: `UsageError`, standard input, a pipe or a device is named but has to be read again."""
    for name in names:
        if _read_once(name) is not None:
            raise UsageError(f"{why}: save {_called(name)} to a file first")


def _read_once(name: AnyPath) -> tuple[int, int] | AnyPath | None:
    """A key for an input that can be read only once; None for a file, a directory, or an unreadable name."""
    try:
        status = _status(name)
    except (OSError, ValueError, AttributeError):  # reading it shows what is wrong
        return name if name == STANDARD else None
    if name != STANDARD and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return None
    return status.st_dev, status.st_ino


def _status(name: AnyPath) -> os.stat_result:
    """Raises: OSError, ValueError, and AttributeError if there is no standard input."""
    return os.fstat(sys.stdin.fileno()) if name == STANDARD else os.stat(name)


def _called(name: AnyPath) -> str:
    return "standard input (-)" if name == STANDARD else repr(os.fspath(name))

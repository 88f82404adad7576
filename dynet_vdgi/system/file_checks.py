"""Checks, before any work, that the files a user names can be used together."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress

from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.files import STANDARD, AnyPath, is_conllu, shown, without_ending


def check_output(
    output: AnyPath,
    inputs: Iterable[AnyPath],
    hint: str = "name another file",
    option: str = "-o",
    *,
    ending: str = "",
) -> None:
    """Checks the name of an output; `ending`: the usual one of such files, if they are not CoNLL-U.

    Raises: `UsageError`, the output is one of the inputs, perhaps under another name, or has the
    name of a CoNLL-U file but will be none.
    """
    for name in inputs:
        with suppress(OSError, ValueError, AttributeError):  # no file, or standard input is closed
            status = os.fstat(sys.stdin.fileno()) if name == STANDARD else os.stat(name)
            if name == STANDARD and not stat.S_ISREG(status.st_mode):  # a terminal: nothing is lost
                continue
            if output != STANDARD and os.path.samestat(status, os.stat(output)):
                is_same = os.fspath(name) == os.fspath(output)
                what = "this is an input" if is_same else f"this is {shown(name)}"
                raise UsageError(
                    f"{option} {os.fspath(output)}: {what}, which would be lost ({hint})"
                )
    if ending and is_conllu(output):
        name = without_ending(output) + ending
        raise UsageError(
            f"{option} {os.fspath(output)}: the output is not CoNLL-U (name it {name})"
        )


def check_new(output: AnyPath, *, overwrite: bool) -> None:
    """Raises: `UsageError`, the file is there already, and it may not be overwritten."""
    if os.path.isfile(output) and not overwrite:
        raise UsageError(
            f"-o {os.fspath(output)}: exists already "
            "(--overwrite replaces it, or name another file)"
        )


def check_read_once(names: Iterable[AnyPath]) -> None:
    """Raises: `UsageError`, standard input, a pipe or a device is named twice but can be read only
    once."""
    met: set[AnyPath] = set()
    for name in filter(_is_stream, names):
        if name in met:
            raise UsageError(f"{_called(name)} can be read only once")
        met |= {name} if name not in ("-", "/dev/stdin") else {"-", "/dev/stdin"}


def check_read_again(names: Iterable[AnyPath], why: str) -> None:
    """Raises: `UsageError`, standard input, a pipe or a device is named but has to be read
    again."""
    for name in filter(_is_stream, names):
        raise UsageError(f"{why}: save {_called(name)} to a file first")


def _is_stream(name: AnyPath) -> bool:
    """Whether an input can be read only once: standard input, a pipe or a device."""
    return name == STANDARD or (
        os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)
    )


def _called(name: AnyPath) -> str:
    return "standard input (-)" if name == STANDARD else repr(os.fspath(name))

"""Errors that a user can cause. Each class carries the exit status that scripts see (see
`cli.py`)."""

from __future__ import annotations


class VdgiError(Exception):
    """A fault with a message for the user; anything else that escapes is a bug (exit status 1)."""

    exit_status = 1


class UsageError(VdgiError):
    """The command line asks for something impossible (exit status 2)."""

    exit_status = 2


class InUseError(UsageError):
    """Another process has the file."""


class DataError(VdgiError):
    """A file's content is at fault (exit status 3). Reads `path:line: what is wrong (what to do)`.

    `line` counts from 1; None where the whole file is meant.
    """

    exit_status = 3

    def __init__(self, path: str, line: int | None, message: str, hint: str = "") -> None:
        self.path, self.line, self.message, self.hint = path, line, message, hint
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {message}" + (f" ({hint})" if hint else ""))

    def __reduce__(self) -> tuple[type, tuple[str, int | None, str, str]]:
        """Errors come back from worker processes."""
        return type(self), (self.path, self.line, self.message, self.hint)


class ConfigError(VdgiError):
    """A setting, preset or rule file is at fault (exit status 4)."""

    exit_status = 4


class ModelError(VdgiError):
    """A model file cannot be used (exit status 4)."""

    exit_status = 4


def check_kind(name: str, value: object, kinds: type | tuple[type, ...], wanted: str) -> None:
    """Raises: UsageError, the value of the argument `name` is of none of these kinds."""
    if not isinstance(value, kinds):
        raise UsageError(f"{name}={value!r:.60}: {wanted} is expected")

"""Regular expressions that somebody types: looked for in many values, for a limited time.

Some never end, such as `(a|aa)+c` in forty letters. Python's own search has no limit, and
meanwhile no other thread runs; that of the package regex has one, and others run. What is an
expression is what Python's `re` says.
"""

from __future__ import annotations

import re
import time
import warnings

from dynet_vdgi.errors import UsageError

SECONDS, PER_VALUE = 2.0, 0.0001
"""Of searching: at first, and more with each value, of which hundreds usually take as long."""


MOST_COPIES = 200_000
"""Characters of an expression times copies of groups: a hundredth of a second, and some
megabytes."""

_REPEATED_GROUP = re.compile(r"\)(?:\s|#[^\n]*\n)*(?:\+|\{([0-9]+))")


class Expression:
    """An expression that is part of values.

    Raises: UsageError, it is no regular expression, or repeats groups in groups too often.
    """

    def __init__(self, text: str) -> None:
        import regex  # late: reading files needs none

        self.text = text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(text)
                _check_copies(text)
            self._pattern = regex.compile(text)
        except (
            re.error,
            regex.error,
            OverflowError,
            RecursionError,
            MemoryError,
            ValueError,
        ) as error:
            raise UsageError(f"{text[:40]!r} is no regular expression: {error}") from None
        self._left = SECONDS

    def is_in(self, value: str) -> bool:
        """Whether it matches a part of a value.

        Raises: UsageError, it has taken too long by now.
        """
        self._left += PER_VALUE
        start = time.perf_counter()
        try:
            match = self._pattern.search(value, timeout=self._left, concurrent=True)
        except (TimeoutError, MemoryError):
            self._left = 0.0
        else:
            self._left -= time.perf_counter() - start
        if self._left <= 0:
            what = f"the regular expression {self.text[:40]!r} takes too long, at {value[:40]!r}"
            raise UsageError(
                f"{what}: write it without repeating what repeats, such as a+ for (a+)+"
            )
        return match is not None


def _check_copies(text: str) -> None:
    """Raises: ValueError, groups are repeated so often that only to read the expression takes long.

    The package regex copies a group as often as it must be there, and once more. So
    `(?:(?:a?){5000}){5000}` takes minutes, and all memory. Groups that follow each other count as
    if they were in each other.
    """
    copies = len(text)
    for match in _REPEATED_GROUP.finditer(text):
        copies *= int(match[1] or 1) + 1
        if copies > MOST_COPIES:
            raise ValueError("it repeats groups too often")

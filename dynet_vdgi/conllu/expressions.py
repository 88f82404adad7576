"""Regular expressions that somebody types: looked for in many values, for a limited time.

Some never end, such as `(a|aa)+c` in forty letters. Python's own search has no limit, and meanwhile no other thread
runs; that of the package regex has one, and others run. What is an expression is what Python's `re` says.
"""

from __future__ import annotations

import re
import time
import warnings

from dynet_vdgi.errors import UsageError

SECONDS, PER_VALUE = 2.0, 0.0001
"""Of searching: at first, and more with each value, of which hundreds usually take as long."""


class Expression:
    """An expression that is part of values.

    Raises: UsageError, it is no regular expression.
    """

    def __init__(self, text: str) -> None:
        import regex  # late: reading files needs none

        self.text = text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(text)
            self._pattern = regex.compile(text)
        except (re.error, regex.error, OverflowError, RecursionError, MemoryError, ValueError) as error:
            raise UsageError(f"{text[:40]!r} is no regular expression: {error}") from None
        self._left = SECONDS

    def is_in(self, value: str) -> bool:
        """Whether it matches a part of a value. Raises: UsageError, it has taken too long by now."""
        self._left += PER_VALUE
        start = time.perf_counter()
        try:
            found = self._pattern.search(value, timeout=self._left, concurrent=True)
        except (TimeoutError, MemoryError):
            self._left = 0.0
        else:
            self._left -= time.perf_counter() - start
        if self._left <= 0:
            what = f"the regular expression {self.text[:40]!r} takes too long, at {value[:40]!r}"
            raise UsageError(f"{what}: write it without repeating what repeats, such as a+ for (a+)+")
        return found is not None

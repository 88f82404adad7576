"""Progress of long work, if messages are wanted, and an orderly end when a signal asks for it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

logger = logging.getLogger("dynet_vdgi")

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0
"""Seconds before the first line, and most seconds between two: each waits twice as long as the one
before."""


def is_wanted() -> bool:
    """Whether the package's logger takes INFO."""
    return logger.isEnabledFor(logging.INFO)


def is_shown() -> bool:
    """Whether bars appear: standard error is a terminal, and messages are wanted."""
    return sys.stderr is not None and sys.stderr.isatty() and is_wanted()


class Bar:
    """Counts up to `total` (None: not known) from `start`; a context manager. On a terminal it is a
    bar, elsewhere lines at longer and longer intervals, from a thread of its own.

    `unit` is a noun in the plural, such as "sentences". No line comes before something is counted:
    what keeps the user waiting then has messages of its own.
    """

    def __init__(self, unit: str, total: int | None = None, start: int = 0) -> None:
        self.n, self._unit, self._total = start, unit, total
        self._began, self._ended = time.monotonic(), threading.Event()
        self._bar: Any = None
        if is_shown():
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=start, unit=f" {unit}", leave=False)
        elif is_wanted():
            threading.Thread(target=self._tell_now_and_then, daemon=True).start()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.close()

    def _tell_now_and_then(self) -> None:
        pause = FIRST_PAUSE
        while not self._ended.wait(pause):
            self.tell()
            pause = min(2 * pause, LONGEST_PAUSE)

    def tell(self) -> None:
        """A line about how far this has come."""
        if self.n:
            of_all = "" if self._total is None else f" of {self._total:,}"
            seconds = time.monotonic() - self._began
            logger.info("%s%s %s after %.0f s", f"{self.n:,}", of_all, self._unit, seconds)

    def update(self, n: int = 1) -> None:
        self.n += n
        if self._bar is not None:
            self._bar.update(n)

    def clear(self) -> None:
        """Removes the bar from the screen until the next update, to make way for a message."""
        if self._bar is not None:
            self._bar.clear()

    def write(self, line: str) -> None:
        """Prints a line above the bar, on standard error."""
        if self._bar is None:
            print(line, file=sys.stderr)
        else:
            self._bar.write(line, file=sys.stderr)


def over(items: Iterable[T], unit: str) -> Iterator[T]:
    """Yields the items and counts them by a bar. The total is `len(items)` if they have a
    length."""
    if not is_wanted():
        yield from items
        return
    total = len(items) if isinstance(items, Sized) else None
    with Bar(unit, total) as bar:
        for item in items:
            yield item
            bar.update()

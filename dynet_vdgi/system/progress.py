"""Progress bars: on standard error, if it is a terminal and messages are wanted; otherwise nothing."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

logger = logging.getLogger("dynet_vdgi")

T = TypeVar("T")


def is_shown() -> bool:
    """Whether bars appear: standard error is a terminal, and the package's logger takes INFO."""
    return sys.stderr is not None and sys.stderr.isatty() and logger.isEnabledFor(logging.INFO)


class Bar:
    """A bar that counts up to `total` (None: not known) from `start`; a context manager.

    `unit` is a noun in the plural, such as "sentences".
    """

    def __init__(self, unit: str, total: int | None = None, start: int = 0) -> None:
        self._bar: Any = None
        if is_shown():
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=start, unit=f" {unit}", leave=False)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, n: int = 1) -> None:
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


def over(items: Iterable[T], unit: str, total: int | None = None) -> Iterator[T]:
    """Yields the items and counts them by a bar. The total is `len(items)` if they have a length."""
    if not is_shown():
        yield from items
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    with Bar(unit, total) as bar:
        for item in items:
            yield item
            bar.update()

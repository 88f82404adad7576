"""Signals that end the program as Ctrl-C does: work under way is abandoned, and nothing is left
behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """A signal came. A plain KeyboardInterrupt in code run from a string would end Python by
    SIGINT."""


@contextmanager
def ended_by_signals() -> Iterator[list[int]]:
    """A block in which the first such signal raises KeyboardInterrupt; its number goes into the
    list.

    Later signals are ignored, so that they cannot interrupt the cleaning up. A signal that is
    already ignored (nohup) stays ignored.
    """
    received: list[int] = []

    def end(number: int, frame: Any) -> None:
        if not received:
            received.append(number)
            raise Ended

    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {
            number: signal.signal(number, end)
            for number in SIGNALS
            if signal.getsignal(number) == signal.SIG_DFL
        }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_parent() -> None:
    """From now on, ends this `multiprocessing` process when its parent is gone."""
    import multiprocessing  # slow, and this module is the first to be imported

    def wait() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()

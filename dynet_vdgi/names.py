"""Names in messages: the nearest of those there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, names: Iterable[str], cutoff: float = 0.5) -> str:
    """`; did you mean 'x'?` with the nearest name, or an empty text."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=cutoff)
    return f"; did you mean '{close[0]}'?" if close else ""

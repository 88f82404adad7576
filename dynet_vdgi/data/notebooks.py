"""How a sentence shows itself in a notebook.

Drawing stands above `data`, so `data` cannot import it. The package's `__init__`, which runs before any of
its modules, puts the function here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

picture: Callable[[Any], str] | None = None
"""The SVG of a sentence with heads."""

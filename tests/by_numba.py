"""Compiled functions as numba calls them from Python; in the package they are parts of kernels
only."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dynet_vdgi.system.jit import Compiled


class ByNumba:
    """A module whose compiled functions can be called."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return found.dispatcher if isinstance(found, Compiled) else found

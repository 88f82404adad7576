"""Numbers for values that recur, and arrays of a function's results for them.

Letters: R different values, N numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.system.arrays import Ints

T = TypeVar("T")


class Known(Generic[T]):
    """Values by number, from 0 in order of arrival."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forgets all numbers."""
        self.known: list[T] = []
        self._tables: dict[Hashable, NDArray[Any]] = {}

    def table(self, key: Hashable, function: Callable[[T], Any], dtype: Any = np.int64) -> NDArray[Any]:
        """The results of a function for each value (R,) or, if it returns rows, (R, columns).

        Results are kept under the key, so the function is called once for a value. It may number further
        values meanwhile.
        """
        return self.table_of_all(key, lambda values: np.array([function(value) for value in values], dtype))

    def table_of_all(self, key: Hashable, function: Callable[[list[T]], NDArray[Any]]) -> NDArray[Any]:
        """As `table`, of a function that takes new values together."""
        made = self._tables.get(key)
        while made is None or len(made) < len(self.known):
            n_made = 0 if made is None else len(made)
            new = function(self.known[n_made:])
            made = np.concatenate([made, new]) if made is not None and n_made else new
        self._tables[key] = made
        return made


class Numbering(Known[T]):
    """Numbers of values, given out one value at a time when the value first occurs."""

    def forget(self) -> None:
        super().forget()
        self._numbers: dict[T, int] = {}

    def __call__(self, value: T) -> int:
        """The number of a value, a new one if the value is new."""
        number = self._numbers.setdefault(value, len(self.known))
        if number == len(self.known):
            self.known.append(value)
        return number

    def changed(self, numbers: Ints, function: Callable[[T], T]) -> Ints:
        """The numbers (N,) of the function's results for the values with these numbers (N,)."""
        return translated(numbers, len(self.known), lambda k: self(function(self.known[k])))


def translated(numbers: Ints, size: int, function: Callable[[int], int]) -> Ints:
    """The results of a function for numbers (N,) below size; it is called once for each different number."""
    table = np.zeros(size, np.int64)
    for k in np.flatnonzero(np.bincount(numbers, minlength=size)).tolist():
        table[k] = function(k)
    return table[numbers]

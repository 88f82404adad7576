"""The data that engines and training phases exchange; plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.vocabulary import Encoded

Floats = NDArray[np.float64]


@dataclass
class Samples:
    """M derivations of one sentence of n words, with their scores in nats."""

    actions: list[list[int]]  # (M, 2n - 1)
    heads: list[tuple[int, ...]]  # (M, n)
    log_q: Floats  # (M,)
    log_p: Floats  # (M,)


Phase = Callable[[Encoded, Samples], "tuple[Floats, Floats]"]
"""From the samples of one sentence to the weights (M,) of their -log q and of their -log p in the loss."""

"""The data that engines and training phases exchange; plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dynet_vdgi.data.vocabulary import Encoded
from dynet_vdgi.system.arrays import Floats


@dataclass
class Samples:
    """M derivations of one sentence of n words, with their scores in nats."""

    actions: list[list[int]]  # (M, 2n - 1)
    heads: list[tuple[int, ...]]  # (M, n)
    log_q: Floats  # (M,)
    log_p: Floats  # (M,)


Phase = Callable[[Encoded, Samples], "tuple[Floats, Floats]"]
"""From the samples of one sentence to the weights (M,) of their -log q and of their -log p in the loss."""

"""Tools of every engine: the networks over one set of parameters, a new graph, choosing actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.vocabulary import Vocabulary
from dynet_vdgi.lexicon.vectors import Embeddings
from dynet_vdgi.paper.decoder import Decoder
from dynet_vdgi.paper.encoder import Encoder
from dynet_vdgi.paper.layers import Parameters
from dynet_vdgi.paper.settings import ModelSettings
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.dynet_setup import dy

Choose = Callable[[int, list[int], Callable[[], Floats]], Sequence[int]]
"""(step, derivations that choose now, their log-probabilities (R, 3) on demand) -> their actions
(R,)."""


class Network:
    """Encoder and decoder over one set of parameters."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        settings: ModelSettings,
        rng: np.random.Generator,
        vectors: Embeddings | None = None,
    ) -> None:
        self.parameters = Parameters(rng)
        self.encoder = Encoder(self.parameters, vocabulary, settings, vectors)
        self.decoder = Decoder(self.parameters, vocabulary, settings, vectors)


def new_graph(autobatch: bool) -> None:
    """Discards the old graph, whose expressions must not be used again."""
    dy.renew_cg(autobatching=autobatch)


def legal_log_probabilities(logits: Floats, can_shift: NDArray[np.bool_]) -> Floats:
    """Log-softmax (R, 3) over the legal actions of states where both REDUCEs are legal; -inf for
    the rest."""
    masked = np.where(
        np.stack([can_shift, np.ones_like(can_shift), np.ones_like(can_shift)], 1), logits, -np.inf
    )
    masked = masked - masked.max(axis=1, keepdims=True)
    return np.asarray(masked - np.log(np.exp(masked).sum(axis=1, keepdims=True)))


def sample_actions(rng: np.random.Generator, exponent: float = 1.0) -> Choose:
    """Draws actions from q, or from q to the power of `exponent`, renormalised at every step."""

    def choose(
        step: int, rows: list[int], log_probabilities: Callable[[], Floats]
    ) -> Sequence[int]:
        probabilities = np.exp(exponent * log_probabilities())
        cumulative = probabilities.cumsum(axis=1)
        drawn = (rng.random((len(rows), 1)) * cumulative[:, -1:] >= cumulative).sum(axis=1)
        return [int(action) for action in drawn]

    return choose


def forcing(derivations: Sequence[Sequence[int]]) -> Choose:
    """Follows given derivations without evaluating any scores."""

    def choose(
        step: int, rows: list[int], log_probabilities: Callable[[], Floats]
    ) -> Sequence[int]:
        return [derivations[k][step] for k in rows]

    return choose

"""The encoder as a parser: the most probable action at every step, for many sentences of one length
at once."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Tree
from dynet_vdgi.conllu.vocabulary import Encoded, Vocabulary
from dynet_vdgi.paper.encoder import Encoder
from dynet_vdgi.paper.layers import Parameters
from dynet_vdgi.paper.lockstep import encoder_pass
from dynet_vdgi.paper.lockstep_rows import Batch
from dynet_vdgi.paper.network import new_graph
from dynet_vdgi.paper.per_sentence import greedy
from dynet_vdgi.paper.settings import ModelSettings

AT_ONCE = 256
"""Sentences of one length that are parsed together: 64 are 1.2 times slower, more hardly faster."""

PREFIX = "encoder/"
"""How the names of the encoder's parameters begin."""

_graph_lock = threading.Lock()  # DyNet has one graph for all threads


class GreedyParser:
    """An encoder with these parameters; those of a decoder are ignored.

    Raises: ModelError, the parameters do not fit.
    """

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], vocabulary: Vocabulary, settings: ModelSettings
    ) -> None:
        parameters = Parameters(np.random.default_rng(0))
        self.encoder = Encoder(parameters, vocabulary, settings)
        parameters.load({name: array for name, array in arrays.items() if name.startswith(PREFIX)})

    def parse(self, sentences: Sequence[Encoded]) -> list[Tree]:
        """The greedy trees (n,)."""
        of_length: dict[int, list[int]] = defaultdict(list)
        for k, sentence in enumerate(sentences):
            of_length[len(sentence)].append(k)
        trees: list[Tree] = [()] * len(sentences)
        for n, places in of_length.items():
            for start in range(0, len(places) if n else 0, AT_ONCE):
                members = places[start : start + AT_ONCE]
                batch = Batch([sentences[k] for k in members])
                with _graph_lock:
                    new_graph(autobatch=False)
                    rows, _ = encoder_pass(
                        self.encoder, batch, 1, greedy, training=False, merge=False
                    )
                for k, heads in zip(members, rows.heads.tolist()):
                    trees[k] = tuple(heads)
        return trees

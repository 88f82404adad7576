"""An LSTM language model of tags, or in lexicalised models of words: the baseline b(x) of RL-BL.

Two layers, output weights tied to the embeddings, dropout on the input, between the layers and on the
output; it predicts every item of a sentence, not its end (paper, section "Experiments", and the released
code). Shapes: H hidden units, V items, B sentences of n items.
"""

from __future__ import annotations

from collections.abc import Sequence

import dynet as dy
import numpy as np

from dynet_vdgi.model.layers import Expression, Lstm, Parameters
from dynet_vdgi.settings.neural_settings import ModelSettings

N_LAYERS = 2


class LanguageModel:
    """Parameters and the loss of a batch of equally long sentences."""

    def __init__(self, n_items: int, hidden: int, dropout: float, rng: np.random.Generator) -> None:
        self.parameters = Parameters(rng)
        sizes = ModelSettings(hidden_dim=hidden)
        self.items = self.parameters.matrix("items", n_items, hidden)
        self.bias = self.parameters.bias("bias", n_items)
        self.layers = [Lstm(self.parameters, f"layer{k}", sizes) for k in range(N_LAYERS)]
        self.start = self.parameters.bias("start", hidden)  # stands before the first item
        self.dropout = dropout

    def nll(self, sentences: Sequence[Sequence[int]], training: bool = False) -> Expression:
        """-log p (1,)xB of sentences of ids 0..V-1, in the current graph, which is not autobatched."""
        size = len(sentences)
        states = [(dy.zeros((layer.hidden,), batch_size=size),) * 2 for layer in self.layers]
        inputs = dy.concatenate_to_batch([self.start] * size)
        terms = []
        for items in zip(*sentences):
            x = self._dropped(inputs, training)
            for k, layer in enumerate(self.layers):
                states[k] = layer.step(x, *states[k])
                x = self._dropped(states[k][0], training)
            logits = dy.affine_transform([self.bias, self.items, x])
            terms.append(dy.pickneglogsoftmax_batch(logits, list(items)))
            inputs = dy.pick_batch(self.items, list(items))  # rows: tied weights
        return dy.esum(terms)

    def loss(self, sentences: Sequence[Sequence[int]]) -> Expression:
        """The mean of -log p (1,), with dropout."""
        return dy.mean_batches(self.nll(sentences, training=True))

    def _dropped(self, x: Expression, training: bool) -> Expression:
        return dy.dropout(x, self.dropout) if training and self.dropout else x

"""An LSTM language model of tags, or in lexicalised models of words: the baseline b(x) of RL-BL.

Two layers, output weights tied to the embeddings, dropout on the input, between the layers and on
the output; it predicts every item of a sentence, not the end (paper, supplement, "RL-BL", and the
released code). It is trained before fine-tuning and stays as it is; `baseline` shifts and rescales
what it says. Shapes: H hidden units, V items, B sentences of n items.

Without anything learnt, three items of four possible ones have -log p = 3 log 4:

>>> model = LanguageModel(n_items=4, hidden=2, dropout=0.0, rng=np.random.default_rng(0))
>>> model.parameters.load({name: 0.0 * array for name, array in model.parameters.arrays().items()})
>>> new_graph(autobatch=False)
>>> [round(value, 3) for value in model.nll([(0, 1, 3)]).vec_value()]
[4.159]
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from dynet_vdgi.conllu.vocabulary import Encoded, Vocabulary
from dynet_vdgi.paper.layers import Expression, Lstm, Parameters, finite, seed_dropout
from dynet_vdgi.paper.minibatches import minibatches
from dynet_vdgi.paper.network import new_graph
from dynet_vdgi.paper.optimiser import AdaGrad
from dynet_vdgi.paper.settings import LanguageModelSettings, ModelSettings, TrainSettings
from dynet_vdgi.system.dynet_setup import dy

N_LAYERS = 2

HELD_OUT = 0.1
"""Share of the sentences that choose the language model's best epoch."""

logger = logging.getLogger("dynet_vdgi")


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
        """-log p (1,)xB of sentences of ids 0..V-1, in the current graph, without autobatching."""
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


def train_language_model(
    sentences: Sequence[Encoded], vocabulary: Vocabulary, settings: LanguageModelSettings, seed: int
) -> dict[Encoded, float]:
    """-log p(x) of every sentence, in nats, by a language model of the sentences.

    Of tags; in lexicalised models of words. The epoch with the best perplexity on a held-out tenth
    is taken.
    """
    lexicalised = bool(vocabulary.words)
    items = [s.words if lexicalised else tuple(tag - 1 for tag in s.tags) for s in sentences]
    n_items = len(vocabulary.words) + 1 if lexicalised else len(vocabulary.tags)
    rng = np.random.default_rng(seed)
    model = LanguageModel(n_items, settings.hidden_dim, settings.dropout, rng)
    optimiser = AdaGrad(
        model.parameters, TrainSettings(lr=settings.lr, clip=settings.clip, l2=0.0, average=0.0)
    )
    order = rng.permutation(len(items)).tolist()
    n_held_out = min(max(1, round(HELD_OUT * len(items))), len(items) - 1)
    held_out = [items[k] for k in order[:n_held_out]] or items
    trained_on = [items[k] for k in order[n_held_out:]]
    n_words = sum(map(len, held_out))
    best = np.inf
    best_arrays = model.parameters.arrays()
    for epoch in range(settings.epochs):
        _epoch(
            model, optimiser, trained_on, settings.batch_size, np.random.default_rng([seed, epoch])
        )
        nll = sum(_nll(model, held_out, settings.batch_size)) / n_words
        if nll < best:
            best, best_arrays = nll, model.parameters.arrays()
    model.parameters.load(best_arrays)
    logger.info("language model for the baseline: held-out perplexity %.2f", np.exp(best))
    return dict(zip(sentences, _nll(model, items, settings.batch_size)))


def _epoch(
    model: LanguageModel,
    optimiser: AdaGrad,
    items: Sequence[Sequence[int]],
    batch_size: int,
    rng: np.random.Generator,
) -> None:
    seed_dropout(rng)
    for batch in minibatches([len(s) for s in items], batch_size, rng):
        new_graph(autobatch=False)
        loss = model.loss([items[k] for k in batch])
        finite(loss)
        loss.backward()
        optimiser.update()


def _nll(model: LanguageModel, items: Sequence[Sequence[int]], batch_size: int) -> list[float]:
    """-log p of every sentence."""
    result = [0.0] * len(items)
    for batch in minibatches([len(s) for s in items], batch_size, np.random.default_rng(0)):
        new_graph(autobatch=False)
        for k, value in zip(batch, finite(model.nll([items[k] for k in batch])).tolist()):
            result[k] = value
    return result

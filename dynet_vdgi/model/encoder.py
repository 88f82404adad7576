"""The encoder q(a|x): a discriminative dependency RNNG, which is also the parser (paper, Eq. 1).

Bidirectional LSTM over the words, of which the first unread one represents the buffer; a stack LSTM; one
layer over both, from which each action is scored. Nothing before that layer has dropout, so all samples of
a sentence share the bidirectional LSTM.
"""

from __future__ import annotations

import dynet as dy

from dynet_vdgi.data.embeddings import Embeddings
from dynet_vdgi.data.vocabulary import Encoded, Vocabulary
from dynet_vdgi.model.layers import (
    Expression,
    Lstm,
    Parameters,
    StackItem,
    StackLstm,
    StateLayer,
    TokenEmbedding,
    action_logits,
)
from dynet_vdgi.settings.neural_settings import ModelSettings


class Encoder:
    """Parameters of q and the expressions for one parser state."""

    def __init__(
        self,
        parameters: Parameters,
        vocabulary: Vocabulary,
        settings: ModelSettings,
        vectors: Embeddings | None = None,
    ) -> None:
        hidden = settings.hidden_dim
        self.parameters = parameters  # DyNet frees them with their collection, even if they are referred to
        self.embed = TokenEmbedding(parameters, "encoder/embed", vocabulary, settings, True, vectors)
        self.forward = Lstm(parameters, "encoder/forward", settings)
        self.backward = Lstm(parameters, "encoder/backward", settings)
        self.stack = StackLstm(parameters, "encoder/stack", settings)
        self.state = StateLayer(parameters, "encoder/state", settings, 2 * hidden, settings.encoder_dropout)
        self.empty_buffer = parameters.constant("encoder/empty_buffer", 2 * hidden)
        self.masked = settings.mask_illegal

    def read(self, sentence: Encoded) -> tuple[list[Expression], list[Expression]]:
        """Token embeddings e_1..e_n, and the buffer's part of the state layer at 0..n words read."""
        embedded = self.embed(sentence)
        forward = self.forward.over(embedded)
        backward = self.backward.over(embedded[::-1])[::-1]
        buffers = [dy.concatenate([f, b]) for f, b in zip(forward, backward)]
        buffers.append(self.empty_buffer)
        return embedded, [self.state.buffer_part(buffer) for buffer in buffers]

    def logits(self, top: StackItem, buffer_part: Expression, can_shift: bool, training: bool) -> Expression:
        """Scores (3,) of the actions in a state with at least two items on the stack."""
        return action_logits(
            self.state, self.state.embedding(top.h, buffer_part, training), can_shift, self.masked
        )

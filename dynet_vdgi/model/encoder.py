"""The encoder q(a|x): a discriminative dependency RNNG, which is also the parser (paper, Eq. 1).

Bidirectional LSTM over the words, of which the first unread one represents the buffer; a stack LSTM; one
layer over both, from which each action is scored. Nothing before that layer has dropout, so all samples of
a sentence share the bidirectional LSTM.
"""

from __future__ import annotations

from dynet_vdgi.data.embeddings import Embeddings
from dynet_vdgi.data.vocabulary import Vocabulary
from dynet_vdgi.model.layers import Lstm, Parameters, StackLstm, StateLayer, TokenEmbedding
from dynet_vdgi.settings.neural_settings import ModelSettings


class Encoder:
    """Parameters of q."""

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

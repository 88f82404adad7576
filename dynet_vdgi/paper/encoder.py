"""The encoder q(a|x): a discriminative dependency RNNG, which is also the parser (paper, Eq. 1).

Bidirectional LSTM over the words, of which the first unread one represents the buffer; a stack
LSTM; one layer over both, from which each action is scored. Nothing before that layer has dropout,
so all samples of a sentence share the bidirectional LSTM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dynet_vdgi.conllu.vocabulary import Encoded, Vocabulary
from dynet_vdgi.lexicon.vectors import Embeddings
from dynet_vdgi.paper.layers import (
    Expression,
    Lstm,
    Parameters,
    StackItem,
    StackLstm,
    StateLayer,
    TokenEmbedding,
    action_logits,
)
from dynet_vdgi.paper.settings import ModelSettings
from dynet_vdgi.paper.transitions import Action, State
from dynet_vdgi.system.array_types import Ints
from dynet_vdgi.system.dynet_setup import dy


class Prefix:
    """The parser after some actions; all derivations of a sentence that begin with them share it.

    A derivation of n words is a list of 2n prefixes: the empty one, and one after each action.
    """

    def __init__(
        self, state: State, action: int = Action.SHIFT, shorter: Prefix | None = None
    ) -> None:
        self.state, self.action, self.shorter = state, action, shorter
        self.can_shift, self.can_reduce, _ = state.legal()
        self.longer: dict[int, Prefix] = {}

    def then(self, action: int) -> Prefix:
        """The prefix with one more action."""
        if action not in self.longer:
            self.longer[action] = Prefix(self.state.after(action), action, self)
        return self.longer[action]


@dataclass
class SharedStates:
    """A network's view of one sentence; derivations share the stack LSTM's states, computed once a
    prefix."""

    stack: StackLstm
    layer: StateLayer
    embedded: list[Expression]  # e_1..e_n
    buffer_parts: list[Expression]  # of the state layer, at 0..n words read
    empty: Expression = None  # the output of an empty stack
    tops: dict[Prefix, StackItem] = field(default_factory=dict)

    def top(self, prefix: Prefix) -> StackItem | None:
        """The stack after a prefix; None is the empty stack."""
        if prefix.shorter is None:
            return None
        if prefix not in self.tops:
            top = self.top(prefix.shorter)
            if prefix.action == Action.SHIFT:
                self.tops[prefix] = self.stack.push(top, self.embedded[prefix.state.read - 1])
            else:
                assert top is not None
                self.tops[prefix] = self.stack.reduce(top, prefix.action == Action.LEFT_REDUCE)
        return self.tops[prefix]

    def embedding(self, prefixes: Sequence[Prefix], training: bool) -> Expression:
        """v_t of the encoder or u_t of the decoder (H,)xR after R prefixes."""
        tops = [self.top(prefix) for prefix in prefixes]
        stack = dy.concatenate_to_batch([self.empty if top is None else top.h for top in tops])
        buffer = dy.concatenate_to_batch(
            [self.buffer_parts[prefix.state.read] for prefix in prefixes]
        )
        return self.layer.embedding(stack, buffer, training)


@dataclass(frozen=True)
class Terms:
    """K terms of -log probabilities (1,)xK, and the row that each is of; a row is a sample in
    `per_sentence`."""

    nll: Expression
    rows: Ints  # (K,)


class Encoder:
    """Parameters of q and the expressions for parser states."""

    def __init__(
        self,
        parameters: Parameters,
        vocabulary: Vocabulary,
        settings: ModelSettings,
        vectors: Embeddings | None = None,
    ) -> None:
        hidden = settings.hidden_dim
        # DyNet frees them with their collection, even if they are referred to
        self.parameters = parameters
        self.embed = TokenEmbedding(
            parameters, "encoder/embed", vocabulary, settings, True, vectors
        )
        self.forward = Lstm(parameters, "encoder/forward", settings)
        self.backward = Lstm(parameters, "encoder/backward", settings)
        self.stack = StackLstm(parameters, "encoder/stack", settings)
        self.state = StateLayer(
            parameters, "encoder/state", settings, 2 * hidden, settings.encoder_dropout
        )
        self.empty_buffer = parameters.constant("encoder/empty_buffer", 2 * hidden)
        self.masked = settings.mask_illegal

    def read(self, sentence: Encoded) -> SharedStates:
        """What all derivations of a sentence share."""
        embedded = self.embed(sentence)
        forward = self.forward.over(embedded)
        backward = self.backward.over(embedded[::-1])[::-1]
        buffers = [*(dy.concatenate([f, b]) for f, b in zip(forward, backward)), self.empty_buffer]
        return SharedStates(
            self.stack, self.state, embedded, [self.state.buffer_part(buffer) for buffer in buffers]
        )

    def logits(
        self, reading: SharedStates, prefixes: Sequence[Prefix], training: bool
    ) -> Expression:
        """Scores (3,)xR of the actions after R prefixes with at least two items on the stack."""
        embedding = reading.embedding(prefixes, training)
        return action_logits(
            self.state, embedding, [prefix.can_shift for prefix in prefixes], self.masked
        )

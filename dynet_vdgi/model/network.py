"""The paper's networks: encoder q(a|x), decoder p(x, a), language model; and choosing actions.

The encoder q(a|x): a discriminative dependency RNNG, which is also the parser (paper, Eq. 1).

Bidirectional LSTM over the words, of which the first unread one represents the buffer; a stack LSTM; one
layer over both, from which each action is scored. Nothing before that layer has dropout, so all samples of
a sentence share the bidirectional LSTM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import dynet as dy
import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.corpus import UNKNOWN, Encoded, Vocabulary
from dynet_vdgi.data.embeddings import Embeddings
from dynet_vdgi.grammar.chart import Action, State
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
from dynet_vdgi.system.arrays import Floats, Ints


class Prefix:
    """The parser after some actions; all derivations of a sentence that begin with them share it.

    A derivation of n words is a list of 2n prefixes: the empty one, and one after each action.
    """

    def __init__(self, state: State, action: int = Action.SHIFT, shorter: Prefix | None = None) -> None:
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
    """A network's view of one sentence; derivations share the stack LSTM's states, computed once a prefix."""

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
        buffer = dy.concatenate_to_batch([self.buffer_parts[prefix.state.read] for prefix in prefixes])
        return self.layer.embedding(stack, buffer, training)


@dataclass(frozen=True)
class Terms:
    """K terms of -log probabilities (1,)xK, and the row that each is of; a row is a sample in `per_sentence`."""

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
        self.parameters = parameters  # DyNet frees them with their collection, even if they are referred to
        self.embed = TokenEmbedding(parameters, "encoder/embed", vocabulary, settings, True, vectors)
        self.forward = Lstm(parameters, "encoder/forward", settings)
        self.backward = Lstm(parameters, "encoder/backward", settings)
        self.stack = StackLstm(parameters, "encoder/stack", settings)
        self.state = StateLayer(parameters, "encoder/state", settings, 2 * hidden, settings.encoder_dropout)
        self.empty_buffer = parameters.constant("encoder/empty_buffer", 2 * hidden)
        self.masked = settings.mask_illegal

    def read(self, sentence: Encoded) -> SharedStates:
        """What all derivations of a sentence share."""
        embedded = self.embed(sentence)
        forward = self.forward.over(embedded)
        backward = self.backward.over(embedded[::-1])[::-1]
        buffers = [*(dy.concatenate([f, b]) for f, b in zip(forward, backward)), self.empty_buffer]
        return SharedStates(self.stack, self.state, embedded, [self.state.buffer_part(buffer) for buffer in buffers])

    def logits(self, reading: SharedStates, prefixes: Sequence[Prefix], training: bool) -> Expression:
        """Scores (3,)xR of the actions after R prefixes with at least two items on the stack."""
        embedding = reading.embedding(prefixes, training)
        return action_logits(self.state, embedding, [prefix.can_shift for prefix in prefixes], self.masked)


# ----------------------------------------------------------------------------------------------------
# The decoder p(x, a): a generative dependency RNNG over actions, tags and words (paper, Eq. 2).
#
# It knows how long the sentence is: an action costs something only where more than one is legal. At every
# SHIFT (the paper's GEN) the next word's tag, and in lexicalised models its form, are generated from the
# same state embedding, independently of each other given it.


class WordSoftmax:
    """log p(word | state) factored into class and word in class; `classes` partition the word ids."""

    def __init__(self, parameters: Parameters, name: str, classes: Sequence[Sequence[int]], hidden: int) -> None:
        self.place = {word: (k, i) for k, members in enumerate(classes) for i, word in enumerate(members)}
        self.classes = parameters.matrix(f"{name}/classes", len(classes), hidden)
        self.classes_bias = parameters.bias(f"{name}/classes_bias", len(classes))
        self.words = [
            (
                parameters.matrix(f"{name}/words{k}", len(members), hidden),
                parameters.bias(f"{name}/words{k}_bias", len(members)),
            )
            for k, members in enumerate(classes)
        ]

    def nll(self, embedding: Expression, words: Sequence[int], rows: Ints) -> list[Terms]:
        """Terms of -log p of `words` (R,) given u_t (H,)xR: of all classes together, then of each class's words."""
        classes, inside = np.array([self.place[word] for word in words]).T
        logits = dy.affine_transform([self.classes_bias, self.classes, embedding])
        terms = [Terms(dy.pickneglogsoftmax_batch(logits, classes.tolist()), rows)]
        for k in np.unique(classes).tolist():
            members = np.flatnonzero(classes == k)
            matrix, bias = self.words[k]
            logits = dy.affine_transform([bias, matrix, dy.pick_batch_elems(embedding, members.tolist())])
            terms.append(Terms(dy.pickneglogsoftmax_batch(logits, inside[members].tolist()), rows[members]))
        return terms


def word_classes(vocabulary: Vocabulary) -> list[list[int]]:
    """Word ids 0..V by class: the vocabulary's classes, or else neighbours in frequency, sqrt(V) together."""
    n = len(vocabulary.words) + 1
    if not vocabulary.classes:
        size = max(1, round(n**0.5))
        return [list(range(first, min(first + size, n))) for first in range(0, n, size)]
    members: list[list[int]] = [[] for _ in range(max(vocabulary.classes) + 1)]
    for word, k in enumerate(vocabulary.classes):
        members[k].append(word)
    return members


class Decoder:
    """Parameters of p and the loss of derivations."""

    def __init__(
        self,
        parameters: Parameters,
        vocabulary: Vocabulary,
        settings: ModelSettings,
        vectors: Embeddings | None = None,
    ) -> None:
        hidden = settings.hidden_dim
        self.parameters = parameters  # DyNet frees them with their collection, even if they are referred to
        self.embed = TokenEmbedding(parameters, "decoder/embed", vocabulary, settings, False, vectors)
        self.prefix = Lstm(parameters, "decoder/prefix", settings)
        self.stack = StackLstm(parameters, "decoder/stack", settings)
        self.state = StateLayer(parameters, "decoder/state", settings, hidden, settings.decoder_dropout)
        self.tags = parameters.matrix("decoder/tags", len(vocabulary.tags), hidden)
        self.tags_bias = parameters.bias("decoder/tags_bias", len(vocabulary.tags))
        self.no_prefix = parameters.constant("decoder/no_prefix", hidden)
        self.no_stack = parameters.constant("decoder/no_stack", hidden)
        self.masked = settings.mask_illegal
        self.words = None
        if settings.word_dim:
            self.words = WordSoftmax(parameters, "decoder/words", word_classes(vocabulary), hidden)

    def nll(self, sentence: Encoded, derivations: Sequence[Sequence[Prefix]], training: bool) -> list[Terms]:
        """Terms of -log p(x, a) of derivations of a sentence.

        Raises: ValueError, the sentence holds an unknown tag, which the decoder cannot generate.
        """
        if UNKNOWN in sentence.tags:
            raise ValueError("the decoder cannot generate an unknown tag")
        embedded = self.embed(sentence)
        buffer_parts = [self.state.buffer_part(h) for h in (self.no_prefix, *self.prefix.over(embedded))]
        reading = SharedStates(self.stack, self.state, embedded, buffer_parts, self.no_stack)
        before = [prefix for derivation in derivations for prefix in derivation[:-1]]
        actions = np.array([prefix.action for derivation in derivations for prefix in derivation[1:]])
        samples = np.repeat(np.arange(len(derivations)), 2 * len(sentence) - 1)
        embedding, terms = reading.embedding(before, training), []
        choices = np.flatnonzero([prefix.can_reduce for prefix in before])
        if choices.size:
            can_shift = [before[k].can_shift for k in choices]
            logits = action_logits(self.state, dy.pick_batch_elems(embedding, choices.tolist()), can_shift, self.masked)
            terms.append(Terms(dy.pickneglogsoftmax_batch(logits, actions[choices].tolist()), samples[choices]))
        shifts = np.flatnonzero(actions == Action.SHIFT)
        generating = dy.pick_batch_elems(embedding, shifts.tolist())
        tags, words = ([items[before[k].state.read] for k in shifts] for items in (sentence.tags, sentence.words))
        return terms + self.generated(generating, tags, words, samples[shifts])

    def generated(self, embedding: Expression, tags: Sequence[int], words: Sequence[int], rows: Ints) -> list[Terms]:
        """Terms of -log p of the next tags and, in lexicalised models, words (R,) given u_t (H,)xR."""
        logits = dy.affine_transform([self.tags_bias, self.tags, embedding])
        terms = [Terms(dy.pickneglogsoftmax_batch(logits, [tag - 1 for tag in tags]), rows)]
        return terms + self.words.nll(embedding, words, rows) if self.words else terms


# ----------------------------------------------------------------------------------------------------
# An LSTM language model of tags, or in lexicalised models of words: the baseline b(x) of RL-BL.
#
# Two layers, output weights tied to the embeddings, dropout on the input, between the layers and on the
# output; it predicts every item of a sentence, not its end (paper, section "Experiments", and the released
# code). Shapes: H hidden units, V items, B sentences of n items.

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


# ----------------------------------------------------------------------------------------------------
# Tools of every engine: the networks over one set of parameters, a new graph, choosing actions.

Choose = Callable[[int, list[int], Callable[[], Floats]], Sequence[int]]
"""(step, derivations that choose now, their log-probabilities (R, 3) on demand) -> their actions (R,)."""


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
    """Log-softmax (R, 3) over the legal actions of states where both REDUCEs are legal; -inf for the rest."""
    masked = np.where(np.stack([can_shift, np.ones_like(can_shift), np.ones_like(can_shift)], 1), logits, -np.inf)
    masked = masked - masked.max(axis=1, keepdims=True)
    return np.asarray(masked - np.log(np.exp(masked).sum(axis=1, keepdims=True)))


def sampling(rng: np.random.Generator, exponent: float = 1.0) -> Choose:
    """Draws actions from q, or from q to the power of `exponent`, renormalised at every step."""

    def choose(step: int, rows: list[int], log_probabilities: Callable[[], Floats]) -> Sequence[int]:
        probabilities = np.exp(exponent * log_probabilities())
        cumulative = probabilities.cumsum(axis=1)
        drawn = (rng.random((len(rows), 1)) * cumulative[:, -1:] >= cumulative).sum(axis=1)
        return [int(action) for action in drawn]

    return choose


def forcing(derivations: Sequence[Sequence[int]]) -> Choose:
    """Follows given derivations without evaluating any scores."""

    def choose(step: int, rows: list[int], log_probabilities: Callable[[], Floats]) -> Sequence[int]:
        return [derivations[k][step] for k in rows]

    return choose

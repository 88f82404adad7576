"""The decoder p(x, a): a generative dependency RNNG over actions, tags and words (paper, Eq. 2).

It knows how long the sentence is: an action costs something only where more than one is legal. At every
SHIFT (the paper's GEN) the next word's tag, and in lexicalised models its form, are generated from the same
state embedding, independently of each other given it.
"""

from __future__ import annotations

from collections.abc import Sequence

import dynet as dy

from dynet_vdgi.data.embeddings import Embeddings
from dynet_vdgi.data.vocabulary import UNKNOWN, Encoded, Vocabulary
from dynet_vdgi.grammar.transitions import Action, State
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


class WordSoftmax:
    """log p(word | state) factored into class and word in class; `classes` partition the word ids."""

    def __init__(
        self, parameters: Parameters, name: str, classes: Sequence[Sequence[int]], hidden: int
    ) -> None:
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

    def nll(self, embedding: Expression, word: int) -> list[Expression]:
        """Terms of -log p(word)."""
        k, i = self.place[word]
        matrix, bias = self.words[k]
        return [
            dy.pickneglogsoftmax(dy.affine_transform([self.classes_bias, self.classes, embedding]), k),
            dy.pickneglogsoftmax(dy.affine_transform([bias, matrix, embedding]), i),
        ]


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
    """Parameters of p and the loss of one derivation."""

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

    def read(self, sentence: Encoded) -> tuple[list[Expression], list[Expression]]:
        """Token embeddings e_1..e_n, and the buffer's part of the state layer at 0..n words generated."""
        embedded = self.embed(sentence)
        prefixes = [self.no_prefix, *self.prefix.over(embedded)]
        return embedded, [self.state.buffer_part(prefix) for prefix in prefixes]

    def nll(
        self,
        sentence: Encoded,
        embedded: list[Expression],
        buffer_parts: list[Expression],
        actions: Sequence[int],
        training: bool,
    ) -> list[Expression]:
        """Terms of -log p(x, a), each a scalar; `embedded` and `buffer_parts` come from `read`.

        Raises: ValueError, the sentence holds an unknown tag, which the decoder cannot generate.
        """
        if UNKNOWN in sentence.tags:
            raise ValueError("the decoder cannot generate an unknown tag")
        state = State(len(sentence))
        top: StackItem | None = None
        terms: list[Expression] = []
        for action in actions:
            stack = self.no_stack if top is None else top.h
            embedding = self.state.embedding(stack, buffer_parts[state.read], training)
            can_shift, can_reduce, _ = state.legal()
            if can_reduce:
                logits = action_logits(self.state, embedding, can_shift, self.masked)
                terms.append(dy.pickneglogsoftmax(logits, action))
            if action == Action.SHIFT:
                tag, word = sentence.tags[state.read], sentence.words[state.read]
                tag_logits = dy.affine_transform([self.tags_bias, self.tags, embedding])
                terms.append(dy.pickneglogsoftmax(tag_logits, tag - 1))
                if self.words is not None:
                    terms += self.words.nll(embedding, word)
                top = self.stack.push(top, embedded[state.read])
            else:
                assert top is not None
                top = self.stack.reduce(top, action == Action.LEFT_REDUCE)
            state.apply(action)
        return terms

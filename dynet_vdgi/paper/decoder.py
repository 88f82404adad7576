"""The decoder p(x, a): a generative dependency RNNG over actions, tags and words (paper, Eq. 2).

It knows how long the sentence is: an action costs something only where more than one is legal. At
every SHIFT (the paper's GEN) the next word's tag, and in lexicalised models its form, are generated
from the same state embedding, independently of each other given it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.conllu.vocabulary import UNKNOWN, Encoded, Vocabulary
from dynet_vdgi.lexicon.vectors import Embeddings
from dynet_vdgi.paper.encoder import Prefix, SharedStates, Terms
from dynet_vdgi.paper.layers import (
    Expression,
    Lstm,
    Parameters,
    StackLstm,
    StateLayer,
    TokenEmbedding,
    action_logits,
)
from dynet_vdgi.paper.settings import ModelSettings
from dynet_vdgi.paper.transitions import Action
from dynet_vdgi.system.array_types import Ints
from dynet_vdgi.system.dynet_setup import dy


class WordSoftmax:
    """log p(word | state) factored into class and word in class; `classes` partition the word
    ids."""

    def __init__(
        self, parameters: Parameters, name: str, classes: Sequence[Sequence[int]], hidden: int
    ) -> None:
        self.place = {
            word: (k, i) for k, members in enumerate(classes) for i, word in enumerate(members)
        }
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
        """Terms of -log p of `words` (R,) given u_t (H,)xR: of all classes together, then of each
        class's words."""
        classes, inside = np.array([self.place[word] for word in words]).T
        logits = dy.affine_transform([self.classes_bias, self.classes, embedding])
        terms = [Terms(dy.pickneglogsoftmax_batch(logits, classes.tolist()), rows)]
        for k in np.unique(classes).tolist():
            members = np.flatnonzero(classes == k)
            matrix, bias = self.words[k]
            logits = dy.affine_transform(
                [bias, matrix, dy.pick_batch_elems(embedding, members.tolist())]
            )
            terms.append(
                Terms(dy.pickneglogsoftmax_batch(logits, inside[members].tolist()), rows[members])
            )
        return terms


def word_classes(vocabulary: Vocabulary) -> list[list[int]]:
    """Word ids 0..V by class: the vocabulary's classes, or else neighbours in frequency, sqrt(V)
    together."""
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
        # DyNet frees them with their collection, even if they are referred to
        self.parameters = parameters
        self.embed = TokenEmbedding(
            parameters, "decoder/embed", vocabulary, settings, False, vectors
        )
        self.prefix = Lstm(parameters, "decoder/prefix", settings)
        self.stack = StackLstm(parameters, "decoder/stack", settings)
        self.state = StateLayer(
            parameters, "decoder/state", settings, hidden, settings.decoder_dropout
        )
        self.tags = parameters.matrix("decoder/tags", len(vocabulary.tags), hidden)
        self.tags_bias = parameters.bias("decoder/tags_bias", len(vocabulary.tags))
        self.no_prefix = parameters.constant("decoder/no_prefix", hidden)
        self.no_stack = parameters.constant("decoder/no_stack", hidden)
        self.masked = settings.mask_illegal
        self.words = None
        if settings.word_dim:
            self.words = WordSoftmax(parameters, "decoder/words", word_classes(vocabulary), hidden)

    def nll(
        self, sentence: Encoded, derivations: Sequence[Sequence[Prefix]], training: bool
    ) -> list[Terms]:
        """Terms of -log p(x, a) of derivations of a sentence.

        Raises: ValueError, the sentence holds an unknown tag, which the decoder cannot generate.
        """
        if UNKNOWN in sentence.tags:
            raise ValueError("the decoder cannot generate an unknown tag")
        embedded = self.embed(sentence)
        buffer_parts = [
            self.state.buffer_part(h) for h in (self.no_prefix, *self.prefix.over(embedded))
        ]
        reading = SharedStates(self.stack, self.state, embedded, buffer_parts, self.no_stack)
        before = [prefix for derivation in derivations for prefix in derivation[:-1]]
        actions = np.array(
            [prefix.action for derivation in derivations for prefix in derivation[1:]]
        )
        samples = np.repeat(np.arange(len(derivations)), 2 * len(sentence) - 1)
        embedding, terms = reading.embedding(before, training), []
        choices = np.flatnonzero([prefix.can_reduce for prefix in before])
        if choices.size:
            can_shift = [before[k].can_shift for k in choices]
            logits = action_logits(
                self.state, dy.pick_batch_elems(embedding, choices.tolist()), can_shift, self.masked
            )
            terms.append(
                Terms(
                    dy.pickneglogsoftmax_batch(logits, actions[choices].tolist()), samples[choices]
                )
            )
        shifts = np.flatnonzero(actions == Action.SHIFT)
        generating = dy.pick_batch_elems(embedding, shifts.tolist())
        tags, words = (
            [items[before[k].state.read] for k in shifts]
            for items in (sentence.tags, sentence.words)
        )
        return terms + self.generated(generating, tags, words, samples[shifts])

    def generated(
        self, embedding: Expression, tags: Sequence[int], words: Sequence[int], rows: Ints
    ) -> list[Terms]:
        """Terms of -log p of the next tags and, in lexicalised models, words (R,), given u_t
        (H,)xR."""
        logits = dy.affine_transform([self.tags_bias, self.tags, embedding])
        terms = [Terms(dy.pickneglogsoftmax_batch(logits, [tag - 1 for tag in tags]), rows)]
        return terms + self.words.nll(embedding, words, rows) if self.words else terms

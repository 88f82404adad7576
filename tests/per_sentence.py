"""The networks read off the paper, to which the engine is pinned: one dynamic graph a sentence.

All of a sentence's derivations advance together, one action a step. Sampling, forcing and arg-max are one
loop that differs only in who chooses. H hidden units; (H,) is a DyNet column vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import dynet as dy
import numpy as np

from dynet_vdgi.data.vocabulary import UNKNOWN, Encoded
from dynet_vdgi.grammar.chart import Action, State
from dynet_vdgi.model.layers import (
    NO_SHIFT,
    Lstm,
    StackLstm,
    StateLayer,
    TokenEmbedding,
    finite,
    seed_dropout,
)
from dynet_vdgi.model.lockstep import Phase, Samples
from dynet_vdgi.model.network import (
    Choose,
    Decoder,
    Encoder,
    Network,
    WordSoftmax,
    forcing,
    greedy,
    legal_log_probabilities,
    new_graph,
    sampling,
)
from dynet_vdgi.settings.neural_settings import TrainSettings

Expression = Any
Floats = Any


# ------------------------------------------------------------------------------------------- layers
def embed(layer: TokenEmbedding, sentence: Encoded) -> list[Expression]:
    """Vectors e_1..e_n of a sentence, each (H,)."""
    embedded = []
    for tag, word in zip(sentence.tags, sentence.words):
        total = layer.from_tag * dy.lookup(layer.tags, tag)
        if layer.lexicalised:
            vector = dy.affine_transform([layer.project_bias, layer.project, dy.lookup(layer.vectors, word)])
            total = total + layer.from_word * dy.rectify(vector)
        embedded.append(dy.rectify(total))
    return embedded


def over(lstm: Lstm, inputs: list[Expression]) -> list[Expression]:
    """Outputs over a sequence, from a zero state."""
    h = c = dy.zeros((lstm.hidden,))
    outputs = []
    for x in inputs:
        h, c = lstm.step(x, h, c)
        outputs.append(h)
    return outputs


class StackItem(NamedTuple):
    """State of the stack LSTM after pushing one item, and the item below; None is the empty stack."""

    h: Expression
    c: Expression
    below: StackItem | None


def push(stack: StackLstm, below: StackItem | None, x: Expression) -> StackItem:
    zero = dy.zeros((stack.lstm.hidden,))
    return StackItem(*stack.lstm.step(x, *((zero, zero) if below is None else below[:2])), below)


def reduce(stack: StackLstm, top: StackItem, top_is_head: bool) -> StackItem:
    """The two top items replaced by their composition ReLU(W [head; dependent] + b).

    Its inputs are the stack LSTM's outputs at the two items, as in the released code.
    """
    second = top.below
    head, dependent = (top, second) if top_is_head else (second, top)
    parts = [stack.compose_bias, stack.compose_head, head.h, stack.compose_dependent, dependent.h]
    return push(stack, second.below, dy.rectify(dy.affine_transform(parts)))


def state_embedding(
    layer: StateLayer, stack: Expression, buffer_part: Expression, training: bool
) -> Expression:
    """v_t of the encoder or u_t of the decoder (H,), with dropout when training."""
    state = dy.rectify(dy.affine_transform([layer.bias, layer.from_stack, stack]) + buffer_part)
    return dy.dropout(state, layer.dropout) if training and layer.dropout else state


def action_logits(layer: StateLayer, embedding: Expression, can_shift: bool, masked: bool) -> Expression:
    """Logits (3,) for a step where both REDUCEs are legal; SHIFT is masked out if illegal and `masked`."""
    logits = layer.logits(embedding)
    return logits if can_shift or not masked else logits + dy.inputVector(NO_SHIFT)


# ------------------------------------------------------------------------------------------- networks
def read_to_encode(encoder: Encoder, sentence: Encoded) -> tuple[list[Expression], list[Expression]]:
    """Token embeddings e_1..e_n, and the buffer's part of the state layer at 0..n words read."""
    embedded = embed(encoder.embed, sentence)
    forward = over(encoder.forward, embedded)
    backward = over(encoder.backward, embedded[::-1])[::-1]
    buffers = [*(dy.concatenate([f, b]) for f, b in zip(forward, backward)), encoder.empty_buffer]
    return embedded, [encoder.state.from_buffer * buffer for buffer in buffers]


def read_to_decode(decoder: Decoder, sentence: Encoded) -> tuple[list[Expression], list[Expression]]:
    """Token embeddings e_1..e_n, and the buffer's part of the state layer at 0..n words generated."""
    embedded = embed(decoder.embed, sentence)
    prefixes = [decoder.no_prefix, *over(decoder.prefix, embedded)]
    return embedded, [decoder.state.from_buffer * prefix for prefix in prefixes]


def word_nll(softmax: WordSoftmax, embedding: Expression, word: int) -> list[Expression]:
    """Terms of -log p(word)."""
    k, i = softmax.place[word]
    matrix, bias = softmax.words[k]
    of_class = dy.affine_transform([softmax.classes_bias, softmax.classes, embedding])
    in_class = dy.affine_transform([bias, matrix, embedding])
    return [dy.pickneglogsoftmax(of_class, k), dy.pickneglogsoftmax(in_class, i)]


def decoder_nll(
    decoder: Decoder, sentence: Encoded, actions: Sequence[int], training: bool, read: Any = None
) -> list[Expression]:
    """Terms of -log p(x, a), each a scalar; `read`: by `read_to_decode`."""
    if UNKNOWN in sentence.tags:
        raise ValueError("the decoder cannot generate an unknown tag")
    embedded, buffer_parts = read
    state, top, terms = State(len(sentence)), None, []
    for action in actions:
        stack = decoder.no_stack if top is None else top.h
        embedding = state_embedding(decoder.state, stack, buffer_parts[state.read], training)
        can_shift, can_reduce, _ = state.legal()
        if can_reduce:
            logits = action_logits(decoder.state, embedding, can_shift, decoder.masked)
            terms.append(dy.pickneglogsoftmax(logits, action))
        if action == Action.SHIFT:
            tag_logits = dy.affine_transform([decoder.tags_bias, decoder.tags, embedding])
            terms.append(dy.pickneglogsoftmax(tag_logits, sentence.tags[state.read] - 1))
            if decoder.words is not None:
                terms += word_nll(decoder.words, embedding, sentence.words[state.read])
            top = push(decoder.stack, top, embedded[state.read])
        else:
            top = reduce(decoder.stack, top, action == Action.LEFT_REDUCE)
        state.apply(action)
    return terms


# ------------------------------------------------------------------------------------------- derivations
@dataclass
class Derivation:
    """One derivation while it is built, and after: actions (2n - 1,) and the terms of -log q(a|x)."""

    state: State
    top: StackItem | None = None
    actions: list[int] = field(default_factory=list)
    nll: list[Expression] = field(default_factory=list)

    @property
    def heads(self) -> tuple[int, ...]:
        return tuple(self.state.heads)


def derive(
    encoder: Encoder, sentence: Encoded, copies: int, choose: Choose, *, training: bool = False
) -> list[Derivation]:
    """`copies` derivations of one sentence in the current graph, every choice made by `choose`.

    A step is scored where REDUCE is legal; before that SHIFT is forced.
    """
    embedded, buffer_parts = read_to_encode(encoder, sentence)
    derivations = [Derivation(State(len(sentence))) for _ in range(copies)]
    for step in range(2 * len(sentence) - 1):
        choosing = [k for k, d in enumerate(derivations) if d.state.legal()[Action.LEFT_REDUCE]]
        logits: dict[int, Expression] = {}
        for k in choosing:
            state, top = derivations[k].state, derivations[k].top
            embedding = state_embedding(encoder.state, top.h, buffer_parts[state.read], training)
            can_shift = state.legal()[Action.SHIFT]
            logits[k] = action_logits(encoder.state, embedding, can_shift, encoder.masked)
        chosen = dict.fromkeys(range(copies), int(Action.SHIFT))
        if choosing:

            def log_probabilities(choosing=choosing, logits=logits) -> Floats:
                values = finite(dy.concatenate_to_batch([logits[k] for k in choosing]))
                can_shift = np.array([derivations[k].state.legal()[Action.SHIFT] for k in choosing])
                return legal_log_probabilities(values.reshape(len(choosing), 3), can_shift)

            chosen.update(zip(choosing, choose(step, choosing, log_probabilities)))
        for k, derivation in enumerate(derivations):
            action = int(chosen[k])
            if k in logits:
                derivation.nll.append(dy.pickneglogsoftmax(logits[k], action))
            if action == Action.SHIFT:
                derivation.top = push(encoder.stack, derivation.top, embedded[derivation.state.read])
            else:
                derivation.top = reduce(encoder.stack, derivation.top, action == Action.LEFT_REDUCE)
            derivation.state.apply(action)
            derivation.actions.append(action)
    return derivations


def parse(encoder: Encoder, sentence: Encoded) -> tuple[int, ...]:
    """The greedy tree (n,) of one sentence."""
    if len(sentence) == 0:
        return ()
    new_graph(autobatch=False)
    return derive(encoder, sentence, 1, greedy)[0].heads


@dataclass
class SentenceSamples:
    """Samples of one sentence and the expressions, in the current graph, of their scores."""

    samples: Samples
    nll_q: list[Expression]  # M scalars, -log q(a_m|x)
    nll_p: list[Expression]  # M scalars, -log p(x, a_m)


def draw(
    network: Network, sentence: Encoded, copies: int, choose: Choose, *, training: bool = True
) -> SentenceSamples:
    """Derivations of one sentence, scored by encoder and decoder, in the current graph.

    A sentence of one word has a single derivation without any choice: its log q is 0.
    """
    derivations = derive(network.encoder, sentence, copies, choose, training=training)
    decoder, read = network.decoder, read_to_decode(network.decoder, sentence)
    nll_q = [dy.esum(d.nll) if d.nll else dy.scalarInput(0.0) for d in derivations]
    nll_p = [dy.esum(decoder_nll(decoder, sentence, d.actions, training, read)) for d in derivations]
    values = np.array(dy.concatenate(nll_q + nll_p).vec_value())
    actions, heads = [d.actions for d in derivations], [d.heads for d in derivations]
    return SentenceSamples(Samples(actions, heads, -values[:copies], -values[copies:]), nll_q, nll_p)


def backward(drawn: SentenceSamples, encoder_weights: Floats, decoder_weights: Floats) -> float:
    """Adds the gradient of sum_m w_m (-log q_m) + v_m (-log p_m) to the parameters'; returns the sum.

    The weights (M,) are constants.
    """
    terms = dy.concatenate(drawn.nll_q + drawn.nll_p)
    loss = dy.dot_product(terms, dy.inputVector(np.concatenate([encoder_weights, decoder_weights]).tolist()))
    value = float(loss.value())
    loss.backward()
    return value


def accumulate(
    network: Network,
    sentences: Sequence[Encoded],
    phase: Phase,
    rng: np.random.Generator,
    settings: TrainSettings,
    derivations: Sequence[Sequence[int]] | None = None,
) -> list[Samples]:
    """As `lockstep.accumulate`."""
    seed_dropout(rng)
    result = []
    for k, sentence in enumerate(sentences):
        new_graph(autobatch=True)
        if derivations is None:
            copies, choose = settings.samples, sampling(rng, settings.exponent)
        else:
            copies, choose = 1, forcing([derivations[k]])
        drawn = draw(network, sentence, copies, choose)
        encoder_weights, decoder_weights = phase(sentence, drawn.samples)
        backward(drawn, encoder_weights / len(sentences), decoder_weights / len(sentences))
        result.append(drawn.samples)
    return result

"""The reference engine: one dynamic graph a sentence, batched by DyNet; and the samples that engines give.

All of a sentence's derivations advance together, one action a step. Sampling, forcing and arg-max are one
loop that differs only in who chooses; every faster engine is tested against this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import dynet as dy
import numpy as np

from dynet_vdgi.data.corpus import Encoded
from dynet_vdgi.grammar.chart import Action, State
from dynet_vdgi.model.layers import Expression, StackItem, finite, seed_dropout
from dynet_vdgi.model.network import (
    Choose,
    Encoder,
    Network,
    forcing,
    legal_log_probabilities,
    new_graph,
    sampling,
)
from dynet_vdgi.settings.neural_settings import TrainSettings
from dynet_vdgi.system.arrays import Floats


@dataclass
class Samples:
    """M derivations of one sentence of n words, with their scores in nats."""

    actions: list[list[int]]  # (M, 2n - 1)
    heads: list[tuple[int, ...]]  # (M, n)
    log_q: Floats  # (M,)
    log_p: Floats  # (M,)


Phase = Callable[[Encoded, Samples], "tuple[Floats, Floats]"]
"""From the samples of one sentence to the weights (M,) of their -log q and of their -log p in the loss."""


@dataclass
class Derivation:
    """One derivation while it is built, and after: actions (2n - 1,) and the terms of -log q(a|x)."""

    state: State
    top: StackItem | None = None
    actions: list[int] = field(default_factory=list)
    nll: list[Expression] = field(default_factory=list)

    @property
    def heads(self) -> tuple[int, ...]:
        """The tree (n,), once the derivation is complete."""
        return tuple(self.state.heads)


def derive(
    encoder: Encoder, sentence: Encoded, copies: int, choose: Choose, *, training: bool = False
) -> list[Derivation]:
    """`copies` derivations of one sentence in the current graph, every choice made by `choose`.

    A step is scored where REDUCE is legal; before that SHIFT is forced.
    """
    embedded, buffer_parts = encoder.read(sentence)
    derivations = [Derivation(State(len(sentence))) for _ in range(copies)]
    for step in range(2 * len(sentence) - 1):
        choosing = [k for k, derivation in enumerate(derivations) if derivation.state.legal()[Action.LEFT_REDUCE]]
        logits: dict[int, Expression] = {}
        for k in choosing:
            derivation = derivations[k]
            assert derivation.top is not None
            can_shift = derivation.state.legal()[Action.SHIFT]
            part = buffer_parts[derivation.state.read]
            logits[k] = encoder.logits(derivation.top, part, can_shift, training)
        chosen = dict.fromkeys(range(copies), int(Action.SHIFT))
        if choosing:

            def log_probabilities(choosing: list[int] = choosing, logits: dict[int, Expression] = logits) -> Floats:
                values = finite(dy.concatenate_to_batch([logits[k] for k in choosing]))
                can_shift = np.array([derivations[k].state.legal()[Action.SHIFT] for k in choosing])
                return legal_log_probabilities(values.reshape(len(choosing), 3), can_shift)

            chosen.update(zip(choosing, choose(step, choosing, log_probabilities)))
        for k, derivation in enumerate(derivations):
            action = int(chosen[k])
            if k in logits:
                derivation.nll.append(dy.pickneglogsoftmax(logits[k], action))
            if action == Action.SHIFT:
                derivation.top = encoder.stack.push(derivation.top, embedded[derivation.state.read])
            else:
                assert derivation.top is not None
                derivation.top = encoder.stack.reduce(derivation.top, action == Action.LEFT_REDUCE)
            derivation.state.apply(action)
            derivation.actions.append(action)
    return derivations


def greedy(step: int, rows: list[int], log_probabilities: Callable[[], Floats]) -> Sequence[int]:
    """Takes the most probable legal action; SHIFT before LEFT_REDUCE before RIGHT_REDUCE where they tie."""
    return [int(action) for action in log_probabilities().argmax(axis=1)]


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


def draw(network: Network, sentence: Encoded, copies: int, choose: Choose, *, training: bool = True) -> SentenceSamples:
    """Derivations of one sentence, scored by encoder and decoder, in the current graph.

    A sentence of one word has a single derivation without any choice: its log q is 0.
    """
    derivations = derive(network.encoder, sentence, copies, choose, training=training)
    embedded, buffer_parts = network.decoder.read(sentence)
    nll_q = [dy.esum(d.nll) if d.nll else dy.scalarInput(0.0) for d in derivations]
    nll_p = [dy.esum(network.decoder.nll(sentence, embedded, buffer_parts, d.actions, training)) for d in derivations]
    values = np.array(dy.concatenate(nll_q + nll_p).vec_value())
    actions, heads = [d.actions for d in derivations], [d.heads for d in derivations]
    return SentenceSamples(Samples(actions, heads, -values[:copies], -values[copies:]), nll_q, nll_p)


def backward(drawn: SentenceSamples, encoder_weights: Floats, decoder_weights: Floats) -> float:
    """Adds the gradient of sum_m w_m (-log q_m) + v_m (-log p_m) to the parameters'; returns the sum.

    The weights (M,) are constants. They enter as one input vector: a constant of its own in each term would
    keep DyNet from batching the terms.
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
    """Samples derivations of every sentence and adds the mean gradient of the phase's loss.

    With `derivations` (one for each sentence) those are taken instead, each as the only sample. Dropout
    follows DyNet's own random numbers, which are seeded from `rng`.
    """
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

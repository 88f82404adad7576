"""The reference engine: one dynamic graph a sentence, batched by DyNet; and the samples that
engines give.

All of a sentence's derivations advance together, one action a step. Derivations that begin alike
share the stack LSTM's states; masks of dropout are each sample's own. Sampling, forcing and arg-max
are one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.paper.encoder import Encoder, Prefix, Terms
from dynet_vdgi.paper.layers import Expression, finite, seed_dropout
from dynet_vdgi.paper.network import (
    Choose,
    Network,
    forcing,
    legal_log_probabilities,
    new_graph,
    sample_actions,
)
from dynet_vdgi.paper.settings import TrainSettings
from dynet_vdgi.paper.transitions import Action, State
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.dynet_setup import dy


@dataclass
class Samples:
    """M derivations of one sentence of n words, with their scores in nats."""

    actions: list[list[int]]  # (M, 2n - 1)
    heads: list[tuple[int, ...]]  # (M, n)
    log_q: Floats  # (M,)
    log_p: Floats  # (M,)


Phase = Callable[[Encoded, Samples], "tuple[Floats, Floats]"]
"""From the samples of one sentence to the weights (M,) of their -log q and of their -log p in the
loss."""


def derive(
    encoder: Encoder, sentence: Encoded, copies: int, choose: Choose, *, training: bool = False
) -> tuple[list[list[Prefix]], list[Terms]]:
    """`copies` derivations of one sentence, every choice made by `choose`; and -log q(a|x), in the
    current graph.

    A step is scored where REDUCE is legal; before that SHIFT is forced.
    """
    reading, empty, terms = encoder.read(sentence), Prefix(State(len(sentence))), []
    derivations = [[empty] for _ in range(copies)]
    for step in range(2 * len(sentence) - 1):
        chosen = dict.fromkeys(range(copies), int(Action.SHIFT))
        choosing = [k for k, derivation in enumerate(derivations) if derivation[-1].can_reduce]
        if choosing:
            prefixes = [derivations[k][-1] for k in choosing]
            logits = encoder.logits(reading, prefixes, training)

            def log_probabilities(
                prefixes: list[Prefix] = prefixes, logits: Expression = logits
            ) -> Floats:
                return legal_log_probabilities(
                    finite(logits).reshape(-1, 3), np.array([p.can_shift for p in prefixes])
                )

            actions = [int(action) for action in choose(step, choosing, log_probabilities)]
            terms.append(Terms(dy.pickneglogsoftmax_batch(logits, actions), np.array(choosing)))
            chosen.update(zip(choosing, actions))
        for k, derivation in enumerate(derivations):
            derivation.append(derivation[-1].then(chosen[k]))
    return derivations, terms


def greedy(step: int, rows: list[int], log_probabilities: Callable[[], Floats]) -> Sequence[int]:
    """Takes the most probable legal action; SHIFT before LEFT_REDUCE before RIGHT_REDUCE where they
    tie."""
    return [int(action) for action in log_probabilities().argmax(axis=1)]


def parse(encoder: Encoder, sentence: Encoded) -> tuple[int, ...]:
    """The greedy tree (n,) of one sentence."""
    if len(sentence) == 0:
        return ()
    new_graph(autobatch=False)
    return tuple(derive(encoder, sentence, 1, greedy)[0][0][-1].state.heads)


@dataclass
class SentenceSamples:
    """M samples of one sentence; the terms, in the current graph, of -log q (rows 0..M-1) and -log
    p (M..2M-1)."""

    samples: Samples
    terms: Terms


def derive_and_score(
    network: Network, sentence: Encoded, copies: int, choose: Choose, *, training: bool = True
) -> SentenceSamples:
    """Derivations of one sentence, scored by encoder and decoder, in the current graph.

    A sentence of one word has a single derivation without any choice: its log q is 0.
    """
    derivations, of_q = derive(network.encoder, sentence, copies, choose, training=training)
    of_p = network.decoder.nll(sentence, derivations, training)
    actions = [[int(prefix.action) for prefix in derivation[1:]] for derivation in derivations]
    heads = [tuple(derivation[-1].state.heads) for derivation in derivations]
    nll = dy.concatenate_to_batch([part.nll for part in of_q + of_p])
    rows = np.concatenate([*(part.rows for part in of_q), *(copies + part.rows for part in of_p)])
    scores: Floats = np.negative(np.bincount(rows, finite(nll), 2 * copies))
    return SentenceSamples(
        Samples(actions, heads, scores[:copies], scores[copies:]), Terms(nll, rows)
    )


def backward(drawn: SentenceSamples, encoder_weights: Floats, decoder_weights: Floats) -> float:
    """Adds the gradient of sum_m w_m (-log q_m) + v_m (-log p_m) to the parameters'; returns the
    sum.

    The weights (M,) are constants.
    """
    weights = np.concatenate([encoder_weights, decoder_weights])[drawn.terms.rows].tolist()
    loss = dy.dot_product(
        dy.reshape(drawn.terms.nll, (len(weights),), batch_size=1), dy.inputVector(weights)
    )
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

    With `derivations` (one for each sentence) those are taken instead, each as the only sample.
    Dropout follows DyNet's own random numbers, which are seeded from `rng`.
    """
    seed_dropout(rng)
    result = []
    for k, sentence in enumerate(sentences):
        new_graph(autobatch=True)
        if derivations is None:
            copies, choose = settings.samples, sample_actions(rng, settings.exponent)
        else:
            copies, choose = 1, forcing([derivations[k]])
        drawn = derive_and_score(network, sentence, copies, choose)
        encoder_weights, decoder_weights = phase(sentence, drawn.samples)
        backward(drawn, encoder_weights / len(sentences), decoder_weights / len(sentences))
        result.append(drawn.samples)
    return result

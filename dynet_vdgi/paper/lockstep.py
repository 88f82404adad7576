"""The training engine: all samples of several equally long sentences advance together, one action a
step.

It computes the same function as `per_sentence`, to which tests pin it, several times faster:
DyNet's batch dimension is used explicitly, nothing is batched automatically, and shared parts of
samples are computed once.

Letters: B sentences of n words; M samples each, N = B * M in all, sample m of sentence b in place b
* M + m; T = 2n - 1 actions; H hidden units. (H,)xR is a batched expression of R columns.

A *row* is a sentence with the actions taken so far. Samples that agree in both share a row; the sum
of their weights is its weight in the loss. Rows hold no stacks but the number of the *state* on
top: a column of the stack LSTM's outputs and cells. Each state knows the one below, so rows that
part company share what lies deeper. State 0 is the empty stack.

Two samples of "the dog barks", S S L S L and S S S L L (SHIFT, LEFT_REDUCE; B = 1, M = 2), state by
state:

    step  actions  stacks of states, by row   states pushed                          row of samples
    1     S        [1]                        1: the                                 0, 0
    2     S        [1 2]                      2: dog                                 0, 0
    3     L, S     [3], [1 2 4]               3: the <- dog, from 1, 2;  4: barks    0, 1
    4     L, S     [1 5], [3 6]               5: dog <- barks, from 2, 4;  6: barks  1, 0
    5     L, L     [7], [8]                   none: nothing reads the last stacks    1, 0

The stack LSTM runs over 6 columns, not over 2 * 4, in one operation a step. At step 3 the encoder
scores one row, and both samples draw from its probabilities; at step 4 only the row with [1 2 4]
has a choice. `lockstep_rows` does this in integers, and runs the example.

The encoder's pass samples (one evaluation a step) and leaves a list of `Transition`, which the
decoder's pass replays. Softmaxes of the decoder, and log-probabilities of both, are a few batched
operations in the end.

Dropout: every row has a mask of its own at every step, drawn by the same law as in `per_sentence`.
Samples share it as long as they share the row: their masks are independent of each other's only
from where their actions differ, or always with `merge=False`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dynet_vdgi.conllu.vocabulary import UNKNOWN, Encoded
from dynet_vdgi.paper.decoder import Decoder
from dynet_vdgi.paper.encoder import Encoder, Terms
from dynet_vdgi.paper.layers import (
    NO_SHIFT,
    Expression,
    Lstm,
    StackLstm,
    StateLayer,
    TokenEmbedding,
    finite,
    seed_dropout,
)
from dynet_vdgi.paper.lockstep_rows import Batch, Push, Rows
from dynet_vdgi.paper.network import (
    Choose,
    Network,
    forcing,
    legal_log_probabilities,
    new_graph,
    sample_actions,
)
from dynet_vdgi.paper.per_sentence import Phase, Samples
from dynet_vdgi.paper.settings import TrainSettings
from dynet_vdgi.paper.transitions import Action
from dynet_vdgi.system.array_types import Flags, Floats, Ints
from dynet_vdgi.system.dynet_setup import dy


def embed(layer: TokenEmbedding, batch: Batch) -> Expression:
    """Token embeddings (H,)x(n * B)."""
    total = layer.from_tag * dy.lookup_batch(layer.tags, batch.tags.tolist())
    if layer.lexicalised:
        vectors = dy.lookup_batch(layer.vectors, batch.words.tolist())
        projected = dy.rectify(dy.affine_transform([layer.project_bias, layer.project, vectors]))
        total = dy.affine_transform([total, layer.from_word, projected])
    return dy.rectify(total)


def over_words(
    lstm: Lstm, embedded: Expression, batch: Batch, backwards: bool = False
) -> Expression:
    """Outputs (H,)x(n * B) of an LSTM over every sentence, from zero states."""
    direction = -1 if backwards else 1
    h = c = dy.zeros((lstm.hidden,), batch_size=batch.size)
    outputs = []
    for first in range(0, batch.n * batch.size, batch.size)[::direction]:
        h, c = lstm.step(
            dy.pick_batch_elems(embedded, list(range(first, first + batch.size))), h, c
        )
        outputs.append(h)
    return dy.concatenate_to_batch(outputs[::direction])


class Gates:
    """The weights of an LSTM in the current graph, each of its four gates separately.

    It computes what `Lstm.step` does, in under two thirds of the time for hundreds of columns:
    DyNet's own node derives all gates again for each of its five arguments in the backward pass.
    Parts of parameters as weights are safe only in a graph without automatic batching.
    """

    def __init__(self, lstm: Lstm) -> None:
        weights, hidden = lstm.weights, lstm.hidden
        self.parts = [
            [dy.pick_range(w, k * hidden, (k + 1) * hidden) for w in weights] for k in range(4)
        ]
        self.parts[1][2] = self.parts[1][2] + 1.0  # forget bias, as in DyNet's node

    def step(self, x: Expression, h: Expression, c: Expression) -> tuple[Expression, Expression]:
        """Output and cell (H,)xR after one more input."""
        i, f, o, g = (
            dy.affine_transform([b, from_x, x, from_h, h]) for from_x, from_h, b in self.parts
        )
        cell = dy.cmult(dy.logistic(f), c) + dy.cmult(dy.logistic(i), dy.tanh(g))
        return dy.cmult(dy.logistic(o), dy.tanh(cell)), cell


class Stacks:
    """The stack LSTM's outputs and cells in all states; step k pushes expression k + 1."""

    def __init__(self, layer: StackLstm, words: Expression) -> None:
        self.layer, self.gates, self.words = layer, Gates(layer.lstm), words
        zero = dy.zeros((layer.lstm.hidden,))
        self.h, self.c = [zero], [zero]

    def push(self, push: Push) -> None:
        """One more state of every row."""
        layer, inputs = self.layer, []
        if push.items:
            head, dependent = (item.of(self.h) for item in push.items)
            composed = [
                layer.compose_bias,
                layer.compose_head,
                head,
                layer.compose_dependent,
                dependent,
            ]
            inputs.append(dy.rectify(dy.affine_transform(composed)))
        if push.words:
            inputs.append(dy.pick_batch_elems(self.words, push.words))
        x = dy.concatenate_to_batch(inputs) if len(inputs) > 1 else inputs[0]
        h, c = self.gates.step(x, push.below.of(self.h), push.below.of(self.c))
        self.h.append(h)
        self.c.append(c)


def state_embedding(
    layer: StateLayer, stack: Expression, buffer: Expression, training: bool
) -> Expression:
    """v_t or u_t (H,)xR from the stack's outputs and the buffer's part of the layer, with bias."""
    state = dy.rectify(dy.affine_transform([buffer, layer.from_stack, stack]))
    return dy.dropout(state, layer.dropout) if training and layer.dropout else state


def log_probabilities(logits: Expression, can_shift: Flags, rows: Ints) -> Floats:
    """Legal log-probabilities (R, 3) of `rows` (R,), which index `can_shift` (C,) and the logits
    (3,)xC."""
    return legal_log_probabilities(finite(logits).reshape(-1, 3), can_shift)[rows]


def encoder_pass(
    encoder: Encoder, batch: Batch, copies: int, choose: Choose, training: bool, merge: bool
) -> tuple[Rows, list[Expression]]:
    """The rows after the last step; for every step with a choice, logits (3,) of the rows that have
    one."""
    embedded, layer = embed(encoder.embed, batch), encoder.state
    forward = over_words(encoder.forward, embedded, batch)
    backward = over_words(encoder.backward, embedded, batch, backwards=True)
    buffers = dy.concatenate_to_batch([dy.concatenate([forward, backward]), encoder.empty_buffer])
    parts = dy.affine_transform([layer.bias, layer.from_buffer, buffers])  # (H,)x(n * B + 1)
    rows, stacks, scored = Rows(batch, copies, merge), Stacks(encoder.stack, embedded), []
    for t in range(rows.n_steps):
        can_shift, can_reduce = rows.legal()
        choosing = np.flatnonzero(can_reduce)
        actions = np.full(len(rows.row_of), int(Action.SHIFT))
        if len(choosing):
            position = np.minimum(rows.read * batch.size + rows.sentence, batch.n * batch.size)
            buffer = dy.pick_batch_elems(parts, position[choosing].tolist())
            top = stacks.h[-1]
            if len(choosing) < len(rows.top):
                top = dy.pick_batch_elems(top, choosing.tolist())
            logits = layer.logits(state_embedding(layer, top, buffer, training))
            scored.append(logits)
            samples = np.flatnonzero(can_reduce[rows.row_of])
            place = np.searchsorted(choosing, rows.row_of[samples])
            evaluate = partial(log_probabilities, logits, can_shift[choosing], place)
            actions[samples] = choose(t, samples.tolist(), evaluate)
        step = rows.advance(actions)
        if step.push is not None:
            stacks.push(step.push)
    return rows, scored


def decoder_pass(decoder: Decoder, rows: Rows, training: bool) -> Expression:
    """u_t (H,)xA of all A rows before a step, one step after the other; the steps are the
    encoder's."""
    batch, layer = rows.batch, decoder.state
    embedded = embed(decoder.embed, batch)
    prefixes = dy.concatenate_to_batch(
        [decoder.no_prefix, over_words(decoder.prefix, embedded, batch)]
    )
    parts = dy.affine_transform([layer.bias, layer.from_buffer, prefixes])  # (H,)x(1 + n * B)
    stacks = Stacks(decoder.stack, embedded)
    for step in rows.steps:
        if step.push is not None:
            stacks.push(step.push)
    empty = dy.pick_batch_elems(decoder.no_stack, [0] * len(rows.steps[0].read))
    tops = dy.concatenate_to_batch([empty, *stacks.h[1:]])
    position = [
        np.maximum(1 + (step.read - 1) * batch.size + step.sentence, 0) for step in rows.steps
    ]
    buffer = dy.pick_batch_elems(parts, np.concatenate(position).tolist())
    return state_embedding(layer, tops, buffer, training)


class Visits:
    """The rows of all steps numbered through: A rows before a step, Z rows after one (visited
    rows)."""

    def __init__(self, rows: Rows) -> None:
        steps = rows.steps
        before = np.cumsum([0, *(len(step.read) for step in steps)])
        after = np.cumsum([0, *(len(step.action) for step in steps)])
        read, sentence, depth = (
            np.concatenate([getattr(step, name) for step in steps])
            for name in ("read", "sentence", "depth")
        )
        self.batch = rows.batch
        self.can_shift, self.can_reduce = read < rows.batch.n, depth >= 2  # (A,)
        self.next_word = read * rows.batch.size + sentence  # (A,) column
        # (Z,) of A
        self.parent = np.concatenate([step.parent + first for step, first in zip(steps, before)])
        self.action = np.concatenate([step.action for step in steps])  # (Z,)
        # (T, N) of Z
        self.of_sample = np.stack([step.row_of + first for step, first in zip(steps, after)])

    def actions(self, logits: Expression, column: Ints, masked: bool) -> Terms:
        """Terms of the actions where there is a choice; logits (3,) of row a are in column
        `column[a]`."""
        rows = np.flatnonzero(self.can_reduce[self.parent])
        parent = self.parent[rows]
        chosen = dy.pick_batch_elems(logits, column[parent].tolist())
        if masked:
            masks = dy.inputTensor(np.array([NO_SHIFT, (0.0, 0.0, 0.0)]).T, batched=True)
            chosen = chosen + dy.pick_batch_elems(
                masks, self.can_shift[parent].astype(int).tolist()
            )
        return Terms(dy.pickneglogsoftmax_batch(chosen, self.action[rows].tolist()), rows)

    def generated(self, decoder: Decoder, embedding: Expression) -> list[Terms]:
        """Terms of the tags and, in lexicalised models, words generated; `embedding` is u_t
        (H,)xA."""
        rows = np.flatnonzero(self.action == Action.SHIFT)
        parent = self.parent[rows]
        embedding = dy.pick_batch_elems(embedding, parent.tolist())
        tags, words = (
            of_all[self.next_word[parent]].tolist()
            for of_all in (self.batch.tags, self.batch.words)
        )
        return decoder.generated(embedding, tags, words, rows)


@dataclass
class BatchSamples:
    """Samples of B sentences, and the terms of their scores in the current graph."""

    samples: list[Samples]  # (B,)
    visits: Ints  # (T, N) the row that each sample visits in each step
    terms: Terms  # first all of -log q, then all of -log p
    n_encoder: int  # how many are of -log q


def derive_and_score(
    network: Network,
    sentences: Sequence[Encoded],
    copies: int,
    choose: Choose,
    *,
    training: bool = True,
    merge: bool = True,
) -> BatchSamples:
    """Derivations of equally long sentences, scored by encoder and decoder, in a new graph.

    `choose` is asked for all N samples together. A sentence of one word has log q = 0, as there is
    no choice.

    Raises: ValueError, the sentences are not of one length, or have unknown tags; VdgiError, a
    score is not a finite number.
    """
    batch = Batch(sentences)
    if UNKNOWN in batch.tags:
        raise ValueError("the decoder cannot generate an unknown tag")
    new_graph(autobatch=False)
    encoder, decoder = network.encoder, network.decoder
    rows, scored = encoder_pass(encoder, batch, copies, choose, training, merge)
    visits, embedding = Visits(rows), decoder_pass(decoder, rows, training)
    parts, n_encoder = visits.generated(decoder, embedding), 0
    if scored:
        logits = decoder.state.logits(embedding)
        of_decoder = visits.actions(logits, np.arange(len(visits.can_reduce)), decoder.masked)
        column = np.cumsum(visits.can_reduce) - 1
        of_encoder = visits.actions(dy.concatenate_to_batch(scored), column, encoder.masked)
        parts, n_encoder = [of_encoder, of_decoder, *parts], len(of_encoder.rows)
    nll = dy.concatenate_to_batch([part.nll for part in parts])
    terms = Terms(nll, np.concatenate([part.rows for part in parts]))

    values, n_visited = finite(nll), len(visits.action)
    log_q, log_p = (
        -np.bincount(terms.rows[part], values[part], n_visited)[visits.of_sample].sum(axis=0)
        for part in (slice(n_encoder), slice(n_encoder, None))
    )
    actions, heads = (
        visits.action[visits.of_sample].T.tolist(),
        [tuple(tree) for tree in rows.heads.tolist()],
    )
    each = [slice(b * copies, (b + 1) * copies) for b in range(batch.size)]
    samples = [Samples(actions[m], heads[m], log_q[m], log_p[m]) for m in each]
    return BatchSamples(samples, visits.of_sample, terms, n_encoder)


def backward(drawn: BatchSamples, encoder_weights: Floats, decoder_weights: Floats) -> float:
    """Adds the gradient of sum_k w_k (-log q_k) + v_k (-log p_k) to the parameters'; returns the
    sum.

    The weights (N,) of all samples are constants.

    Raises: VdgiError, the sum is not a finite number.
    """
    visits, n_steps, n_encoder = drawn.visits.ravel(), len(drawn.visits), drawn.n_encoder
    of_q, of_p = (
        np.bincount(visits, np.tile(w, n_steps)) for w in (encoder_weights, decoder_weights)
    )
    rows = drawn.terms.rows
    weights = np.concatenate([of_q[rows[:n_encoder]], of_p[rows[n_encoder:]]])
    terms = dy.reshape(drawn.terms.nll, (len(rows),), batch_size=1)
    loss = dy.dot_product(terms, dy.inputTensor(weights))
    value = float(finite(loss)[0])
    loss.backward()
    return value


def accumulate(
    network: Network,
    sentences: Sequence[Encoded],
    phase: Phase,
    rng: np.random.Generator,
    settings: TrainSettings,
    derivations: Sequence[Sequence[int]] | None = None,
    merge: bool = True,
) -> list[Samples]:
    """Samples derivations of every sentence and adds the mean gradient of the phase's loss.

    As `per_sentence.accumulate`, but for sentences of one length.

    Raises: ValueError, the sentences are not of one length, or have unknown tags; VdgiError,
    training diverged.
    """
    seed_dropout(rng)
    if derivations is None:
        copies, choose = settings.samples, sample_actions(rng, settings.exponent)
    else:
        copies, choose = 1, forcing(derivations)
    drawn = derive_and_score(network, sentences, copies, choose, merge=merge)
    weights = [phase(sentence, samples) for sentence, samples in zip(sentences, drawn.samples)]
    encoder_weights, decoder_weights = (
        np.concatenate(part) / len(sentences) for part in zip(*weights)
    )
    backward(drawn, encoder_weights, decoder_weights)
    return drawn.samples

"""Compiled parts of the arena parser: the steps between matrix products, as `arena_numpy` in NumPy.

tanh is a quotient of polynomials, everywhere within 3e-7 of the exact value, also relative to it;
log-probabilities of derivations differ from NumPy's by a relative error below 1e-5.

Letters: H hidden units, S sentences of a batch, N words in them, U different words, B rows, b of them active.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynet_vdgi.compiled.jit import compiled_floats
from dynet_vdgi.parsing.choices import Array, Ints
from dynet_vdgi.system.arrays import Flags

LIMIT = np.float32(7.90531110763549805)  # where tanh is 1
A1, A3, A5, A7 = map(
    np.float32, (4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08)
)
A9, A11, A13 = map(np.float32, (-8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16))
B0, B2, B4, B6 = map(
    np.float32, (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06)
)
HALF, NOTHING = np.float32(0.5), np.float32(0.0)

STEP, ACTIVE, STAYING, STATES, PRODUCTS, REDUCTIONS = range(6)
"""Places in `counts`: the step, active rows before and after it, numbers of states and of products,
reductions that push."""


class Words(NamedTuple):
    """Places of a batch's words: the sentences one after the other, longest first.

    Each is followed by a place that stands for the empty buffer.
    """

    lengths: Ints  # (S,)
    first: Ints  # (S,), place of the first word
    inputs: Ints  # (N + S,), row in the tables; 0 at the places for the empty buffer


class ReadingArrays(NamedTuple):
    """The two LSTMs over words, all sentences at once, one word of each a step."""

    counts: Ints  # (6,), STEP and ACTIVE
    forward: Array  # (U, 4H), what words contribute to the gates
    backward: Array  # (U, 4H)
    gates: Array  # (2, S, 4H), input: the contribution of the last outputs
    h: Array  # (2, S, H), the last outputs
    c: Array  # (2, 2, S, H), alternately before and after a step
    outputs: Array  # (N + S, 2H), by place


class StackArenas(NamedTuple):
    """The stacks of all rows: numbers of states in arenas; state 0 is the empty stack.

    The words of row r are numbered from base[r] on.
    """

    counts: Ints  # (6,)
    h: Array  # (states, H)
    c: Array  # (states, H)
    below: Ints  # (states,)
    word: Ints  # (states,), the head word of the item
    product: Ints  # (states,), where `products` has the contribution of the state below to the gates
    products: Array  # (N, 4H)
    top: Ints  # (B,)
    read: Ints  # (B,), words read
    lengths: Ints  # (B,), words of the row
    base: Ints  # (B,)
    first: Ints  # (B,), place of the first word
    heads: Ints  # (B * longest,), a word's head, both by these numbers; -1 for none


@compiled_floats
def squashed(x: Any) -> Any:
    """tanh(x) of an np.float32."""
    x = x if x < LIMIT else LIMIT
    x = x if x > -LIMIT else -LIMIT
    s = x * x
    over = ((((((A13 * s + A11) * s + A9) * s + A7) * s + A5) * s + A3) * s + A1) * x
    return over / (((B6 * s + B4) * s + B2) * s + B0)


@compiled_floats
def cell(gates: Array, before: Array, c: Array, h: Array) -> None:
    """One step of an LSTM from its gates (4H,) before activation; c and h (H,) are set.

    Each loop uses few arrays, so that LLVM can check that they do not overlap and then vectorise the loop.
    """
    size = len(c)
    i, f, o, g = gates[:size], gates[size : 2 * size], gates[2 * size : 3 * size], gates[3 * size :]
    for j in range(size):
        c[j] = (HALF * squashed(f[j]) + HALF) * before[j] + (HALF * squashed(i[j]) + HALF) * squashed(g[j])
    for j in range(size):
        h[j] = (HALF * squashed(o[j]) + HALF) * squashed(c[j])


@compiled_floats
def read_words(words: Words, reading: ReadingArrays) -> None:
    """One step of the LSTMs over words."""
    step, size = reading.counts[STEP], reading.h.shape[2]
    for r in range(reading.counts[ACTIVE]):
        for back in range(2):
            place = words.first[r] + (words.lengths[r] - 1 - step if back else step)
            table = reading.backward if back else reading.forward
            gates, of_word = reading.gates[back, r], table[words.inputs[place]]
            for j in range(4 * size):
                gates[j] += of_word[j]
            h = reading.h[back, r]
            cell(gates, reading.c[back, step % 2, r], reading.c[back, 1 - step % 2, r], h)
            output = reading.outputs[place, back * size : (back + 1) * size]
            for j in range(size):
                output[j] = h[j]


@compiled_floats
def score(
    stacks: StackArenas,
    buffer: Array,
    state: Array,
    state_bias: Array,
    actions: Array,
    actions_bias: Array,
    logits: Array,
    decided: Flags,
) -> None:
    """Sets the logits (3, B) of the active rows; `state` (B, H) is the contribution of the stacks.

    `decided` (2, B) receives the best action, in the form of `choices.greedy`.
    """
    w, size, half = actions, state.shape[1], (stacks.counts[STEP] + 1) // 2
    for r in range(stacks.counts[ACTIVE]):
        read = stacks.read[r]
        of_stack, of_buffer = state[r], buffer[stacks.first[r] + read]
        shift = left = right = NOTHING
        for j in range(size):
            x = of_stack[j] + of_buffer[j] + state_bias[j]
            x = x if x > NOTHING else NOTHING
            shift += x * w[0, j]
            left += x * w[1, j]
            right += x * w[2, j]
        shift, left, right = shift + actions_bias[0], left + actions_bias[1], right + actions_bias[2]
        logits[0, r], logits[1, r], logits[2, r] = shift, left, right
        best = left if left > right else right
        decided[0, r] = read > half and (best > shift or read >= stacks.lengths[r])
        decided[1, r] = left >= right


@compiled_floats
def move(stacks: StackArenas, decided: Flags, pairs: Array, tops: Array) -> None:
    """One action for every active row; `decided` (2, B): whether it reduces, and whether by LEFT_REDUCE.

    The new state of row r is number STATES + r; complete rows have none. Sets the inputs of the matrix
    products: the outputs of head and dependent of every reduction (B, 2H), and the outputs of the state below
    every shifted word (B, H).
    """
    counts, size = stacks.counts, stacks.h.shape[1]
    n_reductions = n_shifts = 0
    for r in range(counts[ACTIVE]):
        new, top, stays = counts[STATES] + r, stacks.top[r], r < counts[STAYING]
        if decided[0, r]:
            second = stacks.below[top]
            head, dependent = (top, second) if decided[1, r] else (second, top)
            stacks.heads[stacks.word[dependent]] = stacks.word[head]
            if not stays:
                continue
            stacks.word[new] = stacks.word[head]
            stacks.below[new] = stacks.below[second]
            stacks.product[new] = stacks.product[second]
            pair, of_head, of_dependent = pairs[n_reductions], stacks.h[head], stacks.h[dependent]
            for j in range(size):
                pair[j] = of_head[j]
            for j in range(size):
                pair[size + j] = of_dependent[j]
            n_reductions += 1
        elif stays:
            stacks.word[new] = stacks.base[r] + stacks.read[r]
            stacks.below[new] = top
            stacks.product[new] = counts[PRODUCTS] + n_shifts
            below, of_top = tops[n_shifts], stacks.h[top]
            for j in range(size):
                below[j] = of_top[j]
            n_shifts += 1
    counts[REDUCTIONS] = n_reductions


@compiled_floats
def push(stacks: StackArenas, decided: Flags, inputs: Ints, table: Array, bias: Array, gates: Array) -> None:
    """The new states of all rows that stay; `gates` (B + 1, 4H) starts with the compositions' share."""
    counts, n_reductions, size = stacks.counts, 0, len(bias)
    scratch = gates[counts[REDUCTIONS]]
    for r in range(counts[STAYING]):
        new = counts[STATES] + r
        product = stacks.products[stacks.product[new]]
        if decided[0, r]:
            row = gates[n_reductions]
            n_reductions += 1
            for j in range(size):
                row[j] = row[j] + product[j] + bias[j]
        else:
            row, of_word = scratch, table[inputs[stacks.first[r] + stacks.read[r]]]
            for j in range(size):
                row[j] = product[j] + of_word[j]
            stacks.read[r] += 1
        cell(row, stacks.c[stacks.below[new]], stacks.c[new], stacks.h[new])
        stacks.top[r] = new

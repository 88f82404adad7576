"""The functions of `arena_kernels` in NumPy: their reference, and for texts too short for machine code."""

from __future__ import annotations

import numpy as np

from dynet_vdgi.parsing.arena_kernels import (
    ACTIVE,
    PRODUCTS,
    REDUCTIONS,
    STATES,
    STAYING,
    STEP,
    ReadingArrays,
    StackArenas,
    Words,
)
from dynet_vdgi.parsing.choices import Array, Ints, greedy
from dynet_vdgi.system.arrays import Flags


def cells(gates: Array, before: Array) -> tuple[Array, Array]:
    """Cells and outputs (b, H) of an LSTM from its gates (b, 4H) before activation."""
    size = before.shape[1]
    np.tanh(gates, out=gates)
    sigmoids = gates[:, : 3 * size]
    sigmoids *= np.float32(0.5)
    sigmoids += np.float32(0.5)
    i, f, o, g = (gates[:, k * size : (k + 1) * size] for k in range(4))
    c = f * before
    c += np.multiply(i, g, out=g)
    h = np.tanh(c)
    h *= o
    return c, h


def read_words(words: Words, reading: ReadingArrays) -> None:
    """One step of the LSTMs over words."""
    rows, step, size = int(reading.counts[ACTIVE]), reading.counts[STEP], reading.h.shape[2]
    for back, table in enumerate((reading.forward, reading.backward)):
        place = words.first[:rows] + (words.lengths[:rows] - 1 - step if back else step)
        gates = reading.gates[back, :rows]
        gates += table.take(words.inputs[place], axis=0)
        c, h = cells(gates, reading.c[back, step % 2, :rows])
        reading.c[back, 1 - step % 2, :rows], reading.h[back, :rows] = c, h
        reading.outputs[place, back * size : (back + 1) * size] = h


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
    """Sets the logits (3, B) of the active rows, and the best actions (2, B)."""
    rows = int(stacks.counts[ACTIVE])
    read = stacks.read[:rows]
    x = state[:rows] + buffer.take(stacks.first[:rows] + read, axis=0)
    x += state_bias
    np.maximum(x, np.float32(0), out=x)
    logits[:, :rows] = actions @ x.T + actions_bias[:, None]
    can_shift, can_reduce = read < stacks.lengths[:rows], read > (stacks.counts[STEP] + 1) // 2
    decided[:, :rows] = greedy(logits[:, :rows], can_shift, can_reduce)


def move(stacks: StackArenas, decided: Flags, pairs: Array, tops: Array) -> None:
    """One action for every active row."""
    rows, stay, new = (int(stacks.counts[k]) for k in (ACTIVE, STAYING, STATES))
    reduce, shift = decided[0, :rows].nonzero()[0], (~decided[0, :stay]).nonzero()[0]
    top = stacks.top[reduce]
    second = stacks.below[top]
    pair = np.where(decided[1, reduce], (top, second), (second, top))  # heads, dependents
    words = stacks.word[pair]
    stacks.heads[words[1]] = words[0]
    k = int(np.searchsorted(reduce, stay))
    state = new + reduce[:k]
    stacks.word[state] = words[0, :k]
    stacks.below[state] = stacks.below[second[:k]]
    stacks.product[state] = stacks.product[second[:k]]
    size = stacks.h.shape[1]
    for part, states in enumerate(pair[:, :k]):
        pairs[:k, part * size : (part + 1) * size] = stacks.h.take(states, axis=0)

    top, state = stacks.top[shift], new + shift
    stacks.word[state] = stacks.base[shift] + stacks.read[shift]
    stacks.below[state] = top
    stacks.product[state] = stacks.counts[PRODUCTS] + np.arange(len(shift))
    tops[: len(shift)] = stacks.h.take(top, axis=0)
    stacks.counts[REDUCTIONS] = k


def push(stacks: StackArenas, decided: Flags, inputs: Ints, table: Array, bias: Array, gates: Array) -> None:
    """The new states of all rows that stay."""
    rows, k, new = (int(stacks.counts[k]) for k in (STAYING, REDUCTIONS, STATES))
    reduce, shift = decided[0, :rows].nonzero()[0], (~decided[0, :rows]).nonzero()[0]
    order = new + np.concatenate([reduce, shift])  # the reductions first
    gates = gates[:rows]
    gates[:k] += bias
    gates[k:] = table.take(inputs[stacks.first[shift] + stacks.read[shift]], axis=0)
    gates += stacks.products.take(stacks.product[order], axis=0)
    stacks.c[order], stacks.h[order] = cells(gates, stacks.c.take(stacks.below[order], axis=0))
    stacks.read[shift] += 1
    stacks.top[:rows] = new + np.arange(rows)

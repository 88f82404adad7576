"""The two LSTMs over the words of a batch, and the stacks of its rows: matrix products and kernels.

`arena` explains both, and the letters. Arrays have room for the largest of several batches, so that all
batches share them and the kernels' arguments, because the first touch of new memory costs more than its use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.compiled.machine_code import Kernel
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.parsing import arena_kernels, arena_numpy
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
from dynet_vdgi.parsing.choices import Array, Choose, Ints

BLOCK = 240
"""Most rows of a product with a matrix (64, 64) for which OpenBLAS has a quick kernel."""

PLENTY = 200_000
"""Words that NumPy parses in about two seconds; for more of them, kernels are worth compiling."""

_READ, _SCORE, _MOVE, _PUSH = (
    Kernel(function, "the neural parser", PLENTY)
    for function in (arena_kernels.read_words, arena_kernels.score, arena_kernels.move, arena_kernels.push)
)


class ReadingWeights(NamedTuple):
    """Weights of the two LSTMs over words, and of the state layer for the buffer."""

    recurrent: Array  # (2, 4, H, H), by direction and gate
    from_buffer: Array  # (2H, H)
    empty_buffer: Array  # (2H,)


class StackWeights(NamedTuple):
    """Weights that work on the stack; matrices multiply from the right."""

    recurrent: Array  # (4, H, H), by gate
    inputs: Array  # (4, H, H)
    bias: Array  # (4H,), of the LSTM and of what compositions contribute
    compose: Array  # (2H, H), from head and dependent
    compose_floor: Array  # (H,): ReLU(x - floor) = max(x, floor) - floor, whose last part is in the bias
    from_stack: Array  # (H, H)
    state_bias: Array  # (H,)
    actions: Array  # (3, H)
    actions_bias: Array  # (3,)


class WordTables(NamedTuple):
    """The contribution of each word to the gates of the three LSTMs, biases included."""

    forward: Array  # (U, 4H)
    backward: Array  # (U, 4H)
    stack: Array  # (U, 4H)


class Sizes(NamedTuple):
    """Sizes of a batch, or the largest of several batches."""

    sentences: int
    words: int  # of the sentences
    rows: int
    row_words: int  # of the sentences of all rows
    heads: int  # rows times the longest sentence

    @property
    def places(self) -> int:
        """Places of the words, and one more for each sentence."""
        return self.words + self.sentences


def room_for_words(sizes: Sizes) -> Words:
    """Room for the words of batches up to these sizes."""
    lengths, first = np.zeros((2, sizes.sentences), np.intp)
    return Words(lengths, first, np.zeros(sizes.places, np.intp))


class WordReader:
    """Reads the words of batches up to given sizes; `words` holds one batch after the other.

    `first` is the contribution of first words to the gates of second ones, if known.
    """

    def __init__(
        self,
        weights: ReadingWeights,
        words: Words,
        tables: WordTables,
        first: WordTables | None,
        sizes: Sizes,
        work: int,
    ) -> None:
        hidden, n = weights.from_buffer.shape[1], sizes.sentences
        self.weights, self.words = weights, words
        self.first = None if first is None else (first.forward, first.backward)
        self.reading = ReadingArrays(
            np.zeros(6, np.intp),
            tables.forward,
            tables.backward,
            np.empty((2, n, 4 * hidden), np.float32),
            np.empty((2, n, hidden), np.float32),
            np.empty((2, 2, n, hidden), np.float32),
            np.empty((sizes.places, 2 * hidden), np.float32),
        )
        self.buffer = np.empty((sizes.places, hidden), np.float32)
        self._step = _bound(_READ, arena_numpy.read_words, work, words, self.reading)

    def read(self, n: int) -> None:
        """Sets the contribution of the buffer of n sentences to the state layer at each place (N + S, H)."""
        reading, lengths, first = self.reading, self.words.lengths[:n], self.words.first[:n]
        reading.gates[:, :n] = reading.c[:, 0, :n] = 0
        active = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
        for step, rows in enumerate(active.tolist()):
            reading.counts[ACTIVE], reading.counts[STEP] = rows, step
            if step == 1 and self.first is not None:
                places = first[:rows], first[:rows] + lengths[:rows] - 1
                for table, place, gates in zip(self.first, places, reading.gates):
                    table.take(self.words.inputs[place], axis=0, out=gates[:rows], mode="clip")
            elif step:
                for h, weights, gates in zip(reading.h, self.weights.recurrent, reading.gates):
                    by_gate(h[:rows], weights, gates[:rows])
            self._step()
        ends = first + lengths
        outputs, buffer = reading.outputs[: ends[-1] + 1], self.buffer[: ends[-1] + 1]
        outputs[ends] = self.weights.empty_buffer
        for start in range(0, len(outputs), BLOCK // 2):
            part = slice(start, start + BLOCK // 2)
            np.dot(outputs[part], self.weights.from_buffer, out=buffer[part])


class RowStacks:
    """The stacks of the rows of batches up to given sizes; `words` holds one batch after the other.

    `table` (U, 4H) is the contribution of words to the gates, and `first` their contribution as the state
    below, if known; `buffer` is as `WordReader` sets it.
    """

    def __init__(
        self,
        weights: StackWeights,
        words: Words,
        table: Array,
        first: Array | None,
        buffer: Array,
        sizes: Sizes,
        work: int,
    ) -> None:
        self.weights, self.words, self.first = weights, words, first
        n_rows, n_words, hidden = sizes.rows, sizes.row_words, buffer.shape[1]
        hidden_states = np.empty((2, 2 * n_words, hidden), np.float32)
        of_states, of_rows = np.zeros((3, 2 * n_words), np.intp), np.zeros((5, n_rows), np.intp)
        self.stacks = stacks = StackArenas._make(
            (
                np.zeros(6, np.intp),
                *hidden_states,
                *of_states,
                np.empty((n_words, 4 * hidden), np.float32),
                *of_rows,
                np.zeros(sizes.heads, np.intp),
            )
        )
        stacks.h[0] = stacks.c[0] = 0
        self.state = np.empty((n_rows, hidden), np.float32)
        self.logits = np.empty((3, n_rows), np.float32)
        self.decided = np.zeros((2, n_rows), np.bool_)  # who reduces, and by LEFT_REDUCE
        self.pairs = np.empty((n_rows, 2 * hidden), np.float32)
        self.tops = np.empty((n_rows, hidden), np.float32)
        self.composed = np.empty((n_rows, hidden), np.float32)
        self.gates = np.empty((n_rows + 1, 4 * hidden), np.float32)
        self.floor = np.tile(weights.compose_floor, (n_rows, 1))  # faster than one row
        layer = (weights.state_bias, weights.actions, weights.actions_bias)
        scored = (stacks, buffer, self.state, *layer, self.logits, self.decided)
        self._score = _bound(_SCORE, arena_numpy.score, work, *scored)
        moved = (stacks, self.decided, self.pairs, self.tops)
        self._move = _bound(_MOVE, arena_numpy.move, work, *moved)
        pushed = (stacks, self.decided, words.inputs, table, weights.bias, self.gates)
        self._push = _bound(_PUSH, arena_numpy.push, work, *pushed)

    def run(self, sentence: Ints, choose: Choose | None) -> NDArray[np.int32]:
        """Heads (B, longest), 1..n and 0 for the root, of derivations in which `choose` makes every choice.

        None takes the best actions. Row r belongs to sentence `sentence[r]`; rows are sorted by length,
        longest first.
        """
        stacks, n_rows = self.stacks, len(sentence)
        lengths = stacks.lengths[:n_rows] = self.words.lengths[sentence]
        longest = int(lengths[0])
        stacks.counts[STATES], stacks.counts[PRODUCTS] = 1, 0
        stacks.top[:n_rows] = stacks.read[:n_rows] = 0
        stacks.base[:n_rows] = np.arange(n_rows) * longest
        stacks.first[:n_rows] = self.words.first[sentence]
        heads = stacks.heads[: n_rows * longest]
        heads[:] = -1
        self.decided[0, :n_rows] = False
        n_steps = 2 * lengths - 1
        active = np.searchsorted(-n_steps, -np.arange(n_steps[0]), side="left").tolist()
        for step, (rows, stay) in enumerate(zip(active, [*active[1:], 0])):
            stacks.counts[STEP], stacks.counts[ACTIVE], stacks.counts[STAYING] = step, rows, stay
            if step >= 2:  # before it there is nothing to reduce
                self._decide(step, rows, choose)
            self._advance(step, stay)
        return np.where(heads < 0, 0, heads % longest + 1).astype(np.int32).reshape(-1, longest)

    def _decide(self, step: int, rows: int, choose: Choose | None) -> None:
        last = int(self.stacks.top[0])  # the new states of a step are in the order of the rows
        np.dot(self.stacks.h[last : last + rows], self.weights.from_stack, out=self.state[:rows])
        self._score()
        if choose is not None:
            read, lengths = self.stacks.read[:rows], self.stacks.lengths[:rows]
            can_reduce = read > (step + 1) // 2  # 2 * read - step words are on the stack
            self.decided[:, :rows] = choose(step, self.logits[:, :rows], read < lengths, can_reduce)

    def _advance(self, step: int, stay: int) -> None:
        """One action for every row, after which `stay` of them are still active."""
        weights, counts = self.weights, self.stacks.counts
        self._move()
        k, first = int(counts[REDUCTIONS]), int(counts[PRODUCTS])
        if k:
            composed = np.dot(self.pairs[:k], weights.compose, out=self.composed[:k])
            np.maximum(composed, self.floor[:k], out=composed)
            by_gate(composed, weights.inputs, self.gates[:k])
        products = self.stacks.products[first : first + stay - k]
        if step == 0:
            products[:] = 0  # on the empty stack
        elif step == 1 and self.first is not None:  # all shift
            places = self.stacks.first[:stay]
            self.first.take(self.words.inputs[places], axis=0, out=products, mode="clip")
        elif k < stay:
            by_gate(self.tops[: stay - k], weights.recurrent, products)
        self._push()
        counts[STATES] += stay
        counts[PRODUCTS] += stay - k


def of_first(table: Array, recurrent: Array) -> Array:
    """The contribution of first words to the gates of the words after them (U, 4H)."""
    h = arena_numpy.cells(table.copy(), np.zeros((len(table), recurrent.shape[1]), np.float32))[1]
    result = np.empty_like(table)
    by_gate(h, recurrent, result)
    return result


def by_gate(x: Array, weights: Array, out: Array) -> None:
    """Sets `out` (b, 4H) to the product of x (b, H) and weights (4, H, H), gate by gate.

    OpenBLAS has quick kernels for products of up to a million multiplications, so one product for all gates
    would take half as long again.
    """
    n_gates, hidden = weights.shape[:2]
    if len(x) <= BLOCK:
        np.matmul(x, weights, out=out.reshape(len(x), n_gates, hidden).transpose(1, 0, 2))
    else:
        for start in range(0, len(x), BLOCK):
            by_gate(x[start : start + BLOCK], weights, out[start : start + BLOCK])


def _bound(
    kernel: Kernel, otherwise: Callable[..., None], work: int, *arguments: object
) -> Callable[[], None]:
    """The call of a kernel, or of its NumPy twin while that costs less than compiling the kernel."""
    try:
        call = kernel.bound(*arguments, work=work)
    except (VdgiError, MemoryError):  # numba cannot be had, or has too little memory
        call = None
    return call or partial(otherwise, *arguments)

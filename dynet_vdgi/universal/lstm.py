"""The bidirectional LSTM of the universal parser, for many sentences at once, without DyNet.

Equations as of DyNet's VanillaLSTMBuilder: the forget gate's bias is raised by 1.

Sentences are sorted by length, so that at each time step those that still have a word are the first
ones:

>>> order = Packing(np.array([0, 2, 5]))  # sentences of two words and of three
>>> order.active.tolist()  # sentences with a first, second, third word
[2, 2, 1]
>>> order.forward.tolist(), order.backward.tolist()  # words by time, the longer sentence first
([2, 0, 3, 1, 4], [4, 1, 3, 0, 2])

Letters: N words; H hidden units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dynet_vdgi.system.array_types import Floats32, Ints
from dynet_vdgi.system.jit import Kernel, compiled_floats

HALF = np.float32(0.5)

LIMIT = np.float32(7.90531110763549805)
"""Beyond it, tanh is 1 in single precision."""

A1, A3, A5 = map(np.float32, (4.89352455891786e-3, 6.37261928875436e-4, 1.48572235717979e-5))

A7, A9, A11 = map(np.float32, (5.12229709037114e-8, -8.60467152213735e-11, 2.00018790482477e-13))

A13, B0, B2 = map(np.float32, (-2.76076847742355e-16, 4.89352518554385e-3, 2.26843463243900e-3))

B4, B6 = map(np.float32, (1.18534705686654e-4, 1.19825839466702e-6))


@compiled_floats
def tanh(x: Any) -> Any:
    """tanh as a quotient of polynomials, within 3e-7; unlike the library's it can be vectorised."""
    x = max(min(x, LIMIT), -LIMIT)
    s = x * x
    odd = x * (A1 + s * (A3 + s * (A5 + s * (A7 + s * (A9 + s * (A11 + s * A13))))))
    return odd / (B0 + s * (B2 + s * (B4 + s * B6)))


@compiled_floats
def step(gates: Floats32, cells: Floats32, outputs: Floats32, at: int, size: int) -> None:
    """One time step of the first `size` sentences in both directions; their rows begin `at`.

    gates (2, N, 4 * H), the sigmoids' halved; cells (2, S, H) from the step before are replaced;
    outputs (2, N, H) are filled in.
    """
    hidden = cells.shape[2]
    for direction in range(2):
        for k in range(size):
            row, c, out = gates[direction, at + k], cells[direction, k], outputs[direction, at + k]
            for j in range(4 * hidden):
                row[j] = tanh(row[j])
            for j in range(hidden):
                i, f = HALF + HALF * row[j], HALF + HALF * row[hidden + j]
                c[j] = f * c[j] + i * row[3 * hidden + j]
                out[j] = tanh(c[j]) * (HALF + HALF * row[2 * hidden + j])


def step_in_numpy(gates: Floats32, cells: Floats32, outputs: Floats32, at: int, size: int) -> None:
    """`step` for little work, which is not worth compiling; equal but for rounding."""
    hidden = cells.shape[2]
    now, c = gates[:, at : at + size], cells[:, :size]
    np.tanh(now, out=now)
    three = now[:, :, : 3 * hidden]
    three *= HALF
    three += HALF
    c *= now[:, :, hidden : 2 * hidden]
    c += now[:, :, :hidden] * now[:, :, 3 * hidden :]
    np.multiply(np.tanh(c), now[:, :, 2 * hidden : 3 * hidden], out=outputs[:, at : at + size])


STEP = Kernel(step, "the universal parser", plain=step_in_numpy)

WORDS_A_UNIT = 8
"""Words at which `step_in_numpy` takes .1 ms longer than `step`, see `jit.WORK_TO_LOAD`."""


class Packing:
    """Sentences, the longest first, as rows by time: `forward` and `backward` (N,) order the words
    so."""

    def __init__(self, start: Ints) -> None:
        lengths = np.diff(start)
        order = np.argsort(-lengths, kind="stable")
        by_length = lengths[order]
        longest = int(by_length[0]) if len(by_length) else 0
        # sentences longer than t
        self.active = np.searchsorted(-by_length, -np.arange(longest), "left")
        first, last = start[:-1][order], start[1:][order] - 1
        self.forward = np.concatenate(
            [first[:0], *(first[:k] + t for t, k in enumerate(self.active))]
        )
        self.backward = np.concatenate(
            [last[:0], *(last[:k] - t for t, k in enumerate(self.active))]
        )


class Layer:
    """One layer of the LSTM in both directions, its sigmoids computed as tanh (x / 2)."""

    def __init__(self, weights: Mapping[str, Floats32], layer: int) -> None:
        directions = ("forward", "backward")
        x, h, bias = (
            [weights[f"lstm{layer}.{direction}.{part}"] for direction in directions]
            for part in ("x", "h", "bias")
        )
        self.hidden = hidden = x[0].shape[0] // 4
        half = np.ones((4 * hidden, 1), np.float32)
        half[: 3 * hidden] = HALF
        self._x = np.stack([np.ascontiguousarray((a * half).T) for a in x])
        self._h = np.stack([np.ascontiguousarray((a * half).T) for a in h])
        forget = np.zeros(4 * hidden, np.float32)
        forget[hidden : 2 * hidden] = 1.0
        self._bias = np.stack([(b + forget) * half[:, 0] for b in bias])

    def __call__(self, order: Packing, x: Floats32, of_word: Ints | None = None) -> Floats32:
        """Outputs (N, 2 * H) for inputs (N, width), or for these rows (N,) of fewer."""
        hidden, n = self.hidden, len(order.forward)
        # the only large array, for which memory is fetched once
        gates = np.empty((2, n, 4 * hidden), np.float32)
        for k, words in enumerate((order.forward, order.backward)):
            if of_word is None:
                np.matmul(x[words], self._x[k], out=gates[k])
                gates[k] += self._bias[k]
            else:
                np.take(
                    x @ self._x[k] + self._bias[k],
                    of_word[words],
                    axis=0,
                    out=gates[k],
                    mode="clip",
                )
        outputs = np.empty((2, n, hidden), np.float32)
        cells = np.zeros((2, int(order.active[0]) if n else 0, hidden), np.float32)
        before = at = 0
        for size in order.active.tolist():
            if at:
                gates[:, at : at + size] += np.matmul(outputs[:, before : before + size], self._h)
            STEP(gates, cells, outputs, at, size, work=-(-size // WORDS_A_UNIT))
            before, at = at, at + size
        result = np.empty((n, 2 * hidden), np.float32)
        result[order.forward, :hidden], result[order.backward, hidden:] = outputs
        return result

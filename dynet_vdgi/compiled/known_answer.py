"""A kernel whose answer is known: compiled, stored, loaded and run before other machine code is trusted.

It takes each kind of argument that kernels take, and does the arithmetic that they do. `machine_code` runs
`check` in a process of its own, because a wrong calling convention may end the process.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.compiled import code_cache, machine_code
from dynet_vdgi.compiled.jit import compiled, compiled_floats


class Probe(NamedTuple):
    """A tuple of arrays and numbers, two neighbours of one type."""

    minuends: NDArray[np.int64]  # (3,)
    subtrahends: NDArray[np.int64]  # (3,)
    factor: np.uint64


@compiled
def mixed(code: np.uint64, factor: np.uint64) -> Any:
    return (code ^ (code >> np.uint64(31))) * factor


@compiled
def answer(
    probe: Probe,
    table: NDArray[np.float32],
    offset: int,
    is_doubled: bool,
    share: float,
    integers: NDArray[np.int64],
    floats: NDArray[np.float64],
    codes: NDArray[np.uint64],
) -> None:
    for k in range(len(integers)):
        integers[k] = (probe.minuends[k] - probe.subtrahends[k]) // 2 + offset * (2 if is_doubled else 1)
        for column in range(table.shape[1]):
            floats[k] += table[k, column] * share
        codes[k] = mixed(np.uint64(k + 1) << np.uint64(40), probe.factor)


@compiled_floats
def float_answer(table: NDArray[np.float32], share: float, floats: NDArray[np.float64]) -> None:
    for k in range(len(floats)):
        total = np.float32(0)
        for column in range(table.shape[1]):
            total += table[k, column] * table[k, column]
        floats[k] = total * share / (k - 1)


def prove() -> None:
    """Runs `check`, unless it has passed in an earlier process, and keeps that it has."""
    if not machine_code.has_passed():
        check()
        code_cache.keep(machine_code.passed_name(), b"passed")


def check() -> None:
    """Compiles and runs the kernels. Raises: ValueError, an answer is wrong; anything, it cannot be done."""
    minuends, subtrahends = np.array([5, -4, 1 << 40]), np.array([2, 3, 1])
    table = np.arange(60, dtype=np.float32).reshape(3, 20)
    integers, floats, codes = np.zeros(3, np.int64), np.zeros(3), np.zeros(3, np.uint64)
    probe = Probe(minuends, subtrahends, np.uint64(0x9E3779B97F4A7C15))
    _run(answer, probe, table, -7, True, 0.5, integers, floats, codes)
    _compare(integers, [-13, -18, (1 << 39) - 1 - 14])
    _compare(floats, [95.0, 295.0, 495.0])
    _compare(codes, [0xB96F87FE94F82A00, 0x72DF0FFD29F05400, 0x2C4E97FBBEE87E00])
    _run(float_answer, table, 0.25, floats)
    _compare(floats, [-617.5, np.inf, 12417.5])


def _run(function: Any, *arguments: Any) -> None:
    """Calls a kernel by way of the disk, if there is a folder for it."""
    name = machine_code.file_name(function, arguments)
    code = machine_code.object_code(function, arguments)
    if code is None:
        raise ValueError(f"{name} needs more than itself")
    if code_cache.keep(name, code) and code_cache.read(name) != code:
        raise ValueError(f"{name} is other on disk")
    machine_code.loaded(code)(machine_code.flat(arguments))()


def _compare(found: NDArray[Any], expected: list[Any]) -> None:
    if found.tolist() != expected:
        raise ValueError(f"{found.tolist()} instead of {expected}")

"""Sums over trees, for models that differ in what a half-tree knows of its children.

A model's *sweep* says once, with `add`, which products of cells are added to which cells. Forwards
it gives Z, the sum over all projective trees with one root of the products of their factors.
Backwards, taking the same steps in reverse, it gives the derivatives of log Z. A factor times its
derivative is how often trees are expected to have it. Words are 0..n-1 here.

Letters: n words, N words of all sentences, K rows of a word (1, or its hidden subsymbols).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled, work_of_trees
from dynet_vdgi.unsupervised.dmv_model import Packed, checked_log_z
from dynet_vdgi.unsupervised.dmv_sums import LARGEST_SUM, SMALLEST_SUM

ONE, Z, TABLES = range(3)
"""Numbers of cells: one that is 1, one for the sum, and the first of a model's tables."""


class Cells(NamedTuple):
    """All numbers of a sum: ONE, Z, the tables, the sentence's potentials, and then planes of rows
    x rows."""

    values: Floats
    gradients: Floats  # the derivatives of log Z; those by tables add up over sentences
    potentials: int  # the cell of the first potential
    planes: int  # the first cell of the first plane
    rows: int  # n * K


@compiled
def at(cells: Cells, plane: int, i: int, j: int) -> int:
    """The cell of a plane."""
    return cells.planes + (plane * cells.rows + i) * cells.rows + j


@compiled
def add(cells: Cells, back: bool, target: int, one: int, two: int, three: int) -> None:
    """Adds the product of three cells to the target; backwards, what it contributes to their
    derivatives."""
    values, gradients = cells.values, cells.gradients
    if back:
        own = gradients[target]
        gradients[one] += own * values[two] * values[three]
        gradients[two] += own * values[one] * values[three]
        gradients[three] += own * values[one] * values[two]
    else:
        values[target] += values[one] * values[two] * values[three]


class TreeSums(NamedTuple):
    """Expectations over the trees of a text."""

    counts: list[Floats]  # how often each number of the tables is a factor; shaped as these
    arcs: Floats  # how probable each arc is, laid out as the potentials
    log_z: float  # the sum over the sentences, in nats


def summed(
    sweep: Kernel,
    tables: Sequence[Floats],
    text: Packed,
    words: Sequence[Ints],
    more: tuple[int, ...],
    *,
    planes: int,
    rows: int = 1,
    work: int = 40,
) -> TreeSums:
    """The sums over a text.

    Args:
        sweep: called with cells, direction, the sentence's part of each of `words` (N,), and `more`.
        rows: K.
        work: of a sentence, by that of finding its best tree.

    Raises: ArithmeticError, potentials are too far apart to sum over trees.
    """
    flat = np.concatenate([table.ravel() for table in tables])
    longest = int(np.diff(text.first).max(initial=0))
    n_cells = TABLES + len(flat) + (longest + 1) * longest + planes * (longest * rows) ** 2
    values, gradients = np.zeros(n_cells), np.zeros(n_cells)
    first_potential = TABLES + len(flat)
    values[ONE], values[TABLES:first_potential] = 1.0, flat
    arcs, log_z, end = np.zeros_like(text.potentials), 0.0, 0
    for start, stop in zip(text.first, text.first[1:]):
        n = int(stop - start)
        place, end = end, end + (n + 1) * n
        if not n:
            continue
        first_plane = first_potential + (n + 1) * n
        own, chart = (
            slice(first_potential, first_plane),
            slice(first_plane, first_plane + planes * (n * rows) ** 2),
        )
        cells = Cells(values, gradients, first_potential, first_plane, n * rows)
        arguments = *(each[start:stop] for each in words), *more
        # cannot jump over the range
        cost, scale, step = work * work_of_trees(n), 0.0, min(1.0, 200.0 / n)
        for _ in range(500 + n):  # no scale exceeds exp(700)
            values[own] = text.potentials[place:end] * math.exp(scale)
            values[Z] = values[chart] = 0.0
            sweep(cells, False, *arguments, work=cost)
            if SMALLEST_SUM < values[Z] < LARGEST_SUM:
                break
            scale += step if values[Z] <= SMALLEST_SUM else -step  # else: too large, or no number
        else:
            log_z = np.nan
            break
        gradients[own] = gradients[chart] = 0.0
        gradients[Z] = 1 / values[Z]
        sweep(cells, True, *arguments, work=cost)
        arcs[place:end] = gradients[own] * values[own]
        log_z += math.log(values[Z]) - n * scale
    ends = np.cumsum([table.size for table in tables])[:-1]
    counts = np.split(gradients[TABLES:first_potential] * flat, ends)
    return TreeSums(
        [count.reshape(table.shape) for count, table in zip(counts, tables)],
        arcs,
        checked_log_z(log_z, text),
    )

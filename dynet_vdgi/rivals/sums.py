"""Expectations over all projective trees of one root, for dependency models with valence.

A head decides on each side whether to stop, given its tag, a hidden subsymbol of the tag and the
children so far (the valence), and chooses a child. Models differ in which trees they sum over and
in what a half-tree knows of its children. Each says so in its *sweep*, a list of additions: to
this cell adds the product of those three cells. Forwards a sweep gives Z, the sum over trees of
the products of their factors. Backwards, with the same additions in reverse order, it gives the
derivatives of log Z. A factor times its derivative is how often trees are expected to have it.

Sentences of one length go through a sweep together, a lane each.

Letters: n words, N words of the text, T tags, K subsymbols of a tag, V valences, E different
emissions, B lanes. A row is a word with a subsymbol: row // K is the word, 0..n-1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled, work_of_trees
from dynet_vdgi.unsupervised.dmv_model import Packed, checked_log_z
from dynet_vdgi.unsupervised.dmv_sums import LARGEST_SUM, SMALLEST_SUM

ONE, Z, FACTORS = range(3)
"""Cells: one that is 1, the sum, and the first factor."""

MOST_LANES, PLANE_CELLS = 16, 2**16
"""The most sentences of a block, and the most numbers of a plane if there is more than one."""

MOST_RESCALINGS = 500
"""The most changes of scale of a short sentence; no scale exceeds exp(700)."""


class TreeWeights(NamedTuple):
    """Factors of a model's decisions, which need not sum to 1; also expected counts of these."""

    root: Floats  # (T, K)
    choose: Floats  # (T, K, 2, V, T, K): head, side, valence, child; times not stopping
    stop: Floats  # (T, K, 2, V)
    emit: Floats  # (E, K)


class Cells(NamedTuple):
    """The numbers of a block: ONE, Z, the factors, then planes of rows x rows."""

    values: Floats  # (cells, B)
    gradients: Floats  # the derivatives of log Z
    first_plane: int
    n_rows: int
    n_valences: int


@compiled
def add(cells: Cells, back: bool, target: int, one: int, two: int, three: int) -> None:
    """Adds the product of three cells to the target, or to their derivatives what this gives."""
    values, gradients = cells.values, cells.gradients
    if back:
        for b in range(values.shape[1]):
            gradient = gradients[target, b]
            gradients[one, b] += gradient * values[two, b] * values[three, b]
            gradients[two, b] += gradient * values[one, b] * values[three, b]
            gradients[three, b] += gradient * values[one, b] * values[two, b]
    else:
        for b in range(values.shape[1]):
            values[target, b] += values[one, b] * values[two, b] * values[three, b]


@compiled
def at(cells: Cells, plane: int, i: int, j: int) -> int:
    """The cell of a plane."""
    return cells.first_plane + (plane * cells.n_rows + i) * cells.n_rows + j


@compiled
def root_of(cells: Cells, row: int) -> int:
    """The factor of a root."""
    return FACTORS + row


@compiled
def arc_of(cells: Cells, valence: int, head: int, child: int) -> int:
    """The factor of an arc between two rows."""
    n_rows = cells.n_rows
    return FACTORS + n_rows + (valence * n_rows + head) * n_rows + child


@compiled
def stop_of(cells: Cells, side: int, valence: int, row: int) -> int:
    """The factor of stopping."""
    n_rows, n_valences = cells.n_rows, cells.n_valences
    return FACTORS + n_rows * (1 + n_valences * (n_rows + side) + valence) + row


@compiled
def emission_of(cells: Cells, row: int) -> int:
    """The factor of emitting the row's word."""
    return FACTORS + cells.n_rows * (1 + cells.n_valences * (cells.n_rows + 2)) + row


class EqualLengths(NamedTuple):
    """Sentences of one length."""

    words: Ints  # (n, B): places of their words in the text
    starts: Ints  # (B,): places of their first potentials


def blocks(text: Packed, n_subsymbols: int) -> Iterator[EqualLengths]:
    """The sentences, the shortest first."""
    lengths = np.diff(text.first)
    starts = np.cumsum(lengths * (lengths + 1)) - lengths * (lengths + 1)
    for n in np.unique(lengths[lengths > 0]).tolist():
        sentences = np.flatnonzero(lengths == n)
        lanes = min(max(PLANE_CELLS // (n * n_subsymbols) ** 2, 1), MOST_LANES)
        for k in range(0, len(sentences), lanes):
            block = sentences[k : k + lanes]
            yield EqualLengths(text.first[block] + np.arange(n)[:, None], starts[block])


class Factors(NamedTuple):
    """Where the factors (F, B) of a block come from: each is a weight times a potential."""

    weights: Ints  # places in all weights, one table after the other
    potentials: Ints  # places in the text's potentials, or their number where there is none

    @classmethod
    def of(cls, block: EqualLengths, tables: TreeWeights, text: Packed, emitted: Ints) -> Factors:
        """In the order of `root_of`, `arc_of`, `stop_of` and `emission_of`."""
        n_subs, n_valences = tables.root.shape[1], tables.stop.shape[-1]
        ends = np.cumsum([table.size for table in tables])
        root, choose, stop, emit = (
            np.arange(end - table.size, end).reshape(table.shape)
            for end, table in zip(ends, tables)
        )
        n = len(block.words)
        word, sub = np.divmod(np.arange(n * n_subs)[:, None], n_subs)  # (rows, 1)
        tags = text.tags[block.words].repeat(n_subs, axis=0)  # (rows, B)
        side = (word[None] > word[:, None]).astype(np.int64)  # (rows, rows, 1)
        valences = range(n_valences)
        arcs = [
            choose[tags[:, None], sub[:, None], side, valence, tags[None], sub[None]]
            for valence in valences
        ]
        stops = [stop[tags, sub, side, valence] for side in (0, 1) for valence in valences]
        emissions = emit[emitted[block.words].repeat(n_subs, axis=0), sub]
        weights = [root[tags, sub], *arcs, *stops, emissions]
        arc = block.starts + (word[:, None] + 1) * n + word[None]
        no_potential = np.full_like(tags, len(text.potentials))
        potentials = [block.starts + word, *[arc] * n_valences, *[no_potential] * (len(stops) + 1)]
        lanes = len(block.starts)
        return cls(
            np.concatenate([each.reshape(-1, lanes) for each in weights]),
            np.concatenate([each.reshape(-1, lanes) for each in potentials]),
        )


class TreeSums(NamedTuple):
    """Expectations over the trees of a text."""

    counts: TreeWeights  # how often each weight is a factor
    arcs: Floats  # how probable each arc is, laid out as the potentials
    log_z: float  # the sum over the sentences, in nats


def summed(
    sweep: Kernel,
    weights: TreeWeights,
    text: Packed,
    emitted: Ints,
    *more: int,
    n_planes: int,
    work: int,
) -> TreeSums:
    """The sums over a text.

    Args:
        sweep: called with cells, direction, n, and `more`.
        emitted: (N,) below E.
        work: of a sentence, by that of finding its best tree.

    Raises: ArithmeticError, potentials are too far apart to sum over trees.
    """
    flat = np.concatenate([table.ravel() for table in weights])
    potentials = np.append(text.potentials, 1.0)
    counts, arcs, log_z = np.zeros_like(flat), np.zeros_like(potentials), 0.0
    n_subs, n_valences = weights.root.shape[1], weights.stop.shape[-1]
    for block in blocks(text, n_subs):
        n, lanes = block.words.shape
        places = Factors.of(block, weights, text, emitted)
        factors = flat[places.weights] * potentials[places.potentials]
        first_plane = FACTORS + len(factors)
        values = np.zeros((first_plane + n_planes * (n * n_subs) ** 2, lanes))
        cells = Cells(values, np.zeros_like(values), first_plane, n * n_subs, n_valences)
        arguments = (n, *more)
        cost = work * lanes * work_of_trees(n)
        scales = np.zeros(lanes)  # of each word, in nats
        step = min(1.0, 200.0 / n)  # cannot jump over the range
        for _ in range(MOST_RESCALINGS + n):
            scale = np.where(places.potentials < len(text.potentials), np.exp(scales), 1.0)
            values[:] = 0.0
            values[ONE], values[FACTORS:first_plane] = 1.0, factors * scale
            sweep(cells, False, *arguments, work=cost)
            is_small, is_fine = values[Z] <= SMALLEST_SUM, values[Z] < LARGEST_SUM
            if (is_fine & ~is_small).all():
                break
            scales += step * is_small - step * ~is_fine  # too large, or no number
        else:
            log_z = math.nan
            break
        cells.gradients[Z] = 1 / values[Z]
        sweep(cells, True, *arguments, work=cost)
        of_factors = slice(FACTORS, first_plane)
        expected = (cells.gradients[of_factors] * values[of_factors]).ravel()
        counts += np.bincount(places.weights.ravel(), expected, len(flat))
        np.add.at(arcs, places.potentials.ravel(), expected)
        log_z += float((np.log(values[Z]) - n * scales).sum())
    ends = np.cumsum([table.size for table in weights])[:-1]
    split = (part.reshape(table.shape) for part, table in zip(np.split(counts, ends), weights))
    return TreeSums(TreeWeights(*split), arcs[:-1], checked_log_z(log_z, text))

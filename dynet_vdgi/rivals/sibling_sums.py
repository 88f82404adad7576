"""Exact inside-outside for a dependency model in which a child, and stopping, depend on the child before.

As in `inside_outside`, over projective trees with one root, but a head's decisions on a side depend on the
tag of its last child there: "none" before the first. Cubic in the number of words; compiled by numba. Words
are 0..n-1 here.

Letters: n words, N words of all sentences, T tags; as the child before, T is none.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.compiled.jit import announced, compiled

LEFT, RIGHT = 0, 1
LEAST, MOST = 1e-100, 1e100
"""Sums over trees are scaled into this range, so that no part of them can overflow or underflow."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SiblingTables(NamedTuple):
    """Factors of decisions; also expected counts of what they are the factors of."""

    root: Floats  # (T,)
    choose: Floats  # (T, 2, T + 1, T): head, side, child before, child; with not stopping before it
    stop: Floats  # (T, 2, T + 1): head, side, last child


class SiblingChart(NamedTuple):
    """Sums over parts of trees; for the outside pass their derivatives."""

    link: Floats  # (n, n): of a head, up to its last child so far, whose own far side is not there yet
    between: Floats  # (n, n): the near sides of two words that stand next to each other under a head
    closed: Floats  # (2, n, n): by side, head and farthest word; has stopped


class WeighedArcs(NamedTuple):
    """A sentence: tags (n,); arcs (n + 1, n) of head and dependent, factors beside those of the tables."""

    tags: Ints
    arcs: Floats


@compiled
def new_sibling_chart(n: int) -> SiblingChart:
    """All zero."""
    return SiblingChart(np.zeros((n, n)), np.zeros((n, n)), np.zeros((2, n, n)))


@compiled
def fill_between(chart: SiblingChart, i: int, j: int) -> None:
    """Two words next to each other under a head."""
    closed, total = chart.closed, 0.0
    for k in range(i, j):
        total += closed[RIGHT, i, k] * closed[LEFT, j, k + 1]
    chart.between[i, j] = total


@compiled
def inside_side(words: WeighedArcs, tables: SiblingTables, chart: SiblingChart, head: int, far: int) -> None:
    """The half-tree of a head that reaches to another word, and the link to that word."""
    tags, arcs = words
    link, between, closed = chart
    step = 1 if far > head else -1
    side = RIGHT if far > head else LEFT
    none = tables.choose.shape[3]
    choose = tables.choose[tags[head], side]
    total = choose[none, tags[far]] * closed[1 - side, far, head + step]
    before = head + step
    while before != far:
        gap = between[min(before, far), max(before, far)]
        total += link[head, before] * gap * choose[tags[before], tags[far]]
        before += step
    link[head, far] = total * arcs[head + 1, far]
    total, child = 0.0, head
    while child != far:
        child += step
        total += link[head, child] * closed[side, child, far] * tables.stop[tags[head], side, tags[child]]
    closed[side, head, far] = total


@compiled
def sibling_inside(words: WeighedArcs, tables: SiblingTables, chart: SiblingChart) -> float:
    """The sum Z over all trees of the product of their factors. Fills the chart."""
    tags, arcs = words
    closed, n, none = chart.closed, len(tags), len(tables.root)
    for i in range(n):
        for side in range(2):
            closed[side, i, i] = tables.stop[tags[i], side, none]
    for width in range(1, n):
        for i in range(n - width):
            fill_between(chart, i, i + width)
            inside_side(words, tables, chart, i, i + width)
            inside_side(words, tables, chart, i + width, i)
    z = 0.0
    for root in range(n):
        z += tables.root[tags[root]] * arcs[0, root] * closed[LEFT, root, 0] * closed[RIGHT, root, n - 1]
    return z


@compiled
def outside_side(
    words: WeighedArcs,
    tables: SiblingTables,
    chart: SiblingChart,
    gradients: SiblingChart,
    counts: SiblingTables,
    posterior: Floats,
    head: int,
    far: int,
) -> None:
    """Propagates the derivatives of a half-tree to its parts; counts its decisions."""
    tags, arcs = words
    link, between, closed = chart
    step = 1 if far > head else -1
    side = RIGHT if far > head else LEFT
    none, own = tables.choose.shape[3], tags[head]
    gradient, child = gradients.closed[side, head, far], head
    while child != far:
        child += step
        stop = tables.stop[own, side, tags[child]]
        gradients.link[head, child] += gradient * stop * closed[side, child, far]
        gradients.closed[side, child, far] += gradient * stop * link[head, child]
        counts.stop[own, side, tags[child]] += gradient * stop * link[head, child] * closed[side, child, far]
    gradient = gradients.link[head, far] * arcs[head + 1, far]
    first = gradient * tables.choose[own, side, none, tags[far]]
    gradients.closed[1 - side, far, head + step] += first
    counts.choose[own, side, none, tags[far]] += first * closed[1 - side, far, head + step]
    before = head + step
    while before != far:
        i, j = min(before, far), max(before, far)
        some = gradient * tables.choose[own, side, tags[before], tags[far]]
        gradients.link[head, before] += some * between[i, j]
        gradients.between[i, j] += some * link[head, before]
        counts.choose[own, side, tags[before], tags[far]] += some * link[head, before] * between[i, j]
        before += step
    posterior[head + 1, far] = gradients.link[head, far] * link[head, far]


@compiled
def sibling_outside(
    words: WeighedArcs,
    tables: SiblingTables,
    chart: SiblingChart,
    z: float,
    counts: SiblingTables,
    posterior: Floats,
) -> None:
    """Adds the expected counts; writes how probable each arc is (n + 1, n)."""
    tags, arcs = words
    closed, n, none = chart.closed, len(tags), len(tables.root)
    gradients = new_sibling_chart(n)
    for root in range(n):
        left, right = closed[LEFT, root, 0], closed[RIGHT, root, n - 1]
        weight = tables.root[tags[root]] * arcs[0, root] / z
        gradients.closed[LEFT, root, 0] += weight * right
        gradients.closed[RIGHT, root, n - 1] += weight * left
        posterior[0, root] = weight * left * right
        counts.root[tags[root]] += weight * left * right
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            outside_side(words, tables, chart, gradients, counts, posterior, i, j)
            outside_side(words, tables, chart, gradients, counts, posterior, j, i)
            gradient = gradients.between[i, j]
            for k in range(i, j):
                gradients.closed[RIGHT, i, k] += gradient * closed[LEFT, j, k + 1]
                gradients.closed[LEFT, j, k + 1] += gradient * closed[RIGHT, i, k]
    for i in range(n):
        for side in range(2):
            counts.stop[tags[i], side, none] += gradients.closed[side, i, i] * closed[side, i, i]


@compiled
def scaled_words(tags: Ints, potentials: Floats, tables: SiblingTables) -> tuple[WeighedArcs, float]:
    """A sentence whose best factor for each word is 1, and the log of the scale, in nats.

    potentials (n + 1, n) of head and dependent, no logs; what a word has for itself as head is left out.
    """
    n, none = len(tags), len(tables.root)
    arcs, log_scale = np.zeros((n + 1, n)), 0.0
    for dependent in range(n):
        tag = tags[dependent]
        best = tables.root[tag] * potentials[0, dependent]
        for head in range(n):
            if head != dependent:
                side = LEFT if dependent < head else RIGHT
                for before in range(none + 1):
                    factor = tables.choose[tags[head], side, before, tag]
                    best = max(best, factor * potentials[head + 1, dependent])
        for head in range(n + 1):
            if head != dependent + 1:
                arcs[head, dependent] = potentials[head, dependent] / best
        log_scale -= math.log(best)
    return WeighedArcs(tags, arcs), log_scale


@compiled
def add_sibling_counts(
    tags: Ints,
    first: Ints,
    potentials: Floats,
    tables: SiblingTables,
    counts: SiblingTables,
    posterior: Floats,
) -> float:
    """Adds the expected counts of many sentences, shaped as the tables; gives the sum of their log Z.

    tags (N,) of all sentences, sentence k from first[k] to first[k + 1]; potentials: those of the sentences,
    (n + 1) * n numbers each, one after the other. posterior, shaped as these and all zero, receives how
    probable each arc is.
    """
    total, at = 0.0, 0
    for k in range(len(first) - 1):
        n = first[k + 1] - first[k]
        if n == 0:
            continue
        own = potentials[at : at + (n + 1) * n].reshape(n + 1, n)
        into = posterior[at : at + (n + 1) * n].reshape(n + 1, n)
        at += (n + 1) * n
        words, log_scale = scaled_words(tags[first[k] : first[k + 1]], own, tables)
        step = min(1.0, 200.0 / n)  # cannot jump over the range
        z = 0.0
        for _ in range(1000 + n):
            chart = new_sibling_chart(n)
            z = sibling_inside(words, tables, chart)
            if LEAST < z < MOST:
                sibling_outside(words, tables, chart, z, counts, into)
                break
            change = step if z <= LEAST else -step  # otherwise it is too large, infinite or not a number
            words.arcs[:] *= math.exp(change)
            log_scale += n * change
        if not LEAST < z < MOST:
            raise ArithmeticError("potentials are too far apart to sum over trees")
        total += math.log(z) - log_scale
    return total


@lru_cache(maxsize=1)
def make_ready() -> None:
    """Compiles what Python calls, or fetches it from disk; says so on the log if that takes long."""
    with announced("the neural DMV teacher"):
        tables = SiblingTables(np.ones(1), np.ones((1, 2, 2, 1)), np.ones((1, 2, 2)))
        counts = SiblingTables(*(np.zeros_like(array) for array in tables))
        text = np.zeros(1, np.int64), np.array([0, 1]), np.ones(2)
        add_sibling_counts(*text, tables, counts, np.zeros(2))

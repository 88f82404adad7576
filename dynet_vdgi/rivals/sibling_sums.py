"""Exact inside-outside for a dependency model in which a child, and stopping, depend on the child before.

As in `inside_outside`, over projective trees with one root, but a head's decisions on a side depend on the
tag of its last child there: "none" before the first. Cubic in the number of words, in machine code. Words
are 0..n-1 here.

Letters: n words, N words of all sentences, T tags; as the child before, T is none.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.teachers.inside_outside import LARGEST_SUM, LEFT, RIGHT, SMALLEST_SUM


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


class SiblingRoom(NamedTuple):
    """The kernel's workspace; a sentence of fewer than n words uses the first cells only."""

    arcs: Floats  # (n + 1, n) of head and dependent, factors beside those of the tables
    chart: SiblingChart
    gradients: SiblingChart


def room_for(n: int) -> SiblingRoom:
    """A workspace for sentences of up to n words."""
    charts = (SiblingChart(np.zeros((n, n)), np.zeros((n, n)), np.zeros((2, n, n))) for _ in range(2))
    return SiblingRoom(np.zeros((n + 1, n)), *charts)


@compiled
def fill_between(chart: SiblingChart, i: int, j: int) -> None:
    """Two words next to each other under a head."""
    closed, total = chart.closed, 0.0
    for k in range(i, j):
        total += closed[RIGHT, i, k] * closed[LEFT, j, k + 1]
    chart.between[i, j] = total


@compiled
def inside_side(tags: Ints, tables: SiblingTables, room: SiblingRoom, head: int, far: int) -> None:
    """The half-tree of a head that reaches to another word, and the link to that word."""
    link, between, closed = room.chart
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
    link[head, far] = total * room.arcs[head + 1, far]
    total, child = 0.0, head
    while child != far:
        child += step
        total += link[head, child] * closed[side, child, far] * tables.stop[tags[head], side, tags[child]]
    closed[side, head, far] = total


@compiled
def sibling_inside(tags: Ints, tables: SiblingTables, room: SiblingRoom) -> float:
    """The sum Z over all trees of the product of their factors. Fills the chart."""
    closed, n, none = room.chart.closed, len(tags), len(tables.root)
    for i in range(n):
        for side in range(2):
            closed[side, i, i] = tables.stop[tags[i], side, none]
    for width in range(1, n):
        for i in range(n - width):
            fill_between(room.chart, i, i + width)
            inside_side(tags, tables, room, i, i + width)
            inside_side(tags, tables, room, i + width, i)
    z = 0.0
    for root in range(n):
        z += tables.root[tags[root]] * room.arcs[0, root] * closed[LEFT, root, 0] * closed[RIGHT, root, n - 1]
    return z


@compiled
def outside_side(
    tags: Ints,
    tables: SiblingTables,
    room: SiblingRoom,
    counts: SiblingTables,
    posterior: Floats,
    head: int,
    far: int,
) -> None:
    """Propagates the derivatives of a half-tree to its parts; counts its decisions."""
    gradients = room.gradients
    link, between, closed = room.chart
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
    gradient = gradients.link[head, far] * room.arcs[head + 1, far]
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
    posterior[(head + 1) * len(tags) + far] = gradients.link[head, far] * link[head, far]


@compiled
def sibling_outside(
    tags: Ints, tables: SiblingTables, room: SiblingRoom, z: float, counts: SiblingTables, posterior: Floats
) -> None:
    """Adds the expected counts; writes how probable each arc is, (n + 1) * n."""
    closed, gradients = room.chart.closed, room.gradients
    n, none = len(tags), len(tables.root)
    gradients.link[:n, :n] = 0.0
    gradients.between[:n, :n] = 0.0
    gradients.closed[:, :n, :n] = 0.0
    for root in range(n):
        left, right = closed[LEFT, root, 0], closed[RIGHT, root, n - 1]
        weight = tables.root[tags[root]] * room.arcs[0, root] / z
        gradients.closed[LEFT, root, 0] += weight * right
        gradients.closed[RIGHT, root, n - 1] += weight * left
        posterior[root] = weight * left * right
        counts.root[tags[root]] += weight * left * right
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            outside_side(tags, tables, room, counts, posterior, i, j)
            outside_side(tags, tables, room, counts, posterior, j, i)
            gradient = gradients.between[i, j]
            for k in range(i, j):
                gradients.closed[RIGHT, i, k] += gradient * closed[LEFT, j, k + 1]
                gradients.closed[LEFT, j, k + 1] += gradient * closed[RIGHT, i, k]
    for i in range(n):
        for side in range(2):
            counts.stop[tags[i], side, none] += gradients.closed[side, i, i] * closed[side, i, i]


@compiled
def fill_arcs(tags: Ints, potentials: Floats, tables: SiblingTables, arcs: Floats) -> float:
    """Arcs whose best factor for each word is 1; the log of the scale, in nats.

    potentials (n + 1) * n of head and dependent, no logs; what a word has for itself as head is left out.
    """
    n, none, log_scale = len(tags), len(tables.root), 0.0
    for dependent in range(n):
        tag = tags[dependent]
        best = tables.root[tag] * potentials[dependent]
        for head in range(n):
            if head != dependent:
                side = LEFT if dependent < head else RIGHT
                for before in range(none + 1):
                    factor = tables.choose[tags[head], side, before, tag]
                    best = max(best, factor * potentials[(head + 1) * n + dependent])
        for head in range(n + 1):
            if head != dependent + 1:
                arcs[head, dependent] = potentials[head * n + dependent] / best
        log_scale -= math.log(best)
    return log_scale


@compiled
def sum_sentence(
    tags: Ints,
    potentials: Floats,
    tables: SiblingTables,
    counts: SiblingTables,
    posterior: Floats,
    room: SiblingRoom,
) -> float:
    """log Z of a sentence, in nats; not a number: potentials are too far apart to sum over trees."""
    n, log_scale = len(tags), fill_arcs(tags, potentials, tables, room.arcs)
    step = min(1.0, 200.0 / n)  # cannot jump over the range
    for _ in range(1000 + n):
        z = sibling_inside(tags, tables, room)
        if SMALLEST_SUM < z < LARGEST_SUM:
            sibling_outside(tags, tables, room, z, counts, posterior)
            return math.log(z) - log_scale
        change = step if z <= SMALLEST_SUM else -step  # otherwise it is too large, infinite or not a number
        for head in range(n + 1):
            for dependent in range(n):
                room.arcs[head, dependent] *= math.exp(change)
        log_scale += n * change
    return np.nan


@compiled
def sum_siblings(
    tags: Ints,
    first: Ints,
    potentials: Floats,
    tables: SiblingTables,
    counts: SiblingTables,
    posterior: Floats,
    total: Floats,
    room: SiblingRoom,
) -> None:
    """Adds the expected counts of many sentences, shaped as the tables, and their log Z to total (1,).

    tags (N,) of all sentences, sentence k from first[k] to first[k + 1]; potentials: those of the sentences,
    (n + 1) * n numbers each, one after the other. posterior, shaped as these and all zero, receives how
    probable each arc is. The total is not a number if potentials are too far apart to sum over trees.
    """
    at = 0
    for k in range(len(first) - 1):
        n = first[k + 1] - first[k]
        if n == 0:
            continue
        words, end = tags[first[k] : first[k + 1]], at + (n + 1) * n
        total[0] += sum_sentence(words, potentials[at:end], tables, counts, posterior[at:end], room)
        at = end


SUM_SIBLINGS = Kernel(sum_siblings, "the neural DMV teacher")

"""Inside-outside for the dependency model with valence over trees that need no deep stack to be read.

A left-corner parser joins what it reads as soon as it can, so that its stack grows in centre-embedding only
(Noji & Miyao 2014, "Left-corner transitions for dependency parsing"). Here are summed the projective trees
with one root that it reads with at most D things on its stack, where a centre-embedded chunk of up to C words
counts for nothing (Noji, Miyao & Johnson 2016). In terms of trees, what a level of depth allows:

* of the left dependents of a word, the outermost one may be any tree of this level; the others stand between
  what was read before and the word, and are embedded;
* if something to the left of a word is its head, all of its left dependents are embedded, and so is the word
  with all of its right dependents but the last.

What is embedded is of the next level if it has more than C words, else of the same. With D = 1 the sums are
cubic in the number of words, otherwise of the fourth order. In machine code; words are 0..n-1 here.

Letters: n words, T tags, D levels, C words of a chunk.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.teachers.inside_outside import LARGEST_SUM, LEFT, RIGHT, SMALLEST_SUM, DmvFactors


class CornerScores(NamedTuple):
    """Factors of one sentence's trees; also their posterior probabilities, which have the same shapes."""

    arcs: Floats  # (2, n, n): valence, head, dependent
    roots: Floats  # (n,)
    stops: Floats  # (2, 2, n): side, whether there are children on it, head


class BoundedChart(NamedTuple):
    """Sums over half-trees, each (D, n, n) by level, head and farthest word; or their derivatives.

    `links` are up to a child whose own far side is not there yet.
    """

    left_links: Floats  # from a head to its outermost left child
    right_links: Floats  # to a right child of a word whose head is not to its left
    tail_links: Floats  # to the last right child of a word whose head is
    left: Floats  # left halves, may get further children
    embedded_left: Floats  # those all of whose children are embedded
    right: Floats  # right halves of words whose head is not to their left
    tail: Floats  # right halves of words whose head is
    closed_left: Floats  # the same four that have stopped
    closed_embedded: Floats
    closed_right: Floats
    closed_tail: Floats


class BoundedRoom(NamedTuple):
    """The kernel's workspace; a sentence of fewer than n words uses the first cells only."""

    scores: CornerScores
    posterior: CornerScores
    chart: BoundedChart
    gradients: BoundedChart


def room_for(n: int, depth: int) -> BoundedRoom:
    """A workspace for sentences of up to `n` words and `depth` levels."""
    scores = [CornerScores(np.zeros((2, n, n)), np.zeros(n), np.zeros((2, 2, n))) for _ in range(2)]
    charts = [BoundedChart(*(np.zeros((depth, n, n)) for _ in BoundedChart._fields)) for _ in range(2)]
    return BoundedRoom(scores[0], scores[1], charts[0], charts[1])


@compiled
def bounded_inside(n: int, room: BoundedRoom, chunk: int) -> float:
    """The sum Z over the trees of the product of their factors; fills the chart."""
    scores, chart = room.scores, room.chart
    stops, depth = scores.stops, chart.left.shape[0]
    for d in range(depth):
        for i in range(n):
            chart.left[d, i, i] = chart.embedded_left[d, i, i] = 1.0
            chart.right[d, i, i] = chart.tail[d, i, i] = 1.0
            chart.closed_left[d, i, i] = chart.closed_embedded[d, i, i] = stops[LEFT, 0, i]
            chart.closed_right[d, i, i] = chart.closed_tail[d, i, i] = stops[RIGHT, 0, i]
    for width in range(1, n):
        for i in range(n - width):
            for d in range(depth - 1, -1, -1):
                inside_left(room, chunk, d, i, i + width)
                inside_right(room, chunk, d, i, i + width)
    z = 0.0
    for root in range(n):
        z += scores.roots[root] * chart.closed_left[0, root, 0] * chart.closed_right[0, root, n - 1]
    return z


@compiled
def inside_left(room: BoundedRoom, chunk: int, d: int, i: int, j: int) -> None:
    """The left halves of word j that reach to i, and the link to i as the outermost child."""
    scores, chart = room.scores, room.chart
    arcs, depth = scores.arcs, chart.left.shape[0]
    total = 0.0
    for e in range(i, j):
        valence = 0 if e + 1 == j else 1
        total += chart.closed_right[d, i, e] * chart.embedded_left[d, j, e + 1] * arcs[valence, j, i]
    chart.left_links[d, j, i] = total
    total = 0.0
    for child in range(i, j):
        total += chart.left_links[d, j, child] * chart.closed_left[d, child, i]
    chart.left[d, j, i] = total
    total = 0.0
    for e in range(i, j):
        level = d if e - i < chunk else d + 1
        if level == depth:
            break
        valence = 0 if e + 1 == j else 1
        for child in range(i, e + 1):
            whole = chart.closed_left[level, child, i] * chart.closed_right[level, child, e]
            total += whole * chart.embedded_left[d, j, e + 1] * arcs[valence, j, child]
    chart.embedded_left[d, j, i] = total
    chart.closed_left[d, j, i] = chart.left[d, j, i] * scores.stops[LEFT, 1, j]
    chart.closed_embedded[d, j, i] = total * scores.stops[LEFT, 1, j]


@compiled
def inside_right(room: BoundedRoom, chunk: int, d: int, i: int, j: int) -> None:
    """The right halves of word i that reach to j, and the links to j as the last child."""
    scores, chart = room.scores, room.chart
    arcs, depth = scores.arcs, chart.left.shape[0]
    any_child, tail_child = 0.0, 0.0
    for e in range(i, j):
        under = chart.closed_embedded[d, j, e + 1] * arcs[0 if e == i else 1, i, j]
        any_child += chart.right[d, i, e] * under
        level = d if e - i < chunk else d + 1
        if level < depth:
            tail_child += chart.right[level, i, e] * under
    chart.right_links[d, i, j], chart.tail_links[d, i, j] = any_child, tail_child
    any_child, tail_child = 0.0, 0.0
    for child in range(i + 1, j + 1):
        any_child += chart.right_links[d, i, child] * chart.closed_tail[d, child, j]
        tail_child += chart.tail_links[d, i, child] * chart.closed_tail[d, child, j]
    chart.right[d, i, j], chart.tail[d, i, j] = any_child, tail_child
    chart.closed_right[d, i, j] = any_child * scores.stops[RIGHT, 1, i]
    chart.closed_tail[d, i, j] = tail_child * scores.stops[RIGHT, 1, i]


# ---------------------------------------------------------------------------------------------- outside
@compiled
def bounded_outside(n: int, room: BoundedRoom, chunk: int, z: float) -> None:
    """How probable each factor is in a tree: fills the posterior."""
    scores, posterior, chart, gradients = room
    depth = chart.left.shape[0]
    for derivatives in gradients:
        derivatives[:, :n, :n] = 0.0
    posterior.arcs[:, :n, :n] = 0.0
    posterior.stops[:, :, :n] = 0.0
    for root in range(n):
        weight = scores.roots[root] / z
        left, right = chart.closed_left[0, root, 0], chart.closed_right[0, root, n - 1]
        gradients.closed_left[0, root, 0] += weight * right
        gradients.closed_right[0, root, n - 1] += weight * left
        posterior.roots[root] = weight * left * right
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            for d in range(depth):
                outside_right(room, chunk, d, i, i + width)
                outside_left(room, chunk, d, i, i + width)
    for d in range(depth):
        for i in range(n):
            left = gradients.closed_left[d, i, i] + gradients.closed_embedded[d, i, i]
            right = gradients.closed_right[d, i, i] + gradients.closed_tail[d, i, i]
            posterior.stops[LEFT, 0, i] += left * scores.stops[LEFT, 0, i]
            posterior.stops[RIGHT, 0, i] += right * scores.stops[RIGHT, 0, i]


@compiled
def outside_left(room: BoundedRoom, chunk: int, d: int, i: int, j: int) -> None:
    """The steps of `inside_left` backwards."""
    scores, posterior, chart, gradients = room
    arcs, stop, depth = scores.arcs, scores.stops[LEFT, 1, j], chart.left.shape[0]
    by_left, by_embedded = gradients.closed_left[d, j, i], gradients.closed_embedded[d, j, i]
    posterior.stops[LEFT, 1, j] += by_left * chart.closed_left[d, j, i]
    posterior.stops[LEFT, 1, j] += by_embedded * chart.closed_embedded[d, j, i]
    by_left = gradients.left[d, j, i] + by_left * stop
    by_embedded = gradients.embedded_left[d, j, i] + by_embedded * stop
    for e in range(i, j):
        level = d if e - i < chunk else d + 1
        if level == depth:
            break
        valence = 0 if e + 1 == j else 1
        rest = chart.embedded_left[d, j, e + 1]
        for child in range(i, e + 1):
            left, right = chart.closed_left[level, child, i], chart.closed_right[level, child, e]
            factor = by_embedded * arcs[valence, j, child]
            gradients.closed_left[level, child, i] += factor * right * rest
            gradients.closed_right[level, child, e] += factor * left * rest
            gradients.embedded_left[d, j, e + 1] += factor * left * right
            posterior.arcs[valence, j, child] += factor * left * right * rest
    for child in range(i, j):
        gradients.left_links[d, j, child] += by_left * chart.closed_left[d, child, i]
        gradients.closed_left[d, child, i] += by_left * chart.left_links[d, j, child]
    by_link = gradients.left_links[d, j, i]
    for e in range(i, j):
        valence = 0 if e + 1 == j else 1
        right, rest = chart.closed_right[d, i, e], chart.embedded_left[d, j, e + 1]
        factor = by_link * arcs[valence, j, i]
        gradients.closed_right[d, i, e] += factor * rest
        gradients.embedded_left[d, j, e + 1] += factor * right
        posterior.arcs[valence, j, i] += factor * right * rest


@compiled
def outside_right(room: BoundedRoom, chunk: int, d: int, i: int, j: int) -> None:
    """The steps of `inside_right` backwards."""
    scores, posterior, chart, gradients = room
    arcs, stop, depth = scores.arcs, scores.stops[RIGHT, 1, i], chart.left.shape[0]
    by_right, by_tail = gradients.closed_right[d, i, j], gradients.closed_tail[d, i, j]
    posterior.stops[RIGHT, 1, i] += by_right * chart.closed_right[d, i, j]
    posterior.stops[RIGHT, 1, i] += by_tail * chart.closed_tail[d, i, j]
    by_right = gradients.right[d, i, j] + by_right * stop
    by_tail = gradients.tail[d, i, j] + by_tail * stop
    for child in range(i + 1, j + 1):
        closed = chart.closed_tail[d, child, j]
        gradients.right_links[d, i, child] += by_right * closed
        gradients.tail_links[d, i, child] += by_tail * closed
        gradients.closed_tail[d, child, j] += by_right * chart.right_links[d, i, child]
        gradients.closed_tail[d, child, j] += by_tail * chart.tail_links[d, i, child]
    by_link, by_tail_link = gradients.right_links[d, i, j], gradients.tail_links[d, i, j]
    for e in range(i, j):
        valence = 0 if e == i else 1
        own, rest = arcs[valence, i, j], chart.closed_embedded[d, j, e + 1]
        total = by_link * chart.right[d, i, e]
        gradients.right[d, i, e] += by_link * own * rest
        level = d if e - i < chunk else d + 1
        if level < depth:
            total += by_tail_link * chart.right[level, i, e]
            gradients.right[level, i, e] += by_tail_link * own * rest
        gradients.closed_embedded[d, j, e + 1] += total * own
        posterior.arcs[valence, i, j] += total * own * rest


# ---------------------------------------------------------------------------------------------- sentences
@compiled
def bounded_posterior(n: int, room: BoundedRoom, chunk: int) -> float:
    """Finds how probable each factor of a sentence is, and scales the factors; log Z in nats.

    Not a number: potentials are too far apart to sum over trees.
    """
    scores, log_scale = room.scores, 0.0
    step = min(1.0, 200.0 / n)  # cannot jump over the range
    for _ in range(1000 + n):
        z = bounded_inside(n, room, chunk)
        if SMALLEST_SUM < z < LARGEST_SUM:
            bounded_outside(n, room, chunk, z)
            return math.log(z) - log_scale
        change = step if z <= SMALLEST_SUM else -step  # otherwise it is too large, infinite or not a number
        for dependent in range(n):
            scores.roots[dependent] *= math.exp(change)
            for head in range(n):
                scores.arcs[0, head, dependent] *= math.exp(change)
                scores.arcs[1, head, dependent] *= math.exp(change)
        log_scale += n * change
    return np.nan


@compiled
def fill_scores(tags: Ints, potentials: Floats, given: DmvFactors, scores: CornerScores) -> None:
    """A sentence's factors; potentials (n + 1) * n."""
    n = len(tags)
    for head in range(n):
        tag = tags[head]
        scores.roots[head] = given.root[tag] * potentials[head]
        for side in range(2):
            for valence in range(2):
                scores.stops[side, valence, head] = given.stop[tag, side, valence]
        for dependent in range(n):
            side, potential = int(dependent >= head), potentials[(head + 1) * n + dependent]
            for valence in range(2):
                if head != dependent:
                    factor = given.choose[tag, side, valence, tags[dependent]]
                    scores.arcs[valence, head, dependent] = factor * potential


@compiled
def add_posterior(tags: Ints, posterior: CornerScores, counts: DmvFactors) -> None:
    """Adds how probable a sentence's factors are to the expected counts."""
    for head in range(len(tags)):
        tag = tags[head]
        counts.root[tag] += posterior.roots[head]
        for side in range(2):
            for valence in range(2):
                counts.stop[tag, side, valence] += posterior.stops[side, valence, head]
        for dependent in range(len(tags)):
            side = int(dependent >= head)
            for valence in range(2):
                counts.choose[tag, side, valence, tags[dependent]] += posterior.arcs[valence, head, dependent]


@compiled
def sum_bounded(
    tags: Ints,
    first: Ints,
    potentials: Floats,
    given: DmvFactors,
    chunk: int,
    counts: DmvFactors,
    total: Floats,
    room: BoundedRoom,
) -> None:
    """Adds the expected counts of many sentences, shaped as the parameters, and their log Z to total (1,).

    tags (N,) of all sentences, sentence k from first[k] to first[k + 1]; potentials, no logs: those of the
    sentences, (n + 1) * n numbers each by head and dependent, one after the other. The total is not a number
    if potentials are too far apart to sum over trees.
    """
    at = 0
    for k in range(len(first) - 1):
        words = tags[first[k] : first[k + 1]]
        n = len(words)
        if n == 0:
            continue
        fill_scores(words, potentials[at : at + (n + 1) * n], given, room.scores)
        at += (n + 1) * n
        total[0] += bounded_posterior(n, room, chunk)
        add_posterior(words, room.posterior, counts)


SUM_BOUNDED = Kernel(sum_bounded, "the left-corner teacher")

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
cubic in the number of words, otherwise of the fourth order. Compiled by numba; words are 0..n-1 here.

Letters: n words, T tags, D levels, C words of a chunk.
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


class Scores(NamedTuple):
    """Factors of one sentence's trees; also their posterior probabilities, which have the same shapes."""

    arcs: Floats  # (2, n, n): valence, head, dependent
    roots: Floats  # (n,)
    stops: Floats  # (2, 2, n): side, whether there are children on it, head


class DmvArrays(NamedTuple):
    """Parameters of the model, or expected counts of what they are the probabilities of."""

    root: Floats  # (T,)
    choose: Floats  # (T, 2, 2, T): head, side (0 left, 1 right), has children there, child
    stop: Floats  # (T, 2, 2): head, side, has children there


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


@compiled
def new_bounded(depth: int, n: int) -> BoundedChart:
    """All zero."""
    cells = np.zeros((11, depth, n, n))
    return BoundedChart(
        cells[0],
        cells[1],
        cells[2],
        cells[3],
        cells[4],
        cells[5],
        cells[6],
        cells[7],
        cells[8],
        cells[9],
        cells[10],
    )


@compiled
def bounded_inside(scores: Scores, chart: BoundedChart, chunk: int) -> float:
    """The sum Z over the trees of the product of their factors; fills the chart, which begins with zeros."""
    stops = scores.stops
    depth, n = chart.left.shape[0], len(scores.roots)
    for d in range(depth):
        for i in range(n):
            chart.left[d, i, i] = chart.embedded_left[d, i, i] = 1.0
            chart.right[d, i, i] = chart.tail[d, i, i] = 1.0
            chart.closed_left[d, i, i] = chart.closed_embedded[d, i, i] = stops[LEFT, 0, i]
            chart.closed_right[d, i, i] = chart.closed_tail[d, i, i] = stops[RIGHT, 0, i]
    for width in range(1, n):
        for i in range(n - width):
            for d in range(depth - 1, -1, -1):
                inside_left(scores, chart, chunk, d, i, i + width)
                inside_right(scores, chart, chunk, d, i, i + width)
    z = 0.0
    for root in range(n):
        z += scores.roots[root] * chart.closed_left[0, root, 0] * chart.closed_right[0, root, n - 1]
    return z


@compiled
def inside_left(scores: Scores, chart: BoundedChart, chunk: int, d: int, i: int, j: int) -> None:
    """The left halves of word j that reach to i, and the link to i as the outermost child."""
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
def inside_right(scores: Scores, chart: BoundedChart, chunk: int, d: int, i: int, j: int) -> None:
    """The right halves of word i that reach to j, and the links to j as the last child."""
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
def bounded_outside(
    scores: Scores, chart: BoundedChart, chunk: int, z: float, gradients: BoundedChart, posterior: Scores
) -> None:
    """How probable each factor is in a tree: fills the posterior.

    `gradients` receives the derivatives of log Z by the entries of the chart. Entries of both must be zero.
    """
    depth, n = chart.left.shape[0], len(scores.roots)
    for root in range(n):
        weight = scores.roots[root] / z
        left, right = chart.closed_left[0, root, 0], chart.closed_right[0, root, n - 1]
        gradients.closed_left[0, root, 0] += weight * right
        gradients.closed_right[0, root, n - 1] += weight * left
        posterior.roots[root] = weight * left * right
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            for d in range(depth):
                outside_right(scores, chart, chunk, d, i, i + width, gradients, posterior)
                outside_left(scores, chart, chunk, d, i, i + width, gradients, posterior)
    for d in range(depth):
        for i in range(n):
            left = gradients.closed_left[d, i, i] + gradients.closed_embedded[d, i, i]
            right = gradients.closed_right[d, i, i] + gradients.closed_tail[d, i, i]
            posterior.stops[LEFT, 0, i] += left * scores.stops[LEFT, 0, i]
            posterior.stops[RIGHT, 0, i] += right * scores.stops[RIGHT, 0, i]


@compiled
def outside_left(
    scores: Scores,
    chart: BoundedChart,
    chunk: int,
    d: int,
    i: int,
    j: int,
    gradients: BoundedChart,
    posterior: Scores,
) -> None:
    """The steps of `inside_left` backwards."""
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
def outside_right(
    scores: Scores,
    chart: BoundedChart,
    chunk: int,
    d: int,
    i: int,
    j: int,
    gradients: BoundedChart,
    posterior: Scores,
) -> None:
    """The steps of `inside_right` backwards."""
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
def bounded_posterior(scores: Scores, depth: int, chunk: int, posterior: Scores) -> float:
    """How probable each factor of a sentence is, and log Z in nats; scales the factors.

    The entries of `posterior` must be zero.
    """
    n, log_scale = len(scores.roots), 0.0
    step, chart = min(1.0, 200.0 / n), new_bounded(depth, n)
    z = bounded_inside(scores, chart, chunk)
    for _ in range(1000 + n):
        if LEAST < z < MOST:
            break
        change = step if z <= LEAST else -step  # otherwise it is too large, infinite or not a number
        for dependent in range(n):
            scores.roots[dependent] *= math.exp(change)
            for head in range(n):
                scores.arcs[0, head, dependent] *= math.exp(change)
                scores.arcs[1, head, dependent] *= math.exp(change)
        log_scale += n * change
        chart = new_bounded(depth, n)
        z = bounded_inside(scores, chart, chunk)
    bounded_outside(scores, chart, chunk, z, new_bounded(depth, n), posterior)
    return math.log(z) - log_scale


@compiled
def add_bounded_counts(
    tags: Ints,
    first: Ints,
    potentials: Floats,
    model: DmvArrays,
    counts: DmvArrays,
    depth: int,
    chunk: int,
) -> float:
    """Adds the expected counts of many sentences, shaped as the parameters; gives the sum of their log Z.

    tags (N,) of all sentences, sentence k from first[k] to first[k + 1]; potentials, no logs: those of the
    sentences, (n + 1) * n numbers each by head and dependent, one after the other.
    """
    total, at = 0.0, 0
    for k in range(len(first) - 1):
        words = tags[first[k] : first[k + 1]]
        n = len(words)
        if n == 0:
            continue
        scores = Scores(np.zeros((2, n, n)), np.zeros(n), np.zeros((2, 2, n)))
        posterior = Scores(np.zeros((2, n, n)), np.zeros(n), np.zeros((2, 2, n)))
        exchange(words, potentials[at : at + (n + 1) * n].reshape(n + 1, n), model, counts, scores, True)
        at += (n + 1) * n
        total += bounded_posterior(scores, depth, chunk, posterior)
        exchange(words, potentials[:0].reshape(0, n), model, counts, posterior, False)
    return total


@compiled
def exchange(
    words: Ints, potentials: Floats, model: DmvArrays, counts: DmvArrays, scores: Scores, is_filling: bool
) -> None:
    """Fills a sentence's factors with those of the model, or adds a sentence's posterior to the counts."""
    root, choose, stop = model
    for head, tag in enumerate(words):
        if is_filling:
            scores.roots[head] = root[tag] * potentials[0, head]
        else:
            counts.root[tag] += scores.roots[head]
        for side in range(2):
            for has_children in range(2):
                if is_filling:
                    scores.stops[side, has_children, head] = stop[tag, side, has_children]
                else:
                    counts.stop[tag, side, has_children] += scores.stops[side, has_children, head]
        for dependent, child in enumerate(words):
            side = LEFT if dependent < head else RIGHT
            for valence in range(2):
                if not is_filling:
                    counts.choose[tag, side, valence, child] += scores.arcs[valence, head, dependent]
                elif head != dependent:
                    go = (1.0 - stop[tag, side, valence]) * choose[tag, side, valence, child]
                    scores.arcs[valence, head, dependent] = go * potentials[head + 1, dependent]


@lru_cache(maxsize=1)
def make_ready() -> None:
    """Compiles what Python calls, or fetches it from disk; says so on the log if that takes long."""
    with announced("the left-corner teacher"):
        model = DmvArrays(np.ones(1), np.ones((1, 2, 2, 1)), np.full((1, 2, 2), 0.5))
        add_bounded_counts(np.zeros(1, np.int64), np.array([0, 1]), np.ones(2), model, model, 1, 1)

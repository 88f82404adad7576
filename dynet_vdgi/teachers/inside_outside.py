"""Exact inside-outside for the dependency model with valence, over projective trees with one root.

The model is Klein & Manning's (2004, "Corpus-based induction of syntactic structure"), factored into
half-trees as by Eisner (1996): a head makes its children on either side from the inside out, and on each side
stops once. Cubic in the number of words, compiled by numba. Functions that call each other are in one module:
numba looks only there to see whether what it keeps on disk is still valid.

Letters: n words, T tags; words are 0..n-1 here. `side` is LEFT or RIGHT, where a child stands, seen from its
head; `valence` is 0 for the first child on that side, 1 for those after it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.jit import announced, compiled

LEFT, RIGHT = 0, 1
LEAST, MOST = 1e-100, 1e100
"""Sums over trees are scaled until they are between these, so that parts of them cannot leave a float."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Scores(NamedTuple):
    """Factors of one sentence's trees; also their posterior probabilities, which have the same shapes."""

    arcs: Floats  # (2, n, n): valence, head, dependent
    roots: Floats  # (n,)
    stops: Floats  # (2, 2, n): side, whether there are children on it, head


class Chart(NamedTuple):
    """Sums over half-trees, each (n, n) by head and farthest word; for the outside pass their derivatives."""

    link: Floats  # up to a child, whose own far side is not there yet
    open_left: Floats  # may get further children
    open_right: Floats
    closed_left: Floats  # has stopped
    closed_right: Floats


@compiled
def new_scores(n: int) -> Scores:
    """All zero."""
    return Scores(np.zeros((2, n, n)), np.zeros(n), np.zeros((2, 2, n)))


@compiled
def new_chart(n: int) -> Chart:
    """All zero."""
    return Chart(np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)))


@compiled
def inside(scores: Scores, chart: Chart) -> float:
    """The sum Z over all trees of the product of their factors. Fills the chart."""
    arcs, roots, stops = scores
    link, open_left, open_right, closed_left, closed_right = chart
    n = len(roots)
    for i in range(n):
        open_left[i, i] = open_right[i, i] = 1.0
        closed_left[i, i], closed_right[i, i] = stops[LEFT, 0, i], stops[RIGHT, 0, i]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            later = 0.0
            for m in range(i + 1, j):
                later += open_right[i, m] * closed_left[j, m + 1]
            link[i, j] = arcs[0, i, j] * closed_left[j, i + 1] + arcs[1, i, j] * later
            later = 0.0
            for m in range(i, j - 1):
                later += closed_right[i, m] * open_left[j, m + 1]
            link[j, i] = arcs[0, j, i] * closed_right[i, j - 1] + arcs[1, j, i] * later
            total = 0.0
            for child in range(i + 1, j + 1):
                total += link[i, child] * closed_right[child, j]
            open_right[i, j] = total
            closed_right[i, j] = total * stops[RIGHT, 1, i]
            total = 0.0
            for child in range(i, j):
                total += link[j, child] * closed_left[child, i]
            open_left[j, i] = total
            closed_left[j, i] = total * stops[LEFT, 1, j]
    z = 0.0
    for root in range(n):
        z += roots[root] * closed_left[root, 0] * closed_right[root, n - 1]
    return z


@compiled
def outside(scores: Scores, chart: Chart, z: float, slopes: Chart, posterior: Scores) -> None:
    """How probable each factor is in a tree: fills the posterior, whose entries must be zero.

    `slopes` receives the derivatives of log Z by the entries of the chart; its entries must be zero, too.
    """
    arcs, roots, stops = scores
    link, open_left, open_right, closed_left, closed_right = chart
    d_link, d_open_left, d_open_right, d_closed_left, d_closed_right = slopes
    n = len(roots)
    for root in range(n):
        weight = roots[root] / z
        d_closed_left[root, 0] += weight * closed_right[root, n - 1]
        d_closed_right[root, n - 1] += weight * closed_left[root, 0]
        posterior.roots[root] = weight * closed_left[root, 0] * closed_right[root, n - 1]
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            # closed = open * stop; open = sum of link * closed
            slope = d_closed_right[i, j]
            posterior.stops[RIGHT, 1, i] += slope * closed_right[i, j]
            slope = d_open_right[i, j] + slope * stops[RIGHT, 1, i]
            for child in range(i + 1, j + 1):
                d_link[i, child] += slope * closed_right[child, j]
                d_closed_right[child, j] += slope * link[i, child]
            slope = d_closed_left[j, i]
            posterior.stops[LEFT, 1, j] += slope * closed_left[j, i]
            slope = d_open_left[j, i] + slope * stops[LEFT, 1, j]
            for child in range(i, j):
                d_link[j, child] += slope * closed_left[child, i]
                d_closed_left[child, i] += slope * link[j, child]
            # link = arc * (first child + sum of open * closed)
            first, slope = d_link[i, j] * arcs[0, i, j], d_link[i, j] * arcs[1, i, j]
            posterior.arcs[0, i, j] = first * closed_left[j, i + 1]
            d_closed_left[j, i + 1] += first
            for m in range(i + 1, j):
                posterior.arcs[1, i, j] += slope * open_right[i, m] * closed_left[j, m + 1]
                d_open_right[i, m] += slope * closed_left[j, m + 1]
                d_closed_left[j, m + 1] += slope * open_right[i, m]
            first, slope = d_link[j, i] * arcs[0, j, i], d_link[j, i] * arcs[1, j, i]
            posterior.arcs[0, j, i] = first * closed_right[i, j - 1]
            d_closed_right[i, j - 1] += first
            for m in range(i, j - 1):
                posterior.arcs[1, j, i] += slope * closed_right[i, m] * open_left[j, m + 1]
                d_closed_right[i, m] += slope * open_left[j, m + 1]
                d_open_left[j, m + 1] += slope * closed_right[i, m]
    for i in range(n):
        posterior.stops[LEFT, 0, i] = d_closed_left[i, i] * closed_left[i, i]
        posterior.stops[RIGHT, 0, i] = d_closed_right[i, i] * closed_right[i, i]


@compiled
def scale_word(scores: Scores, dependent: int, factor: float) -> None:
    """Multiplies what is there for every head of a word. Every tree has one factor of these."""
    # Loops, here and below: numba takes seconds to compile the same with slices.
    scores.roots[dependent] *= factor
    for valence in range(2):
        for head in range(len(scores.roots)):
            scores.arcs[valence, head, dependent] *= factor


@compiled
def scaled_inside(scores: Scores, chart: Chart) -> tuple[float, float]:
    """Scales the words until Z is between LEAST and MOST; gives Z, and the log of the scale, in nats."""
    n = len(scores.roots)
    step = min(1.0, 200.0 / n)  # cannot jump over the range
    log_scale = 0.0
    for _ in range(1000 + n):
        z = inside(scores, chart)
        if LEAST < z < MOST:
            return z, log_scale
        change = step if z <= LEAST else -step  # otherwise it is too large, infinite or not a number
        for dependent in range(n):
            scale_word(scores, dependent, math.exp(change))
        log_scale += n * change
    raise ArithmeticError("potentials are too far apart to sum over trees")


@compiled
def fill_scores(
    tags: Ints, potentials: Floats, root: Floats, choose: Floats, stop: Floats, scores: Scores
) -> float:
    """Factors of a sentence's trees, the best for each word scaled to 1; the log of the scale, in nats.

    tags (n,); potentials (n + 1, n) of head and dependent, no logs; root (T,), choose (T, 2, 2, T) by head,
    side, valence, dependent, stop (T, 2, 2).
    """
    n = len(tags)
    log_scale = 0.0
    for dependent in range(n):
        tag = tags[dependent]
        best = root[tag] * potentials[0, dependent]
        scores.roots[dependent] = best
        for head in range(n):
            side = LEFT if dependent < head else RIGHT
            for valence in range(2):
                go = 1.0 - stop[tags[head], side, valence]
                factor = go * choose[tags[head], side, valence, tag] * potentials[head + 1, dependent]
                factor = 0.0 if head == dependent else factor
                scores.arcs[valence, head, dependent] = factor
                best = max(best, factor)
        scale_word(scores, dependent, 1.0 / best)
        log_scale -= math.log(best)
        for side in range(2):
            best = max(stop[tag, side, 0], stop[tag, side, 1])
            scores.stops[side, 0, dependent] = stop[tag, side, 0] / best
            scores.stops[side, 1, dependent] = stop[tag, side, 1] / best
            log_scale -= math.log(best)
    return log_scale


@compiled
def posterior_of(
    tags: Ints, potentials: Floats, root: Floats, choose: Floats, stop: Floats
) -> tuple[Scores, float]:
    """Posterior of one sentence, and log Z in nats. Arguments as of `fill_scores`."""
    n = len(tags)
    scores, posterior, chart = new_scores(n), new_scores(n), new_chart(n)
    log_scale = fill_scores(tags, potentials, root, choose, stop, scores)
    z, further = scaled_inside(scores, chart)
    outside(scores, chart, z, new_chart(n), posterior)
    return posterior, math.log(z) - log_scale - further


@compiled
def add_counts(
    tags: Ints,
    first: Ints,
    potentials: Floats,
    root: Floats,
    choose: Floats,
    stop: Floats,
    root_counts: Floats,
    choose_counts: Floats,
    stop_counts: Floats,
) -> float:
    """Adds the expected counts of many sentences, shaped as the parameters; gives the sum of their log Z.

    tags (N,) of all sentences, sentence k from first[k] to first[k + 1]; potentials: those of the sentences,
    (n + 1) * n numbers each, one after the other.
    """
    total, at = 0.0, 0
    for k in range(len(first) - 1):
        words = tags[first[k] : first[k + 1]]
        n = len(words)
        if n == 0:
            continue
        own_potentials = potentials[at : at + (n + 1) * n].reshape(n + 1, n)
        at += (n + 1) * n
        posterior, log_z = posterior_of(words, own_potentials, root, choose, stop)
        total += log_z
        for head in range(n):
            tag = words[head]
            root_counts[tag] += posterior.roots[head]
            for side in range(2):
                for has_children in range(2):
                    stop_counts[tag, side, has_children] += posterior.stops[side, has_children, head]
            for dependent in range(n):
                side = LEFT if dependent < head else RIGHT
                for valence in range(2):
                    count = posterior.arcs[valence, head, dependent]
                    choose_counts[tag, side, valence, words[dependent]] += count
    return total


@lru_cache(maxsize=1)
def make_ready() -> None:
    """Compiles what Python calls, or fetches it from disk; says so on the log if that takes long."""
    with announced("the DMV teacher"):
        tags, potentials = np.zeros(1, np.int64), np.ones((2, 1))
        root, choose, stop = np.ones(1), np.ones((1, 2, 2, 1)), np.full((1, 2, 2), 0.5)
        posterior_of(tags, potentials, root, choose, stop)
        counts = root.copy(), choose.copy(), stop.copy()
        add_counts(tags, np.array([0, 1]), potentials.ravel(), root, choose, stop, *counts)

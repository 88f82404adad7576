"""Exact inside-outside for a dependency model with valence whose words have hidden subsymbols.

As in `inside_outside`, over projective trees with one root, but a head has one of K subsymbols, chooses a
child's subsymbol with its tag, and distinguishes no child, one child and more on a side. Cubic in the number
of words and quadratic in K; in machine code. Words are 0..n-1 here.

Letters: n words, N words of all sentences, T tags, K subsymbols of a tag, E emissions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.teachers.inside_outside import LARGEST_SUM, LEFT, RIGHT, SMALLEST_SUM

N_VALENCES = 3
"""No child on that side yet, one, more."""


class HiddenWeights(NamedTuple):
    """Factors of decisions, which need not sum to 1; also expected counts of what they are the factors of."""

    root: Floats  # (T, K)
    choose: (
        Floats  # (T, K, 2, 3, T, K): head, its subsymbol, side, valence, child, its subsymbol; not stopping
    )
    stop: Floats  # (T, K, 2, 3): head, its subsymbol, side, valence
    emit: Floats  # (E, K): a word that has a tag, its subsymbol


class Factors(NamedTuple):
    """Factors of one sentence's trees; also their posterior probabilities, which have the same shapes."""

    arcs: Floats  # (3, n, n, K, K): valence, head, dependent, their subsymbols
    roots: Floats  # (n, K)
    stops: Floats  # (2, 3, n, K): side, valence, head, its subsymbol


class Halves(NamedTuple):
    """Sums over half-trees by side, head and farthest word; for the outside pass their derivatives."""

    link: Floats  # (2, n, n, K, K): up to a child, first or later, whose own far side is not there yet
    opened: Floats  # (2, n, n, K): of one child, or of more, may get further ones
    closed: Floats  # (2, n, n, K): by side; has stopped


class HiddenRoom(NamedTuple):
    """The kernel's workspace; a sentence of fewer than n words uses the first cells only."""

    factors: Factors
    posterior: Factors
    halves: Halves
    gradients: Halves


def room_for(n: int, k: int) -> HiddenRoom:
    """A workspace for sentences of up to n words and K subsymbols."""

    def factors() -> Factors:
        return Factors(np.zeros((N_VALENCES, n, n, k, k)), np.zeros((n, k)), np.zeros((2, N_VALENCES, n, k)))

    def halves() -> Halves:
        return Halves(np.zeros((2, n, n, k, k)), np.zeros((2, n, n, k)), np.zeros((2, n, n, k)))

    return HiddenRoom(factors(), factors(), halves(), halves())


@compiled
def inside_half(factors: Factors, halves: Halves, head: int, far: int) -> None:
    """The half-tree of a head that reaches to another word, and the link to that word."""
    arcs, _, stops = factors
    link, opened, closed = halves
    step = 1 if far > head else -1
    side = RIGHT if far > head else LEFT
    inner = 1 - side  # the child's side that faces the head
    n_sub = arcs.shape[3]
    for a in range(n_sub):
        for b in range(n_sub):
            link[0, head, far, a, b] = arcs[0, head, far, a, b] * closed[inner, far, head + step, b]
            total = 0.0
            m = head + step
            while m != far:
                some = opened[0, head, m, a] * arcs[1, head, far, a, b]
                some += opened[1, head, m, a] * arcs[2, head, far, a, b]
                total += some * closed[inner, far, m + step, b]
                m += step
            link[1, head, far, a, b] = total
    for a in range(n_sub):
        closed[side, head, far, a] = 0.0
        for later in range(2):
            total = 0.0
            child = head
            while child != far:
                child += step
                for b in range(n_sub):
                    total += link[later, head, child, a, b] * closed[side, child, far, b]
            opened[later, head, far, a] = total
            closed[side, head, far, a] += total * stops[side, later + 1, head, a]


@compiled
def hidden_inside(n: int, factors: Factors, halves: Halves) -> float:
    """The sum Z over all trees and subsymbols of the product of their factors. Fills the chart."""
    _, roots, stops = factors
    closed, n_sub = halves.closed, roots.shape[1]
    for i in range(n):
        for a in range(n_sub):
            closed[LEFT, i, i, a], closed[RIGHT, i, i, a] = stops[LEFT, 0, i, a], stops[RIGHT, 0, i, a]
    for width in range(1, n):
        for i in range(n - width):
            inside_half(factors, halves, i, i + width)
            inside_half(factors, halves, i + width, i)
    z = 0.0
    for root in range(n):
        for a in range(n_sub):
            z += roots[root, a] * closed[LEFT, root, 0, a] * closed[RIGHT, root, n - 1, a]
    return z


@compiled
def outside_half(
    factors: Factors, halves: Halves, gradients: Halves, posterior: Factors, head: int, far: int
) -> None:
    """Propagates the derivatives of a half-tree to its parts."""
    arcs, _, stops = factors
    link, opened, closed = halves
    step = 1 if far > head else -1
    side = RIGHT if far > head else LEFT
    inner = 1 - side
    n_sub = arcs.shape[3]
    for a in range(n_sub):
        for later in range(2):
            gradient = gradients.closed[side, head, far, a] * stops[side, later + 1, head, a]
            posterior.stops[side, later + 1, head, a] += gradient * opened[later, head, far, a]
            gradient += gradients.opened[later, head, far, a]
            child = head
            while child != far:
                child += step
                for b in range(n_sub):
                    gradients.link[later, head, child, a, b] += gradient * closed[side, child, far, b]
                    gradients.closed[side, child, far, b] += gradient * link[later, head, child, a, b]
    for a in range(n_sub):
        for b in range(n_sub):
            first = gradients.link[0, head, far, a, b] * arcs[0, head, far, a, b]
            posterior.arcs[0, head, far, a, b] = first * closed[inner, far, head + step, b]
            gradients.closed[inner, far, head + step, b] += first
            second = gradients.link[1, head, far, a, b] * arcs[1, head, far, a, b]
            third = gradients.link[1, head, far, a, b] * arcs[2, head, far, a, b]
            m = head + step
            while m != far:
                beyond = closed[inner, far, m + step, b]
                posterior.arcs[1, head, far, a, b] += second * opened[0, head, m, a] * beyond
                posterior.arcs[2, head, far, a, b] += third * opened[1, head, m, a] * beyond
                gradients.opened[0, head, m, a] += second * beyond
                gradients.opened[1, head, m, a] += third * beyond
                both = second * opened[0, head, m, a] + third * opened[1, head, m, a]
                gradients.closed[inner, far, m + step, b] += both
                m += step


@compiled
def hidden_outside(n: int, z: float, room: HiddenRoom) -> None:
    """Fills in the posterior probability of each factor."""
    factors, posterior, halves, gradients = room
    _, roots, stops = factors
    closed, n_sub = halves.closed, roots.shape[1]
    posterior.arcs[:, :n, :n] = 0.0
    posterior.stops[:, :, :n] = 0.0
    gradients.link[:, :n, :n] = 0.0
    gradients.opened[:, :n, :n] = 0.0
    gradients.closed[:, :n, :n] = 0.0
    for root in range(n):
        for a in range(n_sub):
            left, right = closed[LEFT, root, 0, a], closed[RIGHT, root, n - 1, a]
            weight = roots[root, a] / z
            gradients.closed[LEFT, root, 0, a] += weight * right
            gradients.closed[RIGHT, root, n - 1, a] += weight * left
            posterior.roots[root, a] = weight * left * right
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            outside_half(factors, halves, gradients, posterior, i, i + width)
            outside_half(factors, halves, gradients, posterior, i + width, i)
    for i in range(n):
        for a in range(n_sub):
            for side in range(2):
                posterior.stops[side, 0, i, a] = gradients.closed[side, i, i, a] * stops[side, 0, i, a]


@compiled
def scale_dependent(n: int, factors: Factors, dependent: int, factor: float) -> None:
    """Multiplies the factors of a word for all its heads. Every tree has exactly one of these factors."""
    n_sub = factors.roots.shape[1]
    for b in range(n_sub):
        factors.roots[dependent, b] *= factor
        for valence in range(N_VALENCES):
            for head in range(n):
                for a in range(n_sub):
                    factors.arcs[valence, head, dependent, a, b] *= factor


@compiled
def fill_factors(
    tags: Ints, emitted: Ints, potentials: Floats, weights: HiddenWeights, factors: Factors
) -> float:
    """Factors of a sentence's trees, the best for each word scaled to 1; the log of the scale, in nats.

    tags (n,); emitted (n,) below E; potentials (n + 1) * n of head and dependent, no logs.
    """
    arcs, roots, stops = factors
    n, n_sub, log_scale = len(tags), roots.shape[1], 0.0
    for dependent in range(n):
        tag, best = tags[dependent], 0.0
        for b in range(n_sub):
            emission = weights.emit[emitted[dependent], b]
            roots[dependent, b] = weights.root[tag, b] * emission * potentials[dependent]
            best = max(best, roots[dependent, b])
            for head in range(n):
                if head == dependent:
                    continue
                side = LEFT if dependent < head else RIGHT
                outer = emission * potentials[(head + 1) * n + dependent]
                for a in range(n_sub):
                    for valence in range(N_VALENCES):
                        factor = weights.choose[tags[head], a, side, valence, tag, b] * outer
                        arcs[valence, head, dependent, a, b] = factor
                        best = max(best, factor)
        scale_dependent(n, factors, dependent, 1.0 / best)
        log_scale -= math.log(best)
        for side in range(2):
            for a in range(n_sub):
                for valence in range(N_VALENCES):
                    stops[side, valence, dependent, a] = weights.stop[tag, a, side, valence]
    return log_scale


@compiled
def hidden_posterior(
    tags: Ints, emitted: Ints, potentials: Floats, weights: HiddenWeights, room: HiddenRoom
) -> float:
    """Finds the posterior of a sentence; log Z in nats. Arguments as of `fill_factors`.

    Not a number: potentials are too far apart to sum over trees.
    """
    n, log_scale = len(tags), fill_factors(tags, emitted, potentials, weights, room.factors)
    step = min(1.0, 200.0 / n)  # cannot jump over the range
    for _ in range(1000 + n):
        z = hidden_inside(n, room.factors, room.halves)
        if SMALLEST_SUM < z < LARGEST_SUM:
            hidden_outside(n, z, room)
            return math.log(z) - log_scale
        change = step if z <= SMALLEST_SUM else -step  # otherwise it is too large, infinite or not a number
        for dependent in range(n):
            scale_dependent(n, room.factors, dependent, math.exp(change))
        log_scale += n * change
    return np.nan


@compiled
def add_sentence(tags: Ints, emitted: Ints, posterior: Factors, counts: HiddenWeights, arcs: Floats) -> None:
    """Adds a sentence's posterior to the counts; writes how probable each arc is, (n + 1) * n."""
    n, n_sub = len(tags), posterior.roots.shape[1]
    for word in range(n):
        tag = tags[word]
        for a in range(n_sub):
            arcs[word] += posterior.roots[word, a]
            counts.root[tag, a] += posterior.roots[word, a]
            counts.emit[emitted[word], a] += posterior.roots[word, a]
            for side in range(2):
                for valence in range(N_VALENCES):
                    counts.stop[tag, a, side, valence] += posterior.stops[side, valence, word, a]
            for child in range(n):
                side = LEFT if child < word else RIGHT
                for valence in range(N_VALENCES):
                    for b in range(n_sub):
                        share = posterior.arcs[valence, word, child, a, b]
                        arcs[(word + 1) * n + child] += share
                        counts.choose[tag, a, side, valence, tags[child], b] += share
                        counts.emit[emitted[child], b] += share


@compiled
def sum_hidden(
    tags: Ints,
    emitted: Ints,
    first: Ints,
    potentials: Floats,
    weights: HiddenWeights,
    counts: HiddenWeights,
    arcs: Floats,
    total: Floats,
    room: HiddenRoom,
) -> None:
    """Adds the expected counts of many sentences, shaped as the weights, and their log Z to total (1,).

    tags (N,) and emitted (N,) of all sentences, sentence k from first[k] to first[k + 1]; potentials: those
    of the sentences, (n + 1) * n numbers each, one after the other. arcs, shaped as these and all zero,
    receives how probable each arc is. The total is not a number if potentials are too far apart to sum over
    trees.
    """
    at = 0
    for k in range(len(first) - 1):
        n = first[k + 1] - first[k]
        if n == 0:
            continue
        start, end = first[k], first[k + 1]
        words, emissions, last = tags[start:end], emitted[start:end], at + (n + 1) * n
        total[0] += hidden_posterior(words, emissions, potentials[at:last], weights, room)
        add_sentence(words, emissions, room.posterior, counts, arcs[at:last])
        at = last


SUM_HIDDEN = Kernel(sum_hidden, "the HDP-DMV teacher")

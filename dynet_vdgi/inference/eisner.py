"""Exact sums and maxima over projective trees with one root, for scores of single arcs.

These are Eisner's half-trees (1996, "Three new probabilistic models for dependency parsing"), cubic
in the number of words, compiled by numba. Every function takes the scores (n + 1, n + 1) of the
arcs [head, dependent] of one sentence, in nats, ROOT at 0; column 0 and the diagonal are ignored,
minus infinity forbids an arc. The score of a tree is the sum over its arcs; its probability is
proportional to exp(score). All functions raise ValueError if there is no tree, or the scores are
not such a matrix.

>>> scores = np.zeros((4, 4))  # of three words
>>> scores[0, 2] = scores[2, 1] = scores[2, 3] = 1.0
>>> best(scores)
(2, 0, 2)

Letters: n words; inside the kernels words are 0..n-1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dynet_vdgi.conllu.sentence import Tree
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled, work_of_trees

LOWEST = -50.0
"""How far a score may lie below the best arc of its word when trees are summed over; lower scores
are raised to this limit, except for minus infinity."""

SMALLEST_SUM, LARGEST_SUM = 1e-100, 1e100
"""Sums over trees are scaled to lie between these, so that no part of them leaves the range of a
float."""

NO_TREE = "there is no projective tree with one root among the arcs that are allowed"

# first index of a chart (2, n, n): an arc with the words under it; a finished half-tree
LINK, CLOSED = 0, 1


@compiled
def inside(factors: Floats, chart: Floats) -> float:
    """The sum Z over all trees of the product of their factors (n + 1, n), ROOT first. Fills the
    chart."""
    n = factors.shape[1]
    link, closed = chart[LINK], chart[CLOSED]  # each (n, n): head, farthest word
    for i in range(n):
        closed[i, i] = 1.0
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            under = 0.0
            for m in range(i, j):
                under += closed[i, m] * closed[j, m + 1]
            link[i, j], link[j, i] = under * factors[i + 1, j], under * factors[j + 1, i]
            to_right = to_left = 0.0
            for m in range(i, j):
                to_right += link[i, m + 1] * closed[m + 1, j]
                to_left += link[j, m] * closed[m, i]
            closed[i, j], closed[j, i] = to_right, to_left
    z = 0.0
    for root in range(n):
        z += factors[0, root] * closed[root, 0] * closed[root, n - 1]
    return z


@compiled
def outside(factors: Floats, chart: Floats, z: float, gradients: Floats, marginals: Floats) -> None:
    """The probability (n + 1, n) of every arc, from a filled chart.

    `gradients` receives the derivatives of log Z by the chart; it and `marginals` must be zero at
    first.
    """
    n = factors.shape[1]
    link, closed = chart[LINK], chart[CLOSED]
    d_link, d_closed = gradients[LINK], gradients[CLOSED]
    for root in range(n):
        weight = factors[0, root] / z
        d_closed[root, 0] += weight * closed[root, n - 1]
        d_closed[root, n - 1] += weight * closed[root, 0]
        marginals[0, root] = weight * closed[root, 0] * closed[root, n - 1]
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            to_right, to_left = d_closed[i, j], d_closed[j, i]
            for m in range(i, j):
                d_link[i, m + 1] += to_right * closed[m + 1, j]
                d_closed[m + 1, j] += to_right * link[i, m + 1]
                d_link[j, m] += to_left * closed[m, i]
                d_closed[m, i] += to_left * link[j, m]
            marginals[i + 1, j] = d_link[i, j] * link[i, j]
            marginals[j + 1, i] = d_link[j, i] * link[j, i]
            under = d_link[i, j] * factors[i + 1, j] + d_link[j, i] * factors[j + 1, i]
            for m in range(i, j):
                d_closed[i, m] += under * closed[j, m + 1]
                d_closed[j, m + 1] += under * closed[i, m]


@compiled
def scaled_inside(factors: Floats, chart: Floats) -> tuple[float, float]:
    """Scales the factors of all words until Z is between SMALLEST_SUM and LARGEST_SUM.

    Returns Z, 0 where no scale helps, and the log of the scale.
    """
    n = factors.shape[1]
    step = math.exp(min(1.0, 200.0 / n))  # cannot jump over the range
    log_scale = 0.0
    for _ in range(100 + n):
        z = inside(factors, chart)
        if SMALLEST_SUM < z < LARGEST_SUM:
            return z, log_scale
        change = step if z <= SMALLEST_SUM else 1.0 / step  # else: too large, or no number
        for head in range(n + 1):
            for dependent in range(n):
                factors[head, dependent] *= change
        log_scale += n * math.log(change)
    return 0.0, log_scale


@compiled
def exponentials(scores: Floats, factors: Floats) -> float:
    """Factors (n + 1, n) of scores (n + 1, n + 1), 1 for the best of each word; the log of the
    scale."""
    n = len(scores) - 1
    log_scale = 0.0
    for dependent in range(1, n + 1):
        best = -np.inf
        for head in range(n + 1):
            if head != dependent and scores[head, dependent] > best:
                best = scores[head, dependent]
        for head in range(n + 1):
            score = scores[head, dependent]
            allowed = head != dependent and score > -np.inf
            factors[head, dependent - 1] = math.exp(max(score - best, LOWEST)) if allowed else 0.0
        log_scale -= best
    return log_scale


@compiled
def sums(in_a_row: Floats, lengths: Ints, marginals: Floats, log_z: Floats) -> None:
    """log Z (S,), in nats, and marginals of sentences in a row, of lengths (S,). Minus infinity: no
    tree.

    Each has (n + 1) * (n + 1) scores, and (n + 1) * n marginals, which must be zero, by head, ROOT
    first, and dependent.
    """
    at = first_marginal = 0
    for s in range(len(lengths)):
        n = lengths[s]
        scores = in_a_row[at : at + (n + 1) * (n + 1)].reshape(n + 1, n + 1)
        of_arcs = marginals[first_marginal : first_marginal + (n + 1) * n].reshape(n + 1, n)
        factors, chart, slopes = np.zeros((n + 1, n)), np.zeros((2, n, n)), np.zeros((2, n, n))
        log_scale = exponentials(scores, factors)
        z, further = scaled_inside(factors, chart) if n else (1.0, 0.0)
        log_z[s] = -np.inf
        if z > 0.0:
            outside(factors, chart, z, slopes, of_arcs)
            log_z[s] = math.log(z) - log_scale - further
        at += (n + 1) * (n + 1)
        first_marginal += (n + 1) * n


_SUMS = Kernel(sums, "exact parsing")


@compiled
def best_chart(n: int, scores: Floats, chart: Floats, split: Ints) -> int:
    """Fills a chart (2, n, n), or larger, with the best score of every item and its split; the best
    root."""
    link, closed = chart[LINK], chart[CLOSED]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            best, at = -np.inf, i
            for m in range(i, j):
                score = closed[i, m] + closed[j, m + 1]
                if score > best:
                    best, at = score, m
            link[i, j], link[j, i] = best + scores[i + 1, j + 1], best + scores[j + 1, i + 1]
            split[LINK, i, j] = split[LINK, j, i] = at
            best, at = -np.inf, j
            for m in range(i + 1, j + 1):
                score = link[i, m] + closed[m, j]
                if score > best:
                    best, at = score, m
            closed[i, j], split[CLOSED, i, j] = best, at
            best, at = -np.inf, i
            for m in range(i, j):
                score = link[j, m] + closed[m, i]
                if score > best:
                    best, at = score, m
            closed[j, i], split[CLOSED, j, i] = best, at
    best, at = -np.inf, -1
    for root in range(n):
        score = scores[0, root + 1] + closed[root, 0] + closed[root, n - 1]
        if score > best:
            best, at = score, root
    return at


@compiled
def find_tree(
    n: int, scores: Floats, heads: Ints, chart: Floats, split: Ints, agenda: Ints
) -> bool:
    """Fills in the heads (n,) of the best tree; whether there is one.

    Works in the caller's arrays, which may be larger: a chart and splits (2, n, n), both zero on
    the diagonal, and an agenda (2 * n + 2, 3).
    """
    root = best_chart(n, scores, chart, split)
    if root < 0:
        return False
    heads[root] = 0
    agenda[0, 0] = agenda[1, 0] = CLOSED  # kind, head, farthest word
    agenda[0, 1] = agenda[1, 1] = root
    agenda[0, 2], agenda[1, 2] = 0, n - 1
    size = 2
    while size:
        size -= 1
        kind, head, end = agenda[size, 0], agenda[size, 1], agenda[size, 2]
        if head == end:
            continue
        at = split[kind, head, end]
        if kind == CLOSED:
            agenda[size, 0], agenda[size, 1], agenda[size, 2] = LINK, head, at
            agenda[size + 1, 0], agenda[size + 1, 1], agenda[size + 1, 2] = CLOSED, at, end
        else:
            heads[end] = head + 1
            agenda[size, 0], agenda[size, 1], agenda[size, 2] = CLOSED, min(head, end), at
            agenda[size + 1, 0], agenda[size + 1, 1] = CLOSED, max(head, end)
            agenda[size + 1, 2] = at + 1
        size += 2
    return True


@compiled
def find_trees(
    in_a_row: Floats,
    lengths: Ints,
    heads: Ints,
    scores: Floats,
    chart: Floats,
    split: Ints,
    agenda: Ints,
) -> None:
    """Tree (N,) of the best trees of sentences in a row, of lengths (S,).

    Each has (n + 1) * n scores, by head, ROOT first, and dependent. Workspace: scores
    (n + 1, n + 1) for the longest sentence, and that of `find_tree`.
    """
    at = word = 0
    for n in lengths:
        for head in range(n + 1):
            for dependent in range(n):
                scores[head, dependent + 1] = in_a_row[at]
                at += 1
        find_tree(n, scores, heads[word : word + n], chart, split, agenda)
        word += n


_FIND_TREES = Kernel(find_trees, "exact parsing")


def _checked_scores(scores: Floats) -> Floats:
    matrix = np.ascontiguousarray(scores, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(f"scores of arcs must be (n + 1, n + 1), not {matrix.shape}")
    is_allowed = matrix < np.inf
    if (
        not is_allowed.all()
        and not is_allowed[:, 1:][~np.eye(len(matrix), dtype=bool)[:, 1:]].all()
    ):
        raise ValueError("scores of arcs must be numbers or minus infinity")
    return matrix


def log_partition(scores: Floats) -> float:
    """The log of the sum over all trees of exp(score), in nats."""
    return float(_sums([scores])[0][0])


def marginals(scores: Floats) -> Floats:
    """The probability (n + 1, n) of every arc, by head, ROOT first, and dependent; columns sum to
    1."""
    return _sums([scores])[1][0]


def marginals_of_all(scores: Sequence[Floats]) -> list[Floats]:
    """The `marginals` for the scores of many sentences, faster than one by one."""
    return _sums(scores)[1]


def _sums(scores: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    matrices = list(map(_checked_scores, scores))
    lengths = np.array([len(matrix) - 1 for matrix in matrices], np.int64)
    sizes = (lengths + 1) * lengths
    of_arcs, log_z = np.zeros(sizes.sum()), np.zeros(len(lengths))
    flat = np.concatenate([*(matrix.ravel() for matrix in matrices), np.zeros(0)])
    _SUMS(flat, lengths, of_arcs, log_z, work=3 * work_of_trees(lengths))
    if (log_z == -np.inf).any():
        raise ValueError(NO_TREE)
    parts = np.split(of_arcs, np.cumsum(sizes)[:-1])
    return log_z, [part.reshape(n + 1, n) for part, n in zip(parts, lengths.tolist())]


def best(scores: Floats) -> Tree:
    """Tree (n,) of the tree with the highest score."""
    matrix = _checked_scores(scores).copy()
    np.fill_diagonal(matrix, 0.0)
    return _best_in_a_row([matrix[:, 1:]])[0]


def expected_best(arc_marginals: Floats, given: Sequence[int] | None = None) -> Tree:
    """The tree with the highest expected number of right arcs, for marginals (n + 1, n).

    It contains the given heads (n,), FREE where none is given.
    """
    return expected_best_of_all([arc_marginals], [() if given is None else given])[0]


def best_of_all(scores: Sequence[Floats]) -> list[Tree]:
    """The trees of `best` for the scores of many sentences, several times faster."""
    return _best_in_a_row([matrix[:, 1:] for matrix in scores])


def expected_best_of_all(
    arc_marginals: Sequence[Floats], given: Sequence[Sequence[int]] = ()
) -> list[Tree]:
    """The trees of `expected_best`, for the marginals (n + 1, n) of many sentences; () are no given
    heads."""
    scores = list(arc_marginals)
    for k, heads in enumerate(given):
        if len(heads):
            scores[k] = constrained_scores(np.pad(scores[k], ((0, 0), (1, 0))), heads)[:, 1:]
    return _best_in_a_row(scores)


def _best_in_a_row(scores: Sequence[Floats]) -> list[Tree]:
    """The best trees for scores (n + 1, n) by head, ROOT first, and dependent."""
    lengths = np.array([matrix.shape[1] for matrix in scores], np.int64)
    flat = np.concatenate([*(matrix.ravel() for matrix in scores), np.zeros(0)])
    if not (flat < np.inf).all():
        raise ValueError("scores of arcs must be numbers or minus infinity")
    n = int(lengths.max(initial=0))
    heads = np.full(lengths.sum(), FREE)
    room = np.zeros((n + 1, n + 1)), np.zeros((2, n, n)), np.zeros((2, n, n), np.int64)
    agenda = np.zeros((2 * n + 2, 3), np.int64)
    _FIND_TREES(flat, lengths, heads, *room, agenda, work=work_of_trees(lengths))
    if FREE in heads:
        raise ValueError(NO_TREE)
    in_a_row, ends = heads.tolist(), np.cumsum(lengths).tolist()
    return [tuple(in_a_row[end - size : end]) for end, size in zip(ends, lengths.tolist())]


def constrained_scores(scores: Floats, heads: Sequence[int]) -> Floats:
    """The scores with all arcs forbidden that contradict these heads (n,); FREE words may have any
    head."""
    given = np.asarray(heads, np.int64)
    if given.shape != (len(scores) - 1,):
        raise ValueError(f"{len(scores) - 1} words, but heads of {given.shape}")
    words = np.flatnonzero(given != FREE)
    result = np.array(scores, np.float64)
    given_scores = result[given[words], words + 1]
    result[:, words + 1] = -np.inf
    result[given[words], words + 1] = given_scores
    return result

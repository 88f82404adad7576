"""Exact inside-outside for the dependency model with valence, over projective trees with one root.

The model is Klein & Manning's (2004, "Corpus-based induction of syntactic structure"), factored
into half-trees as by Eisner (1996): a head makes its children on either side from the inside out,
and on each side stops once. Cubic in the number of words, in machine code, and for a block of
equally long sentences at once: the innermost index is the sentence, so that the processor handles
several sentences in one instruction.

Letters: n words, T tags, B sentences of a block, S sentences; words are 0..n-1 here. `side` is LEFT
or RIGHT, where a child stands, seen from its head; `valence` is 0 for the first child on that side,
1 for those after it. A cell is a pair of words i and j, number i * n + j.

Compiling takes seconds, and longer with each array and each call of a function: hence large arrays,
loops over the sides, and a single kernel.

Of "dogs bark", tags 0 and 1, there are two trees. Under the uniform model each has probability
1/2 (root) * 1/2 * 1/2 (go on, choose the child) * 1/2 ** 4 (stop on both sides of both words), so
that Z is 1/64, and each of the two arcs between the words is in half of the trees:

>>> from dynet_vdgi.unsupervised.dmv_model import DmvModel, Packed
>>> text = Packed.of([[0, 1]], [np.zeros((3, 3))], n_tags=2)
>>> counts, log_z = DmvModel.uniform(2).expected(text)
>>> round(1 / math.exp(log_z)), counts.choose[0, RIGHT, 0].tolist()
(64, [0.0, 0.5])
>>> DmvModel.uniform(2).all_marginals(text)[0].round(2).tolist()  # by head, ROOT first
[[0.5, 0.5], [0.0, 0.5], [0.5, 0.0]]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled, work_of_trees

LEFT, RIGHT = 0, 1

SMALLEST_SUM, LARGEST_SUM = 1e-100, 1e100
"""Sums over trees are scaled into this range, so that no part of them can overflow or underflow."""

LANES = 16
"""Sentences of a block, if they are not long."""

BLOCKED_WORDS = 60
"""Longest sentences, in words, taken in blocks; longer ones, which are few, are taken one by
one."""

PARALLEL_PARTS = 8
"""Parts of a text that may be summed in parallel; a fixed number, so that sums are always equal."""

LINK, OPEN, CLOSED = 0, 1, 3
"""Planes of cells, the latter two with one for each side. Half-trees that end at a child whose own
far side is still missing; that may get further children; that have stopped."""

GRADIENTS = 5  # the same planes of derivatives, from here on

ARCS, OF_ARCS = 10, 12  # with one for each valence

ROOTS, STOPS = 0, 1
"""Planes of words; stops: 2 * side + whether there are children on it."""

OF_ROOTS, OF_STOPS = 5, 6

Z, GRADIENT, SUM = range(3)


class BlockedText(NamedTuple):
    """Sentences, divided into blocks."""

    tags: Ints  # of all words, one sentence after the other
    first: Ints  # (S + 1,): sentence k has tags[first[k]:first[k + 1]]
    # linear; sentence k has (n + 1) * n, by head, ROOT first, and dependent, ...
    potentials: Floats
    starts: Ints  # ... from starts[k] on; (S,)
    order: Ints  # the sentences, by length
    bounds: Ints  # (K + 1,): block k has order[bounds[k]:bounds[k + 1]]


class DmvFactors(NamedTuple):
    """The factors of a model, ready to multiply; also expected counts of the same shapes."""

    root: Floats  # (T,)
    choose: Floats  # (T, 2, 2, T): head, side, valence, dependent; times going on
    stop: Floats  # (T, 2, 2): head, side, valence


class BlockRoom(NamedTuple):
    """The kernel's workspace, large enough for the longest sentences and the largest block.

    Factors of trees, sums over half-trees, the derivatives of log Z by these, and posteriors of the
    factors.
    """

    cells: Floats  # (14, cells, B): by head and dependent or farthest word
    words: Floats  # (10, n, B): by head
    sums: Floats  # (3, B)


def blocks_of(first: Ints) -> tuple[Ints, Ints]:
    """`BlockedText.order` and `BlockedText.bounds` of sentences that begin and end at first (S +
    1,)."""
    lengths = np.diff(first)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    bounds = [0]
    times = np.bincount(lengths[order])
    for n in np.flatnonzero(times).tolist():
        count = int(times[n])
        lanes = LANES if n <= BLOCKED_WORDS else 1
        bounds += range(bounds[-1] + lanes, bounds[-1] + count, lanes)
        bounds.append(bounds[-1] + (count - 1) % lanes + 1)
    return order, np.array(bounds, np.int64)


def shares_of(text: BlockedText) -> list[tuple[int, int]]:
    """First and end block of up to PARALLEL_PARTS shares of about equal work; long sentences have
    their own."""
    lengths, sizes = _blocks(text)
    n_short = int(np.searchsorted(lengths, BLOCKED_WORDS, "right"))
    done = np.cumsum(lengths[:n_short] ** 3 * sizes[:n_short])
    total = done[-1] if n_short else 0
    ends = np.searchsorted(done, np.arange(1, PARALLEL_PARTS) * total / PARALLEL_PARTS)
    cuts = sorted({0, *ends.tolist(), *range(n_short, len(sizes) + 1)})
    return list(zip(cuts, cuts[1:])) or [(0, 0)]


def work_of(text: BlockedText, begin: int, end: int) -> int:
    """The work of these blocks in the units of `Kernel`."""
    lengths, sizes = _blocks(text)
    return 12 * work_of_trees(np.repeat(lengths[begin:end], sizes[begin:end]))


def _blocks(text: BlockedText) -> tuple[Ints, Ints]:
    """The length of each block's sentences, and their number."""
    return np.diff(text.first)[text.order[text.bounds[:-1]]], np.diff(text.bounds)


def room_for(text: BlockedText, begin: int, end: int) -> BlockRoom:
    """A workspace for these blocks."""
    lengths, sizes = _blocks(text)
    n, lanes = int(lengths[begin:end].max(initial=0)), int(sizes[begin:end].max(initial=0))
    return BlockRoom(np.zeros((14, n * n, lanes)), np.zeros((10, n, lanes)), np.zeros((3, lanes)))


@compiled
def dot(
    room: BlockRoom, x: int, at: int, y: int, start: int, step: int, count: int, lanes: int
) -> None:
    """Sums of products of `count` cells of plane x, from `at`, and of plane y, from `start` on by
    steps."""
    left, right, sums = room.cells[x], room.cells[y], room.sums[SUM]
    for b in range(lanes):
        sums[b] = 0.0
    for k in range(count):
        for b in range(lanes):
            sums[b] += left[at + k, b] * right[start + k * step, b]


@compiled
def spread(
    room: BlockRoom, x: int, at: int, y: int, start: int, step: int, count: int, lanes: int
) -> None:
    """Propagates the derivatives by the sums, which are in GRADIENT, back to these cells."""
    left, right, gradient = room.cells[x], room.cells[y], room.sums[GRADIENT]
    of_left, of_right = room.cells[GRADIENTS + x], room.cells[GRADIENTS + y]
    for k in range(count):
        i, j = at + k, start + k * step
        for b in range(lanes):
            of_left[i, b] += gradient[b] * right[j, b]
            of_right[j, b] += gradient[b] * left[i, b]


@compiled
def inside(n: int, lanes: int, room: BlockRoom) -> None:
    """The sums Z (B,) over all trees of the product of their factors. Fills the chart.

    Leaves the sums that later children multiply in the last plane of OF_ARCS, for `outside`.
    """
    cells, words, z, sums = room.cells, room.words, room.sums[Z], room.sums[SUM]
    for side in range(2):
        for i in range(n):
            for b in range(lanes):
                cells[OPEN + side, i * n + i, b] = 1.0
                cells[CLOSED + side, i * n + i, b] = words[STOPS + 2 * side, i, b]
    for width in range(1, n):
        for i in range(n - width):
            for side in range(2):
                head, end = (i, i + width) if side == RIGHT else (i + width, i)
                arc, near = head * n + end, end * n + i
                start = near + 2 * side
                dot(
                    room,
                    OPEN + side,
                    head * n + i + 1,
                    CLOSED + 1 - side,
                    start,
                    1,
                    width - 1,
                    lanes,
                )
                nearest = near + (1 if side == RIGHT else width - 1)
                for b in range(lanes):
                    cells[OF_ARCS + 1, arc, b] = sums[b]
                    first = cells[ARCS, arc, b] * cells[CLOSED + 1 - side, nearest, b]
                    cells[LINK, arc, b] = first + cells[ARCS + 1, arc, b] * sums[b]
            for side in range(2):
                head, end = (i, i + width) if side == RIGHT else (i + width, i)
                arc = head * n + end
                start = (i + side) * n + end
                dot(room, LINK, head * n + i + side, CLOSED + side, start, n, width, lanes)
                for b in range(lanes):
                    cells[OPEN + side, arc, b] = sums[b]
                    cells[CLOSED + side, arc, b] = sums[b] * words[STOPS + 2 * side + 1, head, b]
    for b in range(lanes):
        z[b] = 0.0
    for root in range(n):
        for b in range(lanes):
            z[b] += (
                words[ROOTS, root, b]
                * cells[CLOSED + LEFT, root * n, b]
                * cells[CLOSED + RIGHT, root * n + n - 1, b]
            )


@compiled
def outside_roots(n: int, lanes: int, room: BlockRoom) -> None:
    """The first step of `outside`: the derivatives of Z by the two halves of a tree."""
    cells, words, z = room.cells, room.words, room.sums[Z]
    for root in range(n):
        for b in range(lanes):
            weight = words[ROOTS, root, b] / z[b]
            left, right = (
                cells[CLOSED + LEFT, root * n, b],
                cells[CLOSED + RIGHT, root * n + n - 1, b],
            )
            cells[GRADIENTS + CLOSED + LEFT, root * n, b] += weight * right
            cells[GRADIENTS + CLOSED + RIGHT, root * n + n - 1, b] += weight * left
            words[OF_ROOTS, root, b] = weight * left * right
            words[OF_STOPS + 2 * LEFT + 1, root, b] = words[OF_STOPS + 2 * RIGHT + 1, root, b] = 0.0


@compiled
def outside(n: int, lanes: int, room: BlockRoom) -> None:
    """Fills in the posterior probability of each factor, except on the diagonal.

    `gradients` receives the derivatives of log Z by the entries of the chart; its entries must be
    zero.
    """
    cells, words, gradient = room.cells, room.words, room.sums[GRADIENT]
    outside_roots(n, lanes, room)
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            for side in range(2):  # closed = open * stop; open = sum of link * closed
                head, end = (i, i + width) if side == RIGHT else (i + width, i)
                arc, start = head * n + end, (i + side) * n + end
                for b in range(lanes):
                    closed_gradient = cells[GRADIENTS + CLOSED + side, arc, b]
                    words[OF_STOPS + 2 * side + 1, head, b] += (
                        closed_gradient * cells[CLOSED + side, arc, b]
                    )
                    gradient[b] = (
                        cells[GRADIENTS + OPEN + side, arc, b]
                        + closed_gradient * words[STOPS + 2 * side + 1, head, b]
                    )
                spread(room, LINK, head * n + i + side, CLOSED + side, start, n, width, lanes)
            for side in range(2):  # link = arc * (first child + sum of open * closed)
                head, end = (i, i + width) if side == RIGHT else (i + width, i)
                arc, near = head * n + end, end * n + i
                nearest = near + (1 if side == RIGHT else width - 1)
                for b in range(lanes):
                    through_arc = cells[GRADIENTS + LINK, arc, b] * cells[ARCS, arc, b]
                    gradient[b] = cells[GRADIENTS + LINK, arc, b] * cells[ARCS + 1, arc, b]
                    cells[OF_ARCS, arc, b] = through_arc * cells[CLOSED + 1 - side, nearest, b]
                    cells[OF_ARCS + 1, arc, b] *= gradient[b]
                    cells[GRADIENTS + CLOSED + 1 - side, nearest, b] += through_arc
                at, start = head * n + i + 1, near + 2 * side
                spread(room, OPEN + side, at, CLOSED + 1 - side, start, 1, width - 1, lanes)
    for side in range(2):
        for i in range(n):
            at = i * n + i
            for b in range(lanes):
                closed_gradient = cells[GRADIENTS + CLOSED + side, at, b]
                words[OF_STOPS + 2 * side, i, b] = closed_gradient * cells[CLOSED + side, at, b]


@compiled
def scaled_inside(n: int, lanes: int, room: BlockRoom) -> float:
    """Scales the words of sentences until each Z (B,) is between SMALLEST_SUM and LARGEST_SUM.

    Returns the log of the scale, in nats; not a number: no scale helps.
    """
    step = min(1.0, 200.0 / n)  # cannot jump over the range
    log_scale = 0.0
    for _ in range(1000 + n):
        inside(n, lanes, room)
        is_done = True
        for b in range(lanes):
            z = room.sums[Z, b]
            if SMALLEST_SUM < z < LARGEST_SUM:
                continue
            is_done = False
            change = step if z <= SMALLEST_SUM else -step  # else: too large, or no number
            for dependent in range(n):
                scale_word(n, room, dependent, b, math.exp(change))
            log_scale += n * change
        if is_done:
            return log_scale
    return np.nan


@compiled
def scale_word(n: int, room: BlockRoom, dependent: int, b: int, factor: float) -> None:
    """Multiplies the factors of a word for all its heads. Every tree has exactly one of these
    factors."""
    room.words[ROOTS, dependent, b] *= factor
    for valence in range(2):
        for head in range(n):
            room.cells[ARCS + valence, head * n + dependent, b] *= factor


@compiled
def fill_scores(
    n: int, b: int, sentence: int, text: BlockedText, given: DmvFactors, room: BlockRoom
) -> float:
    """Factors of a sentence's trees, the best for each word scaled to 1; the log of the scale, in
    nats."""
    root, choose, stop = given
    word, start = text.first[sentence], text.starts[sentence]
    log_scale = 0.0
    for dependent in range(n):
        tag = text.tags[word + dependent]
        best = root[tag] * text.potentials[start + dependent]
        room.words[ROOTS, dependent, b] = best
        for head in range(n):
            its_tag, side, cell = (
                text.tags[word + head],
                int(dependent > head),
                head * n + dependent,
            )
            potential = 0.0 if head == dependent else text.potentials[start + n + cell]
            for valence in range(2):
                factor = choose[its_tag, side, valence, tag] * potential
                room.cells[ARCS + valence, cell, b] = factor
                best = max(best, factor)
        scale_word(n, room, dependent, b, 1.0 / best)
        log_scale -= math.log(best)
        for side in range(2):
            best = max(stop[tag, side, 0], stop[tag, side, 1])
            for k in range(2):
                room.words[STOPS + 2 * side + k, dependent, b] = stop[tag, side, k] / best
            log_scale -= math.log(best)
    return log_scale


@compiled
def sum_block(
    n: int, sentences: Ints, text: BlockedText, given: DmvFactors, room: BlockRoom
) -> float:
    """Finds the posterior of a block's sentences (B,); returns the sum of their log Z, in nats.

    Not a number: potentials are too far apart to sum over trees.
    """
    lanes, log_scale = len(sentences), 0.0
    for b in range(lanes):
        log_scale += fill_scores(n, b, sentences[b], text, given, room)
    log_scale += scaled_inside(n, lanes, room)
    if math.isnan(log_scale):
        return log_scale
    for plane in range(5):
        for cell in range(n * n):
            for b in range(lanes):
                room.cells[GRADIENTS + plane, cell, b] = 0.0
    outside(n, lanes, room)
    log_z = -log_scale
    for b in range(lanes):
        log_z += math.log(room.sums[Z, b])
    return log_z


@compiled
def sum_trees(
    text: BlockedText,
    begin: int,
    end: int,
    given: DmvFactors,
    counts: DmvFactors,
    marginals: Floats,
    total: Floats,
    room: BlockRoom,
) -> None:
    """Adds expected counts of blocks from `begin` to before `end`, and the sum of their log Z,
    total (1,).

    If `marginals` is not empty, fills it instead with the arcs' probabilities, laid out as the
    potentials.
    """
    cells, words = room.cells, room.words
    for block in range(begin, end):
        sentences = text.order[text.bounds[block] : text.bounds[block + 1]]
        n = text.first[sentences[0] + 1] - text.first[sentences[0]]
        total[0] += sum_block(n, sentences, text, given, room)
        for b in range(len(sentences)):
            word, start = text.first[sentences[b]], text.starts[sentences[b]]
            for head in range(n):
                tag = text.tags[word + head]
                if len(marginals):
                    marginals[start + head] = words[OF_ROOTS, head, b]
                else:
                    counts.root[tag] += words[OF_ROOTS, head, b]
                    for k in range(4):
                        counts.stop[tag, k // 2, k % 2] += words[OF_STOPS + k, head, b]
                for dependent in range(n):
                    cell, side = head * n + dependent, int(dependent > head)
                    if dependent == head:
                        continue
                    if len(marginals):
                        marginals[start + n + cell] = (
                            cells[OF_ARCS, cell, b] + cells[OF_ARCS + 1, cell, b]
                        )
                    else:
                        child = text.tags[word + dependent]
                        counts.choose[tag, side, 0, child] += cells[OF_ARCS, cell, b]
                        counts.choose[tag, side, 1, child] += cells[OF_ARCS + 1, cell, b]


SUM_TREES = Kernel(sum_trees, "the DMV teacher")

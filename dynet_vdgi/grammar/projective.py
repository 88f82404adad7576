"""Exact decoding over projective trees with one root (Eisner 1996), vectorised over sentences and spans.

Shapes: B sentences of n words, N = n + 1 positions with ROOT at 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def eisner(scores: Floats) -> Ints:
    """Heads (B, n) of the best projective tree of each sentence, exactly one word attached to ROOT.

    `scores` (B, N, N) holds the score of the arc [head, dependent]; column 0 and the diagonal are ignored.
    Where several trees are equally good, which one comes back depends on the order of the search, a hidden
    preference worth several points with coarse scores: add a little noise (see `break_ties`).
    """
    batch, size, _ = scores.shape
    # Each table holds its spans by one end and by the width, so that all splits of all spans of one width
    # are slices. right/left: head at the left/right end; *_by_start[b, i, w] and *_by_end[b, j, w].
    shape = (batch, size, size)
    right_by_start, right_by_end = np.zeros(shape), np.zeros(shape)
    left_by_start, left_by_end = np.zeros(shape), np.zeros(shape)
    open_right, open_left = np.full(shape, -np.inf), np.full(shape, -np.inf)  # arc start -> end, end -> start
    split_open = np.zeros(shape, dtype=np.int64)  # by start: width of the left part
    split_right, split_left = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    arange = np.arange(size)
    for width in range(1, size):
        starts, ends = arange[: size - width], arange[width:]
        parts = (
            right_by_start[:, : size - width, :width] + left_by_end[:, width:, width - 1 :: -1][:, :, :width]
        )
        parts[:, 0, 1:] = -np.inf  # ROOT takes one child, so nothing to the left of it
        best = parts.argmax(axis=2)
        split_open[:, starts, width] = best
        value = np.take_along_axis(parts, best[:, :, None], axis=2)[:, :, 0]
        open_right[:, starts, width] = value + scores[:, starts, ends]
        open_left[:, ends, width] = value + scores[:, ends, starts]
        open_left[:, width, width] = -np.inf  # start 0: ROOT has no head

        parts = (
            open_right[:, : size - width, 1 : width + 1]
            + right_by_end[:, width:, width - 1 :: -1][:, :, :width]
        )
        best = parts.argmax(axis=2)
        split_right[:, starts, width] = best + 1
        value = np.take_along_axis(parts, best[:, :, None], axis=2)[:, :, 0]
        right_by_start[:, starts, width] = value
        right_by_end[:, ends, width] = value

        parts = (
            open_left[:, width:, 1 : width + 1]
            + left_by_start[:, : size - width, width - 1 :: -1][:, :, :width]
        )
        best = parts.argmax(axis=2)
        split_left[:, ends, width] = best + 1
        value = np.take_along_axis(parts, best[:, :, None], axis=2)[:, :, 0]
        left_by_end[:, ends, width] = value
        left_by_start[:, starts, width] = value

    return _traced(split_open, split_right, split_left)


def _traced(split_open: Ints, split_right: Ints, split_left: Ints) -> Ints:
    """Heads (B, n) of the trees whose splits these are."""
    batch, size, _ = split_open.shape
    heads = np.zeros((batch, size), dtype=np.int64)
    for b in range(batch):
        agenda = [(0, size - 1, True)]  # complete spans: start, end, head on the left
        while agenda:
            start, end, head_left = agenda.pop()
            width = end - start
            if width == 0:
                continue
            if head_left:
                head, dependent = start, start + int(split_right[b, start, width])
                agenda.append((dependent, end, True))
            else:
                head, dependent = end, end - int(split_left[b, end, width])
                agenda.append((start, dependent, False))
            heads[b, dependent] = head
            low, high = min(head, dependent), max(head, dependent)
            middle = low + int(split_open[b, low, high - low])
            agenda += [(low, middle, True), (middle + 1, high, False)]
    return heads[:, 1:]


def break_ties(scores: Floats, rng: np.random.Generator) -> Floats:
    """The scores plus noise far below any real difference between them, so that ties fall at random."""
    return scores + 1e-6 * rng.random(scores.shape)


def decode(matrices: Sequence[Floats], batch_size: int = 256) -> list[tuple[int, ...]]:
    """Best tree of each sentence, in the order given; `matrices[k]` is (n_k + 1, n_k + 1)."""
    by_size: dict[int, list[int]] = defaultdict(list)
    for k, matrix in enumerate(matrices):
        by_size[len(matrix)].append(k)
    trees: list[tuple[int, ...]] = [()] * len(matrices)
    for ids in by_size.values():
        for first in range(0, len(ids), batch_size):
            part = ids[first : first + batch_size]
            for k, heads in zip(part, eisner(np.stack([matrices[k] for k in part])).tolist()):
                trees[k] = tuple(heads)
    return trees

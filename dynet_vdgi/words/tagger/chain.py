"""The kernels of a linear-chain conditional random field: sums over all sequences of labels, and
the best.

    p(y | x) = exp(start[y_1] + sum_i scores[i, y_i] + sum_i bigrams[y_i-1, y_i] + end[y_n]) / Z

Sums run over linear numbers that are scaled at each token (Rabiner 1989), so a token costs T
exponentials, not T * T. A label may be given, or FREE; sums over the sequences that agree with what
is given are the numerator of the likelihood.

Two tokens have no features, so their scores are 0; only the bigram 1 0 has a weight. The best of
the four sequences has exp(1) in the sum Z = 3 + exp(1), log Z = 1.744:

>>> from dynet_vdgi.system.jit import as_python
>>> scores, first, free = np.zeros((2, 2)), np.array([0, 2]), np.array([FREE, FREE])
>>> borders = Borders(bigrams=np.array([[0, 0], [1.0, 0]]), start=np.zeros(2), end=np.zeros(2))
>>> best, marginals, log_z = np.zeros(2, np.int64), np.zeros((2, 2)), np.zeros(1)
>>> as_python(all_best)(scores, first, free, borders, best, ChainRoom.of(first, 2))
>>> as_python(all_marginals)(
...     scores, first, free, borders, marginals, ChainRoom.of(first, 2), log_z
... )
>>> best.tolist(), marginals.round(2).tolist(), log_z.round(3).tolist()
([1, 0], [[0.35, 0.65], [0.65, 0.35]], [1.744])

Letters: N tokens of all sequences, S sequences, T labels, K items of a token, I items, C features
of all items, F features with weights, Q weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.system.array_types import Codes, Floats, Ints
from dynet_vdgi.system.jit import compiled

Numbers = NDArray[np.int32]

FREE = -1
"""Stands in labels for one that is not known."""

TINY = 1e-300
"""Least sum to divide by: with weights that no learning would make, all linear numbers may be 0."""


class Borders(NamedTuple):
    """Weights of the chain; also their gradients."""

    bigrams: Floats  # (T, T): left, right
    start: Floats  # (T,)
    end: Floats  # (T,)


class Sparse(NamedTuple):
    """Weights (F, T) of features by labels, of which only some exist; `keys` are sorted."""

    keys: Codes  # (F,)
    starts: Ints  # (F + 1,): weights of feature f have the numbers starts[f] to starts[f + 1]
    labels: Numbers  # (Q,)


class ChainRoom(NamedTuple):
    """Workspace, large enough for the longest sequence."""

    linear: Floats  # (n, T): exponentials of scores
    before: Floats  # (n, T): forward sums, each row adding up to 1
    after: Floats  # (n, T): backward sums
    marginals: Floats  # (n, T)
    scale: Floats  # (n,)
    pairs: Floats  # (3, T, T): exponentials of bigrams, these transposed, sums of pairs
    borders: Floats  # (2, T): exponentials of start and end
    row: Floats  # (T,)
    back: Ints  # (n, T): for the best sequence

    @classmethod
    def of(cls, first: Ints, n_labels: int) -> ChainRoom:
        """Enough space for sequences that begin and end at `first` (S + 1,)."""
        n, t = max(1, int(np.diff(first).max(initial=0))), n_labels
        linear, before, after, marginals = (np.zeros((n, t)) for _ in range(4))
        pairs, borders, back = np.zeros((3, t, t)), np.zeros((2, t)), np.zeros((n, t), np.int64)
        return cls(linear, before, after, marginals, np.zeros(n), pairs, borders, np.zeros(t), back)


@compiled
def fill_table(keys: Codes, shift: int, table: Numbers) -> None:
    """Puts the number of each key, plus one, into the first free place of table (2 ** (64 -
    shift),)."""
    mask = len(table) - 1
    for f in range(len(keys)):
        place = np.int64(keys[f] >> np.uint64(shift))
        while table[place]:
            place = (place + 1) & mask
        table[place] = f + 1


@compiled
def find(codes: Codes, keys: Codes, shift: int, table: Numbers, features: Numbers) -> None:
    """The number (C,) of each code among the keys; -1: it is none of them."""
    mask = len(table) - 1
    for c in range(len(codes)):
        place = np.int64(codes[c] >> np.uint64(shift))
        while table[place] and keys[table[place] - 1] != codes[c]:
            place = (place + 1) & mask
        features[c] = table[place] - 1


@compiled
def add_scores(
    first: Ints,
    features: Numbers,
    uses: Numbers,
    entries: Sparse,
    weights: Floats,
    of_items: Floats,
    scores: Floats,
) -> None:
    """Adds the weights of features to of_items (I, T), and these to the scores (N, T) of tokens."""
    for item in range(len(first) - 1):
        for c in range(first[item], first[item + 1]):
            f = features[c]
            if f >= 0:
                for q in range(entries.starts[f], entries.starts[f + 1]):
                    of_items[item, entries.labels[q]] += weights[q]
    for i in range(len(uses)):
        for k in range(uses.shape[1]):
            item = uses[i, k]
            for t in range(scores.shape[1]):
                scores[i, t] += of_items[item, t]


@compiled
def add_gradients(
    first: Ints,
    features: Numbers,
    uses: Numbers,
    entries: Sparse,
    scores: Floats,
    of_items: Floats,
    weights: Floats,
) -> None:
    """The other way round: adds gradients by scores (N, T) to those by items (I, T) and by weights
    (Q,)."""
    for i in range(len(uses)):
        for k in range(uses.shape[1]):
            item = uses[i, k]
            for t in range(scores.shape[1]):
                of_items[item, t] += scores[i, t]
    for item in range(len(first) - 1):
        for c in range(first[item], first[item + 1]):
            f = features[c]
            if f >= 0:
                for q in range(entries.starts[f], entries.starts[f + 1]):
                    weights[q] += of_items[item, entries.labels[q]]


@compiled
def prepare(borders: Borders, room: ChainRoom) -> None:
    """Exponentials of the chain's weights, each table's highest being 1; sums of pairs are 0."""
    bigrams, start, end = borders
    n_labels = len(start)
    highest = bigrams.max()
    for s in range(n_labels):
        for t in range(n_labels):
            room.pairs[0, s, t] = room.pairs[1, t, s] = math.exp(bigrams[s, t] - highest)
    room.pairs[2] = 0.0
    first, last = start.max(), end.max()
    for t in range(n_labels):
        room.borders[0, t] = math.exp(start[t] - first)
        room.borders[1, t] = math.exp(end[t] - last)


@compiled
def normalise(row: Floats) -> float:
    """Divides a row by its sum, and returns this."""
    total = 0.0
    for t in range(len(row)):
        total += row[t]
    total = max(total, TINY)
    for t in range(len(row)):
        row[t] /= total
    return total


@compiled
def forward(scores: Floats, given: Ints, borders: Borders, room: ChainRoom) -> float:
    """Fills in the forward sums of one sequence, of labels that agree with the given ones; returns
    log Z."""
    n, n_labels = scores.shape
    linear, before = room.linear, room.before
    log_z = borders.start.max() + borders.end.max() + (n - 1) * borders.bigrams.max()
    for i in range(n):
        highest = scores[i].max() if given[i] < 0 else scores[i, given[i]]
        for t in range(n_labels):
            linear[i, t] = (
                math.exp(scores[i, t] - highest) if given[i] < 0 or given[i] == t else 0.0
            )
        if i:
            before[i, :] = 0.0
            for s in range(n_labels):
                for t in range(n_labels):
                    before[i, t] += before[i - 1, s] * room.pairs[0, s, t]
            for t in range(n_labels):
                before[i, t] *= linear[i, t]
        else:
            for t in range(n_labels):
                before[i, t] = room.borders[0, t] * linear[i, t]
        room.scale[i] = normalise(before[i])
        log_z += highest + math.log(room.scale[i])
    last = 0.0
    for t in range(n_labels):
        last += before[n - 1, t] * room.borders[1, t]
    return float(log_z + math.log(max(last, TINY)))


@compiled
def backward(n: int, share: float, room: ChainRoom) -> None:
    """Fills in the marginals (n, T) after `forward`, and adds `share` of the sums of pairs."""
    linear, before, after, row = room.linear, room.before, room.after, room.row
    n_labels = len(row)
    last = 0.0
    for t in range(n_labels):
        last += before[n - 1, t] * room.borders[1, t]
    for t in range(n_labels):
        after[n - 1, t] = room.borders[1, t] / max(last, TINY)
    for i in range(n - 1, 0, -1):
        for t in range(n_labels):
            row[t] = linear[i, t] * after[i, t] / room.scale[i]
        after[i - 1, :] = 0.0
        for t in range(n_labels):
            for s in range(n_labels):
                after[i - 1, s] += room.pairs[1, t, s] * row[t]
        if share != 0.0:
            for s in range(n_labels):
                weight = share * before[i - 1, s]
                for t in range(n_labels):
                    room.pairs[2, s, t] += weight * row[t]
    for i in range(n):
        for t in range(n_labels):
            room.marginals[i, t] = before[i, t] * after[i, t]
        normalise(room.marginals[i])


@compiled
def add_expected(
    scores: Floats,
    given: Ints,
    borders: Borders,
    share: float,
    gradients: Floats,
    of_borders: Borders,
    room: ChainRoom,
) -> float:
    """Adds `share` of the expectations of one sequence to gradients (n, T); returns this share of
    log Z."""
    n, n_labels = scores.shape
    log_z = forward(scores, given, borders, room)
    backward(n, share, room)
    for i in range(n):
        for t in range(n_labels):
            gradients[i, t] += share * room.marginals[i, t]
    for t in range(n_labels):
        of_borders.start[t] += share * room.marginals[0, t]
        of_borders.end[t] += share * room.marginals[n - 1, t]
    return share * log_z


@compiled
def add_known(
    scores: Floats, given: Ints, borders: Borders, gradients: Floats, of_borders: Borders
) -> float:
    """`add_expected` with share -1 for a sequence whose labels are all given."""
    n = len(scores)
    total = borders.start[given[0]] + borders.end[given[n - 1]]
    of_borders.start[given[0]] -= 1.0
    of_borders.end[given[n - 1]] -= 1.0
    for i in range(n):
        total += scores[i, given[i]]
        gradients[i, given[i]] -= 1.0
        if i:
            total += borders.bigrams[given[i - 1], given[i]]
            of_borders.bigrams[given[i - 1], given[i]] -= 1.0
    return -float(total)


@compiled
def add_loss(
    scores: Floats,
    first: Ints,
    given: Ints,
    free: Ints,
    borders: Borders,
    gradients: Floats,
    of_borders: Borders,
    room: ChainRoom,
    loss: Floats,
) -> None:
    """Adds -log p of the given labels (N,) to loss (1,), and its gradients; free (N,) is FREE
    everywhere."""
    prepare(borders, room)
    for k in range(len(first) - 1):
        start, end = first[k], first[k + 1]
        if start == end:
            continue
        sequence_scores, sequence_gradients, n_free = scores[start:end], gradients[start:end], 0
        for i in range(start, end):
            n_free += given[i] < 0
        loss[0] += add_expected(
            sequence_scores, free[start:end], borders, 1.0, sequence_gradients, of_borders, room
        )
        if n_free == 0:
            loss[0] += add_known(
                sequence_scores, given[start:end], borders, sequence_gradients, of_borders
            )
        else:
            loss[0] += add_expected(
                sequence_scores,
                given[start:end],
                borders,
                -1.0,
                sequence_gradients,
                of_borders,
                room,
            )
    for s in range(len(borders.start)):
        for t in range(len(borders.start)):
            of_borders.bigrams[s, t] += room.pairs[0, s, t] * room.pairs[2, s, t]


@compiled
def all_marginals(
    scores: Floats,
    first: Ints,
    given: Ints,
    borders: Borders,
    marginals: Floats,
    room: ChainRoom,
    log_z: Floats,
) -> None:
    """The probability (N, T) of each label, given some of them, and the log Z (S,) of each
    sequence."""
    prepare(borders, room)
    for k in range(len(first) - 1):
        start, end = first[k], first[k + 1]
        if start < end:
            log_z[k] = forward(scores[start:end], given[start:end], borders, room)
            backward(end - start, 0.0, room)
            marginals[start:end] = room.marginals[: end - start]


@compiled
def all_best(
    scores: Floats, first: Ints, given: Ints, borders: Borders, best: Ints, room: ChainRoom
) -> None:
    """The most probable labels (N,) of each sequence that agree with the given ones (Viterbi)."""
    n_labels = scores.shape[1]
    value, back = room.before, room.back
    for k in range(len(first) - 1):
        start, end = first[k], first[k + 1]
        for i in range(end - start):
            for t in range(n_labels):
                value[i, t] = borders.start[t] if i == 0 else -np.inf
            if i:
                for s in range(n_labels):
                    for t in range(n_labels):
                        candidate = value[i - 1, s] + borders.bigrams[s, t]
                        if candidate > value[i, t]:
                            value[i, t], back[i, t] = candidate, s
            for t in range(n_labels):
                value[i, t] += scores[start + i, t]
                if given[start + i] >= 0 and given[start + i] != t:
                    value[i, t] = -np.inf
        if start < end:
            label, highest = max(0, given[end - 1]), -np.inf
            for t in range(n_labels):
                candidate = value[end - start - 1, t] + borders.end[t]
                if candidate > highest:
                    label, highest = t, candidate
            best[end - 1] = label
            for i in range(end - start - 1, 0, -1):
                label = back[i, label]
                best[start + i - 1] = label

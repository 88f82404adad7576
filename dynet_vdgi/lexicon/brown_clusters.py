r"""Brown clusters: words grouped by their neighbours (Brown et al. 1992, Class-based n-gram
models).

A `paths` file, as Percy Liang's brown-cluster writes it, has a line "BITS\tWORD\tCOUNT" for each
word. Words of one cluster share the bit string, the path to the cluster in a binary tree. The
string itself is the key: read as numbers, as the paper's released code reads them, 010 and 10
would be one cluster.

`induce` makes such clusters from text in O(N C^2) time at most, for N types and C clusters, with
the algorithm of Liang (2005, Semi-supervised learning for natural language, section 4.2). Words
with the same neighbours share a cluster:

>>> text = ["the cat sleeps", "the dog sleeps", "a cat runs", "a dog runs"]
>>> clusters = induce([line.split() for line in text], n_clusters=3)
>>> for bits in ("00", "01", "1"):
...     print(bits, *(word for word, path in clusters.paths.items() if path == bits))
00 a the
01 runs sleeps
1 cat dog
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.files import AnyPath, lines_of, shown

Progress = Callable[[Iterable[int]], Iterable[int]]

TIE = 1e-9
"""Losses of mutual information, in nats, that differ by no more than this are equal."""

_PATH = re.compile(r"([01]*)\t([^\t]+)\t([0-9]{1,18})[\r\n]*")


@dataclass(frozen=True)
class Clusters:
    """Words with the bit strings of their clusters, and how often each word was seen."""

    paths: Mapping[str, str]
    counts: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def n_clusters(self) -> int:
        return len(set(self.paths.values()))


def read(path: AnyPath) -> Clusters:
    """The clusters of a `paths` file, plain or .gz.

    Raises: DataError, the file cannot be read or is empty; a line is not BITS, WORD and COUNT
    separated by tabs; a word occurs twice; or a bit string is empty although there are several
    clusters.
    """
    name, paths, counts = shown(path), dict[str, str](), dict[str, int]()
    for number, line in enumerate(lines_of(path), start=1):
        line = line.removeprefix("\ufeff") if number == 1 else line
        if line.isspace():
            continue
        if not (columns := _PATH.fullmatch(line)):
            hint = "expected: a string of 0 and 1, a word and a whole number, with tabs in between"
            raise DataError(name, number, f"no cluster of a word: {line.rstrip()!r:.60}", hint)
        bits, word, count = columns.groups()
        if word in paths:
            raise DataError(name, number, f"the word {word!r} is here a second time")
        paths[word], counts[word] = bits, int(count)
    clusters = Clusters(paths, counts)
    if not paths:
        raise DataError(
            name, None, "no word clusters", "the file is empty: was it downloaded in full?"
        )
    if clusters.n_clusters > 1 and (
        word := next((word for word, bits in paths.items() if not bits), "")
    ):
        raise DataError(
            name, None, f"the bit string of {word!r} is empty", "only a single cluster has none"
        )
    return clusters


def lines(clusters: Clusters) -> Iterator[str]:
    """The lines of a `paths` file, sorted by bit string, then falling count, then word.

    Words must hold neither tabs nor line ends, which words of `corpus.words_in` never do.
    """
    words = sorted(
        clusters.paths, key=lambda word: (clusters.paths[word], -clusters.counts[word], word)
    )
    return (f"{clusters.paths[word]}\t{word}\t{clusters.counts[word]}\n" for word in words)


def classes(clusters: Clusters, words: Sequence[str]) -> tuple[int, ...]:
    """The class of every word id 0..len(words): 0 is the unknown word, i + 1 is `words[i]`.

    Words of one cluster share a class. Classes are numbered from 0 in the order of the bit strings
    of the clusters with a word in `words`; the last class holds the unknown word and all words
    without a cluster.
    """
    bits = [clusters.paths.get(word) for word in words]
    numbers = {
        path: k for k, path in enumerate(sorted({path for path in bits if path is not None}))
    }
    rest = len(numbers)
    return (rest, *(rest if path is None else numbers[path] for path in bits))


def induce(
    sentences: Iterable[Sequence[str]], n_clusters: int, progress: Progress = iter
) -> Clusters:
    """Clusters of all words of a text, at most `n_clusters`, that keep much mutual information of
    bigrams.

    The `n_clusters` most frequent words start as clusters of their own. The other words join one by
    one, by falling frequency, each followed by the merge that loses least. In the end the clusters
    are merged down to one, which gives the bit strings; 0 leads to the cluster of the more frequent
    word.

    The text is one stream of words: the last word of a sentence and the first of the next are a
    bigram, as in Liang's program, which ignores line ends. If the text has fewer types than
    `n_clusters`, each type gets a cluster. `progress` wraps the iterable over the words, as tqdm
    does.

    The result is deterministic: words of equal frequency join in alphabetical order; for merges
    with equal losses (to `TIE`) see `Agglomeration.best_pair`.

    Raises: UsageError, `n_clusters` is below 1, or the text has no words.
    """
    if n_clusters < 1:
        raise UsageError(f"{n_clusters} clusters: at least 1")
    stream = list(chain.from_iterable(sentences))
    if not stream:
        raise UsageError("the text has no words: there is nothing to cluster")
    counts = Counter(stream)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    ids = {word: k for k, word in enumerate(words)}
    n_clusters = min(n_clusters, len(words))
    state = Agglomeration([ids[word] for word in stream], n_clusters)
    for word in progress(range(len(words))):
        state.add(word)
        if word >= n_clusters:
            state.merge(*state.best_pair())
    leaves = state.slots.tolist()
    merges = []
    for _ in range(n_clusters - 1):
        merges.append(state.best_pair())
        state.merge(*merges[-1])
    bits = {leaves[0]: ""}  # the most frequent word keeps its slot to the end
    for target, freed in reversed(merges):
        bits[freed] = bits[target] + "1"
        bits[target] += "0"
    # A single cluster has "0", because many programs read no empty bit string.
    return Clusters({word: bits[slot] or "0" for word, slot in zip(words, leaves)}, dict(counts))


class Agglomeration:
    """Clusters that grow and merge, and the mutual information lost by every possible merge.

    Clusters live in slots 0..S-1, S = n_clusters + 1. An empty slot has no counts. T bigrams (i,
    j), i followed by j, are counted: n (S, S) among the clusters, l and r (S,) of all bigrams that
    begin, and end, in a cluster, whatever the other word, as in section 4.2 of Liang. So

        T I = sum_ij n_ij log(n_ij T / (l_i r_j))
            = sum_ij f(n_ij) - sum_i L_i log l_i - sum_j R_j log r_j + constant,    f(n) = n log n

    with L_i = sum_j n_ij and R_j = sum_i n_ij. f comes from a table. The loss of merging a and b
    needs the sums over all slots c

        merged_ab = sum_c f(n_ac + n_bc) + f(n_ca + n_cb)    terms_a = sum_c f(n_ac) + f(n_ca)

    A new word or a merge changes few terms of these sums, because most words have few neighbours.
    """

    def __init__(self, stream: Sequence[int], n_clusters: int) -> None:
        n_words, n_slots = max(stream) + 1, n_clusters + 1
        after, before = (stream[:-1], stream[1:]), (stream[1:], stream[:-1])
        self._sides = [_neighbours(*columns, n_words) for columns in (after, before)]
        self.n_bigrams = len(stream) - 1
        numbers = np.arange(self.n_bigrams + 1)
        self._table: Floats = np.asarray(numbers * np.log(np.maximum(numbers, 1)), dtype=np.float64)
        self.slots: Ints = np.full(n_words, -1)
        """The slot of each word; -1 before it is added."""
        self.counts: Ints = np.zeros((n_slots, 2, n_slots), dtype=np.int64)
        """Bigrams that begin in a slot, by the slot they end in; and the reverse: [i, 0, j] and [j,
        1, i]."""
        self._ends: Ints = np.zeros((2, n_slots), dtype=np.int64)  # l and r
        self._merged: Floats = np.zeros((n_slots, n_slots))  # the diagonal is not used
        self._loss_terms: Floats = np.zeros(n_slots)
        self._losses: Floats = np.full((n_slots, n_slots), np.inf)
        self._stale = np.zeros(n_slots, dtype=bool)  # rows of the losses that are out of date
        self._members: list[list[int]] = [[] for _ in range(n_slots)]
        self._first: Ints = np.zeros(n_slots, dtype=np.int64)  # the first word of each cluster
        self._free = list(range(n_slots))[::-1]

    def _f(self, numbers: Ints) -> Floats:
        """n log n of each number; clipped, because unused diagonals exceed the table."""
        return self._table.take(numbers, mode="clip")

    def add(self, word: int) -> None:
        """Puts a word into a cluster of its own; there must be an empty slot."""
        slot, f, counts, merged = self._free.pop(), self._f, self.counts, self._merged
        self.slots[word], self._first[slot], self._members[slot] = slot, word, [word]
        new = np.zeros((2, len(counts) + 1), dtype=np.int64)  # the last is slot -1: not added yet
        for side, (neighbours, numbers) in enumerate(side[word] for side in self._sides):
            self._ends[side, slot] = numbers.sum()
            np.add.at(new[side], self.slots[neighbours], numbers)
        new = new[:, :-1]
        counts[slot], counts[:, :, slot] = new, new[::-1].T
        sides, near = new.nonzero()
        times, others = new[sides, near], counts[:, sides, near]
        np.add.at(self._loss_terms, near, f(times))
        self._loss_terms[slot] = f(new).sum()
        rows = np.unique(near)
        merged[rows] += f(new[:, rows, None] + new[:, None]).sum(axis=0)
        merged[:, rows] = merged[rows].T
        merged[slot] = merged[:, slot] = self._loss_terms + (f(others + times) - f(others)).sum(
            axis=1
        )
        self._stale[rows] = self._stale[slot] = True

    def merge(self, target: int, freed: int) -> None:
        """Moves the words of one slot to another."""
        f, counts, merged = self._f, self.counts, self._merged
        one, other = counts[target].copy(), counts[freed].copy()
        both = one + other
        both[:, target] += both[:, freed]
        both[:, freed] = 0
        moved = other > 0
        moved[:, [target, freed]] = True
        sides, near = moved.nonzero()
        rows = moved.any(axis=0).nonzero()[0]
        # The terms of these slots in the sums of the others.
        terms = f(both[sides, near]) - f(one[sides, near]) - f(other[sides, near])
        np.add.at(self._loss_terms, near, terms)
        self._loss_terms[target] = f(both).sum()
        pairs = f(both[:, rows, None] + both[:, None]) - f(one[:, rows, None] + one[:, None])
        pairs -= f(other[:, rows, None] + other[:, None])
        # The terms of the other slots in the sums of the kept slot.
        row = merged[target] - f(counts[:, sides, near] + one[sides, near]).sum(axis=1)
        counts[freed], counts[:, :, freed] = 0, 0
        counts[target], counts[:, :, target] = both, both[::-1].T
        row += f(counts[:, sides, near] + both[sides, near]).sum(axis=1)
        merged[rows] += pairs.sum(axis=0)
        merged[:, rows] = merged[rows].T
        merged[target] = merged[:, target] = row
        self._stale[rows] = True
        self._ends[:, target] += self._ends[:, freed]
        self.slots[self._members[freed]] = target
        self._members[target] += self._members[freed]
        self._members[freed] = []
        self._first[target] = min(self._first[target], self._first[freed])
        self._free.append(freed)

    def losses(self) -> Floats:
        """The loss of each merge, (S, S), in nats times bigrams; inf where there is no pair to
        merge."""
        rows = np.flatnonzero(self._stale)
        # Terms of both clusters before, less the terms of the merged one.
        f, counts, itself = self._f, self.counts[rows], self.counts[:, 0].diagonal()
        row_itself = itself[rows, None]
        before = (
            self._loss_terms[rows, None]
            + self._loss_terms
            - f(row_itself)
            - f(itself)
            - f(counts).sum(axis=1)
        )
        # have other terms in the merged one
        inside = f(counts + row_itself[:, None]) + f(counts + itself)
        after = (
            self._merged[rows] - inside.sum(axis=1) + f(counts.sum(axis=1) + row_itself + itself)
        )
        losses: Floats = before - after
        for bigrams, ends in zip(self.counts.sum(axis=2).T, self._ends):
            log = np.log(np.maximum(ends, 1))
            log_of_both = np.log(np.maximum(ends[rows, None] + ends, 1))
            losses += bigrams[rows, None] * (log_of_both - log[rows, None]) + bigrams * (
                log_of_both - log
            )
        self._losses[rows] = losses
        self._losses[:, rows] = losses.T
        self._losses[rows, rows] = np.inf
        self._losses[self._free] = self._losses[:, self._free] = np.inf
        self._stale[:] = False
        return self._losses

    def best_pair(self) -> tuple[int, int]:
        """The slots whose merge loses least; there must be two clusters.

        Ties are broken by the first word added to each cluster: the pair whose earlier cluster is
        earliest wins, then the pair whose later cluster is earliest. The earlier cluster is
        returned first.
        """
        losses = self.losses()
        best = np.flatnonzero(losses <= losses.min() + TIE * self.n_bigrams)
        words = np.sort(self._first[np.stack(np.divmod(best, len(losses)))], axis=0)  # (2, pairs)
        one, other = words[:, np.lexsort(words[::-1])[0]]
        return int(self.slots[one]), int(self.slots[other])


def _neighbours(
    words: Sequence[int], neighbours: Sequence[int], n_words: int
) -> list[tuple[Ints, Ints]]:
    """For each word, its neighbours on one side, and how often each is one."""
    pairs = np.array(words, dtype=np.int64) * n_words + np.array(neighbours, dtype=np.int64)
    unique, times = np.unique(pairs, return_counts=True)
    borders = np.searchsorted(unique, np.arange(1, n_words) * n_words)
    return list(zip(np.split(unique % n_words, borders), np.split(times, borders)))

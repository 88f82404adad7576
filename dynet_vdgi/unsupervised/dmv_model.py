"""The dependency model with valence: its distributions, and their estimates from expected counts.

Klein & Manning (2004). A head of tag h makes its children outwards on each side; before each it
decides whether to stop, given h, the side and whether it has a child there already, and then
chooses the child's tag:

p(tree, tags) = root(tag of the root) * product over words and sides of
                stop(h, side, has children) * product over children of (1 - stop) * choose(h, side,
                child)

The arc potentials of a prior multiply every tree's probability, in learning (as in Noji, Miyao &
Johnson 2016, "Using left-corner parsing to encode universal structural constraints in grammar
induction") and in parsing. EM starts uniform, so nothing is random. It has two stages. In the
first, `choose` is as above; in the second it also depends on whether there are children already,
and has a Dirichlet prior around the first stage's distribution. Within a stage EM never lowers the
penalised log-likelihood

sum over sentences of log (sum over trees of p(tree, tags) * potentials of its arcs)
  + sum over parameters of (pseudo-counts * log parameter)

where the pseudo-counts are `smoothing` for every parameter, except for `choose` in the second
stage: there they are `backoff` times the first stage's distribution.

Letters: n words, T tags. Heads 1..n, 0 is ROOT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.unsupervised.dmv_sums import (
    SUM_TREES,
    BlockedText,
    DmvFactors,
    blocks_of,
    room_for,
    shares_of,
    work_of,
)

_NO_NUMBERS: Floats = np.zeros(0)

AT_ONCE = 500
"""Sentences that are parsed together, because their marginals take much memory."""

LOWEST = -50.0
"""How far, in nats, a potential may lie below the best of its word: forbidden arcs are used only
where no tree can do without them."""


class Counts(NamedTuple):
    """Expected counts, shaped as the parameters; `stop` counts stopping, going on is counted in
    `choose`."""

    root: Floats  # (T,)
    choose: Floats  # (T, 2, 2, T): head, side (0 left, 1 right), has children there, child
    stop: Floats  # (T, 2, 2): head, side, has children there


class EmIteration(NamedTuple):
    """The state before one iteration of EM: in nats, over all sentences."""

    stage: int  # 1 or 2
    log_likelihood: float
    penalised: float


@dataclass(frozen=True, eq=False)
class DmvModel:
    """The model's distributions, and the record of learning."""

    root: Floats  # (T,)
    choose: Floats  # (T, 2, 2, T), sums to 1 over the last axis
    stop: Floats  # (T, 2, 2), probabilities
    log: tuple[Any, ...] = ()  # a named tuple an iteration

    @classmethod
    def uniform(cls, n_tags: int) -> DmvModel:
        """The model that EM starts from."""
        root, choose = np.full(n_tags, 1 / n_tags), np.full((n_tags, 2, 2, n_tags), 1 / n_tags)
        return cls(root, choose, np.full((n_tags, 2, 2), 0.5))

    def expected(self, packed: Packed, following: int = 0) -> tuple[Counts, float]:
        """Expected counts of sentences, and the sum of their log Z in nats.

        following: how often they will be asked for again.
        """
        text, given = packed.in_blocks(), self.factors()

        sums, totals = [], []
        for begin, end in shares_of(text):
            counts, total = DmvFactors(*map(np.zeros_like, given)), np.zeros(1)
            room, work = room_for(text, begin, end), work_of(text, begin, end)
            SUM_TREES(
                text,
                begin,
                end,
                given,
                counts,
                _NO_NUMBERS,
                total,
                room,
                work=work,
                following=following,
            )
            sums.append(counts)
            totals.append(total)
        return Counts(*(np.sum(each, axis=0) for each in zip(*sums))), checked_log_z(
            sum(totals), packed
        )

    def factors(self) -> DmvFactors:
        """What kernels multiply."""
        going_on = (1.0 - self.stop)[..., None] * self.choose
        return DmvFactors(*map(np.ascontiguousarray, (self.root, going_on, self.stop)))

    def all_marginals(self, packed: Packed) -> list[Floats]:
        """Probabilities (n + 1, n) of the arcs of each sentence, by head, ROOT first, and
        dependent."""
        text, given, marginals = (
            packed.in_blocks(),
            self.factors(),
            np.zeros_like(packed.potentials),
        )

        total = np.zeros(1)
        for begin, end in shares_of(text):
            room, work = room_for(text, begin, end), work_of(text, begin, end)
            SUM_TREES(text, begin, end, given, given, marginals, total, room, work=work)
        checked_log_z(total, packed)
        return packed.by_sentence(marginals)


def normalised(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))


class Packed(NamedTuple):
    """Concatenated sentences: potentials (n + 1) * n of each, by head, ROOT first, and
    dependent."""

    tags: Ints
    first: Ints
    potentials: Floats
    log_scale: float  # of all potentials together, in nats

    @classmethod
    def of(cls, tags: Sequence[ArrayLike], potentials: Sequence[ArrayLike], n_tags: int) -> Packed:
        """Packs the arguments of `dmv.fit`.

        Raises: ValueError, the arguments do not fit together.
        """
        if len(tags) != len(potentials):
            raise ValueError(f"{len(tags)} sentences, but potentials of {len(potentials)}")
        words = [np.asarray(sentence, dtype=np.int64).reshape(-1) for sentence in tags]
        first = np.cumsum([0, *map(len, words)])
        packed = np.empty(sum(len(sentence) * (len(sentence) + 1) for sentence in words))
        at, log_scale = 0, 0.0
        for sentence, matrix in zip(words, potentials):
            linear, scale = _linear(np.asarray(matrix, dtype=np.float64), len(sentence))
            packed[at : at + len(linear)] = linear
            at += len(linear)
            log_scale += scale
        flat = np.concatenate([*words, np.zeros(0, np.int64)])
        if len(flat) and not 0 <= flat.min() <= flat.max() < n_tags:
            raise ValueError(f"tags must be 0 to {n_tags - 1}, not {flat.min()} to {flat.max()}")
        return cls(flat, first, packed, log_scale)

    def in_blocks(self) -> BlockedText:
        """The sentences in the form of `dmv_sums.sum_trees`."""
        lengths = np.diff(self.first)
        cells = lengths * (lengths + 1)
        starts = np.cumsum(cells) - cells
        return BlockedText(self.tags, self.first, self.potentials, starts, *blocks_of(self.first))

    def by_sentence(self, arcs: Floats) -> list[Floats]:
        """Values laid out as the potentials, as a matrix (n + 1, n) for each sentence."""
        lengths = np.diff(self.first)
        ends = np.cumsum(lengths * (lengths + 1))
        return [
            arcs[end - (n + 1) * n : end].reshape(n + 1, n)
            for n, end in zip(lengths.tolist(), ends.tolist())
        ]


def checked_log_z(log_z: Any, packed: Packed) -> float:
    """The log Z of all potentials, in nats. Raises: ArithmeticError, it is not a number."""
    total = float(np.sum(log_z))
    if np.isnan(total):
        raise ArithmeticError("potentials are too far apart to sum over trees")
    return total - packed.log_scale


def _linear(potentials: Floats, n: int) -> tuple[Floats, float]:
    """Linear potentials ((n + 1) * n,), scaled so that each word's best is 1, and the log of the
    scale."""
    if potentials.shape != (n + 1, n + 1):
        raise ValueError(
            f"potentials of {n} words must be {(n + 1, n + 1)}, not {potentials.shape}"
        )
    arcs = potentials[:, 1:].copy()
    arcs[np.arange(1, n + 1), np.arange(n)] = -np.inf
    if not (arcs < np.inf).all():
        raise ValueError("potentials must be numbers or minus infinity")
    best = arcs.max(axis=0)
    best[best == -np.inf] = 0.0
    return np.exp(np.maximum(arcs - best, LOWEST)).ravel(), float(-best.sum())

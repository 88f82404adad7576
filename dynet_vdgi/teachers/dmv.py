"""The dependency model with valence, learnt from tags by EM under a prior: the exact teacher.

Klein & Manning (2004). A head of tag h makes its children outwards on each side; before each it decides whether to
stop, given h, the side and whether it has a child there already, and then chooses the child's tag:

p(tree, tags) = root(tag of the root) * product over words and sides of
                stop(h, side, has children) * product over children of (1 - stop) * choose(h, side, child)

The arc potentials of a prior multiply every tree's probability, in learning (as in Noji, Miyao & Johnson
2016, "Using left-corner parsing to encode universal structural constraints in grammar induction") and in
parsing. EM starts uniform, so nothing is random. It has two stages. In the first, `choose` is as above;
in the second it also depends on whether there are children already, and has a Dirichlet prior around the
first stage's distribution. Within a stage EM never lowers the penalised log-likelihood

sum over sentences of log (sum over trees of p(tree, tags) * potentials of its arcs)
  + sum over parameters of (pseudo-counts * log parameter)

where the pseudo-counts are `smoothing` for every parameter, except for `choose` in the second stage:
there they are `backoff` times the first stage's distribution.

Letters: n words, T tags. Heads 1..n, 0 is ROOT.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.views import View
from dynet_vdgi.settings.config import DmvSettings
from dynet_vdgi.system import progress
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.teachers.common import (
    SUM_TREES,
    BlockedText,
    DmvFactors,
    Heads,
    SymbolTeacher,
    SymbolText,
    blocks_of,
    is_voter,
    room_for,
    shares_of,
    symbol_ids,
    work_of,
)

_NOTHING: Floats = np.zeros(0)
AT_ONCE = 500
"""Sentences that are parsed together, because their marginals take much memory."""

LOWEST = -50.0
"""How far, in nats, a potential may lie below the best of its word: forbidden arcs are used only where no
tree can do without them."""


class Counts(NamedTuple):
    """Expected counts, shaped as the parameters; `stop` counts stopping, going on is counted in `choose`."""

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
            SUM_TREES(text, begin, end, given, counts, _NOTHING, total, room, work=work, following=following)
            sums.append(counts)
            totals.append(total)
        return Counts(*(np.sum(each, axis=0) for each in zip(*sums))), checked_log_z(sum(totals), packed)

    def factors(self) -> DmvFactors:
        """What kernels multiply."""
        going_on = (1.0 - self.stop)[..., None] * self.choose
        return DmvFactors(*map(np.ascontiguousarray, (self.root, going_on, self.stop)))

    def all_marginals(self, packed: Packed) -> list[Floats]:
        """Probabilities (n + 1, n) of the arcs of each sentence, by head, ROOT first, and dependent."""
        text, given, marginals = packed.in_blocks(), self.factors(), np.zeros_like(packed.potentials)

        total = np.zeros(1)
        for begin, end in shares_of(text):
            room, work = room_for(text, begin, end), work_of(text, begin, end)
            SUM_TREES(text, begin, end, given, given, marginals, total, room, work=work)
        checked_log_z(total, packed)
        return packed.by_sentence(marginals)


def normalised(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))


class Packed(NamedTuple):
    """Concatenated sentences: potentials (n + 1) * n of each, by head, ROOT first, and dependent."""

    tags: Ints
    first: Ints
    potentials: Floats
    log_scale: float  # of all potentials together, in nats

    @classmethod
    def of(cls, tags: Sequence[ArrayLike], potentials: Sequence[ArrayLike], n_tags: int) -> Packed:
        """Packs the arguments of `dmv.fit`. Raises: ValueError, the arguments do not fit together."""
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
        """The sentences in the form of `common.sum_trees`."""
        lengths = np.diff(self.first)
        cells = lengths * (lengths + 1)
        starts = np.cumsum(cells) - cells
        return BlockedText(self.tags, self.first, self.potentials, starts, *blocks_of(self.first))

    def by_sentence(self, arcs: Floats) -> list[Floats]:
        """Values laid out as the potentials, as a matrix (n + 1, n) for each sentence."""
        lengths = np.diff(self.first)
        ends = np.cumsum(lengths * (lengths + 1))
        return [arcs[end - (n + 1) * n : end].reshape(n + 1, n) for n, end in zip(lengths.tolist(), ends.tolist())]


def checked_log_z(log_z: Any, packed: Packed) -> float:
    """The log Z of all potentials, in nats. Raises: ArithmeticError, it is not a number."""
    total = float(np.sum(log_z))
    if np.isnan(total):
        raise ArithmeticError("potentials are too far apart to sum over trees")
    return total - packed.log_scale


def _linear(potentials: Floats, n: int) -> tuple[Floats, float]:
    """Linear potentials ((n + 1) * n,), scaled so that each word's best is 1, and the log of the scale."""
    if potentials.shape != (n + 1, n + 1):
        raise ValueError(f"potentials of {n} words must be {(n + 1, n + 1)}, not {potentials.shape}")
    arcs = potentials[:, 1:].copy()
    arcs[np.arange(1, n + 1), np.arange(n)] = -np.inf
    if not (arcs < np.inf).all():
        raise ValueError("potentials must be numbers or minus infinity")
    best = arcs.max(axis=0)
    best[best == -np.inf] = 0.0
    return np.exp(np.maximum(arcs - best, LOWEST)).ravel(), float(-best.sum())


# ----------------------------------------------------------------------------------------------------
# A last stage of EM, in which symbols are split by words: closed classes by form, nouns by adposition.
#
# `grammar.parts.kinds` defines the words that a table's line `words` asks for. Each split symbol starts as
# its parent, times its share of the parent's words, and is kept near it by `backoff` pseudo-counts for each
# distribution, a fifth of that for stopping.
#
# Letters: T symbols before, S after the split; ids below T are the same in both.


FOR_STOPPING = 0.2
"""Pseudo-counts of `stop` relative to those of the other distributions."""

SMOOTHING = 0.1


def refined(model: DmvModel, parents: Ints, text: Packed, iterations: int, backoff: float) -> DmvModel:
    """A model of S symbols from one of T.

    parents (S,): the symbol below T that each symbol was split from, itself if below T; text: tags below S.
    """
    seen = np.bincount(text.tags, minlength=len(parents)) + 0.5
    share = seen / np.bincount(parents, weights=seen)[parents]
    root = normalised(model.root[parents] * share)
    choose = normalised(model.choose[parents][:, :, :, parents] * share)
    found = DmvModel(root, choose, model.stop[parents], model.log)
    pseudo = Counts(backoff * root, backoff * choose, FOR_STOPPING * backoff * found.stop)
    total = FOR_STOPPING * backoff
    for _ in range(iterations):
        counts, _ = found.expected(text)
        going_on = counts.choose.sum(axis=3)
        stop = (counts.stop + pseudo.stop + SMOOTHING) / (counts.stop + going_on + total + 2 * SMOOTHING)
        found = DmvModel(
            normalised(counts.root + pseudo.root), normalised(counts.choose + pseudo.choose), stop, model.log
        )
    return found


def split(rows: Sequence[Sequence[str]], parts: Sequence[Sequence[str]], least: int) -> dict[str, str]:
    """The split symbols that are frequent enough, sorted, each with the symbol it was split from.

    rows and parts: the symbols of each sentence's words, and these symbols split further.
    """
    times: dict[str, int] = {}
    parent: dict[str, str] = {}
    for symbols, finer in zip(rows, parts):
        for symbol, part in zip(symbols, finer):
            if part != symbol:
                times[part] = times.get(part, 0) + 1
                parent[part] = symbol
    return {part: parent[part] for part in sorted(times) if times[part] >= least}


# ---------------------------------------------------------------------------------------------- learning
def fit(
    tags: Sequence[ArrayLike],
    potentials: Sequence[ArrayLike],
    n_tags: int,
    settings: DmvSettings | None = None,
) -> DmvModel:
    """The model that EM finds.

    Args:
        tags: tag ids (n,) of each sentence, below T.
        potentials: log-potentials (n + 1, n + 1) of each sentence's arcs, by head and dependent, ROOT at 0,
            as `Prior.potentials` makes them; column 0 and the diagonal are ignored, -inf forbids an arc.
        n_tags: T.

    Raises: ValueError, there is no sentence, or the arguments do not fit together.
    """
    settings = settings or DmvSettings()
    text = Packed.of(tags, potentials, n_tags)
    if not len(text.tags):
        raise ValueError("no sentences to learn from")
    model, log = DmvModel.uniform(n_tags), list[EmIteration]()
    for stage, iterations in ((1, settings.iterations), (2, settings.valence_iterations)):
        pseudo = _pseudo_counts(model, stage, settings)
        for done in progress.over(range(iterations), f"iterations of EM, stage {stage}"):
            counts, log_likelihood = model.expected(text, iterations - done - 1)
            log.append(EmIteration(stage, log_likelihood, log_likelihood + _penalty(model, pseudo, stage)))
            model = _maximised(counts, pseudo, stage)
    return DmvModel(model.root, model.choose, model.stop, tuple(log))


def _pseudo_counts(model: DmvModel, stage: int, settings: DmvSettings) -> Counts:
    """Pseudo-counts of a stage that begins with this model; `stop` has them for both outcomes."""
    plain = Counts(*(np.full_like(array, settings.smoothing) for array in (model.root, model.choose, model.stop)))
    return plain if stage == 1 else plain._replace(choose=settings.backoff * model.choose)


def _penalty(model: DmvModel, pseudo: Counts, stage: int) -> float:
    """Sum of pseudo-counts * log parameter over the free parameters of the stage, in nats."""
    choose = pseudo.choose * np.log(model.choose)  # (T, 2, 2, T)
    choose = choose[:, :, 0] if stage == 1 else choose  # the two valences share one distribution
    stop = pseudo.stop * (np.log(model.stop) + np.log1p(-model.stop))
    return float((pseudo.root * np.log(model.root)).sum() + choose.sum() + stop.sum())


def _maximised(counts: Counts, pseudo: Counts, stage: int) -> DmvModel:
    """The M-step."""
    going_on = counts.choose.sum(axis=3)
    stop = (counts.stop + pseudo.stop) / (counts.stop + going_on + 2 * pseudo.stop)
    choose = counts.choose
    if stage == 1:
        choose = np.repeat(choose.sum(axis=2, keepdims=True), 2, axis=2)
    return DmvModel(normalised(counts.root + pseudo.root), normalised(choose + pseudo.choose), stop)


# ---------------------------------------------------------------------------------------------- the teacher
class Dmv(SymbolTeacher[DmvModel]):
    """The exact teacher: `Dmv(iterations=20).fit(text, prior)`, with the numbers of `DmvSettings`."""

    name = "DMV"
    kind = DmvSettings
    settings: DmvSettings

    def _learnt(self, text: SymbolText) -> DmvModel:
        """EM, and a last stage with words as symbols, if the prior's table asks for it."""
        model, words = fit(text.symbols, text.potentials, text.n_symbols, self.settings), text.prior.words
        if words is None:
            return model
        found = split(text.names, text.finer, int(words.number("least", 15)))
        n, ids = len(self.symbols), {name: k for k, name in enumerate(self.symbols)}
        # The unknown symbol comes last in both lists.
        parents = np.array([*range(n), *(ids[parent] for parent in found.values()), n])
        self.symbols = (*self.symbols, *found)
        finer = Packed.of(symbol_ids(text.finer, self.symbols), text.potentials, len(parents))
        iterations, backoff = int(words.number("iterations", 10)), words.number("backoff", 100.0)
        return refined(model, parents, finer, iterations, backoff)

    def _told(self, view: View) -> list[str]:
        return self.prior.split_symbols(view)

    def heads(self, sentences: Iterable[Sentence]) -> list[Heads]:
        return self.heads_and_votes(list(sentences), 0)[0]

    def heads_and_votes(
        self, sentences: Sequence[Sentence], n_votes: int
    ) -> tuple[list[Heads], list[tuple[Sentence, Floats]]]:
        heads: list[Heads] = []
        votes: list[tuple[Sentence, Floats]] = []
        for start in range(0, len(sentences), AT_ONCE):
            part = sentences[start : start + AT_ONCE]
            marginals = self.marginals(part)
            heads += chart.expected_best_of_all(marginals)
            votes += [pair for pair in zip(part, marginals) if is_voter(pair[0])]
            del votes[n_votes:]
        return heads, votes

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        return self.model.all_marginals(Packed.of(*self.encoded(sentences), len(self.model.root)))

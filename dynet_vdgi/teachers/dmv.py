"""Dependency model with valence, learnt from tags by EM under a prior: the exact teacher.

Klein & Manning (2004). A head of tag h makes its children outwards on each side; before each it decides
whether to stop, given h, the side and whether it has a child there already, and then chooses the child's tag:

    p(tree, tags) = root(tag of the root) * product over words and sides of
                    stop(h, side, has children) * product over children of (1 - stop) * choose(h, side, child)

The arc potentials of a prior multiply every tree's probability, in learning (as in Noji, Miyao & Johnson
2016, "Using left-corner parsing to encode universal structural constraints in grammar induction") and in
parsing. EM starts uniform, so nothing is random. It has two stages. In the first, `choose` is as above; in
the second it also depends on whether there are children already, and the first stage's distribution is its
prior (Dirichlet). What EM never lowers within a stage is the penalised log-likelihood

    sum over sentences of log (sum over trees of p(tree, tags) * potentials of its arcs)
      + sum over parameters of (pseudo-counts * log parameter)

where the pseudo-counts are `smoothing` for every parameter, but for `choose` in the second stage `backoff`
times the first stage's distribution.

Letters: n words, T tags. Heads 1..n, 0 is ROOT.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.projective import decode
from dynet_vdgi.grammar.symbols import coarse, fallbacks
from dynet_vdgi.teachers.inside_outside import add_counts, make_ready, posterior_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Heads = tuple[int, ...]

LOWEST = -50.0
"""How far, in nats, a potential may lie below the best of its word: forbidden arcs are taken only where there
is no tree without them."""


@dataclass(frozen=True)
class DmvSettings:
    """How EM runs. Raises: ConfigError, a number is out of its range."""

    iterations: int = 20
    valence_iterations: int = 10  # of the second stage
    smoothing: float = 0.1
    backoff: float = 100.0

    def __post_init__(self) -> None:
        for name in ("iterations", "valence_iterations"):
            if getattr(self, name) < 0:
                raise ConfigError(f"teacher: '{name}' must be 0 or more, not {getattr(self, name)}")
        for name in ("smoothing", "backoff"):
            if not 0 < getattr(self, name) < np.inf:
                raise ConfigError(f"teacher: '{name}' must be above 0, not {getattr(self, name)}")


class Counts(NamedTuple):
    """Expected counts, shaped as the parameters; `stop` counts stopping, going on is counted in `choose`."""

    root: Floats  # (T,)
    choose: Floats  # (T, 2, 2, T): head, side (0 left, 1 right), has children there, child
    stop: Floats  # (T, 2, 2): head, side, has children there


class Iteration(NamedTuple):
    """Where one iteration of EM began: in nats, over all sentences."""

    stage: int  # 1 or 2
    log_likelihood: float
    penalised: float


@dataclass(frozen=True, eq=False)
class Dmv:
    """The model's distributions, and how they were found."""

    root: Floats  # (T,)
    choose: Floats  # (T, 2, 2, T), sums to 1 over the last axis
    stop: Floats  # (T, 2, 2), probabilities
    log: tuple[Iteration, ...] = ()

    @classmethod
    def uniform(cls, n_tags: int) -> Dmv:
        """Where EM starts."""
        root, choose = np.full(n_tags, 1 / n_tags), np.full((n_tags, 2, 2, n_tags), 1 / n_tags)
        return cls(root, choose, np.full((n_tags, 2, 2), 0.5))

    def counts(self, tags: Sequence[ArrayLike], potentials: Sequence[ArrayLike]) -> tuple[Counts, float]:
        """Expected counts of sentences, and the sum of their log Z in nats; arguments as of `fit`."""
        return self.expected(Packed.of(tags, potentials, len(self.root)))

    def expected(self, text: Packed) -> tuple[Counts, float]:
        """The same, of sentences that are packed already."""
        make_ready()
        counts = Counts(np.zeros_like(self.root), np.zeros_like(self.choose), np.zeros_like(self.stop))
        log_z = add_counts(*text[:3], self.root, self.choose, self.stop, *counts)
        return counts, log_z - text.log_scale

    def marginals(self, tags: ArrayLike, potentials: ArrayLike) -> Floats:
        """Probabilities (n + 1, n) of arcs of one sentence, by head, ROOT first, and dependent.

        tags (n,) below T; log-potentials (n + 1, n + 1) as `Prior.potentials` makes them.
        """
        words, _, own, _ = Packed.of([tags], [potentials], len(self.root))
        if not len(words):
            return np.zeros((1, 0))
        make_ready()
        own = own.reshape(len(words) + 1, len(words))
        posterior, _ = posterior_of(words, own, self.root, self.choose, self.stop)
        return np.vstack([posterior.roots, posterior.arcs.sum(axis=0)])

    def parse(self, tags: ArrayLike, potentials: ArrayLike) -> Heads:
        """The projective tree with one root of which most arcs are expected to be right."""
        return self.parse_all([tags], [potentials])[0]

    def parse_all(self, tags: Sequence[ArrayLike], potentials: Sequence[ArrayLike]) -> list[Heads]:
        """The trees of many sentences."""
        if len(tags) != len(potentials):
            raise ValueError(f"{len(tags)} sentences, but potentials of {len(potentials)}")
        return best_trees([self.marginals(*both) for both in zip(tags, potentials)])


def best_trees(marginals: Sequence[Floats]) -> list[Heads]:
    """For marginals (n + 1, n) of each sentence the projective tree with one root and the highest sum."""
    return decode([np.pad(matrix, ((0, 0), (1, 0))) for matrix in marginals])


# ---------------------------------------------------------------------------------------------- learning
def fit(
    tags: Sequence[ArrayLike],
    potentials: Sequence[ArrayLike],
    n_tags: int,
    settings: DmvSettings | None = None,
) -> Dmv:
    """The model that EM finds.

    Args:
        tags: tag ids (n,) of each sentence, below T.
        potentials: log-potentials (n + 1, n + 1) of each sentence's arcs, by head and dependent, ROOT at 0,
            as `Prior.potentials` makes them; column 0 and the diagonal are ignored, -inf forbids an arc.
        n_tags: T.

    Raises:
        ValueError: there is no sentence, or the arguments do not fit together.
    """
    settings = settings or DmvSettings()
    text = Packed.of(tags, potentials, n_tags)
    if not len(text.tags):
        raise ValueError("no sentences to learn from")
    model, log = Dmv.uniform(n_tags), list[Iteration]()
    for stage, iterations in ((1, settings.iterations), (2, settings.valence_iterations)):
        pseudo = _pseudo_counts(model, stage, settings)
        for _ in range(iterations):
            counts, log_likelihood = model.expected(text)
            log.append(Iteration(stage, log_likelihood, log_likelihood + _penalty(model, pseudo, stage)))
            model = _maximised(counts, pseudo, stage)
    return Dmv(model.root, model.choose, model.stop, tuple(log))


def _pseudo_counts(model: Dmv, stage: int, settings: DmvSettings) -> Counts:
    """Pseudo-counts of a stage that begins with this model; `stop` has them for stopping and for going on."""
    plain = Counts(
        *(np.full_like(array, settings.smoothing) for array in (model.root, model.choose, model.stop))
    )
    return plain if stage == 1 else plain._replace(choose=settings.backoff * model.choose)


def _penalty(model: Dmv, pseudo: Counts, stage: int) -> float:
    """Sum of pseudo-counts * log parameter over the free parameters of the stage, in nats."""
    choose = pseudo.choose * np.log(model.choose)  # (T, 2, 2, T)
    choose = choose[:, :, 0] if stage == 1 else choose  # the two are one distribution
    stop = pseudo.stop * (np.log(model.stop) + np.log1p(-model.stop))
    return float((pseudo.root * np.log(model.root)).sum() + choose.sum() + stop.sum())


def _maximised(counts: Counts, pseudo: Counts, stage: int) -> Dmv:
    """The M-step."""
    going_on = counts.choose.sum(axis=3)
    stop = (counts.stop + pseudo.stop) / (counts.stop + going_on + 2 * pseudo.stop)
    choose = counts.choose
    if stage == 1:
        choose = np.repeat(choose.sum(axis=2, keepdims=True), 2, axis=2)
    return Dmv(normalised(counts.root + pseudo.root), normalised(choose + pseudo.choose), stop)


def normalised(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))


class Packed(NamedTuple):
    """Sentences one after the other, as `inside_outside.add_counts` wants them."""

    tags: Ints
    first: Ints
    potentials: Floats
    log_scale: float  # of all potentials together, in nats

    @classmethod
    def of(cls, tags: Sequence[ArrayLike], potentials: Sequence[ArrayLike], n_tags: int) -> Packed:
        """Sentences as `fit` has them. Raises: ValueError, the arguments do not fit together."""
        if len(tags) != len(potentials):
            raise ValueError(f"{len(tags)} sentences, but potentials of {len(potentials)}")
        words = [np.asarray(sentence, dtype=np.int64).reshape(-1) for sentence in tags]
        columns, log_scale = [], 0.0
        for sentence, matrix in zip(words, potentials):
            linear, scale = _linear(np.asarray(matrix, dtype=np.float64), len(sentence))
            columns.append(linear)
            log_scale += scale
        flat = np.concatenate([*words, np.zeros(0, np.int64)])
        if len(flat) and not 0 <= flat.min() <= flat.max() < n_tags:
            raise ValueError(f"tags must be 0 to {n_tags - 1}, not {flat.min()} to {flat.max()}")
        first = np.cumsum([0, *map(len, words)])
        return cls(flat, first, np.concatenate([*columns, np.zeros(0)]), log_scale)


def _linear(potentials: Floats, n: int) -> tuple[Floats, float]:
    """Potentials ((n + 1) * n,) that are no logs, 1 the best of each word, and the log of their scale."""
    if potentials.shape != (n + 1, n + 1):
        raise ValueError(f"potentials of {n} words must be {(n + 1, n + 1)}, not {potentials.shape}")
    arcs = potentials[:, 1:].copy()
    arcs[np.arange(1, n + 1), np.arange(n)] = -np.inf
    if not (arcs < np.inf).all():
        raise ValueError("potentials must be numbers or minus infinity")
    best = arcs.max(axis=0)
    best[best == -np.inf] = 0.0
    return np.exp(np.maximum(arcs - best, LOWEST)).ravel(), float(-best.sum())


# ---------------------------------------------------------------------------------------------- tags, prior
@dataclass(frozen=True, eq=False)
class Teacher:
    """A model with the prior that it was learnt under, and its symbols: tags, or what the prior's table makes
    of them. A symbol that is not known is taken for a coarser one; any other has the id T - 1.
    """

    dmv: Dmv
    prior: Prior
    tags: tuple[str, ...]

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """Probabilities (n + 1, n) of the arcs of each sentence, see `Dmv.marginals`."""
        return [self.dmv.marginals(*ids_and_potentials(s, self.prior, self.tags)) for s in sentences]

    def parse(self, sentences: Iterable[Sentence]) -> list[Heads]:
        """The tree of each sentence; projective, with one root, whatever the tags."""
        return best_trees(self.marginals(sentences))


def learn(sentences: Sequence[Sentence], prior: Prior, settings: DmvSettings | None = None) -> Teacher:
    """A teacher for a language from tagged sentences; those of up to 15 words will do.

    Raises:
        ValueError: there is no sentence.
    """
    views = [prior.view(sentence) for sentence in sentences]
    rows = [prior.symbols(view) for view in views]
    potentials = [prior.potentials_of(view) for view in views]
    tags = _with_coarse(rows)
    model = fit([tag_ids(row, tags) for row in rows], potentials, len(tags) + 1, settings)
    words = prior.words
    if words is None:
        return Teacher(model, prior, tags)
    from dynet_vdgi.teachers.refinement import refined, split

    finer = [prior.split_symbols(view) for view in views]
    found = split(rows, finer, int(words.number("least", 15)))
    every = (*tags, *found)
    ids = {name: k for k, name in enumerate(tags)}
    parents = [*range(len(tags)), *(ids[parent] for parent in found.values()), len(tags)]
    order = np.array(parents)  # the unknown tag comes last in both
    packed = Packed.of([tag_ids(row, every) for row in finer], potentials, len(every) + 1)
    model = refined(model, order, packed, int(words.number("iterations", 10)), words.number("backoff", 100.0))
    return Teacher(model, prior, every)


def _with_coarse(rows: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The symbols of a text, sorted, and those that they fall back to."""
    symbols = tags_of(rows)
    return tags_of([symbols, map(coarse, symbols)])


def symbols_of(sentences: Iterable[Sentence], prior: Prior) -> tuple[str, ...]:
    """The symbols of a text under a prior, sorted, and the tags that they fall back to."""
    return _with_coarse(prior.symbols(prior.view(sentence)) for sentence in sentences)


def ids_and_potentials(sentence: Sentence, prior: Prior, tags: Sequence[str]) -> tuple[list[int], Floats]:
    """What a teacher is told of a sentence: numbers of its symbols, and log-potentials."""
    view = prior.view(sentence)
    return tag_ids(prior.split_symbols(view), tags), prior.potentials_of(view)


def tags_of(tagged: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The tags of a text, sorted."""
    return tuple(sorted({tag for sentence in tagged for tag in sentence}))


def tag_ids(tags: Sequence[str], known: Sequence[str]) -> list[int]:
    """Numbers of a sentence's tags, or symbols; of one that is not known, that of a coarser one, or else the
    next after all others.
    """
    ids = {tag: k for k, tag in enumerate(known)}
    return [_first_known(tag, ids) for tag in tags]


def _first_known(symbol: str, ids: Mapping[str, int]) -> int:
    for name in fallbacks(symbol):
        if name in ids:
            return ids[name]
    return len(ids)

"""Convex-MST: trees that a linear model of their arcs explains, found by convex optimisation.

Grave & Elhadad (2015), "A convex and feature-rich discriminative approach to dependency grammar
induction". A vector y says of every possible arc of a text how much of it there is, row by row X
has the arcs' features, u says which arcs follow a rule. Over the convex hull of the texts' trees,
for y, and over all weights w, the objective is

    1/(2N) |y - X w|^2 + lambda/2 |w|^2 - mu/N u.y

that is discriminative clustering (Bach & Harchaoui 2007) plus a reward for rules. The best w for a
y is a ridge regression (`Ridge`), which leaves a convex function of y alone. Frank-Wolfe minimises
it (`Problem.step`): each step goes towards the best trees under the gradient, which a parser finds,
as far as the objective falls. A new sentence keeps w: the tree with the least objective is that
with the highest sum of X w + mu u.

Not as theirs: trees are projective and have one root. Features (`arc_features`) are six, each
combined with the tags of both ends and the direction, so the regression splits into a small exact
one for each such triple; they have more, and fit all together. u is the potentials of the rule
table: under `ud` 1 for arcs that follow one of the 13 rules, else 0, as theirs. mu, lambda, the
lengths of sentences and the number of steps were chosen on dev trees. The start is the mean of all
trees under the table (`Problem.start`), so nothing is random.

Letters: n words of a sentence, N words of the text, T tags, S sentences, C cells: (n + 1)^2 of each
sentence, F features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike

from dynet_vdgi.conllu.sentence import Sentence, Tree
from dynet_vdgi.inference import eisner
from dynet_vdgi.settings.settings import TeacherKind, TeacherSettings
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.unsupervised.teacher import SymbolTeacher, SymbolText

FARTHEST = 6
"""Distances of this length and more count as equal."""

N_TEMPLATES = 6

NO_ARC = 0
"""The only feature of a cell without an arc (a word as its own head, ROOT as dependent). Its weight
is 0."""


class ConvexMstSettings(TeacherSettings, frozen=True, tag_field="kind", tag="convex-mst"):
    """The objective of Convex-MST and the length of its minimisation, see `rivals.convex_mst`."""

    max_len: Annotated[
        int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")
    ] = 15
    prior_weight: Annotated[
        float, Meta(gt=0, description="weight of the rule table, the authors' mu")
    ] = 0.3
    ridge: Annotated[float, Meta(gt=0, description="penalty on the weights, their lambda")] = 0.001
    iterations: Annotated[int, Meta(ge=0, description="iterations of Frank-Wolfe")] = 20


class DescentIteration(NamedTuple):
    """The state before one iteration. The minimum of the objective is not below `objective - gap`."""

    objective: float
    gap: float


@dataclass(frozen=True, eq=False)
class ConvexMstModel:
    """The weights of the features, and the record of the iterations."""

    weights: Floats  # (F,)
    n_tags: int
    prior_weight: float
    log: tuple[DescentIteration, ...] = ()

    def scores(self, tags: ArrayLike, potentials: ArrayLike) -> Floats:
        """Scores (n + 1, n + 1) of one sentence's arcs, by head and dependent; arguments as of
        `fit`."""
        features = arc_features(np.asarray(tags, dtype=np.int64), self.n_tags)
        return np.asarray(
            self.weights[features].sum(axis=-1) + self.prior_weight * _of_arcs(potentials)
        )


def arc_features(words: Ints, n_tags: int) -> Ints:
    """Features (n + 1, n + 1, 6), by head and dependent, of a sentence with the tags (n,), ROOT at
    0.

    Each is combined with the tags of both ends and the direction. The six are: these alone, the
    distance, the tags before and after the head, before and after the dependent. ROOT stands at
    both edges of a sentence.
    """
    n, root, block = len(words), n_tags, _block_size(n_tags)
    padded = np.concatenate([[root, root], words, [root]])
    before, tag, after = padded[:-2], padded[1:-1], padded[2:]
    position = np.arange(n + 1)
    distance = position - position[:, None]
    distance[0] = 1  # the distance from ROOT has no meaning
    features = np.empty((n + 1, n + 1, N_TEMPLATES), dtype=np.int64)
    features[:] = 1 + block * ((tag[:, None] * (n_tags + 1) + tag) * 2 + (distance > 0))[:, :, None]
    features[:, :, 1] += np.minimum(np.abs(distance), FARTHEST)
    for k, neighbour in enumerate((before[:, None], after[:, None], before, after)):
        features[:, :, 2 + k] += 1 + FARTHEST + k * (n_tags + 1) + neighbour
    features[:, 0] = features[position, position] = NO_ARC
    return features


def _block_size(n_tags: int) -> int:
    """The number of features for each pair of tags and direction."""
    return 1 + FARTHEST + 4 * (n_tags + 1)


class Ridge(NamedTuple):
    """Ridge regressions (least squares, squared penalty), one for each set of co-occurring
    features."""

    columns: list[Ints]  # the features of each
    inverses: list[Floats]  # (X'X + penalty I)^-1 of each

    @classmethod
    def of(cls, features: Ints, block_size: int, penalty: float) -> Ridge:
        """For the features (C, 6) of a text."""
        block = (features[:, 0] - 1) // block_size  # below 0: no arc
        order = np.argsort(block, kind="stable")[np.count_nonzero(block < 0) :]
        columns, inverses = list[Ints](), list[Floats]()
        for cells in np.split(order, np.flatnonzero(np.diff(block[order])) + 1):
            used, places = np.unique(features[cells], return_inverse=True)
            rows, k = places.reshape(-1, N_TEMPLATES), len(used)
            pairs = rows[:, :, None] * k + rows[:, None]
            products = np.bincount(pairs.ravel(), minlength=k * k).reshape(k, k)  # X'X
            columns.append(used)
            inverses.append(np.asarray(np.linalg.inv(products + penalty * np.eye(k))))
        return cls(columns, inverses)

    def solve(self, totals: Floats) -> Floats:
        """The weights (F,) for a y, given X'y (F,)."""
        weights = np.zeros_like(totals)
        for columns, inverse in zip(self.columns, self.inverses):
            weights[columns] = inverse @ totals[columns]
        return weights


class DescentState(NamedTuple):
    """The state of Frank-Wolfe."""

    arcs: Floats  # y (C,), 0 where there is no arc
    totals: Floats  # X'y (F,)
    weights: Floats  # w (F,), the best for y


@dataclass(frozen=True, eq=False)
class Problem:
    """The objective for one text; sentences one after the other, cells of each by head and
    dependent."""

    features: Ints  # (C, 6)
    potentials: Floats  # u (C,)
    prior_weight: float
    sizes: Ints  # (S,) n + 1 of each sentence
    n_features: int
    regression: Ridge

    @classmethod
    def of(
        cls,
        tags: Sequence[ArrayLike],
        potentials: Sequence[ArrayLike],
        n_tags: int,
        settings: ConvexMstSettings,
    ) -> Problem:
        """Arguments as of `fit`."""
        all_words = [np.asarray(words, dtype=np.int64) for words in tags]
        text = [words for words in all_words if len(words)]
        matrices = [_of_arcs(matrix) for words, matrix in zip(all_words, potentials) if len(words)]
        features = np.concatenate(
            [arc_features(words, n_tags).reshape(-1, N_TEMPLATES) for words in text]
        )
        sizes = np.array([len(words) + 1 for words in text])
        return cls(
            features,
            np.concatenate([matrix.ravel() for matrix in matrices]),
            settings.prior_weight,
            sizes,
            1 + 2 * (n_tags + 1) ** 2 * _block_size(n_tags),  # most of them never occur
            Ridge.of(features, _block_size(n_tags), settings.ridge * (sizes - 1).sum()),
        )

    @property
    def n_words(self) -> int:
        return int((self.sizes - 1).sum())

    def start(self) -> DescentState:
        """The mean of all trees under the prior."""
        means = [eisner.marginals(matrix) for matrix in self.matrices(self.potentials)]
        arcs = np.concatenate([np.pad(mean, ((0, 0), (1, 0))).ravel() for mean in means])
        totals = self._totals(self.features, np.repeat(arcs, N_TEMPLATES))
        return DescentState(arcs, totals, self.regression.solve(totals))

    def step(self, state: DescentState) -> tuple[DescentState, DescentIteration]:
        """One step of Frank-Wolfe with exact line search, and the record of its start."""
        arcs, totals, weights = state
        descent = self.descent(state)
        trees = self.best_trees(descent)
        gap = descent[trees].sum() - descent @ arcs
        objective = (arcs @ arcs - totals @ weights) / 2 - self.prior_weight * (
            self.potentials @ arcs
        )
        # Towards the trees the objective is a parabola; this is its second derivative, times N.
        change = self._totals(self.features[trees]) - totals
        turn = self.regression.solve(change)
        curvature = self.n_words - 2 * arcs[trees].sum() + arcs @ arcs - change @ turn
        length = gap / max(gap, curvature) if gap > 0 else 0.0
        mixture = (1 - length) * arcs
        mixture[trees] += length
        after = DescentState(mixture, totals + length * change, weights + length * turn)
        return after, DescentIteration(float(objective) / self.n_words, float(gap) / self.n_words)

    def descent(self, state: DescentState) -> Floats:
        """Minus N times the gradient (C,) of the objective by y; meaningless where there is no arc."""
        sums = state.weights[self.features].sum(axis=-1)  # X w
        return np.asarray(sums - state.arcs + self.prior_weight * self.potentials)

    def best_trees(self, scores: Floats) -> Ints:
        """The cells (N,) of the arcs of each sentence's projective tree with one root and the
        highest sum."""
        heads = chain.from_iterable(map(eisner.best, self.matrices(scores)))
        head = np.fromiter(heads, np.int64, self.n_words)
        word = np.concatenate([np.arange(1, size) for size in self.sizes])
        first = np.cumsum(self.sizes**2) - self.sizes**2
        first, size = np.repeat(np.stack([first, self.sizes]), self.sizes - 1, axis=1)
        return np.asarray(first + head * size + word)

    def matrices(self, cells: Floats) -> list[Floats]:
        """Values (C,) as matrices (n + 1, n + 1)."""
        parts = np.split(cells, np.cumsum(self.sizes**2)[:-1])
        return [part.reshape(size, size) for part, size in zip(parts, self.sizes)]

    def _totals(self, features: Ints, values: Floats | None = None) -> Floats:
        """Sums (F,) of values, or numbers of them where there are none, by feature."""
        return np.bincount(features.ravel(), values, self.n_features).astype(np.float64)


def _of_arcs(potentials: ArrayLike) -> Floats:
    """Potentials (n + 1, n + 1) of a sentence, 0 where there is no arc."""
    prior = np.array(potentials, dtype=np.float64)
    prior[:, 0] = 0.0
    np.fill_diagonal(prior, 0.0)
    return prior


def fit(
    tags: Sequence[ArrayLike],
    potentials: Sequence[ArrayLike],
    n_tags: int,
    settings: ConvexMstSettings | None = None,
) -> ConvexMstModel:
    """The model with the least objective that the iterations reach.

    tags: ids (n,) of each sentence, below T = `n_tags`; potentials (n + 1, n + 1) of each
    sentence's arcs, as `Prior.potentials` makes them.
    """
    settings = settings or ConvexMstSettings()
    problem = Problem.of(tags, potentials, n_tags, settings)
    state, log = problem.start(), list[DescentIteration]()
    for _ in range(settings.iterations):
        state, iteration = problem.step(state)
        log.append(iteration)
    return ConvexMstModel(state.weights, n_tags, settings.prior_weight, tuple(log))


class ConvexMst(SymbolTeacher[ConvexMstModel]):
    """The teacher: `ConvexMst(iterations=20).fit(text, prior)`, with the numbers of
    `ConvexMstSettings`."""

    name = "Convex-MST"
    kind = ConvexMstSettings
    settings: ConvexMstSettings

    def _learnt(self, text: SymbolText) -> ConvexMstModel:
        return fit(text.symbols, text.potentials, text.n_symbols, self.settings)

    def scores(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """Scores (n + 1, n + 1) of the arcs of each sentence, see `ConvexMstModel.scores`."""
        return [self.model.scores(*both) for both in zip(*self.encoded(sentences))]

    def heads(self, sentences: Iterable[Sentence]) -> list[Tree]:
        """The projective tree with one root and the highest score."""
        return [eisner.best(matrix) for matrix in self.scores(sentences)]

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """Votes (n + 1, n) for the arcs of each sentence, by head, ROOT first, and dependent.

        The method finds the best tree, not probabilities. Here a tree's probability is proportional
        to exp(score / prior_weight), in which the prior's potentials are unchanged.
        """
        return [
            eisner.marginals(matrix / self.settings.prior_weight)
            for matrix in self.scores(sentences)
        ]


KIND = TeacherKind(ConvexMstSettings, ConvexMst)

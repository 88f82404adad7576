"""LC-DMV (Noji, Miyao & Johnson 2016): sums over trees that need no deep stack, then the model with features.

Inside-outside for the dependency model with valence over trees that need no deep stack to be read.

A left-corner parser joins what it reads as soon as it can, so that its stack grows in centre-embedding only
(Noji & Miyao 2014, "Left-corner transitions for dependency parsing"). Here are summed the projective trees
with one root that it reads with at most D things on its stack, where a centre-embedded chunk of up to C words
counts for nothing (Noji, Miyao & Johnson 2016). In terms of trees, what a level of depth allows:

* of the left dependents of a word, the outermost one may be any tree of this level; the others stand between
  what was read before and the word, and are embedded;
* if something to the left of a word is its head, all of its left dependents are embedded, and so is the word
  with all of its right dependents but the last.

What is embedded is of the next level if it has more than C words, else of the same. With D = 1 the sums are
cubic in the number of words, otherwise of the fourth order. In machine code; words are 0..n-1 here.

Letters: n words, T tags, D levels, C words of a chunk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from dynet_vdgi.data.penn import UPOS
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.views import coarse
from dynet_vdgi.settings.config import TeacherKind, TeacherSettings
from dynet_vdgi.settings.config_checks import checked
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled, work_of_trees
from dynet_vdgi.teachers.common import (
    LARGEST_SUM,
    LEFT,
    RIGHT,
    SMALLEST_SUM,
    DmvFactors,
    SymbolTeacher,
    SymbolText,
)
from dynet_vdgi.teachers.dmv import Counts, DmvModel, Packed, checked_log_z


class CornerScores(NamedTuple):
    """Factors of one sentence's trees; also their posterior probabilities, which have the same shapes."""

    arcs: Floats  # (2, n, n): valence, head, dependent
    roots: Floats  # (n,)
    stops: Floats  # (2, 2, n): side, whether there are children on it, head


class BoundedChart(NamedTuple):
    """Sums over half-trees, each (D, n, n) by level, head and farthest word; or their derivatives.

    `links` are up to a child whose own far side is not there yet.
    """

    left_links: Floats  # from a head to its outermost left child
    right_links: Floats  # to a right child of a word whose head is not to its left
    tail_links: Floats  # to the last right child of a word whose head is
    left: Floats  # left halves, may get further children
    embedded_left: Floats  # those all of whose children are embedded
    right: Floats  # right halves of words whose head is not to their left
    tail: Floats  # right halves of words whose head is
    closed_left: Floats  # the same four that have stopped
    closed_embedded: Floats
    closed_right: Floats
    closed_tail: Floats


class BoundedRoom(NamedTuple):
    """The kernel's workspace; a sentence of fewer than n words uses the first cells only."""

    scores: CornerScores
    posterior: CornerScores
    chart: BoundedChart
    gradients: BoundedChart


def room_for(n: int, depth: int) -> BoundedRoom:
    """A workspace for sentences of up to `n` words and `depth` levels."""
    scores = (CornerScores(np.zeros((2, n, n)), np.zeros(n), np.zeros((2, 2, n))) for _ in range(2))
    charts = (BoundedChart(*(np.zeros((depth, n, n)) for _ in BoundedChart._fields)) for _ in range(2))
    return BoundedRoom(next(scores), next(scores), next(charts), next(charts))


@compiled
def bounded_inside(n: int, room: BoundedRoom, chunk: int) -> float:
    """The sum Z over the trees of the product of their factors; fills the chart."""
    scores, chart = room.scores, room.chart
    stops, depth = scores.stops, chart.left.shape[0]
    for d in range(depth):
        for i in range(n):
            chart.left[d, i, i] = chart.embedded_left[d, i, i] = 1.0
            chart.right[d, i, i] = chart.tail[d, i, i] = 1.0
            chart.closed_left[d, i, i] = chart.closed_embedded[d, i, i] = stops[LEFT, 0, i]
            chart.closed_right[d, i, i] = chart.closed_tail[d, i, i] = stops[RIGHT, 0, i]
    for width in range(1, n):
        for i in range(n - width):
            for d in range(depth - 1, -1, -1):
                inside_left(room, chunk, d, i, i + width)
                inside_right(room, chunk, d, i, i + width)
    z = 0.0
    for root in range(n):
        z += scores.roots[root] * chart.closed_left[0, root, 0] * chart.closed_right[0, root, n - 1]
    return z


@compiled
def inside_left(room: BoundedRoom, chunk: int, d: int, i: int, j: int) -> None:
    """The left halves of word j that reach to i, and the link to i as the outermost child."""
    scores, chart = room.scores, room.chart
    arcs, depth = scores.arcs, chart.left.shape[0]
    total = 0.0
    for e in range(i, j):
        valence = 0 if e + 1 == j else 1
        total += chart.closed_right[d, i, e] * chart.embedded_left[d, j, e + 1] * arcs[valence, j, i]
    chart.left_links[d, j, i] = total
    total = 0.0
    for child in range(i, j):
        total += chart.left_links[d, j, child] * chart.closed_left[d, child, i]
    chart.left[d, j, i] = total
    total = 0.0
    for e in range(i, j):
        level = d if e - i < chunk else d + 1
        if level == depth:
            break
        valence = 0 if e + 1 == j else 1
        for child in range(i, e + 1):
            whole = chart.closed_left[level, child, i] * chart.closed_right[level, child, e]
            total += whole * chart.embedded_left[d, j, e + 1] * arcs[valence, j, child]
    chart.embedded_left[d, j, i] = total
    chart.closed_left[d, j, i] = chart.left[d, j, i] * scores.stops[LEFT, 1, j]
    chart.closed_embedded[d, j, i] = total * scores.stops[LEFT, 1, j]


@compiled
def inside_right(room: BoundedRoom, chunk: int, d: int, i: int, j: int) -> None:
    """The right halves of word i that reach to j, and the links to j as the last child."""
    scores, chart = room.scores, room.chart
    arcs, depth = scores.arcs, chart.left.shape[0]
    any_child, tail_child = 0.0, 0.0
    for e in range(i, j):
        under = chart.closed_embedded[d, j, e + 1] * arcs[0 if e == i else 1, i, j]
        any_child += chart.right[d, i, e] * under
        level = d if e - i < chunk else d + 1
        if level < depth:
            tail_child += chart.right[level, i, e] * under
    chart.right_links[d, i, j], chart.tail_links[d, i, j] = any_child, tail_child
    any_child, tail_child = 0.0, 0.0
    for child in range(i + 1, j + 1):
        any_child += chart.right_links[d, i, child] * chart.closed_tail[d, child, j]
        tail_child += chart.tail_links[d, i, child] * chart.closed_tail[d, child, j]
    chart.right[d, i, j], chart.tail[d, i, j] = any_child, tail_child
    chart.closed_right[d, i, j] = any_child * scores.stops[RIGHT, 1, i]
    chart.closed_tail[d, i, j] = tail_child * scores.stops[RIGHT, 1, i]


# ---------------------------------------------------------------------------------------------- outside
@compiled
def bounded_outside(n: int, room: BoundedRoom, chunk: int, z: float) -> None:
    """How probable each factor is in a tree: fills the posterior."""
    scores, posterior, chart, gradients = room
    depth = chart.left.shape[0]
    for derivatives in gradients:
        derivatives[:, :n, :n] = 0.0
    posterior.arcs[:, :n, :n] = 0.0
    posterior.stops[:, :, :n] = 0.0
    for root in range(n):
        weight = scores.roots[root] / z
        left, right = chart.closed_left[0, root, 0], chart.closed_right[0, root, n - 1]
        gradients.closed_left[0, root, 0] += weight * right
        gradients.closed_right[0, root, n - 1] += weight * left
        posterior.roots[root] = weight * left * right
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            for d in range(depth):
                outside_right(room, chunk, d, i, i + width)
                outside_left(room, chunk, d, i, i + width)
    for d in range(depth):
        for i in range(n):
            left = gradients.closed_left[d, i, i] + gradients.closed_embedded[d, i, i]
            right = gradients.closed_right[d, i, i] + gradients.closed_tail[d, i, i]
            posterior.stops[LEFT, 0, i] += left * scores.stops[LEFT, 0, i]
            posterior.stops[RIGHT, 0, i] += right * scores.stops[RIGHT, 0, i]


@compiled
def outside_left(room: BoundedRoom, chunk: int, d: int, i: int, j: int) -> None:
    """The steps of `inside_left` backwards."""
    scores, posterior, chart, gradients = room
    arcs, stop, depth = scores.arcs, scores.stops[LEFT, 1, j], chart.left.shape[0]
    by_left, by_embedded = gradients.closed_left[d, j, i], gradients.closed_embedded[d, j, i]
    posterior.stops[LEFT, 1, j] += by_left * chart.closed_left[d, j, i]
    posterior.stops[LEFT, 1, j] += by_embedded * chart.closed_embedded[d, j, i]
    by_left = gradients.left[d, j, i] + by_left * stop
    by_embedded = gradients.embedded_left[d, j, i] + by_embedded * stop
    for e in range(i, j):
        level = d if e - i < chunk else d + 1
        if level == depth:
            break
        valence = 0 if e + 1 == j else 1
        rest = chart.embedded_left[d, j, e + 1]
        for child in range(i, e + 1):
            left, right = chart.closed_left[level, child, i], chart.closed_right[level, child, e]
            factor = by_embedded * arcs[valence, j, child]
            gradients.closed_left[level, child, i] += factor * right * rest
            gradients.closed_right[level, child, e] += factor * left * rest
            gradients.embedded_left[d, j, e + 1] += factor * left * right
            posterior.arcs[valence, j, child] += factor * left * right * rest
    for child in range(i, j):
        gradients.left_links[d, j, child] += by_left * chart.closed_left[d, child, i]
        gradients.closed_left[d, child, i] += by_left * chart.left_links[d, j, child]
    by_link = gradients.left_links[d, j, i]
    for e in range(i, j):
        valence = 0 if e + 1 == j else 1
        right, rest = chart.closed_right[d, i, e], chart.embedded_left[d, j, e + 1]
        factor = by_link * arcs[valence, j, i]
        gradients.closed_right[d, i, e] += factor * rest
        gradients.embedded_left[d, j, e + 1] += factor * right
        posterior.arcs[valence, j, i] += factor * right * rest


@compiled
def outside_right(room: BoundedRoom, chunk: int, d: int, i: int, j: int) -> None:
    """The steps of `inside_right` backwards."""
    scores, posterior, chart, gradients = room
    arcs, stop, depth = scores.arcs, scores.stops[RIGHT, 1, i], chart.left.shape[0]
    by_right, by_tail = gradients.closed_right[d, i, j], gradients.closed_tail[d, i, j]
    posterior.stops[RIGHT, 1, i] += by_right * chart.closed_right[d, i, j]
    posterior.stops[RIGHT, 1, i] += by_tail * chart.closed_tail[d, i, j]
    by_right = gradients.right[d, i, j] + by_right * stop
    by_tail = gradients.tail[d, i, j] + by_tail * stop
    for child in range(i + 1, j + 1):
        closed = chart.closed_tail[d, child, j]
        gradients.right_links[d, i, child] += by_right * closed
        gradients.tail_links[d, i, child] += by_tail * closed
        gradients.closed_tail[d, child, j] += by_right * chart.right_links[d, i, child]
        gradients.closed_tail[d, child, j] += by_tail * chart.tail_links[d, i, child]
    by_link, by_tail_link = gradients.right_links[d, i, j], gradients.tail_links[d, i, j]
    for e in range(i, j):
        valence = 0 if e == i else 1
        own, rest = arcs[valence, i, j], chart.closed_embedded[d, j, e + 1]
        total = by_link * chart.right[d, i, e]
        gradients.right[d, i, e] += by_link * own * rest
        level = d if e - i < chunk else d + 1
        if level < depth:
            total += by_tail_link * chart.right[level, i, e]
            gradients.right[level, i, e] += by_tail_link * own * rest
        gradients.closed_embedded[d, j, e + 1] += total * own
        posterior.arcs[valence, i, j] += total * own * rest


# ---------------------------------------------------------------------------------------------- sentences
@compiled
def bounded_posterior(n: int, room: BoundedRoom, chunk: int) -> float:
    """Finds how probable each factor of a sentence is, and scales the factors; log Z in nats.

    Not a number: potentials are too far apart to sum over trees.
    """
    scores, log_scale = room.scores, 0.0
    step = min(1.0, 200.0 / n)  # cannot jump over the range
    for _ in range(1000 + n):
        z = bounded_inside(n, room, chunk)
        if SMALLEST_SUM < z < LARGEST_SUM:
            bounded_outside(n, room, chunk, z)
            return math.log(z) - log_scale
        change = step if z <= SMALLEST_SUM else -step  # otherwise it is too large, infinite or not a number
        for dependent in range(n):
            scores.roots[dependent] *= math.exp(change)
            for head in range(n):
                scores.arcs[0, head, dependent] *= math.exp(change)
                scores.arcs[1, head, dependent] *= math.exp(change)
        log_scale += n * change
    return np.nan


@compiled
def fill_scores(tags: Ints, potentials: Floats, given: DmvFactors, scores: CornerScores) -> None:
    """A sentence's factors; potentials (n + 1) * n."""
    n = len(tags)
    for head in range(n):
        tag = tags[head]
        scores.roots[head] = given.root[tag] * potentials[head]
        for side in range(2):
            for valence in range(2):
                scores.stops[side, valence, head] = given.stop[tag, side, valence]
        for dependent in range(n):
            side, potential = int(dependent >= head), potentials[(head + 1) * n + dependent]
            for valence in range(2):
                if head != dependent:
                    factor = given.choose[tag, side, valence, tags[dependent]]
                    scores.arcs[valence, head, dependent] = factor * potential


@compiled
def add_posterior(tags: Ints, posterior: CornerScores, counts: DmvFactors) -> None:
    """Adds how probable a sentence's factors are to the expected counts."""
    for head in range(len(tags)):
        tag = tags[head]
        counts.root[tag] += posterior.roots[head]
        for side in range(2):
            for valence in range(2):
                counts.stop[tag, side, valence] += posterior.stops[side, valence, head]
        for dependent in range(len(tags)):
            side = int(dependent >= head)
            for valence in range(2):
                counts.choose[tag, side, valence, tags[dependent]] += posterior.arcs[valence, head, dependent]


@compiled
def sum_bounded(
    tags: Ints,
    first: Ints,
    potentials: Floats,
    given: DmvFactors,
    chunk: int,
    counts: DmvFactors,
    total: Floats,
    room: BoundedRoom,
) -> None:
    """Adds the expected counts of many sentences, shaped as the parameters, and their log Z to total (1,).

    tags (N,) of all sentences, sentence k from first[k] to first[k + 1]; potentials, no logs: those of the
    sentences, (n + 1) * n numbers each by head and dependent, one after the other. The total is not a number
    if potentials are too far apart to sum over trees.
    """
    at = 0
    for k in range(len(first) - 1):
        words = tags[first[k] : first[k + 1]]
        n = len(words)
        if n == 0:
            continue
        fill_scores(words, potentials[at : at + (n + 1) * n], given, room.scores)
        at += (n + 1) * n
        total[0] += bounded_posterior(n, room, chunk)
        add_posterior(words, room.posterior, counts)


SUM_BOUNDED = Kernel(sum_bounded, "the left-corner teacher")


# ----------------------------------------------------------------------------------------------------
# LC-DMV: the dependency model with valence over trees that need no deep stack, with features.
#
# Noji, Miyao & Johnson (2016), "Using left-corner parsing to encode universal structural constraints in
# grammar induction". The model is that of `dmv` with one distribution `choose` for first and later
# children. Each distribution is log-linear in features of the tags and of two classes of them, nouns and
# verbs (as in Berg- Kirkpatrick et al. 2010, "Painless unsupervised learning with features"). L-BFGS
# maximises the likelihood of the text, summed over the trees that the sums above allow, from weights of 0
# on, so nothing is random. As in the authors' code there is no penalty on the weights by default.
#
# The authors' constraint that function words have no dependents, like all other knowledge of arcs, comes
# from the rule table, as potentials. The bound holds in learning only; new sentences are parsed without it.
#
# Letters: n words, T tags, F features.


NOUNS = frozenset({"NOUN", "PROPN", "PRON"})
VERBS = frozenset({"VERB"})

N_SIDES = 2


class LcDmvSettings(TeacherSettings, frozen=True, tag_field="kind", tag="lc-dmv"):
    """LC-DMV: a DMV with features, over trees that need no deep stack, see `rivals.lc_dmv`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 15
    iterations: Annotated[int, Meta(ge=0, description="iterations of L-BFGS")] = 100
    depth: Annotated[int, Meta(ge=0, le=9, description="things on the left-corner stack; 0: any")] = 1
    chunk: Annotated[
        int, Meta(ge=1, description="longest embedded chunk that counts for nothing, in words")
    ] = 3
    penalty: Annotated[float, Meta(ge=0, description="L2 penalty on the weights of features")] = 0.0

    def idle(self, longest: int | None = None) -> dict[str, str]:
        found = super().idle(longest)
        if not self.depth:
            found["chunk"] = "there is no bound: depth is 0"
        if not self.iterations:
            found["penalty"] = "there are no iterations of L-BFGS"
        return found


# ---------------------------------------------------------------------------------------------- features
class SharedFeatures(NamedTuple):
    """Which features each outcome has, as pairs of a row (outcome) and a feature; F features in all.

    Rows of `choose` are (T + 1, 2, T), heads with ROOT last, sides, children; of `stop` (T, 2, 2, 2), head,
    side, has children, going on or stopping.
    """

    choose_rows: Ints
    choose_features: Ints
    stop_rows: Ints
    stop_features: Ints
    n_features: int

    @classmethod
    def of(cls, symbols: Sequence[str]) -> SharedFeatures:
        """For the symbols of a text; the last of T is that of unknown ones, which has no class."""
        names = [*symbols, "?"]
        classes = [_classes(coarse(name)) for name in names]
        ids: dict[tuple[object, ...], int] = {}

        def numbered(row: int, keys: Iterable[tuple[object, ...]]) -> list[tuple[int, int]]:
            return [(row, ids.setdefault(key, len(ids))) for key in keys]

        n, choose, stop = len(names), [], []
        for head in range(n + 1):
            own = [f"={head}", *(classes[head] if head < n else ())]
            for side in range(N_SIDES):
                for child in range(n):
                    both = [(a, b) for a in own for b in (f"={child}", *classes[child])]
                    keys = [(*pair, *at) for pair in both for at in ((), (side,))]
                    choose += numbered((head * N_SIDES + side) * n + child, keys)
            for side, has_children, stops in np.ndindex(2, 2, 2) if head < n else ():
                given = [("stop", name, stops) for name in own]
                at = ((), ("side", side), ("valence", has_children), ("both", side, has_children))
                row = ((head * 2 + side) * 2 + has_children) * 2 + stops
                stop += numbered(row, [(*key, *where) for key in given for where in at])
        (choose_rows, choose_features), (stop_rows, stop_features) = np.array(choose).T, np.array(stop).T
        return cls(choose_rows, choose_features, stop_rows, stop_features, len(ids))

    def model(self, weights: Floats, n_tags: int) -> DmvModel:
        """The distributions that weights (F,) make."""
        scores = _sums(self.choose_rows, weights[self.choose_features], (n_tags + 1) * 2 * n_tags)
        choose = _softmax(scores.reshape(n_tags + 1, 2, n_tags))
        scores = _sums(self.stop_rows, weights[self.stop_features], n_tags * 8)
        stop = _softmax(scores.reshape(n_tags, 2, 2, 2))
        both = np.repeat(choose[:n_tags, :, None], 2, axis=2)
        return DmvModel(choose[n_tags, 1], both, stop[..., 1])

    def gradient(self, counts: Counts, model: DmvModel) -> Floats:
        """Of the expected log-likelihood, by the weights."""
        n_tags = len(counts.root)
        choose = np.zeros((n_tags + 1, 2, n_tags))
        choose[:n_tags], choose[n_tags, 1] = counts.choose.sum(axis=2), counts.root
        expected = np.zeros_like(choose)
        expected[:n_tags], expected[n_tags, 1] = model.choose[:, :, 0], model.root
        by_choose = choose - choose.sum(axis=-1, keepdims=True) * expected
        going_on = counts.choose.sum(axis=3)
        stopped = counts.stop - (counts.stop + going_on) * model.stop
        by_stop = np.stack([-stopped, stopped], axis=-1)
        found = _sums(self.choose_features, by_choose.ravel()[self.choose_rows], self.n_features)
        return found + _sums(self.stop_features, by_stop.ravel()[self.stop_rows], self.n_features)


def _sums(places: Ints, values: Floats, size: int) -> Floats:
    """Sums (size,) of the values by their places."""
    return np.bincount(places.ravel(), values.ravel(), size).astype(np.float64)


def _classes(tag: str) -> list[str]:
    """The classes that a tag belongs to, of UD or of the Penn Treebank."""
    upos = UPOS.get(tag, tag)
    return ["noun", "noun or verb"] * (upos in NOUNS) + ["verb", "noun or verb"] * (upos in VERBS)


def _softmax(scores: Floats) -> Floats:
    """Distributions over the last axis, none of whose entries is 0 or 1."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) + 1e-20
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


# ---------------------------------------------------------------------------------------------- learning
class LbfgsStep(NamedTuple):
    """Where one evaluation of the likelihood was, in nats, over all sentences."""

    log_likelihood: float


def expected_counts(model: DmvModel, text: Packed, depth: int, chunk: int) -> tuple[Counts, float]:
    """Expected counts over trees within the bound, and the sum of the sentences' log Z in nats.

    `depth` 0: no bound.
    """
    if not depth:
        return model.expected(text)
    given, lengths = model.factors(), np.diff(text.first)
    counts, total = DmvFactors(*map(np.zeros_like, given)), np.zeros(1)
    room, work = room_for(lengths.max(initial=0), depth), 30 * depth * work_of_trees(lengths)
    SUM_BOUNDED(text.tags, text.first, text.potentials, given, chunk, counts, total, room, work=work)
    return Counts(*counts), checked_log_z(total, text)


# ---------------------------------------------------------------------------------------------- the teacher
@dataclass(frozen=True, eq=False)
class LcDmvModel:
    """The learnt model."""

    dmv: DmvModel
    log: tuple[LbfgsStep, ...]


class LcDmv(SymbolTeacher[LcDmvModel]):
    """The teacher: `LcDmv(depth=1, chunk=3).fit(text, prior)`, with the numbers of `LcDmvSettings`.

    Raises:
        ConfigError: a number is unknown or out of its range; settings and numbers exclude each other.
    """

    name = "LC-DMV"
    settings: LcDmvSettings

    def __init__(self, settings: LcDmvSettings | None = None, **numbers: float) -> None:
        super().__init__()
        self.settings = checked(LcDmvSettings, numbers, settings)

    def _learnt(self, text: SymbolText) -> LcDmvModel:
        from scipy.optimize import minimize

        features, settings, n_tags = SharedFeatures.of(self.symbols), self.settings, text.n_symbols
        packed = Packed.of(text.symbols, text.potentials, n_tags)
        log: list[LbfgsStep] = []

        def objective(weights: Floats) -> tuple[float, Floats]:
            model = features.model(weights, n_tags)
            counts, log_likelihood = expected_counts(model, packed, settings.depth, settings.chunk)
            log.append(LbfgsStep(log_likelihood))
            slope = features.gradient(counts, model) - settings.penalty * weights
            return float(settings.penalty / 2 * weights @ weights) - log_likelihood, -slope

        options = {"maxiter": settings.iterations, "maxcor": 5, "ftol": 1e-9}
        start = np.zeros(features.n_features)
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        return LcDmvModel(features.model(found.x, n_tags), tuple(log))

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        dmv = self.model.dmv
        return dmv.all_marginals(Packed.of(*self.encoded(sentences), len(dmv.root)))


KIND = TeacherKind(LcDmvSettings, lambda settings, seed: LcDmv(settings))

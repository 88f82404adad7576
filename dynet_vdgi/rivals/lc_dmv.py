"""LC-DMV: a dependency model with features, over trees that a left-corner parser reads in shallow
stacks.

Noji, Miyao & Johnson (2016), "Using left-corner parsing to encode universal structural constraints
in grammar induction". Their model of a tree z over tags x is p(z, x) = p_DMV(z, x) f(z):

* p_DMV is that of `unsupervised.dmv_model` with one distribution of children for all valences. Each
  distribution is log-linear, p(c | h, side) ~ exp(w . features(c, h, side)), as in Berg-Kirkpatrick
  et al. (2010), "Painless unsupervised learning with features". `SharedFeatures` has the features:
  tags of head and child, two classes of tags (nouns; verbs) for either, with and without the side.
* f(z) is 1 for trees that their parser reads with one thing on its stack (their depth 1), where an
  embedded chunk of up to C words counts for nothing (their C = 3), else 0.
* Their constraint that function words are leaves is the rule table `lc-dmv`, as potentials.

L-BFGS maximises sum over x of log(sum over z of p(z, x)) from w = 0 on, so nothing is random. New
sentences are parsed without f, by the tree of most expected right arcs.

Not as theirs: chart items. They compile the parser's shift, scan, predict and compose steps into
items, one set a level of the stack. With one level it can be said of trees (`sum_bounded`): the
parser joins what it reads as soon as it can, so its stack grows in centre-embedding only, and these
may have no more than C words:

* all left dependents of a word but the outermost, which stand between what was read before and the
  word;
* if something to the left of a word is its head: all of its left dependents, and what of the word
  stands before its last right dependent.

Deeper stacks and their other constraints (length of arcs, the root's tag) are not there.

Letters: n words, T tags, C words of a chunk, F features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from dynet_vdgi.conllu.penn import UPOS
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rivals.sums import (
    ONE,
    Cells,
    TreeWeights,
    Z,
    add,
    arc_of,
    at,
    root_of,
    stop_of,
    summed,
)
from dynet_vdgi.rule_tables.symbol_levels import coarse
from dynet_vdgi.settings.settings import TeacherKind, TeacherSettings
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.unsupervised.dmv_model import Counts, DmvModel, Packed
from dynet_vdgi.unsupervised.dmv_sums import LEFT, RIGHT
from dynet_vdgi.unsupervised.teacher import SymbolTeacher, SymbolText

NOUNS = frozenset({"NOUN", "PROPN", "PRON"})

VERBS = frozenset({"VERB"})

N_SIDES = 2


class LcDmvSettings(TeacherSettings, frozen=True, tag_field="kind", tag="lc-dmv"):
    """LC-DMV: a DMV with features, over trees that need no deep stack, see `rivals.lc_dmv`."""

    max_len: Annotated[
        int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")
    ] = 15
    iterations: Annotated[int, Meta(ge=0, description="iterations of L-BFGS")] = 100
    chunk: Annotated[int, Meta(ge=1, description="longest embedded chunk, in words")] = 3


LEFT_LINK, RIGHT_LINK, TAIL_LINK = range(3)
"""Planes of links from a head to its outermost child, whose far side is missing."""

LEFT_HALF, EMBEDDED_HALF, RIGHT_HALF, TAIL_HALF = range(3, 7)
"""Planes of half-trees by head and farthest word. All left children of an embedded one are embedded;
a tail's head has its own head to its left."""

STOPPED = 4
"""Added to the plane of half-trees: half-trees that have stopped."""

WHOLE = 11
"""The first of C planes: trees by first and last word, whose top is so many words after the first."""


@compiled
def link(cells: Cells, back: bool, i: int, j: int, chunk: int) -> None:
    """The links between words i and j, and left halves of j that reach to i with embedded children."""
    for e in range(i, j):
        has_left, has_right = int(e + 1 < j), int(e > i)
        near = at(cells, EMBEDDED_HALF, j, e + 1)
        closed = at(cells, STOPPED + RIGHT_HALF, i, e)
        add(cells, back, at(cells, LEFT_LINK, j, i), closed, near, arc_of(cells, has_left, j, i))
        half, arc = at(cells, RIGHT_HALF, i, e), arc_of(cells, has_right, i, j)
        closed = at(cells, STOPPED + EMBEDDED_HALF, j, e + 1)
        add(cells, back, at(cells, RIGHT_LINK, i, j), half, closed, arc)
        if e - i < chunk:
            add(cells, back, at(cells, TAIL_LINK, i, j), half, closed, arc)
            for child in range(i, e + 1):
                whole, arc = at(cells, WHOLE + child - i, i, e), arc_of(cells, has_left, j, child)
                add(cells, back, at(cells, EMBEDDED_HALF, j, i), whole, near, arc)


@compiled
def extend(cells: Cells, back: bool, i: int, j: int) -> None:
    """Half-trees between words i and j, whose outermost child's far side is added."""
    if i == j:
        for plane in range(LEFT_HALF, TAIL_HALF + 1):
            add(cells, back, at(cells, plane, i, i), ONE, ONE, ONE)
    for child in range(i, j):
        far = at(cells, STOPPED + LEFT_HALF, child, i)
        add(cells, back, at(cells, LEFT_HALF, j, i), at(cells, LEFT_LINK, j, child), far, ONE)
        far, last = at(cells, STOPPED + TAIL_HALF, child + 1, j), child + 1
        add(cells, back, at(cells, RIGHT_HALF, i, j), at(cells, RIGHT_LINK, i, last), far, ONE)
        add(cells, back, at(cells, TAIL_HALF, i, j), at(cells, TAIL_LINK, i, last), far, ONE)


@compiled
def close(cells: Cells, back: bool, i: int, j: int) -> None:
    """Half-trees between words i and j that have stopped."""
    for plane in range(LEFT_HALF, TAIL_HALF + 1):
        side, head, far = RIGHT, i, j
        if plane < RIGHT_HALF:
            side, head, far = LEFT, j, i
        stop, target = stop_of(cells, side, int(i < j), head), at(cells, STOPPED + plane, head, far)
        add(cells, back, target, at(cells, plane, head, far), stop, ONE)


@compiled
def join(cells: Cells, back: bool, i: int, j: int, n: int, chunk: int) -> None:
    """Whole trees between words i and j, of a chunk or of the sentence."""
    for head in range(i, j + 1):
        left = at(cells, STOPPED + LEFT_HALF, head, i)
        right = at(cells, STOPPED + RIGHT_HALF, head, j)
        if j - i == n - 1:
            add(cells, back, Z, root_of(cells, head), left, right)
        if j - i < chunk:
            add(cells, back, at(cells, WHOLE + head - i, i, j), left, right, ONE)


@compiled
def sum_bounded(cells: Cells, back: bool, n: int, chunk: int) -> None:
    """The sweep: four phases for spans of each width."""
    for k in range(4 * n):
        step = 4 * n - 1 - k if back else k
        width, phase = step // 4, step % 4
        for i in range(n - width):
            if phase == 0:
                link(cells, back, i, i + width, chunk)
            elif phase == 1:
                extend(cells, back, i, i + width)
            elif phase == 2:
                close(cells, back, i, i + width)
            else:
                join(cells, back, i, i + width, n, chunk)


SUM_BOUNDED = Kernel(sum_bounded, "the left-corner teacher")


class SharedFeatures(NamedTuple):
    """Which features each outcome has, as pairs of a row (outcome) and a feature; F features in
    all.

    Rows of `choose` are (T + 1, 2, T), heads with ROOT last, sides, children; of `stop` (T, 2, 2,
    2), head, side, has children, going on or stopping.
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
        (choose_rows, choose_features), (stop_rows, stop_features) = (
            np.array(choose).T,
            np.array(stop).T,
        )
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


class LbfgsStep(NamedTuple):
    """Where one evaluation of the likelihood was, in nats, over all sentences."""

    log_likelihood: float


def expected_counts(model: DmvModel, text: Packed, chunk: int) -> tuple[Counts, float]:
    """Expected counts over trees within the bound, and the sum of the sentences' log Z in nats."""
    root, choose, stop = model.factors()
    no_words = np.ones((1, 1)), np.zeros(len(text.tags), np.int64)
    weights = TreeWeights(root[:, None], choose[:, None, ..., None], stop[:, None], no_words[0])
    n_planes = WHOLE + min(chunk, int(np.diff(text.first).max(initial=0)))
    sums = summed(SUM_BOUNDED, weights, text, no_words[1], chunk, n_planes=n_planes, work=40)
    root, choose, stop = (
        counts.reshape(parameters.shape)
        for counts, parameters in zip(sums.counts, (root, choose, stop))
    )
    return Counts(root, choose, stop), sums.log_z


class LcDmv(SymbolTeacher[DmvModel]):
    """The teacher: `LcDmv(chunk=3).fit(text, prior)`, with the numbers of `LcDmvSettings`."""

    name = "LC-DMV"
    kind = LcDmvSettings
    settings: LcDmvSettings

    def _learnt(self, text: SymbolText) -> DmvModel:
        from scipy.optimize import minimize

        features, settings, n_tags = SharedFeatures.of(self.symbols), self.settings, text.n_symbols
        packed = Packed.of(text.symbols, text.potentials, n_tags)
        log: list[LbfgsStep] = []

        def objective(weights: Floats) -> tuple[float, Floats]:
            model = features.model(weights, n_tags)
            counts, log_likelihood = expected_counts(model, packed, settings.chunk)
            log.append(LbfgsStep(log_likelihood))
            return -log_likelihood, -features.gradient(counts, model)

        options = {"maxiter": settings.iterations, "maxcor": 5, "ftol": 1e-9}
        start = np.zeros(features.n_features)
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        return replace(features.model(found.x, n_tags), log=tuple(log))

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        return self.model.all_marginals(Packed.of(*self.encoded(sentences), len(self.model.root)))


KIND = TeacherKind(LcDmvSettings, LcDmv)

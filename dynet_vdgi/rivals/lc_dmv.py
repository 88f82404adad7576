"""LC-DMV (Noji, Miyao & Johnson 2016): a dependency model with features, over trees that need no
deep stack.

"Using left-corner parsing to encode universal structural constraints in grammar induction". The
model is that of `dmv` with one distribution `choose` for first and later children. Each
distribution is log-linear in features of the tags and of two classes of them, nouns and verbs (as
in Berg-Kirkpatrick et al. 2010, "Painless unsupervised learning with features"). L-BFGS maximises
the likelihood of the text, from weights of 0 on, so nothing is random. As in the authors' code
there is no penalty on the weights.

The likelihood is summed over the trees that a left-corner parser reads with one thing on its stack,
where a centre-embedded chunk of up to C words counts for nothing. Such a parser joins what it reads
as soon as it can, so that its stack grows in centre-embedding only (Noji & Miyao 2014, "Left-corner
transitions for dependency parsing"). In terms of trees, what may have more than C words:

* of the left dependents of a word, the outermost one; the others stand between what was read before and the
  word, and are embedded;
* if something to the left of a word is its head, all of its left dependents are embedded, and so is the word
  with all of its right dependents but the last.

The authors' constraint that function words have no dependents, like all other knowledge of arcs,
comes from the rule table, as potentials. The bound holds in learning only; new sentences are parsed
without it.

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
from dynet_vdgi.rivals.sums import ONE, TABLES, Cells, Z, add, at, summed
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


ROOTS, ARCS = 0, 1
"""Planes of factors: of the root, in row 0; of arcs from head to dependent, first and later ones."""

RIGHT_LINK, TAIL_LINK, LEFT_LINK, WIDE, EMBEDDED, AHEAD, TAIL = range(3, 10)

CLOSED = 10 - WIDE
"""Planes of half-trees by head and farthest word, `tail` if the head's head is to its left. Links
are up to the outermost child, whose far side is missing. WIDE and EMBEDDED are to the left, the
latter if all children are embedded; AHEAD and TAIL to the right. These four may get further
children; with CLOSED they have stopped."""

WHOLE = 14
"""The first of C planes: trees by first and last word, whose top is so many words after the first."""


@compiled
def fill(cells: Cells, back: bool, tags: Ints, n_tags: int) -> None:
    """The factors of the root and of the arcs."""
    n = len(tags)
    for child in range(n):
        potential = cells.potentials + child
        add(cells, back, at(cells, ROOTS, 0, child), TABLES + tags[child], potential, ONE)
        for head in range(n):
            if head != child:
                potential = cells.potentials + (head + 1) * n + child
                for valence in range(2):
                    row = (tags[head] * 2 + int(child > head)) * 2 + valence
                    factor = TABLES + n_tags + row * n_tags + tags[child]
                    add(cells, back, at(cells, ARCS + valence, head, child), factor, potential, ONE)


@compiled
def link(cells: Cells, back: bool, i: int, j: int, chunk: int) -> None:
    """The links between words i and j, and left halves of j that reach to i with embedded children."""
    for e in range(i, j):
        near, arc = at(cells, EMBEDDED, j, e + 1), at(cells, ARCS + int(e + 1 < j), j, i)
        add(cells, back, at(cells, LEFT_LINK, j, i), at(cells, CLOSED + AHEAD, i, e), near, arc)
        own, arc = at(cells, AHEAD, i, e), at(cells, ARCS + int(e > i), i, j)
        far = at(cells, CLOSED + EMBEDDED, j, e + 1)
        add(cells, back, at(cells, RIGHT_LINK, i, j), own, far, arc)
        if e - i < chunk:
            add(cells, back, at(cells, TAIL_LINK, i, j), own, far, arc)
            for child in range(i, e + 1):
                arc, whole = (
                    at(cells, ARCS + int(e + 1 < j), j, child),
                    at(cells, WHOLE + child - i, i, e),
                )
                add(cells, back, at(cells, EMBEDDED, j, i), whole, near, arc)


@compiled
def extend(cells: Cells, back: bool, i: int, j: int) -> None:
    """Half-trees between words i and j, whose outermost child's far side is added."""
    if i == j:
        for plane in range(WIDE, TAIL + 1):
            add(cells, back, at(cells, plane, i, i), ONE, ONE, ONE)
    for child in range(i, j):
        far = at(cells, CLOSED + WIDE, child, i)
        add(cells, back, at(cells, WIDE, j, i), at(cells, LEFT_LINK, j, child), far, ONE)
        far = at(cells, CLOSED + TAIL, child + 1, j)
        add(cells, back, at(cells, AHEAD, i, j), at(cells, RIGHT_LINK, i, child + 1), far, ONE)
        add(cells, back, at(cells, TAIL, i, j), at(cells, TAIL_LINK, i, child + 1), far, ONE)


@compiled
def close(cells: Cells, back: bool, tags: Ints, n_tags: int, i: int, j: int) -> None:
    """Half-trees between words i and j that have stopped."""
    stops = TABLES + n_tags + 4 * n_tags**2
    for plane in range(WIDE, TAIL + 1):
        side = LEFT if plane < AHEAD else RIGHT
        head, far = (j, i) if side == LEFT else (i, j)
        stop = stops + (tags[head] * 2 + side) * 2 + int(i < j)
        add(
            cells,
            back,
            at(cells, CLOSED + plane, head, far),
            at(cells, plane, head, far),
            stop,
            ONE,
        )


@compiled
def sum_bounded(cells: Cells, back: bool, tags: Ints, n_tags: int, chunk: int) -> None:
    """The sweep: the factors, phases of spans of each width, and the roots."""
    n = len(tags)
    for k in range(4 * n + 2):
        step = 4 * n + 1 - k if back else k
        width, phase = (step - 1) // 4, (step - 1) % 4
        if step == 0:
            fill(cells, back, tags, n_tags)
            continue
        for i in range(n - width):
            j = i + width
            if phase == 0:
                link(cells, back, i, j, chunk)
            elif phase == 1:
                extend(cells, back, i, j)
            elif phase == 2:
                close(cells, back, tags, n_tags, i, j)
            elif width < chunk:
                for head in range(i, j + 1):
                    left, right = (
                        at(cells, CLOSED + WIDE, head, i),
                        at(cells, CLOSED + AHEAD, head, j),
                    )
                    add(cells, back, at(cells, WHOLE + head - i, i, j), left, right, ONE)
        for root in range(n if width == n else 0):
            left, right = at(cells, CLOSED + WIDE, root, 0), at(cells, CLOSED + AHEAD, root, n - 1)
            add(cells, back, Z, at(cells, ROOTS, 0, root), left, right)


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
    longest = int(np.diff(text.first).max(initial=0))
    more, planes = (len(model.root), chunk), WHOLE + min(chunk, longest)
    found = summed(SUM_BOUNDED, model.factors(), text, (text.tags,), more, planes=planes)
    return Counts(*found.counts), found.log_z


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

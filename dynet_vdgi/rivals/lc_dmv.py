"""LC-DMV: the dependency model with valence over trees that need no deep stack, with features.

Noji, Miyao & Johnson (2016), "Using left-corner parsing to encode universal structural constraints in grammar
induction". The model is that of `dmv` with one distribution `choose` for first and later children. Each
distribution is log-linear in features of the tags and of two classes of them, nouns and verbs (as in Berg-
Kirkpatrick et al. 2010, "Painless unsupervised learning with features"). L-BFGS maximises the likelihood of
the text, summed over the trees that `left_corner` allows, from weights of 0 on, so nothing is random. As in
the authors' code there is no penalty on the weights by default.

The authors' constraint that function words have no dependents, like all other knowledge of arcs, comes from
the rule table, as potentials. The bound holds in learning only; new sentences are parsed without it.

Letters: n words, T tags, F features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from dynet_vdgi.data.penn import UPOS
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.symbols import coarse
from dynet_vdgi.rivals.left_corner import SUM_BOUNDED, room_for
from dynet_vdgi.settings.config import TeacherKind, TeacherSettings
from dynet_vdgi.settings.config_checks import checked
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.jit import work_of_trees
from dynet_vdgi.teachers.common import SymbolTeacher, SymbolText
from dynet_vdgi.teachers.dmv_model import Counts, DmvModel, Packed, checked_log_z
from dynet_vdgi.teachers.inside_outside import DmvFactors

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

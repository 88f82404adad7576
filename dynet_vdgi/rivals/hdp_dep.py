"""HDP-DEP: a Bayesian dependency model with hidden subsymbols, under a share of arcs that follow rules.

Naseem, Chen, Barzilay & Johnson (2010), "Using universal linguistic knowledge to guide grammar
induction". A head is a tag s with a hidden subsymbol z. In a context c (the side, and whether it has
no child there yet, one, or more) it stops, or goes on to a child's tag s' and subsymbol z'; a tag
with its subsymbol emits the word:

    beta_s ~ GEM(1)                     subsymbols of a tag, by breaking a stick
    pi_szcs' ~ DP(10, beta_s')          subsymbols of a child's tag
    theta_szc, stop_szc ~ Dirichlet(1)  the child's tag; stopping
    phi_sz ~ Dirichlet(1)               the word

Inference is mean-field: q(trees) q(beta) q(theta) q(pi) q(phi), where the q of distributions are
Dirichlets (`HdpModel.after`) and q(beta) is a point (`best_betas`). q(trees) weighs each decision
by exp(E log p) (`HdpModel.weights`) and is summed exactly (`sum_hidden`). The rules are a posterior
constraint: q(trees) is the nearest distribution under which at least 80 % of the arcs are expected
to follow a rule. By duality it is q(z) exp(-lambda * arcs of z without a rule), with one lambda for
the text (`projected`), which parsing uses, too.

From the authors' program are the concentrations, the valences, a uniform start with noise in the
subsymbols, sentences of up to 10 words. Not as theirs: lambda is found to a tolerance instead of
by five small gradient steps a round; 4 subsymbols and 10 rounds instead of 10 and 50, chosen on dev
trees; the density of beta is that of the weights, not of the stick's breaks; trees are those of
most expected right arcs, not the most probable ones; ROOT has one child and emits nothing; the
arcs have the potentials of the rule table. Their rules that are special to English are not there.

Letters: n words, N words of all sentences, T tags, K subsymbols, C contexts (heads with their
subsymbol, side and valence, then ROOT), E emissions.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rivals.sums import (
    ONE,
    Cells,
    TreeSums,
    TreeWeights,
    Z,
    add,
    arc_of,
    at,
    emission_of,
    root_of,
    stop_of,
    summed,
)
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.symbol_levels import coarse
from dynet_vdgi.settings.settings import TeacherKind, TeacherSettings
from dynet_vdgi.system import progress
from dynet_vdgi.system.array_types import Flags, Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.unsupervised.dmv_model import Packed
from dynet_vdgi.unsupervised.dmv_sums import LEFT, RIGHT
from dynet_vdgi.unsupervised.teacher import SymbolTeacher, SymbolText

N_VALENCES = 3
"""No child on that side yet, one, more."""

STICK, CONCENTRATION, SMOOTHING = 1.0, 10.0, 1.0
"""Concentrations of GEM and of the DPs, and pseudo-count of every other Dirichlet."""

NOISE = 0.1
"""The most noise that the start adds to a subsymbol's pseudo-count, as a share of it."""

TOLERANCE = 2e-4
"""Tolerance between the share of arcs and its bound."""

MOST_MULTIPLIER = 30.0
"""In nats an arc; more would be needed only if no tree has enough arcs that follow rules."""

UNKNOWN = "?"
"""The tag of unknown symbols in rules."""

FARTHEST_BREAK = 8.0
"""The highest logit of a stick's break."""

LBFGS_ITERATIONS, MOST_STEPS = 50, 50
"""The most steps in the search for sticks, and for the multiplier."""


logger = logging.getLogger("dynet_vdgi")


class HdpDepSettings(TeacherSettings, frozen=True, tag_field="kind", tag="hdp-dep"):
    """HDP-DEP: a Bayesian DMV with hidden subsymbols, under a share of rules, see `rivals.hdp_dep`."""

    max_len: Annotated[
        int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")
    ] = 10
    iterations: Annotated[int, Meta(ge=1, description="iterations of variational inference")] = 10
    subsymbols: Annotated[int, Meta(ge=1, le=20, description="hidden subsymbols of each tag")] = 4
    share: Annotated[
        float, Meta(ge=0, le=0.99, description="least share of arcs that follow a rule")
    ] = 0.8


LINK, OPEN, CLOSED, N_PLANES = 0, 2, 4, 6
"""Planes of rows x rows: links of a head up to its first or a later child, whose far side is
missing; half-trees by head and farthest word (the row of its first subsymbol) that may get further
children, of one child and of more; by side, half-trees that have stopped."""


@compiled
def link(cells: Cells, back: bool, row: int, far: int, k: int) -> None:
    """Links of a head to the subsymbols of a word; k: subsymbols."""
    head = row // k
    step, side = (1, RIGHT) if far > head else (-1, LEFT)
    inner = CLOSED + 1 - side
    for child in range(far * k, far * k + k):
        near = at(cells, inner, child, (head + step) * k)
        add(cells, back, at(cells, LINK, row, child), arc_of(cells, 0, row, child), near, ONE)
        for m in range(head + step, far, step):
            near = at(cells, inner, child, (m + step) * k)
            for later in range(2):
                half, arc = (
                    at(cells, OPEN + later, row, m * k),
                    arc_of(cells, 1 + later, row, child),
                )
                add(cells, back, at(cells, LINK + 1, row, child), half, near, arc)


@compiled
def extend(cells: Cells, back: bool, row: int, far: int, k: int) -> None:
    """Half-trees of a head that reach to a word: links, and the far sides of their children."""
    head = row // k
    step, side = (1, RIGHT) if far > head else (-1, LEFT)
    for m in range(head + step, far + step, step):
        for child in range(m * k, m * k + k):
            end = at(cells, CLOSED + side, child, far * k)
            for later in range(2):
                linked = at(cells, LINK + later, row, child)
                add(cells, back, at(cells, OPEN + later, row, far * k), linked, end, ONE)


@compiled
def close(cells: Cells, back: bool, row: int, far: int, k: int) -> None:
    """Half-trees that have stopped; each left one is multiplied by its word's emission."""
    head = row // k
    if far == head:
        left, right = (
            at(cells, CLOSED + LEFT, row, far * k),
            at(cells, CLOSED + RIGHT, row, far * k),
        )
        add(cells, back, left, stop_of(cells, LEFT, 0, row), emission_of(cells, row), ONE)
        add(cells, back, right, stop_of(cells, RIGHT, 0, row), ONE, ONE)
        return
    side, emission = (RIGHT, ONE) if far > head else (LEFT, emission_of(cells, row))
    for later in range(2):
        stop, half = stop_of(cells, side, 1 + later, row), at(cells, OPEN + later, row, far * k)
        add(cells, back, at(cells, CLOSED + side, row, far * k), half, stop, emission)


@compiled
def sum_roots(cells: Cells, back: bool, n: int, k: int) -> None:
    """Whole trees."""
    for row in range(n * k):
        left, right = at(cells, CLOSED + LEFT, row, 0), at(cells, CLOSED + RIGHT, row, (n - 1) * k)
        add(cells, back, Z, root_of(cells, row), left, right)


@compiled
def sum_hidden(cells: Cells, back: bool, n: int, k: int) -> None:
    """The sweep: three phases for half-trees of each width, then the roots; k: subsymbols."""
    if back:
        sum_roots(cells, back, n, k)
    for count in range(3 * n):
        step = 3 * n - 1 - count if back else count
        width, phase = step // 3, step % 3
        for row in range(n * k):
            for side in range(2 if width else 1):
                far = row // k + (width if side == RIGHT else -width)
                if not 0 <= far < n:
                    continue
                if phase == 2:
                    close(cells, back, row, far, k)
                elif phase == 1 and width:
                    extend(cells, back, row, far, k)
                elif width:
                    link(cells, back, row, far, k)
    if not back:
        sum_roots(cells, back, n, k)


SUM_HIDDEN = Kernel(sum_hidden, "the HDP-DEP teacher")


class EmittedWords(NamedTuple):
    """Words that a tag was seen with, numbered; then every tag's number for any other word."""

    pairs: dict[tuple[int, str], int]
    tags: Ints  # (E,) the tag of each number
    n_words: int  # different ones, and one for all that are not known

    @classmethod
    def of(
        cls, tags: Sequence[Sequence[int]], forms: Sequence[Sequence[str]], n_tags: int
    ) -> EmittedWords:
        """The words of a text; if its forms are not known, all words are equal."""
        seen = {pair for both in zip(tags, forms) for pair in zip(*both)}
        pairs = {pair: k for k, pair in enumerate(sorted(seen))}
        n_forms = len({form for _, form in seen})
        rows = [tag for tag, _ in pairs] + list(range(n_tags))
        return cls(pairs, np.array(rows, dtype=np.int64), n_forms + 1 if n_forms > 1 else 1)

    def numbers(self, tags: Sequence[int], forms: Sequence[str]) -> list[int]:
        """The numbers of a sentence's words."""
        if self.n_words == 1:
            forms = [next(iter(self.pairs))[1]] * len(forms)
        return [
            self.pairs.get((tag, form), len(self.pairs) + tag) for tag, form in zip(tags, forms)
        ]


class HiddenText(NamedTuple):
    """The text to learn from."""

    packed: Packed
    emitted: Ints  # (N,) below E
    follows: Flags  # which arcs follow a rule, laid out as the potentials

    @property
    def n_words(self) -> int:
        return len(self.packed.tags)

    def expected(self, weights: TreeWeights, multiplier: float) -> TreeSums:
        """Expectations with a factor exp(-multiplier) for each arc that follows no rule."""
        potentials = np.where(self.follows, 1.0, np.exp(-multiplier)) * self.packed.potentials
        text, k = self.packed._replace(potentials=potentials), weights.root.shape[1]
        return summed(SUM_HIDDEN, weights, text, self.emitted, k, n_planes=N_PLANES, work=60 * k**2)

    def share_without(self, sums: TreeSums) -> float:
        """The share of arcs that are expected to follow no rule."""
        return float(sums.arcs[~self.follows].sum()) / self.n_words


class HdpIteration(NamedTuple):
    """Before an iteration: log Z in nats, the share of arcs that follow rules, the multiplier."""

    log_z: float
    share: float
    multiplier: float


@dataclass(frozen=True, eq=False)
class HdpModel:
    """The parameters of q, Dirichlets over the last axis but for `emit`."""

    stop: Floats  # (C - 1, 2): stopping, going on
    tags: Floats  # (C, T)
    subs: Floats  # (C, T, K)
    emit: Floats  # (E, K): over the words of a tag, for each subsymbol
    betas: Floats  # (T, K)
    lexicon: EmittedWords
    multiplier: float = 0.0
    log: tuple[HdpIteration, ...] = ()

    @classmethod
    def start(cls, n_tags: int, n_subs: int, lexicon: EmittedWords, seed: int) -> HdpModel:
        """The prior, with noise in the subsymbols."""
        betas = np.full((n_tags, n_subs), 1 / n_subs)
        contexts = n_tags * n_subs * 2 * N_VALENCES + 1
        noise = NOISE * np.random.default_rng(seed).random((contexts, n_tags, n_subs))
        return cls(
            np.full((contexts - 1, 2), SMOOTHING),
            np.full((contexts, n_tags), SMOOTHING),
            CONCENTRATION * betas * (1 + (noise if n_subs > 1 else 0)),
            np.full((len(lexicon.tags), n_subs), SMOOTHING),
            betas,
            lexicon,
        )

    def after(self, counts: TreeWeights) -> HdpModel:
        """The model that maximises the bound for these expected counts of trees."""
        going, subs = _by_context(counts)
        betas = best_betas(subs, self.betas)
        stop = SMOOTHING + np.stack([counts.stop.ravel(), going], axis=-1)
        tags = SMOOTHING + subs.sum(axis=-1)
        emit = SMOOTHING + counts.emit
        return HdpModel(stop, tags, CONCENTRATION * betas + subs, emit, betas, self.lexicon)

    def weights(self) -> TreeWeights:
        """Factors exp(E log p) of trees under q."""
        n_tags, n_subs = self.betas.shape
        stop, going = np.moveaxis(np.exp(_expected_logs(self.stop)), -1, 0)
        children = np.exp(_expected_logs(self.tags)[..., None] + _expected_logs(self.subs))
        shape = (n_tags, n_subs, 2, N_VALENCES)
        choose = (going[:, None, None] * children[:-1]).reshape(*shape, n_tags, n_subs)
        logs = _digamma(self.emit) - _digamma(self._emitted())[self.lexicon.tags]
        return TreeWeights(children[-1].copy(), choose, stop.reshape(shape), np.exp(logs))

    def _emitted(self) -> Floats:
        """Pseudo-counts of all words (T, K)."""
        total = np.full(self.betas.shape, SMOOTHING * self.lexicon.n_words)
        np.add.at(total, self.lexicon.tags, self.emit - SMOOTHING)
        return total


def _digamma(values: Floats) -> Floats:
    from scipy.special import digamma

    return np.asarray(digamma(values))


def _expected_logs(pseudo: Floats) -> Floats:
    """E log p of Dirichlets over the last axis."""
    return _digamma(pseudo) - _digamma(pseudo.sum(axis=-1, keepdims=True))


def _by_context(counts: TreeWeights) -> tuple[Floats, Floats]:
    """How often each context but ROOT goes on (C - 1,), and children by context, tag, subsymbol (C,
    T, K)."""
    n_tags, n_subs = counts.root.shape
    children = np.concatenate([counts.choose.reshape(-1, n_tags, n_subs), counts.root[None]])
    return children[:-1].sum(axis=(1, 2)), children


def log_gem(betas: Floats) -> float:
    """Log density of weights (T, K) of sticks whose last piece is what is left."""
    rest = _rest(betas)
    logs = np.log(STICK) + (STICK - 1) * np.log(rest[:, 1:] / rest[:, :-1]) - np.log(rest[:, :-1])
    return float(logs.sum())


def _rest(betas: Floats) -> Floats:
    """The rest of sticks (T, K) before each break."""
    return np.asarray(np.cumsum(betas[:, ::-1], axis=1)[:, ::-1])


def _broken(logits: Floats) -> Floats:
    """Weights (T, K) of sticks broken at these logits (T, K - 1)."""
    breaks = 1 / (1 + np.exp(-logits))
    one = np.ones((len(logits), 1))
    return np.concatenate([breaks, one], 1) * np.cumprod(np.concatenate([one, 1 - breaks], 1), 1)


def best_betas(counts: Floats, betas: Floats) -> Floats:
    """The betas (T, K) of the highest bound for expected counts (C, T, K), the DPs' posteriors
    being theirs.

    L-BFGS over the breaks' logits, from where they are.
    """
    from scipy.optimize import minimize
    from scipy.special import gammaln

    n_tags, n_subs = betas.shape
    if n_subs == 1:
        return betas
    seen = counts[counts.sum(axis=(1, 2)) > 0]

    def loss(flat: Floats) -> tuple[float, Floats]:
        logits = flat.reshape(n_tags, n_subs - 1)
        new = _broken(logits)
        prior = CONCENTRATION * new
        value = (gammaln(prior + seen) - gammaln(prior)).sum() + log_gem(new)
        # d / d log beta
        gradients = CONCENTRATION * (_digamma(prior + seen) - _digamma(prior)).sum(axis=0) * new
        breaks = 1 / (1 + np.exp(-logits))
        later = np.cumsum(gradients[:, ::-1], axis=1)[:, ::-1][:, 1:]
        by_density = breaks * (np.arange(n_subs - 2, -1, -1) + 1 - STICK)
        return -value, -((1 - breaks) * gradients[:, :-1] - breaks * later + by_density).ravel()

    logits = np.log(betas[:, :-1]) - np.log(_rest(betas)[:, 1:])
    result = minimize(
        loss,
        np.clip(logits.ravel(), -FARTHEST_BREAK, FARTHEST_BREAK),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-FARTHEST_BREAK, FARTHEST_BREAK)] * logits.size,
        options={"maxiter": LBFGS_ITERATIONS},
    )
    return _broken(result.x.reshape(logits.shape))


def projected(
    text: HiddenText, weights: TreeWeights, share: float, start: float
) -> tuple[float, TreeSums]:
    """The least multiplier with which this share of arcs follows rules, and the sums under it.

    The search begins at `start`. If there is none, it is MOST_MULTIPLIER. The logit of the share is
    nearly straight, so secants lead to it.
    """
    most = 1 - share
    # the multiplier lies between: too many arcs break the rules at the first, or it is below 0
    low, high = -1.0, MOST_MULTIPLIER + 1
    multiplier, slope, before = start, -1.0, (0.0, 0.0)
    for step in range(MOST_STEPS):
        sums = text.expected(weights, multiplier)
        broken = text.share_without(sums)
        bound = MOST_MULTIPLIER if broken > most else 0.0
        if abs(broken - most) <= TOLERANCE or multiplier == bound:
            break
        low, high = (multiplier, high) if broken > most else (low, multiplier)
        logit = _logit(broken)
        if step and abs(multiplier - before[0]) > 1e-9:
            slope = min((logit - before[1]) / (multiplier - before[0]), -0.05)
        before = (multiplier, logit)
        secant = min(max(multiplier + (_logit(most) - logit) / slope, 0.0), MOST_MULTIPLIER)
        multiplier = secant if low < secant < high else (max(low, 0.0) + high) / 2
    return multiplier, sums


def _logit(share: float) -> float:
    share = min(max(share, 1e-12), 1 - 1e-12)
    return math.log(share / (1 - share))


def fit(text: HiddenText, model: HdpModel, share: float, iterations: int) -> HdpModel:
    """The model that variational inference finds from a start; `share` 0: no constraint."""
    multiplier, log = 0.0, list[HdpIteration]()
    for _ in progress.over(range(iterations), "iterations of variational inference"):
        multiplier, sums = projected(text, model.weights(), share, multiplier)
        log.append(HdpIteration(sums.log_z, 1 - text.share_without(sums), multiplier))
        model = model.after(sums.counts)
    return replace(model, multiplier=multiplier, log=tuple(log))


class HdpDep(SymbolTeacher[HdpModel]):
    """The teacher: `HdpDep(share=0.8).fit(text, prior)`, with the numbers of `HdpDepSettings`.

    It reads words as well as tags, where the text has them. With a share of 0 there is no
    constraint. The seed is for the noise at the start.

    Raises: ConfigError, from `fit`: a share of the text's arcs must follow a rule, but none can.
    """

    name = "HDP-DEP"
    kind = HdpDepSettings
    settings: HdpDepSettings

    def _learnt(self, text: SymbolText) -> HdpModel:
        forms = list(map(_words, text.sentences))
        lexicon = EmittedWords.of(text.symbols, forms, text.n_symbols)
        hidden = self._hidden(text.symbols, text.potentials, forms, lexicon, text.prior)
        share = self.settings.share
        if share and not hidden.follows.any():
            raise ConfigError(
                "hdp-dep: no rule of the table is about tags of the text, so no share of arcs can follow "
                "rules; set teacher.share=0, or rules=strict"
            )
        start = HdpModel.start(text.n_symbols, self.settings.subsymbols, lexicon, self.seed)
        model = fit(hidden, start, share, self.settings.iterations)
        if model.multiplier == MOST_MULTIPLIER:
            message = "the rules can hold of %.0f %% of the text's arcs only, not of %.0f %%"
            logger.warning(message, 100 * model.log[-1].share, 100 * share)
        return model

    def _hidden(
        self,
        symbols: Sequence[Sequence[int]],
        potentials: Sequence[Floats],
        forms: Sequence[Sequence[str]],
        lexicon: EmittedWords,
        prior: Prior,
    ) -> HiddenText:
        """Sentences, with which of their arcs follow a rule."""
        tags = [*map(coarse, self.symbols), UNKNOWN]
        table = prior.rules.index(tags) >= 0
        packed = Packed.of(symbols, potentials, len(tags))
        emitted = [k for both in zip(symbols, forms) for k in lexicon.numbers(*both)]
        follows = [table[[0, *(k + 1 for k in row)]][:, row].ravel() for row in symbols if row]
        flat = np.concatenate([*follows, np.zeros(0, dtype=np.bool_)])
        return HiddenText(packed, np.array(emitted, dtype=np.int64), flat)

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        given, model = list(sentences), self.model
        symbols, potentials = self.encoded(given)
        forms = list(map(_words, given))
        hidden = self._hidden(symbols, potentials, forms, model.lexicon, self.prior)
        arcs = hidden.expected(model.weights(), model.multiplier).arcs
        return hidden.packed.by_sentence(arcs)


def _words(sentence: Sentence) -> list[str]:
    return [form.lower() for form in sentence.forms]


KIND = TeacherKind(HdpDepSettings, HdpDep)

"""HDP-DEP: a Bayesian dependency model with hidden subsymbols, under a corpus-wide share of rules.

Naseem, Chen, Barzilay & Johnson (2010), "Using universal linguistic knowledge to guide grammar
induction", HDP-DEP. Each tag has hidden subsymbols, in principle infinitely many. A head is a tag
with a subsymbol; given the side and whether it has no child there, one or more, it decides whether
to stop, chooses a child's tag, and then the child's subsymbol; a tag with its subsymbol emits the
word:

    beta(tag) ~ GEM(1)                                subsymbols of a tag, by breaking a stick
    subsymbols of a child's tag ~ DP(10, beta(tag))   for each tag, head, its subsymbol, side, valence
    stop, child's tag, emitted word ~ Dirichlet(1)    likewise; words for each tag and subsymbol

Mean-field variational inference: q(trees and subsymbols) is found by exact inside-outside (`rivals.sums`), q of each
distribution is a Dirichlet, beta a point, found together with the distributions that it is the base of; its density
is that of the weights, not of the stick. The truncation of the stick is `subsymbols`. As in other teachers, the arcs
of q have the potentials of the prior. Posterior regularisation: q is the distribution nearest to the posterior under
which the expected share of arcs that follow a rule of the table is at least `share`. That is q(tree) exp(-multiplier
* arcs without a rule), with one multiplier for the text, which parsing uses too. The rules are those of the table, by
tags, and the root's arc counts like any other.

From the paper: the model, the inference, the share of 80 %. From the authors' released program, whose settings are
facts here: the concentrations 1 and 10, Dirichlet(1), three valences, 50 rounds, sentences of up to 10 words, a
uniform start but for noise in the subsymbols, the multiplier in parsing. Ours: the multiplier is found to a tolerance
instead of by five small gradient steps a round; fewer subsymbols than their 10, and fewer rounds, chosen on dev
trees; trees of the most expected arcs instead of the most probable ones; ROOT chooses one child and emits nothing.

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
from dynet_vdgi.rivals.sums import ONE, TABLES, Cells, Z, add, at, summed
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

FARTHEST = 8.0
"""The highest logit of a stick's break."""


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


class HiddenWeights(NamedTuple):
    """Factors of decisions, which need not sum to 1; also expected counts of what they are the
    factors of."""

    root: Floats  # (T, K)
    # (T, K, 2, 3, T, K): head, its subsymbol, side, valence, child, its; with not stopping
    choose: Floats
    stop: Floats  # (T, K, 2, 3): head, its subsymbol, side, valence
    emit: Floats  # (E, K): a word that has a tag, its subsymbol


ROOTS, ARCS, LINK, OPEN, CLOSED, N_PLANES = 0, 1, 4, 6, 8, 10
"""Planes, whose rows are words with subsymbols: factors of the root, in row 0; of arcs, by valence;
links of a head up to a child, first or later, whose own far side is missing; half-trees by head
and farthest word (the row of its first subsymbol) that may get further children, of one child
and of more; by side, those that have stopped."""


@compiled
def fill(cells: Cells, back: bool, tags: Ints, emitted: Ints, n_tags: int, n_subs: int) -> None:
    """The factors of the root and of the arcs."""
    n, size = len(tags), n_tags * n_subs
    for dependent in range(n):
        for b in range(n_subs):
            row, symbol = dependent * n_subs + b, tags[dependent] * n_subs + b
            emission = TABLES + size + 6 * size**2 + 6 * size + emitted[dependent] * n_subs + b
            own = TABLES + symbol
            add(cells, back, at(cells, ROOTS, 0, row), own, cells.potentials + dependent, emission)
            for other in range(n * n_subs):
                head = other // n_subs
                if head == dependent:
                    continue
                potential = cells.potentials + (head + 1) * n + dependent
                its = tags[head] * n_subs + other % n_subs
                for valence in range(N_VALENCES):
                    context = (its * 2 + int(dependent > head)) * N_VALENCES + valence
                    own = TABLES + size + context * size + symbol
                    add(
                        cells, back, at(cells, ARCS + valence, other, row), own, potential, emission
                    )


@compiled
def half(
    cells: Cells, back: bool, phase: int, tags: Ints, n_tags: int, k: int, head: int, far: int
) -> None:
    """The half-tree of a head that reaches to another word, and the link to that word; k:
    subsymbols."""
    step, side = (1, RIGHT) if far > head else (-1, LEFT)
    inner, outer = CLOSED + 1 - side, CLOSED + side
    stops = TABLES + n_tags * k + 6 * (n_tags * k) ** 2
    for row in range(head * k, head * k + k):
        for later in range(2 if phase == 2 else 0):
            stop = stops + ((tags[head] * k + row % k) * 2 + side) * N_VALENCES + later + 1
            add(
                cells,
                back,
                at(cells, outer, row, far * k),
                at(cells, OPEN + later, row, far * k),
                stop,
                ONE,
            )
        for b in range(k if phase < 2 else 0):
            if phase == 0:
                child = far * k + b
                near = at(cells, inner, child, (head + step) * k)
                add(
                    cells, back, at(cells, LINK, row, child), at(cells, ARCS, row, child), near, ONE
                )
                for m in range(head + step, far, step):
                    near = at(cells, inner, child, (m + step) * k)
                    for later in range(2):
                        arc, opened = (
                            at(cells, ARCS + 1 + later, row, child),
                            at(cells, OPEN + later, row, m * k),
                        )
                        add(cells, back, at(cells, LINK + 1, row, child), opened, near, arc)
            else:
                for m in range(head + step, far + step, step):
                    end = at(cells, outer, m * k + b, far * k)
                    for later in range(2):
                        linked = at(cells, LINK + later, row, m * k + b)
                        add(cells, back, at(cells, OPEN + later, row, far * k), linked, end, ONE)


@compiled
def sum_hidden(cells: Cells, back: bool, tags: Ints, emitted: Ints, n_tags: int, k: int) -> None:
    """The sweep: the factors, phases of spans of each width, and the roots; k: subsymbols."""
    n = len(tags)
    for count in range(3 * n + 1):
        step = 3 * n - count if back else count
        width, phase = step // 3, step % 3
        if step == 0:
            fill(cells, back, tags, emitted, n_tags, k)
        for i in range(n - width if width else 0):
            half(cells, back, phase, tags, n_tags, k, i, i + width)
            half(cells, back, phase, tags, n_tags, k, i + width, i)
        for row in range(n * k):
            word = row // k
            if step == 1:
                for side in range(2):
                    stop = TABLES + n_tags * k + 6 * (n_tags * k) ** 2
                    stop += ((tags[word] * k + row % k) * 2 + side) * N_VALENCES
                    add(cells, back, at(cells, CLOSED + side, row, word * k), stop, ONE, ONE)
            elif width == n:
                left, right = (
                    at(cells, CLOSED + LEFT, row, 0),
                    at(cells, CLOSED + RIGHT, row, (n - 1) * k),
                )
                add(cells, back, Z, at(cells, ROOTS, 0, row), left, right)


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


class Expected(NamedTuple):
    """Expectations over a text's trees under weights."""

    counts: HiddenWeights
    log_z: float  # sum over sentences, in nats
    without: float  # arcs that follow no rule
    arcs: Floats  # how probable each arc is, laid out as the potentials


class HiddenText(NamedTuple):
    """The text to learn from."""

    packed: Packed
    emitted: Ints  # (N,) below E
    follows: Flags  # which arcs follow a rule, laid out as the potentials

    @property
    def n_words(self) -> int:
        return len(self.packed.tags)

    def expected(self, weights: HiddenWeights, multiplier: float) -> Expected:
        """Expectations with a factor exp(-multiplier) for each arc that follows no rule."""
        potentials = np.where(self.follows, 1.0, np.exp(-multiplier)) * self.packed.potentials
        text, words = self.packed._replace(potentials=potentials), (self.packed.tags, self.emitted)
        k = weights.root.shape[1]
        found = summed(
            SUM_HIDDEN,
            weights,
            text,
            words,
            weights.root.shape,
            planes=N_PLANES,
            rows=k,
            work=60 * k**2,
        )
        return Expected(
            HiddenWeights(*found.counts),
            found.log_z,
            float(found.arcs[~self.follows].sum()),
            found.arcs,
        )


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

    def after(self, counts: HiddenWeights) -> HdpModel:
        """The model that maximises the bound for these expected counts of trees."""
        going, subs = _by_context(counts)
        betas = best_betas(subs, self.betas)
        stop = SMOOTHING + np.stack([counts.stop.ravel(), going], axis=-1)
        tags = SMOOTHING + subs.sum(axis=-1)
        emit = SMOOTHING + counts.emit
        return HdpModel(stop, tags, CONCENTRATION * betas + subs, emit, betas, self.lexicon)

    def weights(self) -> HiddenWeights:
        """Factors exp(E log p) of trees under q."""
        n_tags, n_subs = self.betas.shape
        stop, going = np.moveaxis(np.exp(_expected_logs(self.stop)), -1, 0)
        children = np.exp(_expected_logs(self.tags)[..., None] + _expected_logs(self.subs))
        shape = (n_tags, n_subs, 2, N_VALENCES)
        choose = (going[:, None, None] * children[:-1]).reshape(*shape, n_tags, n_subs)
        logs = _digamma(self.emit) - _digamma(self._emitted())[self.lexicon.tags]
        return HiddenWeights(children[-1].copy(), choose, stop.reshape(shape), np.exp(logs))

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


def _by_context(counts: HiddenWeights) -> tuple[Floats, Floats]:
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
    """HiddenWeights (T, K) of sticks broken at these logits (T, K - 1)."""
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
        own = _broken(logits)
        prior = CONCENTRATION * own
        value = (gammaln(prior + seen) - gammaln(prior)).sum() + log_gem(own)
        # d / d log beta
        gradients = CONCENTRATION * (_digamma(prior + seen) - _digamma(prior)).sum(axis=0) * own
        breaks = 1 / (1 + np.exp(-logits))
        later = np.cumsum(gradients[:, ::-1], axis=1)[:, ::-1][:, 1:]
        by_density = breaks * (np.arange(n_subs - 2, -1, -1) + 1 - STICK)
        return -value, -((1 - breaks) * gradients[:, :-1] - breaks * later + by_density).ravel()

    logits = np.log(betas[:, :-1]) - np.log(_rest(betas)[:, 1:])
    bounds = [(-FARTHEST, FARTHEST)] * logits.size
    start = np.clip(logits.ravel(), -FARTHEST, FARTHEST)
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 50}
    )
    return _broken(found.x.reshape(logits.shape))


def projected(
    text: HiddenText, weights: HiddenWeights, share: float, start: float
) -> tuple[float, Expected]:
    """The least multiplier with which this share of arcs follows rules, and the expectations under
    it.

    The search begins at `start`. If there is none, it is MOST_MULTIPLIER. The logit of the share is
    nearly straight, so secants find it.
    """
    most = 1 - share
    # too many arcs break the rules at the first, or it is below 0
    low, high = -1.0, MOST_MULTIPLIER + 1
    at, slope, last = start, -1.0, (0.0, 0.0)
    for step in range(50):
        expected = text.expected(weights, at)
        broken = expected.without / text.n_words
        if abs(broken - most) <= TOLERANCE or at == (MOST_MULTIPLIER if broken > most else 0.0):
            break
        low, high = (at, high) if broken > most else (low, at)
        logit = _logit(broken)
        if step and abs(at - last[0]) > 1e-9:
            slope = min((logit - last[1]) / (at - last[0]), -0.05)
        last = (at, logit)
        found = min(max(at + (_logit(most) - logit) / slope, 0.0), MOST_MULTIPLIER)
        at = found if low < found < high else (max(low, 0.0) + high) / 2
    return at, expected


def _logit(share: float) -> float:
    share = min(max(share, 1e-12), 1 - 1e-12)
    return math.log(share / (1 - share))


def fit(text: HiddenText, model: HdpModel, share: float, iterations: int) -> HdpModel:
    """The model that variational inference finds from a start; `share` 0: no constraint."""
    multiplier, log = 0.0, list[HdpIteration]()
    for _ in progress.over(range(iterations), "iterations of variational inference"):
        multiplier, expected = projected(text, model.weights(), share, multiplier)
        log.append(HdpIteration(expected.log_z, 1 - expected.without / text.n_words, multiplier))
        model = model.after(expected.counts)
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

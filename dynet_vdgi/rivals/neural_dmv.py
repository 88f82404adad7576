"""Neural DMV (Jiang, Han & Tu 2016; with siblings, Yang et al. 2020): sums over trees, then the network.

Exact inside-outside for a dependency model in which a child, and stopping, depend on the child before.

As in `teachers.common`, over projective trees with one root, but a head's decisions on a side depend on the
tag of its last child there: "none" before the first. Cubic in the number of words, in machine code. Words
are 0..n-1 here.

Letters: n words, N words of all sentences, T tags; as the child before, T is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.settings.config import TeacherKind, TeacherSettings
from dynet_vdgi.settings.config_checks import checked, checked_seed
from dynet_vdgi.system import progress
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled, work_of_trees
from dynet_vdgi.teachers import dmv
from dynet_vdgi.teachers.common import LARGEST_SUM, LEFT, RIGHT, SMALLEST_SUM, SymbolTeacher, SymbolText
from dynet_vdgi.teachers.dmv import DmvModel, Packed, checked_log_z


class SiblingTables(NamedTuple):
    """Factors of decisions; also expected counts of what they are the factors of."""

    root: Floats  # (T,)
    choose: Floats  # (T, 2, T + 1, T): head, side, child before, child; with not stopping before it
    stop: Floats  # (T, 2, T + 1): head, side, last child


class SiblingChart(NamedTuple):
    """Sums over parts of trees; for the outside pass their derivatives."""

    link: Floats  # (n, n): of a head, up to its last child so far, whose own far side is not there yet
    between: Floats  # (n, n): the near sides of two words that stand next to each other under a head
    closed: Floats  # (2, n, n): by side, head and farthest word; has stopped


class SiblingRoom(NamedTuple):
    """The kernel's workspace; a sentence of fewer than n words uses the first cells only."""

    arcs: Floats  # (n + 1, n) of head and dependent, factors beside those of the tables
    chart: SiblingChart
    gradients: SiblingChart


def room_for(n: int) -> SiblingRoom:
    """A workspace for sentences of up to n words."""
    charts = (SiblingChart(np.zeros((n, n)), np.zeros((n, n)), np.zeros((2, n, n))) for _ in range(2))
    return SiblingRoom(np.zeros((n + 1, n)), *charts)


@compiled
def fill_between(chart: SiblingChart, i: int, j: int) -> None:
    """Two words next to each other under a head."""
    closed, total = chart.closed, 0.0
    for k in range(i, j):
        total += closed[RIGHT, i, k] * closed[LEFT, j, k + 1]
    chart.between[i, j] = total


@compiled
def inside_side(tags: Ints, tables: SiblingTables, room: SiblingRoom, head: int, far: int) -> None:
    """The half-tree of a head that reaches to another word, and the link to that word."""
    link, between, closed = room.chart
    step = 1 if far > head else -1
    side = RIGHT if far > head else LEFT
    none = tables.choose.shape[3]
    choose = tables.choose[tags[head], side]
    total = choose[none, tags[far]] * closed[1 - side, far, head + step]
    before = head + step
    while before != far:
        gap = between[min(before, far), max(before, far)]
        total += link[head, before] * gap * choose[tags[before], tags[far]]
        before += step
    link[head, far] = total * room.arcs[head + 1, far]
    total, child = 0.0, head
    while child != far:
        child += step
        total += link[head, child] * closed[side, child, far] * tables.stop[tags[head], side, tags[child]]
    closed[side, head, far] = total


@compiled
def sibling_inside(tags: Ints, tables: SiblingTables, room: SiblingRoom) -> float:
    """The sum Z over all trees of the product of their factors. Fills the chart."""
    closed, n, none = room.chart.closed, len(tags), len(tables.root)
    for i in range(n):
        for side in range(2):
            closed[side, i, i] = tables.stop[tags[i], side, none]
    for width in range(1, n):
        for i in range(n - width):
            fill_between(room.chart, i, i + width)
            inside_side(tags, tables, room, i, i + width)
            inside_side(tags, tables, room, i + width, i)
    z = 0.0
    for root in range(n):
        z += tables.root[tags[root]] * room.arcs[0, root] * closed[LEFT, root, 0] * closed[RIGHT, root, n - 1]
    return z


@compiled
def outside_side(
    tags: Ints,
    tables: SiblingTables,
    room: SiblingRoom,
    counts: SiblingTables,
    posterior: Floats,
    head: int,
    far: int,
) -> None:
    """Propagates the derivatives of a half-tree to its parts; counts its decisions."""
    gradients = room.gradients
    link, between, closed = room.chart
    step = 1 if far > head else -1
    side = RIGHT if far > head else LEFT
    none, own = tables.choose.shape[3], tags[head]
    gradient, child = gradients.closed[side, head, far], head
    while child != far:
        child += step
        stop = tables.stop[own, side, tags[child]]
        gradients.link[head, child] += gradient * stop * closed[side, child, far]
        gradients.closed[side, child, far] += gradient * stop * link[head, child]
        counts.stop[own, side, tags[child]] += gradient * stop * link[head, child] * closed[side, child, far]
    gradient = gradients.link[head, far] * room.arcs[head + 1, far]
    first = gradient * tables.choose[own, side, none, tags[far]]
    gradients.closed[1 - side, far, head + step] += first
    counts.choose[own, side, none, tags[far]] += first * closed[1 - side, far, head + step]
    before = head + step
    while before != far:
        i, j = min(before, far), max(before, far)
        some = gradient * tables.choose[own, side, tags[before], tags[far]]
        gradients.link[head, before] += some * between[i, j]
        gradients.between[i, j] += some * link[head, before]
        counts.choose[own, side, tags[before], tags[far]] += some * link[head, before] * between[i, j]
        before += step
    posterior[(head + 1) * len(tags) + far] = gradients.link[head, far] * link[head, far]


@compiled
def sibling_outside(
    tags: Ints, tables: SiblingTables, room: SiblingRoom, z: float, counts: SiblingTables, posterior: Floats
) -> None:
    """Adds the expected counts; writes how probable each arc is, (n + 1) * n."""
    closed, gradients = room.chart.closed, room.gradients
    n, none = len(tags), len(tables.root)
    gradients.link[:n, :n] = 0.0
    gradients.between[:n, :n] = 0.0
    gradients.closed[:, :n, :n] = 0.0
    for root in range(n):
        left, right = closed[LEFT, root, 0], closed[RIGHT, root, n - 1]
        weight = tables.root[tags[root]] * room.arcs[0, root] / z
        gradients.closed[LEFT, root, 0] += weight * right
        gradients.closed[RIGHT, root, n - 1] += weight * left
        posterior[root] = weight * left * right
        counts.root[tags[root]] += weight * left * right
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            outside_side(tags, tables, room, counts, posterior, i, j)
            outside_side(tags, tables, room, counts, posterior, j, i)
            gradient = gradients.between[i, j]
            for k in range(i, j):
                gradients.closed[RIGHT, i, k] += gradient * closed[LEFT, j, k + 1]
                gradients.closed[LEFT, j, k + 1] += gradient * closed[RIGHT, i, k]
    for i in range(n):
        for side in range(2):
            counts.stop[tags[i], side, none] += gradients.closed[side, i, i] * closed[side, i, i]


@compiled
def fill_arcs(tags: Ints, potentials: Floats, tables: SiblingTables, arcs: Floats) -> float:
    """Arcs whose best factor for each word is 1; the log of the scale, in nats.

    potentials (n + 1) * n of head and dependent, no logs; what a word has for itself as head is left out.
    """
    n, none, log_scale = len(tags), len(tables.root), 0.0
    for dependent in range(n):
        tag = tags[dependent]
        best = tables.root[tag] * potentials[dependent]
        for head in range(n):
            if head != dependent:
                side = LEFT if dependent < head else RIGHT
                for before in range(none + 1):
                    factor = tables.choose[tags[head], side, before, tag]
                    best = max(best, factor * potentials[(head + 1) * n + dependent])
        for head in range(n + 1):
            if head != dependent + 1:
                arcs[head, dependent] = potentials[head * n + dependent] / best
        log_scale -= math.log(best)
    return log_scale


@compiled
def sum_sentence(
    tags: Ints,
    potentials: Floats,
    tables: SiblingTables,
    counts: SiblingTables,
    posterior: Floats,
    room: SiblingRoom,
) -> float:
    """log Z of a sentence, in nats; not a number: potentials are too far apart to sum over trees."""
    n, log_scale = len(tags), fill_arcs(tags, potentials, tables, room.arcs)
    step = min(1.0, 200.0 / n)  # cannot jump over the range
    for _ in range(1000 + n):
        z = sibling_inside(tags, tables, room)
        if SMALLEST_SUM < z < LARGEST_SUM:
            sibling_outside(tags, tables, room, z, counts, posterior)
            return math.log(z) - log_scale
        change = step if z <= SMALLEST_SUM else -step  # otherwise it is too large, infinite or not a number
        for head in range(n + 1):
            for dependent in range(n):
                room.arcs[head, dependent] *= math.exp(change)
        log_scale += n * change
    return np.nan


@compiled
def sum_siblings(
    tags: Ints,
    first: Ints,
    potentials: Floats,
    tables: SiblingTables,
    counts: SiblingTables,
    posterior: Floats,
    total: Floats,
    room: SiblingRoom,
) -> None:
    """Adds the expected counts of many sentences, shaped as the tables, and their log Z to total (1,).

    tags (N,) of all sentences, sentence k from first[k] to first[k + 1]; potentials: those of the sentences,
    (n + 1) * n numbers each, one after the other. posterior, shaped as these and all zero, receives how
    probable each arc is. The total is not a number if potentials are too far apart to sum over trees.
    """
    at = 0
    for k in range(len(first) - 1):
        n = first[k + 1] - first[k]
        if n == 0:
            continue
        words, end = tags[first[k] : first[k + 1]], at + (n + 1) * n
        total[0] += sum_sentence(words, potentials[at:end], tables, counts, posterior[at:end], room)
        at = end


SUM_SIBLINGS = Kernel(sum_siblings, "the neural DMV teacher")


# ----------------------------------------------------------------------------------------------------
# Neural DMV: the dependency model with valence, its distributions made by a network; also with siblings.
#
# Jiang, Han & Tu (2016), "Unsupervised neural dependency parsing", and Yang, Jiang, Han & Tu (2020),
# "Second-order unsupervised neural dependency parsing". A head's decisions on a side, to stop or which tag
# the next child has, depend on the head's tag and on whether it has a child there; with `siblings`, also on
# the tag of the child before. A network computes these probabilities from embeddings, so that similar tags
# share what is learnt:
#
# hidden = relu(W_side head + V_side before + b_side) child ~ softmax(children U hidden + c), stop ~
# sigmoid(w hidden + d)
#
# `before` embeds the child before: its tag, or, without siblings, that there is one; ROOT is a head of its
# own. The marginal likelihood of the text under the arc potentials of the prior is maximised directly (Yang
# et al.): its gradient is that of the expected log-probability of trees, of which exact inside-outside
# gives the expected counts (Fisher's identity), and the tables are small, so the network is evaluated once
# a batch.
#
# The start: expected counts of trees, to which the network is fitted. `harmonic`: uniform distributions, an
# arc over k words weighs 1 / k, much as Klein & Manning (2004); `dmv`: those of the DMV of `teachers.dmv`
# under the same prior, instead of HDP-DEP's, with which the published models start on the Wall Street
# Journal. As there, with `potentials = "start"`, the prior counts for these trees only, neither in learning
# nor in parsing.
#
# Differences to the papers: one hidden layer for children and stopping; the published models select by
# trees of a dev set, here the number of epochs is fixed; tags only.
#
# Letters: T tags, B kinds of `before` (T + 1; 2 without siblings; none comes last), D and H sizes of
# layers.


EMBEDDING, HIDDEN = 32, 64
"""D and H."""

BATCH = 64
"""Sentences an update."""

FITTING_STEPS, FITTING_RATE = 300, 0.01
"""Updates of the network on the counts of the start, and their learning rate."""

BETAS, EPSILON = (0.9, 0.999), 1e-8
"""Of Adam."""

Parameters = dict[str, Floats]


class NeuralDmvSettings(TeacherSettings, frozen=True, tag_field="kind", tag="ndmv"):
    """Neural DMV: a DMV whose probabilities a network computes, see `rivals.neural_dmv`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 15
    siblings: Annotated[bool, Meta(description="a child depends on the tag of the child before")] = True
    start: Annotated[Literal["harmonic", "dmv"], Meta(description="whose trees it starts from")] = "harmonic"
    potentials: Annotated[Literal["all", "start"], Meta(description="where the rules count")] = "all"
    epochs: Annotated[int, Meta(ge=0, description="passes over the text")] = 10
    lr: Annotated[float, Meta(gt=0, description="learning rate of Adam")] = 0.001


class Layers(NamedTuple):
    """The values that the network computes."""

    hidden: Floats  # (T + 1, 2, B, H) by head, ROOT last, side, child before
    projected: Floats  # (T + 1, 2, B, D)
    children: Floats  # (T + 1, 2, B, T), probabilities
    stop: Floats  # (T, 2, B), probabilities


def new_parameters(n_tags: int, n_before: int, seed: int) -> Parameters:
    """Random ones."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Floats:
        return rng.normal(0, 1 / np.sqrt(shape[-2]), shape)

    return {
        "heads": rng.normal(0, 1, (n_tags + 1, EMBEDDING)),
        "before": rng.normal(0, 1, (n_before, EMBEDDING)),
        "children": rng.normal(0, 1, (n_tags, EMBEDDING)),
        "of_head": drawn(2, EMBEDDING, HIDDEN),
        "of_before": drawn(2, EMBEDDING, HIDDEN),
        "bias": np.zeros((2, HIDDEN)),
        "out": drawn(HIDDEN, EMBEDDING) / np.sqrt(EMBEDDING),
        "child_bias": np.zeros(n_tags),
        "stop": drawn(HIDDEN, 1)[:, 0],
        "stop_bias": np.zeros(1),
    }


def forward(own: Parameters) -> Layers:
    """All probabilities."""
    by_head = np.einsum("td,sdh->tsh", own["heads"], own["of_head"])
    by_before = np.einsum("bd,sdh->sbh", own["before"], own["of_before"]) + own["bias"][:, None]
    hidden = np.maximum(by_head[:, :, None] + by_before, 0)
    projected = hidden @ own["out"]
    scores = projected @ own["children"].T + own["child_bias"]
    children = np.exp(scores - scores.max(axis=-1, keepdims=True))
    children /= children.sum(axis=-1, keepdims=True)
    stop = 1 / (1 + np.exp(-(hidden[:-1] @ own["stop"] + own["stop_bias"])))
    return Layers(hidden, projected, children, np.clip(stop, 1e-6, 1 - 1e-6))


def backward(own: Parameters, layers: Layers, children: Floats, stop: Floats) -> Parameters:
    """The gradient of -(expected counts * log probability).

    Counts shaped as the probabilities; of `children` also what was chosen by ROOT.
    """
    hidden, projected, chosen, stopped = layers
    d_scores = chosen * children.sum(axis=-1, keepdims=True) - children
    d_projected = d_scores @ own["children"]
    d_stop = stopped * (stop + children[:-1].sum(axis=-1)) - stop
    d_hidden = d_projected @ own["out"].T
    d_hidden[:-1] += d_stop[..., None] * own["stop"]
    d_hidden *= hidden > 0
    by_head, by_before = d_hidden.sum(axis=2), d_hidden.sum(axis=0)
    return {
        "heads": np.einsum("tsh,sdh->td", by_head, own["of_head"]),
        "before": np.einsum("sbh,sdh->bd", by_before, own["of_before"]),
        "children": np.einsum("tsbc,tsbd->cd", d_scores, projected),
        "of_head": np.einsum("td,tsh->sdh", own["heads"], by_head),
        "of_before": np.einsum("bd,sbh->sdh", own["before"], by_before),
        "bias": by_before.sum(axis=1),
        "out": np.einsum("tsbh,tsbd->hd", hidden, d_projected),
        "child_bias": d_scores.sum(axis=(0, 1, 2)),
        "stop": np.einsum("tsb,tsbh->h", d_stop, hidden[:-1]),
        "stop_bias": np.array([d_stop.sum()]),
    }


class Adam:
    """The optimiser of Kingma & Ba (2015); changes parameters in place."""

    def __init__(self, own: Parameters, rate: float) -> None:
        self.own, self.rate, self.n_updates = own, rate, 0
        self.first = {name: np.zeros_like(array) for name, array in own.items()}
        self.second = {name: np.zeros_like(array) for name, array in own.items()}

    def update(self, gradient: Parameters) -> None:
        """One step down."""
        self.n_updates += 1
        one, two = BETAS
        for name, slope in gradient.items():
            first, second = self.first[name], self.second[name]
            first += (1 - one) * (slope - first)
            second += (1 - two) * (slope**2 - second)
            mean, spread = first / (1 - one**self.n_updates), second / (1 - two**self.n_updates)
            self.own[name] -= self.rate * mean / (np.sqrt(spread) + EPSILON)


# ---------------------------------------------------------------------------------------------- tables
def tables_of(layers: Layers) -> SiblingTables:
    """The network's probabilities, for every tag of the child before."""
    children, stop = layers.children, layers.stop
    n_tags, n_before = children.shape[3], children.shape[2]
    kinds = np.arange(n_tags + 1) if n_before > 2 else np.array([0] * n_tags + [1])
    going = (1 - stop)[..., None] * children[:-1]
    return SiblingTables(children[-1, RIGHT, -1].copy(), going[:, :, kinds].copy(), stop[:, :, kinds].copy())


def shaped(counts: SiblingTables, n_before: int) -> tuple[Floats, Floats]:
    """Expected counts as `backward` has them: children with ROOT's, and stopping."""
    root, choose, stop = counts
    n_tags = len(root)
    if n_before == 2:
        choose = np.stack([choose[:, :, :n_tags].sum(axis=2), choose[:, :, n_tags]], axis=2)
        stop = np.stack([stop[:, :, :n_tags].sum(axis=2), stop[:, :, n_tags]], axis=2)
    children = np.zeros((n_tags + 1, 2, n_before, n_tags))
    children[:-1], children[-1, RIGHT, -1] = choose, root
    return children, stop


def expected(text: Packed, tables: SiblingTables) -> tuple[SiblingTables, float, Floats]:
    """Expected counts, log Z in nats, and how probable each arc is, laid out as the potentials."""
    given = SiblingTables(*map(np.ascontiguousarray, tables))
    into, counts = SiblingTables(*map(np.zeros_like, given)), SiblingTables(*map(np.empty_like, tables))
    arcs, total, lengths = np.zeros_like(text.potentials), np.zeros(1), np.diff(text.first)
    room, work = room_for(lengths.max(initial=0)), 20 * work_of_trees(lengths)
    SUM_SIBLINGS(text.tags, text.first, text.potentials, given, into, arcs, total, room, work=work)
    for array, found in zip(counts, into):
        array[...] = found  # laid out as the tables, because the rounding of NumPy's sums depends on it
    return counts, checked_log_z(total, text), arcs


def of_dmv(model: DmvModel) -> SiblingTables:
    """A model that does not look at siblings."""
    n_tags = len(model.root)
    has_children = np.array([1] * n_tags + [0])
    stop = model.stop[:, :, has_children]
    return SiblingTables(model.root, (1 - stop)[..., None] * model.choose[:, :, has_children], stop)


def harmonic(n: int) -> Floats:
    """Log-weights (n + 1, n + 1) of arcs by their length, ROOT's all the same."""
    place = np.arange(n + 1)
    length = np.maximum(abs(place[:, None] - place), 1)
    length[0] = n
    return np.asarray(-np.log(length))


def without(potentials: Sequence[Floats]) -> list[Floats]:
    """Neutral potentials (all factors 1) of the same sentences."""
    return [np.zeros_like(matrix) for matrix in potentials]


# ---------------------------------------------------------------------------------------------- learning
class NeuralEpoch(NamedTuple):
    """Of one pass over the text: the sum of the log-likelihoods just before each update, in nats."""

    log_likelihood: float


@dataclass(frozen=True, eq=False)
class NeuralDmvModel:
    """The learnt model."""

    tables: SiblingTables
    log: tuple[NeuralEpoch, ...]


def started(
    symbols: Sequence[Sequence[int]], potentials: Sequence[Floats], n_symbols: int, start: str
) -> SiblingTables:
    """Expected counts of the trees that the network is fitted to."""
    if start == "dmv":
        model = dmv.fit(symbols, potentials, n_symbols)
        return expected(Packed.of(symbols, potentials, n_symbols), of_dmv(model))[0]
    weighed = [matrix + harmonic(len(row)) for row, matrix in zip(symbols, potentials)]
    return expected(Packed.of(symbols, weighed, n_symbols), of_dmv(DmvModel.uniform(n_symbols)))[0]


def fit(
    symbols: Sequence[Sequence[int]],
    potentials: Sequence[Floats],
    n_symbols: int,
    settings: NeuralDmvSettings,
    seed: int,
) -> NeuralDmvModel:
    """The model that Adam finds; arguments as of `dmv.fit`."""
    n_before = n_symbols + 1 if settings.siblings else 2
    own = new_parameters(n_symbols, n_before, seed)
    wanted = shaped(started(symbols, potentials, n_symbols, settings.start), n_before)
    optimiser = Adam(own, FITTING_RATE)
    for _ in range(FITTING_STEPS):
        gradient = backward(own, forward(own), *wanted)
        optimiser.update({name: slope / len(symbols) for name, slope in gradient.items()})
    if settings.potentials == "start":
        potentials = without(potentials)
    rng, log = np.random.default_rng(seed), list[NeuralEpoch]()
    order = rng.permutation(len(symbols))
    parts = [order[k : k + BATCH] for k in range(0, len(order), BATCH)]
    text = [Packed.of([symbols[i] for i in p], [potentials[i] for i in p], n_symbols) for p in parts]
    optimiser = Adam(own, settings.lr)
    for _ in progress.over(range(settings.epochs), "epochs"):
        total = 0.0
        for k in rng.permutation(len(text)):
            layers = forward(own)
            counts, log_z, _ = expected(text[k], tables_of(layers))
            gradient = backward(own, layers, *shaped(counts, n_before))
            optimiser.update({name: slope / BATCH for name, slope in gradient.items()})
            total += log_z
        log.append(NeuralEpoch(total))
    return NeuralDmvModel(tables_of(forward(own)), tuple(log))


# ---------------------------------------------------------------------------------------------- the teacher
class NeuralDmv(SymbolTeacher[NeuralDmvModel]):
    """The teacher: `NeuralDmv(siblings=True).fit(text, prior)`, with the numbers of `NeuralDmvSettings`.

    The seed is for the network's weights and the order of the sentences.

    Raises:
        ConfigError: a number is unknown or out of its range; settings and numbers exclude each other.
    """

    name = "neural DMV"
    settings: NeuralDmvSettings

    def __init__(
        self, settings: NeuralDmvSettings | None = None, *, seed: int = 1, **numbers: float | str
    ) -> None:
        super().__init__()
        self.settings = checked(NeuralDmvSettings, numbers, settings)
        self.seed = checked_seed(seed, "ndmv")

    def _learnt(self, text: SymbolText) -> NeuralDmvModel:
        return fit(text.symbols, text.potentials, text.n_symbols, self.settings, self.seed)

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        tables = self.model.tables
        symbols, potentials = self.encoded(sentences)
        if self.settings.potentials == "start":
            potentials = without(potentials)
        text = Packed.of(symbols, potentials, len(tables.root))
        return text.by_sentence(expected(text, tables)[2])


KIND = TeacherKind(NeuralDmvSettings, lambda settings, seed: NeuralDmv(settings, seed=seed))

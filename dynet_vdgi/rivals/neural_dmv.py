"""Neural DMV: the dependency model with valence, its distributions made by a network; also with siblings.

Jiang, Han & Tu (2016), "Unsupervised neural dependency parsing", and Yang, Jiang, Han & Tu (2020), "Second-order
unsupervised neural dependency parsing". A head's decisions on a side, to stop or which tag the next child has, depend
on the head's tag and on whether it has a child there; with `siblings`, also on the tag of the child before. A network
computes these probabilities from embeddings, so that similar tags share what is learnt:

    hidden = relu(W_side head + V_side before + b_side)
    child ~ softmax(children U hidden + c), stop ~ sigmoid(w hidden + d)

`before` embeds the child before: its tag, or, without siblings, that there is one; ROOT is a head of its
own. The marginal likelihood of the text under the arc potentials of the prior is maximised directly (Yang
et al.): its gradient is that of the expected log-probability of trees, of which `rivals.sums` gives the
expected counts (Fisher's identity), and the tables are small, so the network is evaluated once a batch.

The start: expected counts of trees, to which the network is fitted. `harmonic`: uniform distributions, an arc
over k words weighs 1 / k, much as Klein & Manning (2004); `dmv`: those of the DMV of `teachers.dmv` under the
same prior, instead of HDP-DEP's, with which the published models start on the Wall Street Journal. As there,
with `potentials = "start"`, the prior counts for these trees only, neither in learning nor in parsing.

Differences to the papers: one hidden layer for children and stopping; the published models select by trees of
a dev set, here the number of epochs is fixed; tags only.

Letters: n words, T tags, B kinds of `before` (T + 1; 2 without siblings; none comes last), D and H sizes of
layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.rivals.sums import ONE, TABLES, Cells, TreeSums, Z, add, at, summed
from dynet_vdgi.settings.config import TeacherKind, TeacherSettings
from dynet_vdgi.system import progress
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.teachers import dmv
from dynet_vdgi.teachers.common import LEFT, RIGHT, SymbolTeacher, SymbolText
from dynet_vdgi.teachers.dmv import DmvModel, Packed


# ---------------------------------------------------------------------------------------------- sums
class SiblingTables(NamedTuple):
    """Factors of decisions; also expected counts of what they are the factors of."""

    root: Floats  # (T,)
    choose: Floats  # (T, 2, T + 1, T): head, side, child before (T: none), child; with not stopping before it
    stop: Floats  # (T, 2, T + 1): head, side, last child


ROOTS, UNLINKED, LINK, BETWEEN, CLOSED, N_PLANES = 0, 1, 2, 3, 4, 6
"""Planes: factors of the root, in row 0; links of a head up to its last child so far, whose own far side is
missing, without and with the arc's potential; the near sides of two words that stand next to each other under
a head; half-trees by head and farthest word, a plane for each side, that have stopped."""


@compiled
def half(cells: Cells, back: bool, phase: int, tags: Ints, n_tags: int, side: int, head: int, far: int) -> None:
    """The half-tree of a head that reaches to another word, and the link to that word."""
    step = 1 if far > head else -1
    row = (tags[head] * 2 + side) * (n_tags + 1)  # of the tables
    stops = TABLES + n_tags + 2 * n_tags**2 * (n_tags + 1) + row
    closed, own, linked = CLOSED + side, at(cells, UNLINKED, head, far), at(cells, LINK, head, far)
    if head == far:
        if phase == 2:
            add(cells, back, at(cells, closed, head, far), stops + n_tags, ONE, ONE)
    elif phase == 0:
        inner = at(cells, CLOSED + 1 - side, far, head + step)
        add(cells, back, own, TABLES + n_tags + (row + n_tags) * n_tags + tags[far], inner, ONE)
        for before in range(head + step, far, step):
            choose = TABLES + n_tags + (row + tags[before]) * n_tags + tags[far]
            gap = at(cells, BETWEEN, min(before, far), max(before, far))
            add(cells, back, own, choose, at(cells, LINK, head, before), gap)
    elif phase == 1:
        add(cells, back, linked, own, cells.potentials + (head + 1) * len(tags) + far, ONE)
    else:
        for child in range(head + step, far + step, step):
            outer, stop = at(cells, closed, child, far), stops + tags[child]
            add(cells, back, at(cells, closed, head, far), at(cells, LINK, head, child), outer, stop)


@compiled
def sum_siblings(cells: Cells, back: bool, tags: Ints, n_tags: int) -> None:
    """The sweep: phases of spans of each width, and the roots."""
    n = len(tags)
    for k in range(3 * n + 1):
        step = 3 * n - k if back else k
        width, phase = step // 3, step % 3
        for i in range(n - width):
            j = i + width
            half(cells, back, phase, tags, n_tags, RIGHT, i, j)
            half(cells, back, phase, tags, n_tags, LEFT, j, i)
            for m in range(i, j if phase == 0 else i):
                left, right = at(cells, CLOSED + RIGHT, i, m), at(cells, CLOSED + LEFT, j, m + 1)
                add(cells, back, at(cells, BETWEEN, i, j), left, right, ONE)
        for i in range(n if step == 0 else 0):
            add(cells, back, at(cells, ROOTS, 0, i), TABLES + tags[i], cells.potentials + i, ONE)
        for i in range(n if width == n else 0):
            left, right = at(cells, CLOSED + LEFT, i, 0), at(cells, CLOSED + RIGHT, i, n - 1)
            add(cells, back, Z, at(cells, ROOTS, 0, i), left, right)


SUM_SIBLINGS = Kernel(sum_siblings, "the neural DMV teacher")


def expected(text: Packed, tables: SiblingTables) -> TreeSums:
    """Expected counts of what the tables are the factors of."""
    return summed(SUM_SIBLINGS, tables, text, (len(tables.root),), planes=N_PLANES)


# ---------------------------------------------------------------------------------------------- network
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


def shaped(counts: Sequence[Floats], n_before: int) -> tuple[Floats, Floats]:
    """Expected counts as `backward` has them: children with ROOT's, and stopping."""
    root, choose, stop = counts
    n_tags = len(root)
    if n_before == 2:
        choose = np.stack([choose[:, :, :n_tags].sum(axis=2), choose[:, :, n_tags]], axis=2)
        stop = np.stack([stop[:, :, :n_tags].sum(axis=2), stop[:, :, n_tags]], axis=2)
    children = np.zeros((n_tags + 1, 2, n_before, n_tags))
    children[:-1], children[-1, RIGHT, -1] = choose, root
    return children, stop


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


# ---------------------------------------------------------------------------------------------- learning
class NeuralEpoch(NamedTuple):
    """Of one pass over the text: the sum of the log-likelihoods just before each update, in nats."""

    log_likelihood: float


@dataclass(frozen=True, eq=False)
class NeuralDmvModel:
    """The learnt model."""

    tables: SiblingTables
    log: tuple[NeuralEpoch, ...]


def started(symbols: Sequence[Sequence[int]], potentials: Sequence[Floats], n_symbols: int, start: str) -> list[Floats]:
    """Expected counts of the trees that the network is fitted to."""
    if start == "dmv":
        model = dmv.fit(symbols, potentials, n_symbols)
    else:
        model = DmvModel.uniform(n_symbols)
        potentials = [matrix + harmonic(len(row)) for row, matrix in zip(symbols, potentials)]
    return expected(Packed.of(symbols, potentials, n_symbols), of_dmv(model)).counts


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
        potentials = [np.zeros_like(matrix) for matrix in potentials]  # all factors 1
    rng, log = np.random.default_rng(seed), list[NeuralEpoch]()
    order = rng.permutation(len(symbols))
    parts = [order[k : k + BATCH] for k in range(0, len(order), BATCH)]
    text = [Packed.of([symbols[i] for i in p], [potentials[i] for i in p], n_symbols) for p in parts]
    optimiser = Adam(own, settings.lr)
    for _ in progress.over(range(settings.epochs), "epochs"):
        total = 0.0
        for k in rng.permutation(len(text)):
            layers = forward(own)
            found = expected(text[k], tables_of(layers))
            gradient = backward(own, layers, *shaped(found.counts, n_before))
            optimiser.update({name: slope / BATCH for name, slope in gradient.items()})
            total += found.log_z
        log.append(NeuralEpoch(total))
    return NeuralDmvModel(tables_of(forward(own)), tuple(log))


# ---------------------------------------------------------------------------------------------- the teacher
class NeuralDmv(SymbolTeacher[NeuralDmvModel]):
    """The teacher: `NeuralDmv(siblings=True).fit(text, prior)`, with the numbers of `NeuralDmvSettings`.

    The seed is for the network's weights and the order of the sentences.
    """

    name = "neural DMV"
    kind = NeuralDmvSettings
    settings: NeuralDmvSettings

    def _learnt(self, text: SymbolText) -> NeuralDmvModel:
        return fit(text.symbols, text.potentials, text.n_symbols, self.settings, self.seed)

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        tables = self.model.tables
        symbols, potentials = self.encoded(sentences)
        if self.settings.potentials == "start":
            potentials = [np.zeros_like(matrix) for matrix in potentials]  # all factors 1
        text = Packed.of(symbols, potentials, len(tables.root))
        return text.by_sentence(expected(text, tables).arcs)


KIND = TeacherKind(NeuralDmvSettings, NeuralDmv)

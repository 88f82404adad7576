"""A CRF over projective trees that learns from gold trees: features of arcs, kernels, learning, files.

Features of arcs, and the kernels that score arcs by the features' weights and learn the weights.

Rows are those of one sentence as `data.atoms` packs them, (n + 4, c), with ROOT at n + 1. Arcs are
[head, dependent], ROOT at 0.

Letters: n words, c columns of atoms, t templates, a atoms, B buckets of weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from dynet_vdgi.data.atoms import (
    AGREEING,
    AGREEMENT,
    EXTRA_ROWS,
    GAPS,
    Atoms,
    C,
    M,
    P,
    PackedRows,
    S,
    T,
    Templates,
    W,
    shift_of,
    table_of,
    without,
)
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.grammar import chart
from dynet_vdgi.settings.config import Section
from dynet_vdgi.settings.presets import checked
from dynet_vdgi.system import arrays as sparse_weights
from dynet_vdgi.system.arrays import Codes, Flags, Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.teachers.common import Base

NEIGHBOURS = ("h-1", "h+1", "d-1", "d+1")

ATOMS = (
    "nothing",
    *(f"{word}.{column}" for word in ("h", "d") for column in "TMCWS"),
    *(f"{word}.{column}" for word in NEIGHBOURS for column in "TCW"),
    "distance",
    "h.P",
    "d.P",
    "d+1.P",
    "gaps",
    "border",
    "between",
    *AGREEING,
)
"""The atoms of an arc from h to d: columns of the two words and their neighbours (ROOT's are empty); the
distance in bins, 0 for ROOT; gaps, in how many places between them there is punctuation, in a sentence that
has any between its words; border, for arcs from ROOT, whether d is the first or the last word; between, the
tag of one of the words between them; whether the values of Case and so on are the same. The side on which d
stands is part of every feature."""

OPTIONAL = frozenset(ATOMS[ATOMS.index("h.P") :])
"""Atoms that may be absent."""

TEMPLATES = (
    "h.T d.T",
    "h.T d.T distance",
    "h.T distance",
    "d.T distance",
    "h.T d.T h+1.T d-1.T",
    "h.T d.T h-1.T d-1.T",
    "h.T d.T h+1.T d+1.T",
    "h.T d.T h-1.T d+1.T",
    "h.T d.T h-1.T",
    "h.T d.T h+1.T",
    "h.T d.T d-1.T",
    "h.T d.T d+1.T",
    "d.T border",
    "h.T d.T gaps",
    "h.T d.T distance gaps",
    "d.T gaps d.P",
    "h.T gaps h.P",
    "h.T d.T d.P d+1.P",
    "h.T d.M",
    "h.M d.T",
    "h.M d.M",
    "h.T d.C",
    "h.C d.C",
    "d.C distance",
    "h.C d.T distance",
    "h.T d.C distance",
    *(f"h.T d.T {name}" for name in AGREEING),
    "h.T d.T d+1.C",
    "h.T d.T d-1.C",
    "h.T d.T h-1.C",
    "h.T d.T h+1.C",
    "h.T d.W",
    "h.W d.T",
    "h.W d.W",
    "h.T d.S",
    "h.S d.T",
    "h.S d.S",
    "d.W distance",
    "h.T d.T d+1.W",
    "d.T d+1.W",
    "h.T d.T d-1.W",
    "h.T d.T h-1.W",
    "h.T d.T h+1.W",
    "h.T d.T between",
)
"""The features of an arc; the last one is there once for every tag between the two words."""

SEED = 1401  # of the hashing
FARTHEST_GAP = 2  # more places with punctuation count as these
LEAST_SLOPE = 1e-3
"""Arcs whose probability is this close to its target are not learnt from."""

_DISTANCE, _H_P = ATOMS.index("distance"), ATOMS.index("h.P")
_BETWEEN, _AGREEING = ATOMS.index("between"), ATOMS.index(AGREEING[0])
_ROLES = np.array([{"h": 0, "d": 1}.get(re.split("[-+.]", atom)[0], 2) for atom in ATOMS])  # 2: of the arc
_OF_SIDE = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)  # added to all features of a side


def templates(*, feats: bool = True, words: bool = True) -> Templates:
    """The table of the templates, with or without features of FEATS and forms."""
    unused = {*(() if feats else ("M", "C", *AGREEING)), *(() if words else ("W", "S"))}
    return table_of(without(TEMPLATES, unused), ATOMS, OPTIONAL, SEED)


# ------------------------------------------------------------------------------------------- features
@compiled
def distance_bin(distance: int) -> int:
    """1, 2, 3, 4 for 4 and 5, 5 for 6 to 9, 6 for more."""
    if distance <= 3:
        return distance
    if distance <= 5:
        return 4
    return 5 if distance <= 9 else 6


class ArcRoom(NamedTuple):
    """The workspace of the kernels, and what the words of a sentence add to the codes of features."""

    atoms: Codes  # (a,)
    buckets: Codes  # of the features of an arc
    of_places: Codes  # (2, 7, t): the template, the side and the distance
    of_words: Codes  # (2, n + 1, t): each word as a head, ROOT at 0, and as a dependent
    exist: Flags  # (2, n + 1, t): if the word has all atoms that the template needs of it
    before: Ints  # (n + 1,): the last word with the same tag before each; 0: none

    @classmethod
    def of(cls, longest: int, table: Templates) -> ArcRoom:
        """A workspace for the arcs of sentences of up to so many words."""
        t = len(table.parts)
        has_distance = (table.parts == _DISTANCE).any(axis=1)
        of_distance = np.arange(7, dtype=np.uint64)[:, None] * table.of_atom[_DISTANCE] * has_distance
        shape = (2, longest + 1, t)
        return cls(
            np.zeros(len(ATOMS), np.uint64),
            np.zeros(t + longest, np.uint64),
            _OF_SIDE[:, None, None] + of_distance + table.of_template,
            np.zeros(shape, np.uint64),
            np.zeros(shape, np.bool_),
            np.zeros(longest + 1, np.int64),
        )


@compiled
def fill_atoms_of_words(rows: Codes, word: int, atoms: Codes) -> None:
    """The atoms of a word as a head, ROOT at 0, and as a dependent."""
    h = word if word else len(rows) - 3
    before, after = (word - 1, word + 1) if word else (0, 0)
    k = 1
    for row in (h, word):
        for column in (T, M, C, W, S):
            atoms[k] = rows[row, column]
            k += 1
    for row in (before, after, before, after):
        for column in (T, C, W):
            atoms[k] = rows[row, column]
            k += 1
    atoms[_H_P], atoms[_H_P + 1], atoms[_H_P + 2] = rows[h, P], rows[word, P], rows[after, P]


@compiled
def add_words(rows: Codes, table: Templates, room: ArcRoom) -> None:
    """What each word adds to the codes of features, computed once for all of its arcs."""
    for word in range(len(rows) - 3):
        fill_atoms_of_words(rows, word, room.atoms)
        for t in range(len(table.parts)):
            for role in range(2):
                room.of_words[role, word, t], room.exist[role, word, t] = 0, True
            for atom in table.parts[t]:
                role = _ROLES[atom]
                if role < 2:
                    room.of_words[role, word, t] += room.atoms[atom] * table.of_atom[atom]
                    if atom >= _H_P and room.atoms[atom] == 0:
                        room.exist[role, word, t] = False
        room.before[word] = 0
        for earlier in range(1, word):
            if rows[earlier, T] == rows[word, T]:
                room.before[word] = earlier


@compiled
def fill_atoms_of_arc(rows: Codes, head: int, dependent: int, atoms: Codes) -> None:
    """The atoms that need both words of an arc, but for `distance` and `between`."""
    n = len(rows) - 4
    gaps = rows[max(head, dependent), GAPS] - (rows[min(head, dependent), GAPS] if head else np.uint64(0))
    atoms[_H_P + 3] = 1 + min(gaps, np.uint64(FARTHEST_GAP)) if rows[n + 1, GAPS] else 0
    atoms[_H_P + 4] = 0 if head else 1 + (dependent == 1) + 2 * (dependent == n)
    for j in range(len(AGREEING)):
        mine, other = rows[head if head else n + 1, AGREEMENT + j], rows[dependent, AGREEMENT + j]
        atoms[_AGREEING + j] = 0 if not mine or not other else 1 if mine == other else 2


@compiled
def find_buckets(rows: Codes, table: Templates, shift: int, head: int, dependent: int, room: ArcRoom) -> int:
    """Fills in the buckets of the arc's features and returns their number, after `add_words`."""
    atoms, buckets, down, last = room.atoms, room.buckets, np.uint64(shift), len(table.parts) - 1
    place = room.of_places[1 if dependent > head else 0, distance_bin(abs(head - dependent)) if head else 0]
    of_head, of_dependent = room.of_words[0, head], room.of_words[1, dependent]
    for t in range(table.certain):
        buckets[t] = (of_head[t] + of_dependent[t] + place[t]) >> down
    found = table.certain
    fill_atoms_of_arc(rows, head, dependent, atoms)
    for t in range(table.certain, last):
        if room.exist[0, head, t] and room.exist[1, dependent, t]:
            exists = True
            code = of_head[t] + of_dependent[t] + place[t]
            for atom in table.parts[t]:
                if atom > _H_P + 2:
                    code += atoms[atom] * table.of_atom[atom]
                    exists = exists and atoms[atom] != 0
            if exists:
                buckets[found] = code >> down
                found += 1
    if head:
        code = of_head[last] + of_dependent[last] + place[last]
        low, high = min(head, dependent), max(head, dependent)
        for word in range(low + 1, high):
            if room.before[word] <= low:
                buckets[found] = (code + rows[word, T] * table.of_atom[_BETWEEN]) >> down
                found += 1
    return found


# ------------------------------------------------------------------------------------------- kernels
@compiled
def score_arcs(packed: PackedRows, table: Templates, weights: Floats, scores: Floats, room: ArcRoom) -> None:
    """Adds to the scores of all arcs of sentences in a row the weights (B,) of their features."""
    shift, at = shift_of(len(weights)), 0
    for s in range(len(packed.first) - 1):
        start, n = packed.first[s] + EXTRA_ROWS * s, packed.first[s + 1] - packed.first[s]
        rows = packed.rows[start : start + n + EXTRA_ROWS]
        add_words(rows, table, room)
        for head in range(n + 1):
            for dependent in range(1, n + 1):
                if head != dependent:
                    total = 0.0
                    for k in range(find_buckets(rows, table, shift, head, dependent, room)):
                        total += weights[room.buckets[k]]
                    scores[at + dependent] += total
            at += n + 1


@compiled
def learn_arcs(
    rows: Codes,
    table: Templates,
    slopes: Floats,
    rate: float,
    ridge: float,
    weights: Floats,
    squares: Floats,
    room: ArcRoom,
) -> None:
    """The kernel of `learn`."""
    n = len(rows) - 4
    shift = shift_of(len(weights))
    add_words(rows, table, room)
    for head in range(n + 1):
        for dependent in range(1, n + 1):
            slope = slopes[head, dependent - 1]
            if head == dependent or abs(slope) < LEAST_SLOPE:
                continue
            for k in range(find_buckets(rows, table, shift, head, dependent, room)):
                bucket = room.buckets[k]
                own = slope - ridge * weights[bucket]
                squares[bucket] += own * own
                weights[bucket] += rate * own / math.sqrt(squares[bucket])


# ------------------------------------------------------------------------------------------- for Python
_SCORE, _LEARN = Kernel(score_arcs, "the arc CRF"), Kernel(learn_arcs, "the arc CRF")


def add_scores(packed: PackedRows, table: Templates, weights: Floats, scores: Sequence[Floats]) -> list[Floats]:
    """The scores (n + 1, n + 1) of all arcs of sentences, and the weights (B,) of their features added."""
    lengths = np.diff(packed.first)
    flat = np.concatenate([*(of_arcs.ravel() for of_arcs in scores), np.zeros(0)])
    room = ArcRoom.of(int(lengths.max(initial=0)), table)
    _SCORE(packed, table, weights, flat, room, work=flat.size)
    parts = np.split(flat, np.cumsum((lengths + 1) ** 2)[:-1])
    return [part.reshape(n + 1, n + 1) for part, n in zip(parts, lengths.tolist())]


def learn(
    rows: Codes, table: Templates, slopes: Floats, rate: float, ridge: float, weights: Floats, squares: Floats
) -> None:
    """One ascending step of AdaGrad, given the gradient (n + 1, n) of the objective by the scores of arcs.

    Changes weights (B,) and squares (B,), the sums of squared gradients so far. The ridge draws weights to 0.
    """
    room = ArcRoom.of(len(rows) - EXTRA_ROWS, table)
    _LEARN(rows, table, slopes, rate, ridge, weights, squares, room, work=slopes.size)


# ----------------------------------------------------------------------------------------------------
# A rule table or universal parser that learns from trees: a conditional random field over projective trees.
#
# p(tree | sentence) = exp(sum over arcs of shares . base(arc) + weights . features(arc)) / Z
#
# Trees have one root. The base is the log-potentials of a table, or of a universal parser and a table. Weights start
# at 0, so without trees the model is the base; a few trees change the weights where they contradict it. The shares of
# a universal parser and of the table beside it are learnt with the weights; the share of a table alone sinks from 1
# to a half with many trees. Features are binary and hashed, see `arc_features`; learning is AdaGrad on the
# log-likelihood, and weights and shares are averaged over the ends of the later epochs.
#
# A tree may be partial: a word whose head is not known has the head FREE, and the likelihood sums over all
# heads it can have given the known ones.
#
# Letters: n words, B buckets, m parts of the base.


FORMAT = 2
"""Version of the arrays; raised when features or hashing change."""

PREFIX = "crf/"

LEAST_SHARE = 0.5
"""Share of a table with many trees."""

SHARE_RATE = 0.05
"""Learning rate of shares that are learnt. On trees of the sixteen texts that were kept aside, with 10 and
100 trees, the CRF's DDA was as high as with the shares of highest probability under a normal prior, and not
below the table's in Urdu and Korean, where a universal parser knows little."""


class CrfSettings(Section, frozen=True):
    """The CRF that starts as the rule table, or as a universal parser and this table, and learns from trees,
    see `teachers.arc_crf`."""

    max_len: Annotated[int, Meta(ge=2, description="longest gold tree that is learnt from, in words")] = 80
    epochs: Annotated[int, Meta(ge=0, le=10_000, description="passes over the trees")] = 6
    rate: Annotated[
        float, Meta(ge=0, description="learning rate of AdaGrad; half of it if teacher.kind is universal")
    ] = 0.1
    ridge: Annotated[float, Meta(ge=0, description="penalty on the weights")] = 1e-3
    log2_buckets: Annotated[int, Meta(ge=1, le=26, description="features are hashed into 2 to this power weights")] = 20
    trust: Annotated[
        float, Meta(gt=0, description="gold heads after which the table has lost half of what it will lose")
    ] = 500.0


class ArcCrf:
    """The random field; `fit` learns its weights (B,).

    Arguments are the settings or single numbers of them; the learning rate of AdaGrad, whose sums of squares
    start at 1, is multiplied by `pace`. `seed`: of the order of the trees. `feats`, `words`: there are
    features of FEATS, and of forms. `fit` sets `shares` (m,), those of the base.

    Raises: ConfigError, a number is unknown or out of its range; settings and numbers exclude each other.
    """

    def __init__(
        self,
        settings: CrfSettings | None = None,
        *,
        seed: int = 1,
        pace: float = 1.0,
        feats: bool = True,
        words: bool = True,
        **numbers: Any,
    ) -> None:
        self.settings = checked(CrfSettings, numbers, settings, "arc CRF")
        self.seed, self.rate, self.feats, self.words = seed, self.settings.rate * pace, feats, words
        self.shares = np.ones(1)
        self.base: Base | None = None
        self.weights: Floats | None = None
        self._table: Templates = templates(feats=feats, words=words)
        self._atoms = Atoms()

    def fit(self, trees: Iterable[Sentence], base: Base) -> ArcCrf:
        """Learns from trees, whose heads may be FREE. Raises: ValueError, a sentence has no heads."""
        n_buckets = 1 << self.settings.log2_buckets
        self.base = base
        self.weights = np.zeros(n_buckets)
        learnt_from = [tree for tree in trees if 1 < len(tree) <= self.settings.max_len]
        self.shares = base.shares.copy()
        if not base.learns_shares:
            self.shares *= share_of_base(n_known_heads(learnt_from), self.settings.trust)
        examples = self._examples(learnt_from)
        if not examples:
            return self
        squares, total = np.ones(n_buckets), np.zeros(n_buckets)
        squares_of_shares, total_of_shares = np.ones(len(self.shares)), np.zeros(len(self.shares))
        rng = np.random.default_rng(self.seed)
        epochs = self.settings.epochs
        first_averaged = epochs // 2
        for epoch in range(epochs):
            for k in rng.permutation(len(examples)):
                gradients = self._learn(examples[k], squares)
                if base.learns_shares:
                    self._learn_shares(examples[k], gradients, squares_of_shares)
            if epoch >= first_averaged:
                total += self.weights
                total_of_shares += self.shares
        if epochs:
            average = total / (epochs - first_averaged)
            self.weights = average.astype(np.float32).astype(np.float64)  # as a model file has them
            self.shares = total_of_shares / (epochs - first_averaged)
        return self

    def scores(self, sentence: Sentence) -> Floats:
        """Log-potentials (n + 1, n + 1) of arcs, those of the base included."""
        return self.all_scores([sentence])[0]

    def all_scores(self, sentences: Sequence[Sentence]) -> list[Floats]:
        """The `scores` of each sentence; many at once are faster than one by one."""
        base, weights = self._fitted()
        based = list(map(self._based, base.all_parts(sentences)))
        return add_scores(self._atoms.pack(sentences), self._table, weights, based)

    def scores_after(self, tree: Sentence, rate: float) -> Floats:
        """The `scores` after one step of learning from this partial tree alone, which is not kept."""
        _, weights = self._fitted()
        (example,), learnt = self._examples([tree]), weights.copy()
        gradients = gradients_of(self._scores(example, learnt), example.heads)
        learn(example.packed.rows, self._table, gradients, rate, 0.0, learnt, np.ones_like(learnt))
        return self._scores(example, learnt)

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """Probabilities (n + 1, n) of the arcs of each sentence, by head, ROOT first, and dependent."""
        return chart.marginals_of_all(self.all_scores(list(sentences)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back; the base is not part of them."""
        _, weights = self._fitted()
        arrays = sparse_weights.to_arrays(PREFIX, FORMAT, weights, (self.feats, self.words))
        return {**arrays, PREFIX + "share": self.shares}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], base: Base) -> ArcCrf:
        """The CRF with these `arrays` over this base; other arrays are ignored.

        Raises: ModelError, an array is missing, or they are not those of a CRF of this version.
        """
        weights, (feats, words) = sparse_weights.from_arrays(arrays, PREFIX, "arc CRF", FORMAT, n_options=2)
        crf = cls(log2_buckets=len(weights).bit_length() - 1, feats=bool(feats), words=bool(words))
        crf.base, crf.weights = base, weights.astype(np.float64)
        shares = arrays.get(PREFIX + "share")
        if shares is None or shares.shape != base.shares.shape or not np.isfinite(shares).all():
            wanted = f"{len(base.shares)} finite number{'s' * (len(base.shares) > 1)}"
            raise ModelError(f"no arc CRF: {PREFIX}share is not {wanted}")
        crf.shares = shares.astype(np.float64)
        return crf

    def _examples(self, trees: Sequence[Sentence]) -> list[_Example]:
        base, _ = self._fitted()
        examples = []
        for tree, parts in zip(trees, base.all_parts(trees)):
            if tree.heads is None:
                raise ValueError("a sentence to learn from has no heads")
            examples.append(_Example(self._atoms.pack([tree]), parts, tree.heads))
        return examples

    def _based(self, parts: Floats) -> Floats:
        """The base's part of the scores, in a new array, given its parts (m, n + 1, n + 1)."""
        return np.asarray(self.shares @ parts.reshape(len(parts), -1)).reshape(parts.shape[1:])

    def _scores(self, example: _Example, weights: Floats) -> Floats:
        return add_scores(example.packed, self._table, weights, [self._based(example.parts)])[0]

    def _learn(self, example: _Example, squares: Floats) -> Floats:
        """Learns from a tree; returns the gradients (n + 1, n)."""
        _, weights = self._fitted()
        gradients = gradients_of(self._scores(example, weights), example.heads)
        learn(example.packed.rows, self._table, gradients, self.rate, self.settings.ridge, weights, squares)
        return gradients

    def _learn_shares(self, example: _Example, gradients: Floats, squares: Floats) -> None:
        """A step of AdaGrad for the shares, squares (m,); a share that begins at 0 stays there."""
        base, _ = self._fitted()
        by_share = np.tensordot(example.parts[:, :, 1:], gradients, 2)
        squares += by_share**2
        learnt = self.shares + SHARE_RATE * by_share / np.sqrt(squares)
        self.shares = np.where(base.shares > 0, np.maximum(learnt, 0.0), 0.0)

    def _fitted(self) -> tuple[Base, Floats]:
        if self.base is None or self.weights is None:
            raise ValueError("the arc CRF has no weights yet: call fit first")
        return self.base, self.weights


@dataclass(frozen=True, eq=False)
class _Example:
    """A tree for learning: rows of atoms, the base's parts (m, n + 1, n + 1), heads."""

    packed: PackedRows
    parts: Floats
    heads: tuple[int, ...]


def gradients_of(scores: Floats, heads: Sequence[int]) -> Floats:
    """Gradient (n + 1, n) of a (partial) tree's log-likelihood by the scores (n + 1, n + 1) of arcs.

    Heads that no projective tree can contain, for instance crossing arcs, are taken arc by arc: words with a
    head are learnt from, FREE ones are not.
    """
    expected = chart.marginals(scores)
    words = np.array([k for k, head in enumerate(heads) if head != FREE], np.int64)
    gradients = np.zeros_like(expected)
    if 0 < len(words) < len(heads):
        with suppress(ValueError):  # no projective tree contains these arcs
            gradients = chart.marginals(chart.constrained(scores, heads)) - expected
    gradients[:, words] = -expected[:, words]
    gradients[[heads[k] for k in words], words] += 1.0
    return gradients


def share_of_base(n_known: int, trust: float) -> float:
    """The share of the base after learning from `n_known` heads: from 1 down to LEAST_SHARE."""
    return LEAST_SHARE + (1 - LEAST_SHARE) * trust / (trust + n_known)


def share_of_unsupervised(n_known: int, trust: float = 20.0) -> float:
    """The weight of an unsupervised teacher's marginals beside those of a CRF learnt from `n_known` heads.

    1 without trees, 1/2 after `trust` words.
    """
    return trust / (trust + n_known)


def mixed(crf: Sequence[Floats], unsupervised: Sequence[Floats], share: float) -> list[Floats]:
    """Marginals (n + 1, n) of sentences, `share` of them the unsupervised teacher's."""
    return [(1 - share) * ours + share * theirs for ours, theirs in zip(crf, unsupervised)]


def n_known_heads(trees: Iterable[Sentence]) -> int:
    """The number of words that have a head."""
    return sum(head != FREE for tree in trees for head in tree.heads or ())

"""A rule table or universal parser that learns from trees: a conditional random field over projective trees.

    p(tree | sentence) = exp(sum over arcs of share * base(arc) + weights . features(arc)) / Z

Trees have one root. The base is the log-potentials of a table or a universal parser. Weights start at 0 and
the share at 1, so without trees the model is the base; a few trees change the weights where they contradict
it, and with many trees the share sinks to a half. Features are binary and hashed, see `arc_features`;
learning is AdaGrad on the log-likelihood, and the weights are averaged over the ends of the later epochs.

A tree may be partial: a word whose head is not known has the head FREE, and the likelihood sums over all
heads it can have given the known ones.

Letters: n words, B buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.compiled import sparse_weights
from dynet_vdgi.data.atoms import Atoms
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.data.templates import Templates
from dynet_vdgi.errors import ConfigError, ModelError
from dynet_vdgi.grammar import chart
from dynet_vdgi.teachers import arc_features
from dynet_vdgi.teachers.common import Base

Floats = NDArray[np.float64]
Codes = NDArray[np.uint64]


FORMAT = 2
"""Version of the arrays; raised when features or hashing change."""

PREFIX = "crf/"

LEAST_SHARE = 0.5
"""Share of the base with many trees, or with starting weights from other treebanks."""


@dataclass(eq=False)
class ArcCrf:
    """The random field; `fit` learns its weights (B,).

    Raises:
        ConfigError: a number is out of its range.
    """

    epochs: int = 6
    rate: float = 0.1  # of AdaGrad, whose sums of squares start at 1
    ridge: float = 1e-3  # draws weights to 0
    longest: int = 80  # words; longer trees are left out
    log2_buckets: int = 20
    feats: bool = True  # features of FEATS, and
    words: bool = True  # of forms
    seed: int = 1  # of the order of the trees
    trust: float = 500.0  # known heads after which the share has fallen half of its way
    share: float = 1.0  # of the base; set by fit
    base: Base | None = field(default=None, repr=False)
    weights: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("epochs", 0), ("rate", 0), ("ridge", 0), ("longest", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"arc CRF: {name} must be {least} or more, not {getattr(self, name)}")
        if not 1 <= self.log2_buckets <= sparse_weights.MOST_LOG2_BUCKETS:
            limits = f"from 1 to {sparse_weights.MOST_LOG2_BUCKETS}"
            raise ConfigError(f"arc CRF: log2_buckets must be {limits}, not {self.log2_buckets}")
        self._table: Templates = arc_features.templates(feats=self.feats, words=self.words)
        self._atoms = Atoms()

    def fit(self, trees: Iterable[Sentence], base: Base, start: Floats | None = None) -> ArcCrf:
        """Learns from trees, whose heads may be FREE, beginning with these weights (B,), or 0.

        Raises:
            ValueError: a sentence has no heads, or `start` has another shape.
        """
        n_buckets = 1 << self.log2_buckets
        if start is not None and start.shape != (n_buckets,):
            raise ValueError(f"weights to start with are {start.shape}, not {(n_buckets,)}")
        self.base = base
        self.weights = np.zeros(n_buckets) if start is None else np.array(start, np.float64)
        learnt_from = [tree for tree in trees if 1 < len(tree) <= self.longest]
        self.share = share_of_base(n_known_heads(learnt_from), self.trust) if start is None else LEAST_SHARE
        examples = self._examples(learnt_from)
        if not examples:
            return self
        squares, total = np.ones(n_buckets), np.zeros(n_buckets)
        rng = np.random.default_rng(self.seed)
        first_averaged = self.epochs // 2
        for epoch in range(self.epochs):
            for k in rng.permutation(len(examples)):
                self._learn(examples[k], squares)
            if epoch >= first_averaged:
                total += self.weights
        if self.epochs:
            average = total / (self.epochs - first_averaged)
            self.weights = average.astype(np.float32).astype(np.float64)  # as a model file has them
        return self

    def scores(self, sentence: Sentence) -> Floats:
        """Log-potentials (n + 1, n + 1) of arcs, those of the base included."""
        return next(self._scores_of([sentence]))

    def _scores_of(self, sentences: Sequence[Sentence]) -> Iterator[Floats]:
        base, weights = self._fitted()
        packed = self._atoms.pack(sentences)
        for k, potentials in enumerate(base.all_potentials(sentences)):
            scores = self._based(potentials)
            arc_features.add_scores(packed.of(k), self._table, weights, scores)
            yield scores

    def scores_after(self, tree: Sentence, rate: float) -> Floats:
        """The `scores` after one step of learning from this partial tree alone, which is not kept."""
        _, weights = self._fitted()
        (example,), learnt = self._examples([tree]), weights.copy()
        scores = example.base.copy()
        arc_features.add_scores(example.rows, self._table, learnt, scores)
        gradients = gradients_of(scores, example.heads)
        arc_features.learn(example.rows, self._table, gradients, rate, 0.0, learnt, np.ones_like(learnt))
        after: Floats = example.base.copy()
        arc_features.add_scores(example.rows, self._table, learnt, after)
        return after

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """Probabilities (n + 1, n) of the arcs of each sentence, by head, ROOT first, and dependent."""
        return [chart.marginals(scores) for scores in self._scores_of(list(sentences))]

    def predict(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences with the trees that have the most arcs expected to be right."""
        text = list(sentences)
        trees = map(chart.expected_best, self.marginals(text))
        return [replace(sentence, heads=heads) for sentence, heads in zip(text, trees)]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back; the base is not part of them."""
        _, weights = self._fitted()
        arrays = sparse_weights.to_arrays(PREFIX, FORMAT, weights, (self.feats, self.words))
        return {**arrays, PREFIX + "share": np.array([self.share])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], base: Base) -> ArcCrf:
        """The CRF with these `arrays` over this base; other arrays are ignored.

        Raises:
            ModelError: an array is missing, or they are not those of a CRF of this version.
        """
        weights, (feats, words) = sparse_weights.from_arrays(arrays, PREFIX, "arc CRF", FORMAT, n_options=2)
        crf = cls(log2_buckets=len(weights).bit_length() - 1, feats=bool(feats), words=bool(words))
        crf.base, crf.weights = base, weights.astype(np.float64)
        share = arrays.get(PREFIX + "share")
        if share is None or share.shape != (1,) or not np.isfinite(share).all():
            raise ModelError(f"no arc CRF: {PREFIX}share is not one finite number")
        crf.share = float(share[0])
        return crf

    def _examples(self, trees: Sequence[Sentence]) -> list[_Example]:
        base, _ = self._fitted()
        examples = []
        for tree, potentials in zip(trees, base.all_potentials(trees)):
            if tree.heads is None:
                raise ValueError("a sentence to learn from has no heads")
            examples.append(_Example(self._atoms.pack([tree]).rows, self._based(potentials), tree.heads))
        return examples

    def _based(self, potentials: Floats) -> Floats:
        """The base's part of the scores, in an array that kernels can change."""
        return np.ascontiguousarray(self.share * potentials, np.float64)

    def _learn(self, example: _Example, squares: Floats) -> None:
        _, weights = self._fitted()
        scores = example.base.copy()
        arc_features.add_scores(example.rows, self._table, weights, scores)
        gradients = gradients_of(scores, example.heads)
        arc_features.learn(example.rows, self._table, gradients, self.rate, self.ridge, weights, squares)

    def _fitted(self) -> tuple[Base, Floats]:
        if self.base is None or self.weights is None:
            raise ValueError("the arc CRF has no weights yet: call fit first")
        return self.base, self.weights


@dataclass(frozen=True, eq=False)
class _Example:
    """A tree for learning: rows of atoms, the base's potentials (n + 1, n + 1), heads."""

    rows: Codes
    base: Floats
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

    1 without trees, 1/2 after `trust` words; the study halves it for a CRF started from other languages'
    treebanks.
    """
    return trust / (trust + n_known)


def mixed(crf: Sequence[Floats], unsupervised: Sequence[Floats], share: float) -> list[Floats]:
    """Marginals (n + 1, n) of sentences, `share` of them the unsupervised teacher's."""
    return [(1 - share) * ours + share * theirs for ours, theirs in zip(crf, unsupervised)]


def n_known_heads(trees: Iterable[Sentence]) -> int:
    """The number of words that have a head."""
    return sum(head != FREE for tree in trees for head in tree.heads or ())

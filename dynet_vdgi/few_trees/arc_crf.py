"""A rule table or universal parser that learns from trees: a conditional random field over
projective trees.

p(tree | sentence) = exp(sum over arcs of shares . base(arc) + weights . features(arc)) / Z

Trees have one root. The base is the log-potentials of a table, or of a universal parser and a
table. Weights start at 0, so without trees the model is the base; a few trees change the weights
where they contradict it. The shares of a universal parser and of the table beside it are learnt
with the weights; the share of a table alone sinks from 1 to a half with many trees. Features are
binary and hashed, see `arc_features`; learning is AdaGrad on the log-likelihood, and weights and
shares are averaged over the ends of the later epochs.

A tree may be partial: a word whose head is not known has the head FREE, and the likelihood sums
over all heads it can have given the known ones.

Letters: n words, B buckets, m parts of the base.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import ModelError
from dynet_vdgi.features.atoms import Atoms, PackedRows
from dynet_vdgi.features.templates import Templates
from dynet_vdgi.few_trees.arc_features import add_scores, learn, templates
from dynet_vdgi.inference import eisner
from dynet_vdgi.settings.settings import Section
from dynet_vdgi.settings.values import checked
from dynet_vdgi.system import sparse_weights
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.unsupervised.teacher import Base

FORMAT = 2
"""Version of the arrays; raised when features or hashing change."""

PREFIX = "crf/"

LEAST_SHARE = 0.5
"""Share of a table with many trees."""

SHARE_RATE = 0.05
"""Learning rate of shares that are learnt. On trees of the sixteen texts that were kept aside, with
10 and 100 trees, the CRF's DDA was as high as with the shares of highest probability under a
normal prior, and not below the table's in Urdu and Korean, where a universal parser knows
little."""


class CrfSettings(Section, frozen=True):
    """The CRF that starts as the rule table, or as a universal parser and this table, and learns
    from trees, see `few_trees.arc_features`."""

    max_len: Annotated[
        int, Meta(ge=2, description="longest gold tree that is learnt from, in words")
    ] = 80
    epochs: Annotated[int, Meta(ge=0, le=10_000, description="passes over the trees")] = 6
    rate: Annotated[
        float,
        Meta(ge=0, description="learning rate of AdaGrad; half of it if teacher.kind is universal"),
    ] = 0.1
    ridge: Annotated[float, Meta(ge=0, description="penalty on the weights")] = 1e-3
    log2_buckets: Annotated[
        int, Meta(ge=1, le=26, description="features are hashed into 2 to this power weights")
    ] = 20
    trust: Annotated[
        float,
        Meta(
            gt=0, description="gold heads after which the table has lost half of what it will lose"
        ),
    ] = 500.0


class ArcCrf:
    """The random field; `fit` learns its weights (B,).

    Arguments are the settings or single numbers of them; the learning rate of AdaGrad, whose sums
    of squares start at 1, is multiplied by `pace`. `seed`: of the order of the trees. `feats`,
    `words`: there are features of FEATS, and of forms. `fit` sets `shares` (m,), those of the base.

    Raises: ConfigError, a number is unknown or out of its range; settings and numbers exclude each
    other.
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
        """Learns from trees, whose heads may be FREE.

        Raises: ValueError, a sentence has no heads.
        """
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
        base, weights = self._base_and_weights()
        based = list(map(self._base_scores, base.all_parts(sentences)))
        return add_scores(self._atoms.pack(sentences), self._table, weights, based)

    def scores_after(self, tree: Sentence, rate: float) -> Floats:
        """The `scores` after a step of learning from this partial tree alone.

        The CRF stays as it is.
        """
        _, weights = self._base_and_weights()
        (example,), learnt = self._examples([tree]), weights.copy()
        gradients = gradients_of(self._scores(example, learnt), example.heads)
        learn(example.packed.rows, self._table, gradients, rate, 0.0, learnt, np.ones_like(learnt))
        return self._scores(example, learnt)

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """Probabilities (n + 1, n) of the arcs of each sentence, by head, ROOT first, and
        dependent."""
        return eisner.marginals_of_all(self.all_scores(list(sentences)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back; the base is not part of them."""
        _, weights = self._base_and_weights()
        arrays = sparse_weights.to_arrays(PREFIX, FORMAT, weights, (self.feats, self.words))
        return {**arrays, PREFIX + "share": self.shares}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], base: Base) -> ArcCrf:
        """The CRF with these `arrays` over this base; other arrays are ignored.

        Raises: ModelError, an array is missing, or they are not those of a CRF of this version.
        """
        weights, (feats, words) = sparse_weights.from_arrays(
            arrays, PREFIX, "arc CRF", FORMAT, n_options=2
        )
        crf = cls(log2_buckets=len(weights).bit_length() - 1, feats=bool(feats), words=bool(words))
        crf.base, crf.weights = base, weights.astype(np.float64)
        shares = arrays.get(PREFIX + "share")
        if shares is None or shares.shape != base.shares.shape or not np.isfinite(shares).all():
            wanted = f"{len(base.shares)} finite number{'s' * (len(base.shares) > 1)}"
            raise ModelError(f"no arc CRF: {PREFIX}share is not {wanted}")
        crf.shares = shares.astype(np.float64)
        return crf

    def _examples(self, trees: Sequence[Sentence]) -> list[_Example]:
        base, _ = self._base_and_weights()
        examples = []
        for tree, parts in zip(trees, base.all_parts(trees)):
            if tree.heads is None:
                raise ValueError("a sentence to learn from has no heads")
            examples.append(_Example(self._atoms.pack([tree]), parts, tree.heads))
        return examples

    def _base_scores(self, parts: Floats) -> Floats:
        """The base's part of the scores, in a new array, given its parts (m, n + 1, n + 1)."""
        return np.asarray(self.shares @ parts.reshape(len(parts), -1)).reshape(parts.shape[1:])

    def _scores(self, example: _Example, weights: Floats) -> Floats:
        return add_scores(example.packed, self._table, weights, [self._base_scores(example.parts)])[
            0
        ]

    def _learn(self, example: _Example, squares: Floats) -> Floats:
        """Learns from a tree; returns the gradients (n + 1, n)."""
        _, weights = self._base_and_weights()
        gradients = gradients_of(self._scores(example, weights), example.heads)
        learn(
            example.packed.rows,
            self._table,
            gradients,
            self.rate,
            self.settings.ridge,
            weights,
            squares,
        )
        return gradients

    def _learn_shares(self, example: _Example, gradients: Floats, squares: Floats) -> None:
        """A step of AdaGrad for the shares, squares (m,); a share that begins at 0 stays there."""
        base, _ = self._base_and_weights()
        by_share = np.tensordot(example.parts[:, :, 1:], gradients, 2)
        squares += by_share**2
        learnt = self.shares + SHARE_RATE * by_share / np.sqrt(squares)
        self.shares = np.where(base.shares > 0, np.maximum(learnt, 0.0), 0.0)

    def _base_and_weights(self) -> tuple[Base, Floats]:
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
    """Gradient (n + 1, n) of a (partial) tree's log-likelihood by the scores (n + 1, n + 1) of
    arcs.

    Heads that no projective tree can contain, for instance crossing arcs, are taken arc by arc:
    words with a head are learnt from, FREE ones are not.
    """
    expected = eisner.marginals(scores)
    words = np.array([k for k, head in enumerate(heads) if head != FREE], np.int64)
    gradients = np.zeros_like(expected)
    if 0 < len(words) < len(heads):
        with suppress(ValueError):  # no projective tree contains these arcs
            gradients = eisner.marginals(eisner.constrained_scores(scores, heads)) - expected
    gradients[:, words] = -expected[:, words]
    gradients[[heads[k] for k in words], words] += 1.0
    return gradients


def share_of_base(n_known: int, trust: float) -> float:
    """The share of the base after learning from `n_known` heads: from 1 down to LEAST_SHARE."""
    return LEAST_SHARE + (1 - LEAST_SHARE) * trust / (trust + n_known)


def share_of_unsupervised(n_known: int, trust: float = 20.0) -> float:
    """The weight of an unsupervised teacher's marginals beside those of a CRF learnt from `n_known`
    heads.

    1 without trees, 1/2 after `trust` words.
    """
    return trust / (trust + n_known)


def mixture(crf: Sequence[Floats], unsupervised: Sequence[Floats], share: float) -> list[Floats]:
    """Marginals (n + 1, n) of sentences, `share` of them the unsupervised teacher's."""
    return [(1 - share) * ours + share * theirs for ours, theirs in zip(crf, unsupervised)]


def n_known_heads(trees: Iterable[Sentence]) -> int:
    """The number of words that have a head."""
    return sum(head != FREE for tree in trees for head in tree.heads or ())

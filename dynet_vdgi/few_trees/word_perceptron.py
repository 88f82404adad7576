"""A parser in linear time that sees tags, FEATS, words and punctuation: its features, learning and
files.

The arc-hybrid system of `arc_hybrid` with an averaged perceptron and a dynamic oracle. Several
perceptrons that saw the sentences in different orders are averaged into one. In templates, words
are named as in `state_features.ATOMS`, with a column of `features.atoms`: "s0.W" is the form of the
word on top of the stack.

Letters: n words, N words of all sentences, B buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from dynet_vdgi.conllu.corpus import in_memory
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.features.atoms import AGREEING, COLUMNS, Atoms, PackedRows
from dynet_vdgi.features.templates import table_of, without
from dynet_vdgi.few_trees import perceptron_kernels, state_features
from dynet_vdgi.few_trees.perceptron_kernels import AveragedWeights, WordRoom
from dynet_vdgi.few_trees.state_features import N_PLACES, NUMBERS, StateFeatures
from dynet_vdgi.inference.arc_hybrid import N_ACTIONS
from dynet_vdgi.settings.settings import Section
from dynet_vdgi.settings.values import checked, checked_seed
from dynet_vdgi.system import sparse_weights
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.jit import Kernel

PLACES = state_features.ATOMS[:N_PLACES]

# of s0 with that word
_AGREEMENT = tuple(f"{name}_{word}" for word in ("b0", "s1") for name in AGREEING)

_OPTIONAL = frozenset(("gaps0", "gaps1", "b0.P", "b1.P", *_AGREEMENT))

_PUNCTUATION = (
    "s0.T b0.T gaps0",
    "s0.T s1.T b0.T gaps0 gaps1",
    "s0.T s1.T gaps1",
    "s0.T b0.T b0.P",
    "s0.T s1.T b0.P",
    "s0.T b0.T b0.P b1.P",
    "s0.T b0.T b1.T b0.P",
    "s0.T gap gaps0 b0.P",
)

_FEATS = (
    "s0.M",
    "b0.M",
    "s0.M b0.T",
    "s0.T b0.M",
    "s0.M b0.M",
    "s0.M s1.T",
    "s0.T s1.M",
    "s0.M s1.M",
    "s0.C b0.C",
    "s0.C s1.C",
    "s0.C s1.C b0.C",
    "s0.C s1.T b0.T",
    "s0.T s1.C b0.T",
    "s0.T s1.T b0.C",
    "s0.C b0.C b1.C",
    "s0.C gap b0.T",
    "s0.C s0_left.T s0_right.T b0.T",
    "s0.C b0.T b1.T b2.T",
    *(f"s0.T {name.rpartition('_')[2]}.T {name}" for name in _AGREEMENT),
    "s0.T b0.T s0_left.C",
    "s0.T b0.T s0_right.C",
    "s0.T s1.T s0_right.C",
    "s0.T s1.T s1_right.C",
    "s0.T s1.T s1_left.C",
    "s0.T b0.T b0_left.C",
    "s0.T b0.T s2.C",
    "s0.C s1.C s2.C b0.T",
    "s0.T b0.C s0_right.T b1.T",
)

_WORDS = (
    "s0.W",
    "b0.W",
    "s0.W b0.T",
    "s0.T b0.W",
    "s0.W s1.T",
    "s0.T s1.W",
    "s0.W b0.W",
    "s0.W s1.W",
    "s0.S b0.T",
    "s0.T b0.S",
    "s0.S b0.S",
    "b1.W b0.T",
    "s0.T b0.T s0_left.W",
    "s0.T b0.T s0_right.W",
    "s0.T s1.T s0_right.W",
    "s0.T s1.T s1_right.W",
    "s0.T b0.T b0_left.W",
    "s0.T b0.T before.W",
    "s0.T b0.T b1.W",
)

SEED = 1402  # of the hashing

FORMAT = 2
"""Version of the arrays; raised when features or hashing change."""

PREFIX = "words/"

WORK = 4
"""The work of parsing or learning a word, in the units of `Kernel`."""

_PARSE = Kernel(perceptron_kernels.parse_words, "the linear parser")

_LEARN = Kernel(perceptron_kernels.learn_words, "the linear parser")

GOLD_AMOUNT = 2.0
"""How much a gold tree changes weights by, where a silver one changes them by 1."""


def _of_tags(template: str) -> str:
    return " ".join(f"{name}.T" if name in PLACES else name for name in template.split())


_TAGS = tuple([_of_tags(template) for template in state_features.TEMPLATES])

TEMPLATES = (*_TAGS, *_PUNCTUATION, *_FEATS, *_WORDS)
"""A change here makes model files unreadable: `word_perceptron.FORMAT`."""


@lru_cache(maxsize=4)
def features(*, feats: bool = True, words: bool = True) -> StateFeatures:
    """The templates for the kernels, with or without features of FEATS and forms."""
    unused = {*(() if feats else ("M", "C", *_AGREEMENT)), *(() if words else ("W", "S"))}
    chosen = without(TEMPLATES, unused)
    named = sorted({name for template in chosen for name in template.split() if "." in name})
    atoms = ("nothing", *named, *NUMBERS, *_AGREEMENT)
    at = [name.split(".") for name in named]
    return StateFeatures(
        np.array([PLACES.index(place) for place, _ in at], np.int64),
        np.array([COLUMNS.index(column) for _, column in at], np.int64),
        table_of(chosen, atoms, _OPTIONAL, SEED),
    )


class WordParserSettings(Section, frozen=True):
    """The linear-time parser, which sees words and features; of a model that
    starts from a universal parser it is the fast student."""

    epochs: Annotated[int, Meta(ge=1, le=10_000, description="passes over the trees")] = 3
    explore_from: Annotated[
        int,
        Meta(
            ge=1,
            le=10_001,
            description="epoch from which training follows the parser's own actions",
        ),
    ] = 2
    log2_buckets: Annotated[
        int,
        Meta(ge=1, le=26, description="features are hashed into 2 to this power rows of weights"),
    ] = 20
    orders: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="perceptrons that see the trees in other orders; theirs is the mean",
        ),
    ] = 3


class WordPerceptron:
    """The parser; `fit` learns its weights (B, 3), a column an action.

    Arguments are the settings or single numbers of them. The perceptrons have seeds from `seed` on.
    `feats`, `words`: there are features of FEATS, and of forms.

    Raises: ConfigError, a number is unknown or out of its range; settings and numbers exclude each
    other.
    """

    def __init__(
        self,
        settings: WordParserSettings | None = None,
        *,
        seed: int = 1,
        feats: bool = True,
        words: bool = True,
        **numbers: Any,
    ) -> None:
        self.settings = checked(WordParserSettings, numbers, settings, "parser with words")
        self.seed, self.feats, self.words = checked_seed(seed, "parser with words"), feats, words
        self.weights: NDArray[np.float32] | None = None
        self._atoms = Atoms()

    def fit(
        self,
        trees: Iterable[Sentence],
        copies: Sequence[int] | None = None,
        amounts: Sequence[float] | None = None,
    ) -> WordPerceptron:
        """Learns from trees: `copies` of each in an epoch, each changing weights by `amounts`; both
        default to 1.

        The trees should be projective with one root; from others it learns the reachable arcs.
        Equal arguments give equal parsers.

        Raises: VdgiError, there are no words; UsageError, these are no sentences; ValueError, a
        sentence has no heads, or numbers of copies or amounts are not one a tree.
        """
        trees = list(in_memory(trees))
        if any(tree.heads is None for tree in trees):
            raise ValueError("a sentence to learn from has no heads")
        packed, gold = self._atoms.pack(trees), _flat_heads(trees)
        if not len(gold):
            raise VdgiError("no trees to train the parser on")
        plan = np.repeat(
            np.arange(len(trees)), _one_each(copies, len(trees), "copies").astype(np.int64)
        )
        sizes = _one_each(amounts, len(trees), "amounts")
        total = np.zeros((1 << self.settings.log2_buckets, N_ACTIONS))
        for seed in range(self.seed, self.seed + self.settings.orders):
            self._add_perceptron(packed, gold, plan, sizes, seed, total)
        self.weights = (total / self.settings.orders).astype(np.float32)
        return self

    def _add_perceptron(
        self, packed: PackedRows, gold: Ints, plan: Ints, sizes: Floats, seed: int, total: Floats
    ) -> None:
        """Trains a perceptron, and adds its average weights to the total (B, 3)."""
        learning = AveragedWeights.zeros_like(total)
        feature_table = self._features()
        room = WordRoom.of(packed.first, feature_table)
        for epoch in range(1, self.settings.epochs + 1):
            order = np.random.default_rng([seed, epoch]).permutation(plan)
            _LEARN(
                packed,
                gold,
                order,
                sizes,
                feature_table,
                learning,
                epoch >= self.settings.explore_from,
                room,
                work=WORK * len(gold) * len(order) // len(packed.first),
            )
        total += learning.weights
        total -= learning.totals / learning.step

    def predict(self, sentences: Iterable[Sentence], *, keep_heads: bool = False) -> list[Sentence]:
        """The sentences with the trees it finds, projective, with one root.

        With `keep_heads`, heads that are not FREE are kept; they must fit into a projective tree.
        """
        return [tree for tree, _ in self.predict_with_margins(sentences, keep_heads=keep_heads)]

    def predict_with_margins(
        self, sentences: Iterable[Sentence], *, keep_heads: bool = False
    ) -> list[tuple[Sentence, Floats]]:
        """The trees that `predict` finds, with the margins (n,) of their words.

        A margin is how far the least sure decision about a head was above its alternative, in units
        of scores; it is infinite where there was no alternative.
        """
        text = list(in_memory(sentences))
        packed = self._atoms.pack(text)
        heads, margins = self.packed(packed, _flat_heads(text) if keep_heads else None)
        flat, ends = heads.tolist(), packed.first.tolist()
        return [
            (replace(sentence, heads=tuple(flat[start:end])), margins[start:end])
            for sentence, start, end in zip(text, ends, ends[1:])
        ]

    def packed(self, words: PackedRows, given: Ints | None = None) -> tuple[Ints, Floats]:
        """Heads (N,) of packed sentences, and margins (N,); heads `given` (N,) are kept unless
        FREE."""
        if self.weights is None:
            raise UsageError("the parser has not learnt yet: call fit first")
        n_words, feature_table = int(words.first[-1]), self._features()
        heads, margins = np.zeros(n_words, np.int64), np.zeros(n_words)
        given_heads = np.zeros(0, np.int64) if given is None else given
        room = WordRoom.of(words.first, feature_table)
        _PARSE(
            words,
            feature_table,
            self.weights,
            given_heads,
            heads,
            margins,
            room,
            work=WORK * n_words,
        )
        return heads, margins

    def _features(self) -> StateFeatures:
        return features(feats=self.feats, words=self.words)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back: the rows of weights that are not zero."""
        if self.weights is None:
            raise UsageError("the parser has not learnt yet: call fit first")
        return sparse_weights.to_arrays(PREFIX, FORMAT, self.weights, (self.feats, self.words))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> WordPerceptron:
        """The parser with these `arrays`; others are ignored.

        Raises: ModelError, an array is missing, or they are not those of such a parser of this
        version.
        """
        weights, (feats, words) = sparse_weights.from_arrays(
            arrays, PREFIX, "parser with words", FORMAT, (N_ACTIONS,), n_options=2
        )
        log2_buckets = len(weights).bit_length() - 1
        parser = cls(log2_buckets=log2_buckets, feats=bool(feats), words=bool(words))
        parser.weights = weights
        return parser


def gold_copies(n_gold: int, n_silver: int) -> int:
    """How often an epoch shows each gold tree beside the silver ones: a third of the sentences is
    gold."""
    return max(1, n_silver // (3 * max(1, n_gold)))


def _flat_heads(sentences: Sequence[Sentence]) -> Ints:
    """The heads (N,) of all words; FREE in sentences without any."""
    heads = (sentence.heads or (FREE,) * len(sentence) for sentence in sentences)
    return np.array(list(chain.from_iterable(heads)), np.int64)


def _one_each(numbers: Sequence[float] | None, count: int, name: str) -> Floats:
    array = np.ones(count) if numbers is None else np.asarray(numbers, np.float64)
    if array.shape != (count,):
        raise ValueError(f"{name} of {array.shape} for {count} trees")
    return array

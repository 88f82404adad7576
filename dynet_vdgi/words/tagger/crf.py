"""A linear-chain conditional random field over sparse features (Lafferty, McCallum & Pereira 2001).

It labels tokens of any kind: words, whose labels are tags, or characters, whose labels say what
ends there. A token's features come from its K items. An item is something that occurs again and
again, such as a word type as left neighbour; its features are 64-bit codes, and they are looked up,
and their weights added up, once, however often the item is used. Where nothing repeats, each token
is its own item.

>>> import numpy as np
>>> from dynet_vdgi.features.hashing import text_code
>>> codes = np.array([text_code("a"), text_code("b"), text_code("b"), text_code("last")], np.uint64)
>>> items = Items(np.array([0, 1, 2, 4]), codes)  # three items with 1, 1 and 2 features
>>> tokens = Tokens.of_items(items, first=[0, 2, 3])  # in two sequences, of two tokens and of one
>>> crf = Crf.fit(tokens, labels=np.array([0, 1, 1]), n_labels=2)
>>> crf.best(crf.scores(tokens), tokens.first).tolist()
[0, 1, 1]

Learning minimises minus the log-likelihood plus l2 / 2 times the sum of squared weights, by SciPy's
L-BFGS. `scores`, `marginals` and `best` are exact. Labels may be FREE, in learning and in decoding.
A feature that only one token has gets a weight for this token's label alone, because weights for
the others would be as small as they are many.

Letters: as in `chain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ModelError
from dynet_vdgi.system.array_types import Codes, Floats, Ints
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.system.jit import Kernel
from dynet_vdgi.system.sparse_weights import check_version
from dynet_vdgi.words.tagger import chain
from dynet_vdgi.words.tagger.chain import FREE, Borders, ChainRoom, Numbers, Sparse

FORMAT = 1
"""Version of the arrays."""

MOST_LABELS = 4096

LARGEST = 50
"""Most that a file's weight of a bigram, start or end may be; learnt ones are below 5. Sums of
exponentials underflow where these differ by hundreds, and marginals are then not numbers."""

_FILL = Kernel(chain.fill_table, "the tokeniser and tagger")

_FIND = Kernel(chain.find, "the tokeniser and tagger")

_SCORES = Kernel(chain.add_scores, "the tokeniser and tagger")

_GRADIENTS = Kernel(chain.add_gradients, "the tokeniser and tagger")

_LOSS = Kernel(chain.add_loss, "the tokeniser and tagger")

_MARGINALS = Kernel(chain.all_marginals, "the tokeniser and tagger")

_BEST = Kernel(chain.all_best, "the tokeniser and tagger")


class Items(NamedTuple):
    """Items and their features: item i has codes[first[i]:first[i + 1]]."""

    first: Ints  # (I + 1,)
    codes: Codes  # (C,)


class Tokens(NamedTuple):
    """Sequences of tokens: sequence k has the tokens first[k] to first[k + 1], token i the items
    uses[i]."""

    items: Items
    uses: Numbers  # (N, K)
    first: Ints  # (S + 1,)

    @classmethod
    def of_items(cls, items: Items, first: Sequence[int] | Ints) -> Tokens:
        """Each item is one token."""
        uses = np.arange(len(items.first) - 1, dtype=np.int32)[:, None]
        return cls(items, uses, np.asarray(first, np.int64))


@dataclass(frozen=True, eq=False)
class FeatureWeights:
    """The weights (Q,) of features, and the labels they belong to."""

    entries: Sparse
    values: Floats

    @cached_property
    def table(self) -> tuple[int, Numbers]:
        """Where features lie, by the highest bits of their codes: `shift` and `table` of
        `chain.find`."""
        bits = max(4, (4 * len(self.entries.keys)).bit_length())
        table = np.zeros(1 << bits, np.int32)
        _FILL(self.entries.keys, 64 - bits, table, work=len(self.entries.keys) // 50)
        return 64 - bits, table

    def feature_numbers(self, items: Items) -> Numbers:
        """The number (C,) of each item's features among those with weights; -1: it has none."""
        features = np.zeros(len(items.codes), np.int32)
        _FIND(items.codes, self.entries.keys, *self.table, features, work=len(features) // 50)
        return features

    def scores(self, items: Items, uses: Numbers, n_labels: int) -> Floats:
        """The sums (N, T) of the weights of each token's features."""
        scores, of_items = (
            np.zeros((len(uses), n_labels)),
            np.zeros((len(items.first) - 1, n_labels)),
        )
        features = self.feature_numbers(items)
        work = (len(features) + uses.size * n_labels) // 200
        _SCORES(items.first, features, uses, self.entries, self.values, of_items, scores, work=work)
        return scores


def weighted_features(tokens: Tokens, labels: Ints, n_labels: int) -> tuple[Sparse, Numbers]:
    """The features of these tokens, with the labels they have weights for; and the number (C,) of
    each.

    labels (N,): a feature of several tokens has weights for all labels, a feature of a single one
    only for this token's label, and if that is FREE for none.
    """
    items, uses, _ = tokens
    keys, features = np.unique(items.codes, return_inverse=True)
    pairs = labels_of_features(tokens, features, labels, n_labels)
    counts = np.bincount(uses.ravel(), minlength=len(items.first) - 1)
    often = np.bincount(features, np.repeat(counts, np.diff(items.first)), len(keys)) > 1
    every = (np.flatnonzero(often)[:, None] * n_labels + np.arange(n_labels)).ravel()
    return sparse_of(keys, np.union1d(pairs, every), n_labels), features.astype(np.int32)


def sparse_of(keys: Codes, pairs: Ints, n_labels: int) -> Sparse:
    """Weights for these ascending pairs, feature * n_labels + label."""
    starts = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(np.bincount(pairs // n_labels, minlength=len(keys)), out=starts[1:])
    return Sparse(keys, starts, (pairs % n_labels).astype(np.int32))


def labels_of_features(tokens: Tokens, features: Ints, labels: Ints, n_labels: int) -> Ints:
    """The pairs feature * n_labels + label that are seen, each once; FREE labels are not."""
    items, uses, _ = tokens
    token, place = np.nonzero(np.broadcast_to((labels >= 0)[:, None], uses.shape))
    pairs = np.unique(uses[token, place].astype(np.int64) * n_labels + labels[token])  # item, label
    item, label = pairs // n_labels, pairs % n_labels
    n = np.diff(items.first)[item]
    ends = np.cumsum(n)
    at = np.arange(n.sum()) + np.repeat(items.first[item] - ends + n, n)
    return np.unique(features[at].astype(np.int64) * n_labels + np.repeat(label, n))


@dataclass(frozen=True, eq=False)
class Crf:
    """The random field with its weights; `fit` learns one."""

    weights: FeatureWeights
    borders: Borders

    @property
    def n_labels(self) -> int:
        """T."""
        return len(self.borders.start)

    @classmethod
    def fit(
        cls, tokens: Tokens, labels: Ints, n_labels: int, *, l2: float = 0.1, iterations: int = 80
    ) -> Crf:
        """Learns from tokens with labels (N,) in 0..n_labels-1 or FREE.

        Raises: ValueError, a label is out of range, or there is not one a token.
        """
        if (
            labels.shape != (len(tokens.uses),)
            or not ((labels >= FREE) & (labels < n_labels)).all()
        ):
            raise ValueError(
                f"{labels.shape} labels of 0..{n_labels - 1} for {len(tokens.uses)} tokens"
            )
        entries, features = weighted_features(tokens, labels, n_labels)
        return cls.minimum(Likelihood(tokens, labels, n_labels, entries, features), l2, iterations)

    @classmethod
    def minimum(cls, loss: Likelihood, l2: float, iterations: int) -> Crf:
        """The random field that minimises the loss plus l2 / 2 times the sum of squared weights."""
        n_weights = len(loss.entries.labels) + loss.n_labels * (loss.n_labels + 2)
        x = minimise(loss, n_weights, l2, iterations).astype(np.float32)  # as a file has them
        values, borders = split(x.astype(np.float64), loss.n_labels)
        return cls(FeatureWeights(loss.entries, values), borders)

    @classmethod
    def mean_of(cls, fields: Sequence[Crf]) -> Crf:
        """The random field whose weights are the means of those of others, which have the same
        features."""
        values = np.mean([field.weights.values for field in fields], axis=0)
        borders = Borders(
            bigrams=np.mean([field.borders.bigrams for field in fields], axis=0),
            start=np.mean([field.borders.start for field in fields], axis=0),
            end=np.mean([field.borders.end for field in fields], axis=0),
        )
        return cls(FeatureWeights(fields[0].weights.entries, values), borders)

    def scores(self, tokens: Tokens) -> Floats:
        """The scores (N, T) of labels, for `marginals` and `best`."""
        return self.weights.scores(tokens.items, tokens.uses, self.n_labels)

    def marginals(self, scores: Floats, first: Ints, given: Ints | None = None) -> Floats:
        """The probability (N, T) of each label; `given` (N,) are known labels, or FREE."""
        return self.sums(scores, first, given)[0]

    def sums(self, scores: Floats, first: Ints, given: Ints | None = None) -> tuple[Floats, Floats]:
        """`marginals`, and the log Z (S,) of each sequence, over labels that agree with the given
        ones."""
        marginals, log_z = np.zeros_like(scores), np.zeros(len(first) - 1)
        room, work = ChainRoom.of(first, self.n_labels), len(scores) * (4 + self.n_labels**2 // 50)
        _MARGINALS(
            scores, first, free_or(given, scores), self.borders, marginals, room, log_z, work=work
        )
        return marginals, log_z

    def best(self, scores: Floats, first: Ints, given: Ints | None = None) -> Ints:
        """The most probable sequence of labels (N,); `given` (N,) are known labels, or FREE."""
        best, room = np.zeros(len(scores), np.int64), ChainRoom.of(first, self.n_labels)
        work = len(scores) * (2 + self.n_labels**2 // 100)
        _BEST(scores, first, free_or(given, scores), self.borders, best, room, work=work)
        return best

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads."""
        bigrams, start, end = self.borders
        return {
            **weights_to_arrays(prefix, self.weights, self.n_labels),
            prefix + "bigrams": bigrams.astype(np.float32),
            prefix + "borders": np.array([start, end], np.float32),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], prefix: str, what: str = "tagger"
    ) -> Crf:
        """The random field with these arrays; others are ignored.

        Raises: ModelError, an array is missing, or they do not fit together.
        """
        weights, n_labels = weights_from_arrays(arrays, prefix, what)
        bigrams = checked_array(arrays, prefix + "bigrams", "f4", (n_labels, n_labels), what)
        borders = checked_array(arrays, prefix + "borders", "f4", (2, n_labels), what)
        if max(np.abs(bigrams).max(), np.abs(borders).max()) > LARGEST:
            raise ModelError(f"no {what}: {prefix}bigrams or borders are beyond {LARGEST}")
        return cls(
            weights, Borders(*(np.ascontiguousarray(a, np.float64) for a in (bigrams, *borders)))
        )


class Likelihood:
    """Minus the log-likelihood of labels (N,), as a function of all weights, with its gradients."""

    def __init__(
        self, tokens: Tokens, labels: Ints, n_labels: int, entries: Sparse, features: Numbers
    ) -> None:
        self.tokens, self.labels = tokens, np.ascontiguousarray(labels, np.int64)
        self.n_labels = n_labels
        self.entries, self.features = entries, features
        self._room, self._free = ChainRoom.of(tokens.first, n_labels), np.full(len(labels), FREE)
        self._work = max(1, len(labels) * (4 + n_labels**2 // 50))

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """The value and the gradients at x, which is as `split` wants it."""
        items, uses, first = self.tokens
        gradient, loss = np.zeros_like(x), np.zeros(1)
        (values, borders), (value_gradients, border_gradients) = (
            split(x, self.n_labels),
            split(gradient, self.n_labels),
        )
        scores, of_items = (
            np.zeros((len(uses), self.n_labels)),
            np.zeros((len(items.first) - 1, self.n_labels)),
        )
        from_features = items.first, self.features, uses, self.entries
        _SCORES(*from_features, values, of_items, scores, work=self._work)
        score_gradients, item_gradients = np.zeros_like(scores), np.zeros_like(of_items)
        chained = score_gradients, border_gradients, self._room, loss
        _LOSS(scores, first, self.labels, self._free, borders, *chained, work=self._work)
        _GRADIENTS(
            *from_features, score_gradients, item_gradients, value_gradients, work=self._work
        )
        return float(loss[0]), gradient


def split(x: Floats, n_labels: int) -> tuple[Floats, Borders]:
    """Views of a vector of all weights: those of features, and those of the chain."""
    cut = len(x) - n_labels * (n_labels + 2)
    end = len(x) - n_labels
    bigrams = x[cut : end - n_labels].reshape(n_labels, n_labels)
    return x[:cut], Borders(bigrams, x[end - n_labels : end], x[end:])


def minimise(loss: Any, n_weights: int, l2: float, iterations: int) -> Floats:
    """The weights (n_weights,) at which loss + l2 / 2 * their squares is least, or near it."""
    from scipy.optimize import minimize

    def with_l2(x: Floats) -> tuple[float, Floats]:
        value, gradient = loss(x)
        return value + 0.5 * l2 * float(x @ x), gradient + l2 * x

    options = {"maxiter": iterations, "maxcor": 6}
    with one_thread():
        optimum = minimize(
            with_l2, np.zeros(n_weights), jac=True, method="L-BFGS-B", options=options
        )
    return np.asarray(optimum.x, np.float64)


def free_or(given: Ints | None, scores: Floats) -> Ints:
    """The given labels (N,), by default all FREE."""
    return np.full(len(scores), FREE) if given is None else np.ascontiguousarray(given, np.int64)


def weights_to_arrays(
    prefix: str, weights: FeatureWeights, n_labels: int
) -> dict[str, NDArray[Any]]:
    """Weights as arrays of a file."""
    keys, starts, labels = weights.entries
    return {
        prefix + "shape": np.array([FORMAT, n_labels], np.int64),
        prefix + "keys": keys,
        prefix + "counts": np.diff(starts).astype(np.uint16),
        prefix + "labels": labels.astype(np.uint16),
        prefix + "weights": weights.values.astype(np.float32),
    }


def weights_from_arrays(
    arrays: Mapping[str, NDArray[Any]], prefix: str, what: str
) -> tuple[FeatureWeights, int]:
    """Weights and the number of labels. Raises: ModelError, they are no such arrays."""
    version, n_labels = map(int, checked_array(arrays, prefix + "shape", "i8", (2,), what))
    check_version(what, version, FORMAT)
    keys = checked_array(arrays, prefix + "keys", "u8", (None,), what)
    counts = checked_array(arrays, prefix + "counts", "u2", (len(keys),), what).astype(np.int64)
    labels = checked_array(arrays, prefix + "labels", "u2", (int(counts.sum()),), what)
    values = checked_array(arrays, prefix + "weights", "f4", labels.shape, what)
    if not 1 <= n_labels <= MOST_LABELS or int(labels.max(initial=0)) >= n_labels:
        raise ModelError(f"no {what}: {prefix}labels are not below {n_labels}")
    if not (keys[1:] > keys[:-1]).all():
        raise ModelError(f"no {what}: {prefix}keys do not ascend")
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return FeatureWeights(
        Sparse(keys, starts, labels.astype(np.int32)), values.astype(np.float64)
    ), n_labels


def checked_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    dtype: str,
    shape: tuple[int | None, ...],
    what: str,
) -> NDArray[Any]:
    """An array of this type and shape, None being any size. Raises: ModelError, there is none."""
    array = arrays.get(name)
    if array is None:
        raise ModelError(f"no {what}: missing {name}")
    fits = array.ndim == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape))
    if array.dtype != np.dtype(dtype) or not fits:
        raise ModelError(f"no {what}: {name} is of {array.dtype} and shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelError(f"no {what}: {name} holds numbers that are not finite")
    return np.ascontiguousarray(array)

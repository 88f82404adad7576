"""What a first tagger says of all occurrences of a word type, as features that a second tagger
sees.

The mean of a lower-cased type is that of the probabilities of tags of all its occurrences, in raw
text and in the text to tag. The second tagger sees the means of a word's own type and of its
neighbours'.

>>> import numpy as np
>>> words = WordTypes.of([["to", "fish"], ["Fish", "swim"]])
>>> marginals = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])  # of nouns, of others
>>> means = TypeMeans.of(words, marginals)
>>> means.of_words(words)[words.lower_forms.index("fish")].tolist()
[0.75, 0.25]

Letters: V word types, W lower-cased types of a text, C codes, N words, T tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ModelError
from dynet_vdgi.features.hashing import text_code
from dynet_vdgi.system.array_types import Codes, Floats
from dynet_vdgi.words.tagger.crf import Items, Tokens, checked_array
from dynet_vdgi.words.tagger.spelling import WordTypes, types_around, with_items

MEANS_OFFSETS = (0, -1, 1)
"""The words whose means a word sees."""

BINS = 4
"""The probability of the most probable tag is seen in quarters."""

LEAST_PROBABILITY = 0.15
"""Least probability of a second or third tag that is seen."""


@dataclass(frozen=True, eq=False)
class TypeMeans:
    """Sums of probabilities, and numbers of occurrences."""

    keys: Codes  # (V,), ascending
    sums: Floats  # (V, T)
    counts: Floats  # (V,)

    @classmethod
    def of(cls, words: WordTypes, marginals: Floats) -> TypeMeans:
        """Those of words with these marginals (N, T)."""
        n = len(words.lower_forms)
        lower = words.lower[words.types]
        counts = np.asarray(np.bincount(lower, minlength=n), np.float64)
        columns = [np.bincount(lower, column, n) for column in marginals.T]
        keys = np.array([text_code(form) for form in words.lower_forms[1:]], np.uint64)
        order = np.argsort(keys)
        return cls(
            keys[order], np.stack(columns, axis=1).astype(np.float64)[1:][order], counts[1:][order]
        )

    def plus(self, other: TypeMeans) -> TypeMeans:
        """Those of both texts together."""
        keys, place = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        sums, counts = np.zeros((len(keys), self.sums.shape[1])), np.zeros(len(keys))
        for each, places in ((self, place[: len(self.keys)]), (other, place[len(self.keys) :])):
            sums[places] += each.sums
            counts[places] += each.counts
        return TypeMeans(keys, sums, counts)

    def of_words(self, words: WordTypes) -> Floats:
        """The mean (W, T) of each lower-cased form of these words; 0 for the first, which is no
        word."""
        means = np.zeros((len(words.lower_forms), self.sums.shape[1]))
        means[1:] = self.of_codes(
            np.array([text_code(form) for form in words.lower_forms[1:]], np.uint64)
        )
        return means

    def of_codes(self, codes: Codes) -> Floats:
        """The mean (C, T) of each type, by the code of its form; 0 for others."""
        place = np.minimum(np.searchsorted(self.keys, codes), len(self.keys) - 1)
        means = self.sums[place] / self.counts[place, None]
        means[self.keys[place] != codes] = 0.0
        return means

    def with_means(self, tokens: Tokens, words: WordTypes) -> Tokens:
        """The tokens of these words, all of which have means, with features of means."""
        items = items_of_means(self.of_words(words))
        n_offsets = len(MEANS_OFFSETS)
        types = types_around(words.lower[words.types], words.first, MEANS_OFFSETS)
        return with_items(tokens, items, types * n_offsets + np.arange(n_offsets))

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads."""
        return {
            prefix + "keys": self.keys,
            prefix + "sums": self.sums.astype(np.float32),
            prefix + "counts": self.counts.astype(np.float32),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], prefix: str, n_tags: int, what: str = "tagger"
    ) -> TypeMeans:
        """The means in these arrays; others are ignored. Raises: ModelError, they do not fit
        together."""
        keys = checked_array(arrays, prefix + "keys", "u8", (None,), what)
        sums = checked_array(arrays, prefix + "sums", "f4", (len(keys), n_tags), what)
        counts = checked_array(arrays, prefix + "counts", "f4", (len(keys),), what)
        if not (keys[1:] > keys[:-1]).all() or not (counts > 0).all() or not (sums >= 0).all():
            raise ModelError(f"no {what}: {prefix}keys do not ascend, or a number is not positive")
        if not (sums <= 1.01 * counts[:, None]).all():  # they are sums of rounded probabilities
            raise ModelError(f"no {what}: {prefix}sums have a mean above 1")
        return cls(keys, sums.astype(np.float64), counts.astype(np.float64))


def _numbered_codes(name: str, count: int) -> Codes:
    """The codes (count,) of `name=0`, `name=1` and so on."""
    return np.array([text_code(f"{name}={number}") for number in range(count)], np.uint64)


def items_of_means(means: Floats) -> Items:
    """The items (3 W,) of means (W, T), the first of which stands for no word: for each, by
    MEANS_OFFSETS."""
    n, n_tags = means.shape
    ranked = np.argsort(-means, axis=1, kind="stable")[:, :3]
    value = np.take_along_axis(means, ranked, axis=1)
    bins = np.minimum((value[:, 0] * BINS).astype(np.int64), BINS - 1)
    # Features: the best tag; with its bin; the second and the third tag.
    codes = np.zeros((n, len(MEANS_OFFSETS), 4), np.uint64)
    there = np.zeros((n, 4), np.bool_)
    for k, offset in enumerate(MEANS_OFFSETS):
        of_others = _numbered_codes(f"{offset}:other", n_tags)
        codes[:, k, 0] = _numbered_codes(f"{offset}:best", n_tags)[ranked[:, 0]]
        codes[:, k, 1] = _numbered_codes(f"{offset}:bin", n_tags * BINS)[ranked[:, 0] * BINS + bins]
        for j in range(1, min(3, n_tags)):
            codes[:, k, j + 1] = of_others[ranked[:, j]]
            there[:, j + 1] = value[:, j] > LEAST_PROBABILITY
        codes[0, k, 0] = text_code(f"{offset}:outside")
    there[:, :2] = True
    there[0, 1:] = False
    chosen = np.broadcast_to(there[:, None, :], codes.shape)
    first = np.zeros(n * len(MEANS_OFFSETS) + 1, np.int64)
    np.cumsum(chosen.sum(axis=2).ravel(), out=first[1:])
    return Items(first, codes[chosen])

"""The universal parser in one text, as the start of a CRF, and the arrays that a model file keeps of it.

    potential(h, d) = log p(h | d) + share * log softmax over h of the rule table's potential(h, d)

Letters: n words, N words in all, V forms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.universal.encoding import BANDS, band_of_forms
from dynet_vdgi.universal.scorer import WORDS, Scorer, TextScorer
from dynet_vdgi.universal.typology import Profile

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

WEIGHTS, TEXT, SHARE = "universal/", "text/", "base/table"
"""How the names of arrays of weights begin, and of measures of a text; the name of the table's share."""

FLOOR = -20.0
"""The least log-probability of an arc, in nats, so that gold trees can outweigh it."""


def arrays_of(scorer: Scorer) -> Arrays:
    """The arrays that `scorer_of` reads back."""
    own: Arrays = {**scorer.weights, "mean": scorer.mean, "scale": scorer.scale}
    own["known"] = _packed(scorer.features)
    return {WEIGHTS + name: array for name, array in own.items()}


def scorer_of(arrays: Mapping[str, NDArray[Any]]) -> Scorer:
    """The scorer with these `arrays_of`; other arrays are ignored. Raises: ModelError, one is missing."""
    own = {name.removeprefix(WEIGHTS): array for name, array in arrays.items() if name.startswith(WEIGHTS)}
    mean, scale = (_array(own, name).astype(np.float32) for name in ("mean", "scale"))
    features = _unpacked(own, "known")
    weights = {
        name: a.astype(np.float32) for name, a in own.items() if name not in ("mean", "scale", "known")
    }
    return Scorer(tuple(features), mean, scale, weights)


@dataclass(frozen=True, eq=False)
class TextBase:
    """The scorer of a text, with a share of the rule table's measured in it; see the module."""

    scorer: TextScorer
    table: Prior
    share: float = 0.0

    @classmethod
    def of_text(cls, scorer: Scorer, text: Sequence[Sentence], table: Prior, share: float = 0.0) -> TextBase:
        """Measures a text, sentences without punctuation."""
        return cls(TextScorer(scorer, scorer.profile(text), band_of_forms(text)), table, share)

    def all_potentials(self, sentences: Sequence[Sentence]) -> Iterator[Floats]:
        """Log-potentials (n + 1, n + 1) of each sentence's arcs [head, dependent], ROOT at 0, in nats."""
        for part in _parts(sentences):
            flat, at = self.scorer.log_probabilities(self.scorer.encode(part)), 0
            for sentence in part:
                n = len(sentence)
                potentials = np.zeros((n + 1, n + 1))
                potentials[:, 1:] = np.maximum(flat[at : at + n * (n + 1)].reshape(n + 1, n), FLOOR)
                at += n * (n + 1)
                if self.share:
                    potentials[:, 1:] += self.share * _log_softmax(self.table.potentials(sentence))
                yield potentials

    def arrays(self) -> Arrays:
        """The arrays that `text_base` reads back; the table is not part of them."""
        bands = {form: band for form, band in (self.scorer.bands or {}).items() if band != BANDS - 1}
        return {
            **arrays_of(self.scorer.scorer),
            TEXT + "numbers": self.scorer.profile.numbers,
            TEXT + "pairs": self.scorer.profile.pairs,
            TEXT + "forms": _packed([*bands]),
            TEXT + "bands": np.array([*bands.values()], np.int8),  # (V,); other forms are in the last band
            SHARE: np.array([self.share]),
        }


def text_base(arrays: Mapping[str, NDArray[Any]], table: Prior) -> TextBase | Prior:
    """The base with these arrays beside the table; the table itself if there are no such arrays.

    Raises:
        ModelError: an array is missing, or they do not fit together.
    """
    if SHARE not in arrays:
        return table
    scorer = scorer_of(arrays)
    profile = Profile(*(_array(arrays, TEXT + name).astype(np.float32) for name in ("numbers", "pairs")))
    bands = dict(zip(_unpacked(arrays, TEXT + "forms"), _array(arrays, TEXT + "bands").tolist()))
    try:
        return TextBase(TextScorer(scorer, profile, bands), table, arrays[SHARE].item())
    except (KeyError, IndexError, ValueError) as error:
        raise ModelError(f"no universal parser: its arrays do not fit together ({error})") from None


def _parts(sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    """The sentences in parts of about WORDS words."""
    first = n_words = 0
    for k, sentence in enumerate(sentences, 1):
        n_words += len(sentence)
        if n_words >= WORDS or k == len(sentences):
            yield sentences[first:k]
            first, n_words = k, 0


def _log_softmax(potentials: Floats) -> Floats:
    """Log-probabilities (n + 1, n) of heads, at least FLOOR, from finite potentials (n + 1, n + 1)."""
    scores = potentials[:, 1:].copy()
    words = np.arange(scores.shape[1])
    scores[words + 1, words] = -np.inf
    scores -= scores.max(axis=0, initial=-np.inf)
    scores -= np.log(np.exp(scores).sum(axis=0))
    return np.asarray(np.maximum(scores, FLOOR))


def _packed(texts: Sequence[str]) -> NDArray[np.uint8]:
    """The texts as the bytes of JSON, which any file of arrays can hold."""
    return np.frombuffer(json.dumps(list(texts)).encode(), np.uint8)


def _unpacked(arrays: Mapping[str, NDArray[Any]], name: str) -> list[str]:
    try:
        found = json.loads(_array(arrays, name).tobytes())
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ModelError(f"no universal parser: {name} is no list of texts")
    return found


def _array(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise ModelError(f"no universal parser: missing {name}")
    return arrays[name]

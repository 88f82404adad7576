"""Probabilities of arcs and relations under the universal parser's weights, with NumPy and a kernel.

It computes what `arc_network` does, without DyNet. What depends on the text alone, and what depends on a
word's tag, features, gaps and frequency, is computed once for each value.

Letters: N words, S sentences; H hidden units of the LSTMs; A units of the arcs' layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.system.arrays import Floats32, Ints
from dynet_vdgi.universal.channels import DISTANCES, FLAG_TREES, N_FLAGS, SCORE_ARCS, workspace
from dynet_vdgi.universal.encoding import N_TAGS, ROOT, CodedText, encode, gap_pairs
from dynet_vdgi.universal.lstm import Layer, Packing
from dynet_vdgi.universal.text_teacher import SHARE, TextTeacher, objects_come_first, taught
from dynet_vdgi.universal.typology import Profile

CLIP = 3.0
"""Standardised numbers of a text lie within this of zero."""

WORDS = 3_000
"""Words that are scored together."""


@dataclass(frozen=True)
class Scorer:
    """Learnt weights, see `sizes.shapes`; `mean` and `scale` (U,) standardise the numbers of a text."""

    features: tuple[str, ...]
    mean: Floats32
    scale: Floats32
    weights: Mapping[str, Floats32]

    def measured(self, sentences: Sequence[Sentence]) -> tuple[Profile, TextTeacher | None]:
        """The standardised profile of a text; its teacher if objects come first there."""
        text = encode(sentences, self.features)
        teacher, arcs = taught(sentences, text)
        profile = self.standardised(Profile.of(text, self.features, arcs.sum(0)))
        return profile, teacher if objects_come_first(arcs.sum(0)) else None

    def standardised(self, profile: Profile) -> Profile:
        """The profile with each number as its deviation from the mean of the treebanks learnt from."""
        numbers = np.clip((profile.numbers - self.mean) / self.scale, -CLIP, CLIP)
        return Profile(numbers.astype(np.float32), profile.pairs)


class TextScorer:
    """A scorer for the sentences of one text."""

    def __init__(
        self,
        scorer: Scorer,
        profile: Profile,
        bands: Mapping[str, int] | None = None,
        teacher: TextTeacher | None = None,
    ) -> None:
        self.scorer, self.profile, self.bands, self.teacher = scorer, profile, bands, teacher
        self._last: tuple[CodedText, Floats32] | None = None
        w = scorer.weights
        self._language = np.tanh(w["typology"] @ profile.numbers + w["typology.bias"])
        self._layers = [Layer(w, 0), Layer(w, 1)]
        tables = np.zeros((N_TAGS + 1, N_TAGS, 2, len(w["arc.bias"]) + 1 + DISTANCES), np.float32)
        n = len(w["arc.bias"])
        tables[..., :n] = profile.pairs @ w["arc.numbers"].T
        tables[..., n] = profile.pairs @ w["straight.numbers"][0]
        tables[..., n + 1 :] = w["straight.pairs"].reshape(N_TAGS + 1, N_TAGS, 2, DISTANCES)
        self._tables = tables
        self._flags = np.ascontiguousarray(w["arc.flags"].T)
        self._root = w["arc.head"] @ w["root"]

    def encode(self, sentences: Sequence[Sentence]) -> CodedText:
        return encode(sentences, self.scorer.features, self.bands)

    def log_probabilities(self, text: CodedText) -> Floats32:
        """log p(h | d) of all sentences in a row, each (n + 1, n) by head; with a teacher's share, if any."""
        z = self._words(text)
        w = self.scorer.weights
        heads = np.ascontiguousarray(z @ w["arc.head"].T)
        dependents = np.ascontiguousarray(z @ w["arc.dependent"].T + w["arc.bias"])
        lengths = text.lengths
        longest = int(lengths.max(initial=0))
        scores = np.empty(int((lengths * (lengths + 1)).sum()), np.float32)
        room = *workspace(longest), np.zeros(len(w["arc.bias"]), np.float32)
        words = text.tags, text.gaps, text.bundle, text.agreeing
        out = np.ascontiguousarray(w["arc.out"][0]), np.ascontiguousarray(w["straight.flags"][0])
        SCORE_ARCS(
            heads,
            dependents,
            self._root,
            self._tables,
            self._flags,
            *out,
            *words,
            *room,
            text.start,
            scores,
            work=10 * len(scores),
        )
        if self.teacher is not None:
            scores += np.float32(SHARE) * self.teacher.log_probabilities(text.sentences)
            scores /= np.float32(1 + SHARE)
        return scores

    def relations(self, text: CodedText, heads: Ints) -> Floats32:
        """Scores (N, R), R relations of `encoding.RELATIONS`, of the arcs from `heads` (N,), 0 for ROOT."""
        w = self.scorer.weights
        z = self._words(text)
        n_words = len(text.tags)
        first = np.repeat(text.start[:-1], text.lengths)
        of_head = np.where(heads == 0, n_words, first + heads - 1)
        tags = text.tags.astype(np.int64)
        side = (heads > np.arange(n_words) - first).astype(np.int64)
        pairs = self.profile.pairs[np.append(tags, ROOT)[of_head], tags, 1 - side]
        hidden = np.concatenate([z @ w["relation.head"].T, (w["relation.head"] @ w["root"])[None]])[of_head]
        hidden += z @ w["relation.dependent"].T + w["relation.bias"]
        hidden += pairs @ w["relation.numbers"].T + flags_of_arcs(text, heads) @ w["relation.flags"].T
        return np.asarray(np.maximum(hidden, 0) @ w["relation.out"].T)

    def _words(self, text: CodedText) -> Floats32:
        """`_layered` of a text; kept, because heads and relations of a text need the same."""
        if self._last is None or self._last[0] is not text:
            self._last = text, self._layered(text)
        return self._last[1]

    def _layered(self, text: CodedText) -> Floats32:
        """z (N, J) of all words: outputs of the second layer, then inputs of the first."""
        w = self.scorer.weights
        starts = text.start
        sentence = np.repeat(np.arange(len(text)), text.lengths)
        at = np.arange(len(text.tags)) + sentence
        gaps = gap_pairs(text.gaps[at].astype(np.int64), text.gaps[at + 1])
        key = ((text.tags.astype(np.int64) * 16 + gaps) * 8 + text.band) * len(text.features) + text.bundle
        known = np.array(sorted({*key.tolist()}), np.int64)  # np.unique would load much of NumPy
        of_word = np.searchsorted(known, key)
        rest, bundle = np.divmod(known, len(text.features))
        rest, band = np.divmod(rest, 8)
        tag, gap = np.divmod(rest, 16)
        x = np.concatenate(
            [
                w["tag"][tag],
                (text.features @ w["features"].T)[bundle],
                w["gaps"][gap],
                w["band"][band],
                np.broadcast_to(self._language, (len(known), len(self._language))),
            ],
            1,
        )
        order = Packing(starts)
        y = self._layers[0](order, self._layers[0].inputs(x)[of_word])
        y = self._layers[1](order, self._layers[1].inputs(y))
        return np.concatenate([y, x[of_word]], 1)


def by_sentence(scores: NDArray[Any], lengths: Ints) -> Iterator[NDArray[Any]]:
    """The scores (n + 1, n) of each sentence, from those of all sentences in a row."""
    at = 0
    for n in lengths.tolist():
        yield scores[at : at + n * (n + 1)].reshape(n + 1, n)
        at += n * (n + 1)


def flags_of_arcs(text: CodedText, heads: Ints) -> Floats32:
    """The flags (N, F) of the arcs from `heads` (N,)."""
    flags = np.zeros((len(heads), N_FLAGS), np.float32)
    longest = int(text.lengths.max(initial=0))
    words = text.tags, text.gaps, text.bundle, text.agreeing
    FLAG_TREES(*words, *workspace(longest), text.start, heads, flags, work=len(heads) // 2)
    return flags

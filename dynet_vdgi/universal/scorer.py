"""Probabilities of arcs and relations under the universal parser's weights, with NumPy and a
kernel.

It computes what `arc_network` does, without DyNet. What depends on the text alone, and what depends
on a word's tag, features, gaps and frequency, is computed once for each value.

The scores of all sentences stand in a row, each a matrix (n + 1, n) by head and dependent:

>>> [scores.shape for scores in by_sentence(np.zeros(2 + 12), np.array([1, 3]))]
[(2, 1), (4, 3)]

Letters: N words, S sentences; H hidden units of the LSTMs; A units of the arcs' layer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.system.array_types import Bytes, Floats32, Ints
from dynet_vdgi.universal.arc_flags import (
    DISTANCES,
    FLAG_TREES,
    N_FLAGS,
    SCORE_ARCS,
    ArcWeights,
    ArcWords,
    ArcWorkspace,
)
from dynet_vdgi.universal.encoding import N_TAGS, ROOT, CodedText, encode, gap_pairs
from dynet_vdgi.universal.lstm import Layer, Packing
from dynet_vdgi.universal.soft_text import soft_text
from dynet_vdgi.universal.text_teacher import SHARE, TextTeacher, objects_come_first, teach_text
from dynet_vdgi.universal.typology import Profile

CLIP = 3.0
"""Standardised numbers of a text lie within this of zero."""

WORDS = 3_000
"""Words that are scored together."""


@dataclass(frozen=True)
class Scorer:
    """Learnt weights, see `layer_sizes.shapes`; `mean` and `scale` (U,) standardise the numbers of
    a text.

    `table` is the text of the rule table under which the teacher of a text learns.
    """

    features: tuple[str, ...]
    mean: Floats32
    scale: Floats32
    weights: Mapping[str, Floats32]
    table: str

    def profile_and_teacher(
        self, sentences: Sequence[Sentence]
    ) -> tuple[Profile, TextTeacher | None]:
        """The standardised profile of a text; its teacher if objects come first there."""
        text = encode(sentences, self.features)
        teacher, arcs = teach_text(sentences, text, self.table)
        profile = self.standardised_profile(Profile.of(text, self.features, arcs.sum(0)))
        return profile, teacher if objects_come_first(arcs.sum(0)) else None

    def standardised_profile(self, profile: Profile) -> Profile:
        """The profile with each number as its deviation from the mean over the treebanks learnt
        from."""
        numbers = np.clip((profile.numbers - self.mean) / self.scale, -CLIP, CLIP)
        return Profile(numbers.astype(np.float32), profile.pairs)


class _LastText(threading.local):
    """The text that a Python thread has coded last, and its words; copies have nothing."""

    last: tuple[CodedText, Floats32] | None = None

    def __reduce__(self) -> tuple[type[_LastText], tuple[()]]:
        return _LastText, ()


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
        self._memory = _LastText()
        w = scorer.weights
        self._language = np.tanh(w["typology"] @ profile.numbers + w["typology.bias"])
        self._layers = [Layer(w, 0), Layer(w, 1)]
        tables = np.zeros((N_TAGS + 1, N_TAGS, 2, len(w["arc.bias"]) + 1 + DISTANCES), np.float32)
        n = len(w["arc.bias"])
        tables[..., :n] = profile.pairs @ w["arc.numbers"].T
        tables[..., n] = profile.pairs @ w["straight.numbers"][0]
        tables[..., n + 1 :] = w["straight.pairs"].reshape(N_TAGS + 1, N_TAGS, 2, DISTANCES)
        self._arc_weights = ArcWeights(
            root=w["arc.head"] @ w["root"],
            pairs=tables,
            flags=np.ascontiguousarray(w["arc.flags"].T),
            out=np.ascontiguousarray(w["arc.out"][0]),
            straight=np.ascontiguousarray(w["straight.flags"][0]),
        )

    def encode(self, sentences: Sequence[Sentence]) -> CodedText:
        """The sentences as arrays; the last ones are kept, because heads and relations are of the
        same."""
        text = self._memory.last[0] if self._memory.last else None
        if text is not None and _are_same(text.sentences, sentences):
            return text
        text = encode(sentences, self.scorer.features, self.bands)
        return replace(text, soft=soft_text(sentences, self.scorer.features))

    def log_probabilities(self, text: CodedText) -> Floats32:
        """log p(h | d) of all sentences in a row, each (n + 1, n) by head; with a teacher's share,
        if any."""
        z = self._words(text)
        w = self.scorer.weights
        heads = np.ascontiguousarray(z @ w["arc.head"].T)
        dependents = np.ascontiguousarray(z @ w["arc.dependent"].T + w["arc.bias"])
        lengths = text.lengths
        longest = int(lengths.max(initial=0))
        scores = np.empty(int((lengths * (lengths + 1)).sum()), np.float32)
        words, room = ArcWords.of(text), ArcWorkspace.of(longest, len(w["arc.bias"]))
        work = (3 if text.soft is None else 6) * len(scores)
        SCORE_ARCS(self._arc_weights, heads, dependents, words, room, text.start, scores, work=work)
        if self.teacher is not None:
            scores += np.float32(SHARE) * self.teacher.log_probabilities(text.sentences)
            scores /= np.float32(1 + SHARE)
        return scores

    def relations(self, text: CodedText, heads: Ints) -> Floats32:
        """Scores (N, R), R relations of `encoding.RELATIONS`, of the arcs from `heads` (N,), 0 for
        ROOT."""
        w = self.scorer.weights
        z = self._words(text)
        n_words = len(text.tags)
        first = np.repeat(text.start[:-1], text.lengths)
        of_head = np.where(heads == 0, n_words, first + heads - 1)
        side = (heads > np.arange(n_words) - first).astype(np.int64)
        pairs = self._pairs(text, of_head, 1 - side)
        hidden = np.concatenate([z @ w["relation.head"].T, (w["relation.head"] @ w["root"])[None]])[
            of_head
        ]
        hidden += z @ w["relation.dependent"].T + w["relation.bias"]
        hidden += (
            pairs @ w["relation.numbers"].T + flags_of_arcs(text, heads) @ w["relation.flags"].T
        )
        return np.asarray(np.maximum(hidden, 0) @ w["relation.out"].T)

    def _pairs(self, text: CodedText, of_head: Ints, side: Ints) -> Floats32:
        """The numbers (N, K) of the tags of words and of their heads, N being ROOT, with words on
        these sides."""
        if text.soft is None:
            tags = text.tags.astype(np.int64)
            return np.asarray(self.profile.pairs[np.append(tags, ROOT)[of_head], tags, side])
        n_words, n_tags = text.soft.chances.shape
        heads = np.zeros((n_words + 1, n_tags + 1), np.float32)
        heads[:-1, :-1], heads[-1, ROOT] = text.soft.chances, 1
        by_side = self.profile.pairs.transpose(2, 1, 0, 3)  # (2, 16, 17, K)
        of_words = np.empty((n_words, n_tags + 1, by_side.shape[3]), np.float32)
        for k in range(2):
            of_words[side == k] = np.tensordot(text.soft.chances[side == k], by_side[k], 1)
        return np.asarray(np.einsum("nh,nhk->nk", heads[of_head], of_words))

    def _words(self, text: CodedText) -> Floats32:
        """The layers' outputs for a text; remembered, because its heads and its relations need
        them."""
        if self._memory.last is None or self._memory.last[0] is not text:
            self._memory.last = text, self._layer_outputs(text)
        return self._memory.last[1]

    def _layer_outputs(self, text: CodedText) -> Floats32:
        """z (N, J) of all words: outputs of the second layer, then inputs of the first."""
        w = self.scorer.weights
        starts = text.start
        sentence = np.repeat(np.arange(len(text)), text.lengths)
        at = np.arange(len(text.tags)) + sentence
        gaps = gap_pairs(text.gaps[at].astype(np.int64), text.gaps[at + 1])
        order = Packing(starts)
        if (soft := text.soft) is not None:
            x = self._inputs(
                soft.chances @ w["tag"], soft.features @ w["features"].T, gaps, text.band
            )
            return np.concatenate([self._layers[1](order, self._layers[0](order, x)), x], 1)
        key = ((text.tags.astype(np.int64) * 16 + gaps) * 8 + text.band) * len(
            text.features
        ) + text.bundle
        distinct_keys = np.array(
            sorted({*key.tolist()}), np.int64
        )  # np.unique would load much of NumPy
        of_word = np.searchsorted(distinct_keys, key)
        rest, bundle = np.divmod(distinct_keys, len(text.features))
        rest, band = np.divmod(rest, 8)
        tag, gap = np.divmod(rest, 16)
        x = self._inputs(w["tag"][tag], (text.features @ w["features"].T)[bundle], gap, band)
        y = self._layers[1](order, self._layers[0](order, x, of_word))
        return np.concatenate([y, x[of_word]], 1)

    def _inputs(
        self, tags: Floats32, features: Floats32, gaps: Ints, bands: Ints | Bytes
    ) -> Floats32:
        """What the first layer reads of words, from the parts that their tags and features make."""
        w = self.scorer.weights
        language = np.broadcast_to(self._language, (len(tags), len(self._language)))
        return np.concatenate([tags, features, w["gaps"][gaps], w["band"][bands], language], 1)


def _are_same(one: Sequence[Sentence], other: Sequence[Sentence]) -> bool:
    """Whether two sequences hold the very same sentences."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other))


def by_sentence(scores: NDArray[Any], lengths: Ints) -> Iterator[NDArray[Any]]:
    """The scores (n + 1, n) of each sentence, from those of all sentences in a row."""
    at = 0
    for n in lengths.tolist():
        yield scores[at : at + n * (n + 1)].reshape(n + 1, n)
        at += n * (n + 1)


def flags_of_arcs(text: CodedText, heads: Ints) -> Floats32:
    """The flags (N, F) of the arcs from `heads` (N,)."""
    flags = np.zeros((len(heads), N_FLAGS), np.float32)
    room = ArcWorkspace.of(int(text.lengths.max(initial=0)))
    work = len(heads) // 2 if text.soft is None else len(heads)
    FLAG_TREES(ArcWords.of(text), room, text.start, heads, flags, work=work)
    return flags

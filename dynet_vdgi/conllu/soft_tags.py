"""What a tagger thinks of the words of a sentence, beside the tags that it chose, for a parser that
reads doubts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.system.array_types import Floats32, Ints


@dataclass(frozen=True, eq=False)
class SoftTags:
    """Probabilities for the n words of a sentence.

    `chances` (n, T) are those of the UPOS `tags`, and `expected` (n, F) those of the `features`,
    such as `Case=Gen`. A word whose tag was given has 1 there, and 1 at each feature of its FEATS.
    """

    tags: tuple[str, ...]
    chances: Floats32
    features: tuple[str, ...]
    expected: Floats32

    def of(self, words: Sequence[int] | slice | Ints) -> SoftTags:
        """Those of some of the words, by their places from 0."""
        return SoftTags(self.tags, self.chances[words], self.features, self.expected[words])

    def without_features(self) -> SoftTags:
        """Those of the tags alone."""
        return SoftTags(self.tags, self.chances, (), self.expected[:, :0])

    def with_certain_tags(self, given: Iterable[tuple[int, str, str]]) -> SoftTags:
        """These, but the given words, by place, UPOS and FEATS, are certain."""
        words = [
            (place, tag, [f for f in feats.split("|") if "=" in f]) for place, tag, feats in given
        ]
        if not words:
            return self
        tags = tuple(dict.fromkeys([*self.tags, *(tag for _, tag, _ in words)]))
        names = dict.fromkeys(self.features)
        for _, _, word_features in words:
            names.update(dict.fromkeys(word_features))
        features = tuple(names)
        chances = np.zeros((len(self.chances), len(tags)), np.float32)
        expected = np.zeros((len(self.chances), len(features)), np.float32)
        chances[:, : len(self.tags)], expected[:, : len(self.features)] = (
            self.chances,
            self.expected,
        )
        for place, tag, word_features in words:
            chances[place] = expected[place] = 0
            chances[place, tags.index(tag)] = 1
            expected[place, [features.index(f) for f in word_features]] = 1
        return SoftTags(tags, chances, features, expected)

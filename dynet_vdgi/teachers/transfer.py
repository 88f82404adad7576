"""Weights of arc CRFs that were learnt from other languages' treebanks, as a start for a new language.

Their features are hashed texts of UD, so weights of different languages add up. Languages with similar
sequences of tags count more: KLcpos3 (Rosa & Zabokrtsky 2015, "KLcpos3 - a language similarity measure for
delexicalized parser transfer"), similarity(l) = KL(target || l) ^ -4 over trigrams of tags. A parser started
in this way has seen trees, though none of its language, so it cannot claim "no trees".

Letters: B buckets of weights.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence

Floats = NDArray[np.float64]
Trigram = tuple[str, str, str]

BEGIN, END = "<", ">"
POWER = -4
NEAREST = 1e-4
"""A smaller KL, such as that of a treebank with itself, is raised to this."""


def trigrams(sentences: Iterable[Sentence]) -> dict[Trigram, float]:
    """The relative frequency of each trigram of tags, sentence boundaries included; sums to 1.

    Raises:
        ValueError: there is no word.
    """
    counts: Counter[Trigram] = Counter()
    for sentence in sentences:
        tags = (BEGIN, *sentence.tags, END)
        counts.update(zip(tags, tags[1:], tags[2:]))
    total = sum(counts.values())
    if not total:
        raise ValueError("no words to count trigrams of")
    return {trigram: count / total for trigram, count in counts.items()}


def divergence(target: Mapping[Trigram, float], source: Mapping[Trigram, float]) -> float:
    """KL(target || source), in nats; trigrams unknown to the source count as its rarest one."""
    least = min(source.values())
    return sum(p * math.log(p / source.get(trigram, least)) for trigram, p in target.items())


def shares(target: Mapping[Trigram, float], sources: Sequence[Mapping[Trigram, float]]) -> Floats:
    """The weights (sources,) of the sources, which sum to 1: half equal, half by similarity."""
    similarity = np.array([max(divergence(target, source), NEAREST) ** POWER for source in sources])
    return np.asarray((similarity / similarity.sum() + 1 / len(sources)) / 2)


def start_weights(
    target: Mapping[Trigram, float], sources: Sequence[tuple[Mapping[Trigram, float], Floats]]
) -> Floats:
    """The mean (B,) of the sources' weights (B,), given the trigrams of the target's and the sources' texts.

    Raises:
        ValueError: there are no sources.
    """
    if not sources:
        raise ValueError("no treebanks of other languages")
    of_each = shares(target, [known for known, _ in sources])
    return np.asarray(sum(share * weights for share, (_, weights) in zip(of_each, sources)))

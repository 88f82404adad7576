"""The sentences to correct next: those with many frequent, unseen and doubtful pairs of tags.

Greedily, the sentence with the highest

    1/n * sum over its words of (1 - confidence) * frequency(b) / (1 + seen(b))

where b is the pair of tags of the word and the word before it, frequency(b) its frequency in the text, and
seen(b) how often the chosen sentences have it. Confidence alone would pick odd sentences. It should be
estimated again, with the corrected trees, after each batch of ten or twenty.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence

from dynet_vdgi.data.sentence import Sentence

SHORTEST, LONGEST = 4, 25
"""The length in words, shortest and longest, of a sentence worth an annotator's time."""

BEGIN = "<"

Pair = tuple[str, str]


def choose(
    pool: Sequence[Sentence],
    count: int,
    *,
    confidences: Sequence[Sequence[float]] | None = None,
    corrected: Iterable[Sentence] = (),
    among: Iterable[int] | None = None,
    shortest: int = SHORTEST,
    longest: int = LONGEST,
) -> list[int]:
    """Indices of the most useful sentences of the pool, best first; all, if it has too few.

    `confidences` holds one number per word (n,) for each sentence; without it, as for the first batch, only
    the tags count. `corrected` are sentences that have trees already. Only sentences of shortest to longest
    words are chosen, and only those whose indices are `among` these (None: all).

    Raises: ValueError, confidences and pool differ in shape.
    """
    if confidences is not None and [len(row) for row in confidences] != [len(s) for s in pool]:
        raise ValueError("confidences are not one a word")
    frequency = Counter(pair for sentence in pool for pair in pairs_of(sentence))
    seen = Counter(pair for sentence in corrected for pair in pairs_of(sentence))

    def worth(k: int) -> float:
        doubts = [1.0] * len(pool[k]) if confidences is None else [1 - c for c in confidences[k]]
        pairs = pairs_of(pool[k])
        return sum(d * frequency[b] / (1 + seen[b]) for d, b in zip(doubts, pairs)) / len(pairs)

    # Choosing a sentence can only lower the worth of others. So the best of the heap is the best of all if
    # its worth, computed again, is still not below the worth of the next one.
    candidates = range(len(pool)) if among is None else among
    heap = [(-worth(k), k) for k in candidates if shortest <= len(pool[k]) <= longest]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < count:
        k = heap[0][1]
        now = (-worth(k), k)
        if now > heap[0]:
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        chosen.append(k)
        seen.update(pairs_of(pool[k]))
    return chosen


def pairs_of(sentence: Sentence) -> list[Pair]:
    """The pair of tags of each word and the word before it."""
    return list(zip((BEGIN, *sentence.tags), sentence.tags))

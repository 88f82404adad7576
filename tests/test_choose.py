"""Which sentences to correct next."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from few import trees
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.parsing.choose import choose, pairs_of

TAGS = ("NOUN", "VERB", "ADJ")


def random_pool(seed, count=12):
    rng = np.random.default_rng(seed)
    tagged = [tuple(rng.choice(TAGS, size=rng.integers(2, 8)).tolist()) for _ in range(count)]
    return [Sentence(tags, tags) for tags in tagged]


def slowly(pool, count, confidences, corrected):
    """The same, looking at every sentence each time."""
    frequency = Counter(pair for s in pool for pair in pairs_of(s))
    seen = Counter(pair for s in corrected for pair in pairs_of(s))
    left, chosen = list(range(len(pool))), []
    while left and len(chosen) < count:
        worth = {
            k: sum((1 - c) * frequency[b] / (1 + seen[b]) for c, b in zip(confidences[k], pairs_of(pool[k])))
            / len(pool[k])
            for k in left
        }
        chosen.append(max(left, key=worth.get))
        left.remove(chosen[-1])
        seen.update(pairs_of(pool[chosen[-1]]))
    return chosen


@given(st.integers(0, 1000), st.integers(1, 14))
def test_each_is_the_best_of_what_is_left(seed, count):
    pool, rng = random_pool(seed), np.random.default_rng(seed)
    confidences = [rng.random(len(s)) for s in pool]
    found = choose(pool, count, confidences=confidences, corrected=trees(2), shortest=1)
    assert found == slowly(pool, count, confidences, trees(2))


def test_without_confidences_tags_alone_count():
    pool = random_pool(3)
    assert choose(pool, 5, shortest=1) == slowly(pool, 5, [[0.0] * len(s) for s in pool], [])


def test_doubtful_sentences_come_first():
    pool = [Sentence(("a",) * 4, ("NOUN", "VERB", "ADV", "ADJ"))] * 3
    assert choose(pool, 1, confidences=[[0.9] * 4, [0.2] * 4, [0.5] * 4]) == [1]


def test_what_was_corrected_is_worth_less():
    one, other = (Sentence(("a",) * 4, tags) for tags in (("NOUN",) * 4, ("VERB",) * 4))
    assert choose([one, other], 1) == [0]
    assert choose([one, other], 1, corrected=[one]) == [1]


def test_lengths():
    pool = [Sentence(("a",) * n, ("NOUN",) * n) for n in (1, 3, 4, 25, 26)]
    assert sorted(choose(pool, 9)) == [2, 3]
    assert sorted(choose(pool, 9, shortest=1, longest=99)) == [0, 1, 2, 3, 4]
    assert choose([], 3) == choose(pool, 0) == []


def test_confidences_of_other_sentences_are_refused():
    with pytest.raises(ValueError, match="confidences are not one a word"):
        choose(random_pool(1), 1, confidences=[[0.5]])

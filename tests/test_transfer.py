"""Starting from other languages' treebanks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from few import RandomBase, log_likelihood, trees

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.teachers.arc_crf import ArcCrf
from dynet_vdgi.teachers.transfer import divergence, shares, start_weights, trigrams


def text(*tagged):
    return [Sentence(tuple(tags.split()), tuple(tags.split())) for tags in tagged]


def test_trigrams_know_where_sentences_end():
    found = trigrams(text("A B", "A"))
    assert found == {("<", "A", "B"): 1 / 3, ("A", "B", ">"): 1 / 3, ("<", "A", ">"): 1 / 3}
    with pytest.raises(ValueError, match="no words"):
        trigrams([])


def test_divergence_takes_what_is_missing_for_the_rarest():
    one, other = trigrams(text("A B")), trigrams(text("A B", "A B", "C"))
    assert divergence(one, one) == 0
    assert divergence(one, other) == pytest.approx(math.log(0.5 / 0.4))
    assert divergence(other, one) == pytest.approx(0.8 * math.log(0.4 / 0.5) + 0.2 * math.log(0.2 / 0.5))


def test_similar_languages_count_more_but_every_one_counts():
    target = trigrams(text("A B C", "A C"))
    near, far = (
        trigrams(text(*["A B C", "A C"] * 9, "B")),
        trigrams(text(*["C C", "B A"] * 9, "A")),
    )
    counted = shares(target, [near, far, target])
    assert counted.sum() == pytest.approx(1)
    assert counted[2] > counted[0] > counted[1] >= 1 / 6
    assert shares(target, [near]).tolist() == [1]
    with pytest.raises(ValueError, match="no treebanks of other languages"):
        start_weights(target, [])


def test_weights_of_other_languages_parse_better_than_none():
    gold, options = trees(12), {"log2_buckets": 14, "words": False}
    source = ArcCrf(**options).fit(trees(12, 50), RandomBase())
    start = start_weights(
        trigrams(gold), [(trigrams(gold), source.weights), (trigrams(gold), np.zeros(1 << 14))]
    )
    assert start == pytest.approx(source.weights / 2)
    none, transferred = (ArcCrf(**options).fit([], RandomBase(), start=w) for w in (None, start))
    assert log_likelihood(transferred, gold) > log_likelihood(none, gold)

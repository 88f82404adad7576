"""Many sentences parsed at once by the encoder get the trees of the reference engine, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from networks import TAGS, WORDS, network

from dynet_vdgi.conllu.vocabulary import Encoded, Vocabulary
from dynet_vdgi.paper import greedy, per_sentence
from dynet_vdgi.paper.greedy import GreedyParser
from dynet_vdgi.paper.settings import ModelSettings


def parser_of(arrays: dict[str, Any], word_dim: int = 0) -> GreedyParser:
    """A parser with the sizes of `network`."""
    settings = ModelSettings(tag_dim=5, hidden_dim=4, vector_dim=6, word_dim=word_dim)
    return GreedyParser(arrays, Vocabulary(TAGS, WORDS if word_dim else ()), settings)


def texts(count: int) -> list[Encoded]:
    """Sentences of 0 to 8 words, some with tags and words that are not known."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 9, count).tolist()
    return [
        Encoded(tuple(rng.integers(0, 4, n).tolist()), tuple(rng.integers(0, 5, n).tolist()))
        for n in lengths
    ]


@pytest.mark.parametrize("at_once", [1, 3, 64])
@pytest.mark.parametrize("word_dim", [0, 3])
def test_trees_are_those_of_the_reference_engine(monkeypatch, word_dim, at_once):
    monkeypatch.setattr(greedy, "AT_ONCE", at_once)
    net = network(seed=8, scale=4.0, word_dim=word_dim)
    parser = parser_of(net.parameters.arrays(), word_dim)
    sentences = texts(60)
    assert sorted({len(sentence) for sentence in sentences}) == list(range(9))
    expected = [per_sentence.parse(net.encoder, sentence) for sentence in sentences]
    assert parser.parse(sentences) == expected
    assert parser.parse(sentences[::-1]) == expected[::-1]
    assert len(set(expected)) > 25  # the weights decide, not the lengths
    assert parser.parse([]) == []

"""The CRF as a parser: its trees, margins, kept heads, long sentences, damaged models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute_force import is_tree
from dynet_vdgi.parsing.crf_engine import CrfEngine
from few import RandomBase, trees

from dynet_vdgi.data.sentence import FREE
from dynet_vdgi.errors import ModelError
from dynet_vdgi.grammar import chart
from dynet_vdgi.parsing import exact_trees, keep
from dynet_vdgi.teachers.arc_crf import ArcCrf

TEXT = [replace(one, heads=None) for one in trees(18, 30)]


@pytest.fixture(scope="module")
def engine() -> CrfEngine:
    return CrfEngine(ArcCrf(log2_buckets=12).fit(trees(12), RandomBase()))


def test_trees_are_those_with_the_most_heads_expected_to_be_right(engine: CrfEngine) -> None:
    found = engine.with_margins(TEXT, keep_heads=False)
    assert [tree for tree, _ in found] == engine.parse(TEXT)
    assert engine.parse(TEXT) == [chart.expected_best(arcs) for arcs in engine.crf.marginals(TEXT)]
    for (tree, margins), sentence in zip(found, TEXT):
        marginals = chart.marginals(engine.crf.scores(sentence))
        probabilities = marginals[list(tree), range(len(tree))]
        assert np.allclose(1 / (1 + np.exp(-margins)), probabilities, atol=1e-8)


def test_given_heads_are_kept_and_certain(engine: CrfEngine) -> None:
    given = [replace(one, heads=(len(one), *(FREE,) * (len(one) - 1))) for one in TEXT]
    for (tree, margins), sentence in zip(engine.with_margins(given, keep_heads=True), given):
        assert tree == keep.complete(engine.crf.scores(sentence), sentence.heads)
        assert tree[0] == len(sentence)
        assert margins[0] == np.max(margins) > 15
    free = [replace(one, heads=(FREE,) * len(one)) for one in TEXT]
    assert [tree for tree, _ in engine.with_margins(free, keep_heads=True)] == engine.parse(TEXT)


def test_long_sentences_are_parsed_in_pieces(engine: CrfEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_trees, "LONGEST", 4)
    for tree in engine.parse(TEXT):
        assert is_tree(tree)
    assert [tree[:4] for tree in engine.parse(TEXT[:1])] == [
        tuple(
            engine.parse(
                [
                    replace(
                        TEXT[0],
                        forms=TEXT[0].forms[:4],
                        tags=TEXT[0].tags[:4],
                        feats=TEXT[0].feats[:4],
                        deprels=(),
                        gaps=TEXT[0].gaps[:5],
                    )
                ]
            )[0]
        )
    ]


def test_a_base_with_another_number_of_parts_is_a_damaged_model(engine: CrfEngine) -> None:
    class Damaged(RandomBase):
        def all_parts(self, sentences):
            return (np.zeros((2, 2, 2)) for _ in sentences)

    crf = ArcCrf(log2_buckets=12).fit([], RandomBase())
    crf.base = Damaged()
    with pytest.raises(ModelError, match="parameters do not fit"):
        CrfEngine(crf)

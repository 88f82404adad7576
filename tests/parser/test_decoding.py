"""From the scores of a CRF to trees: margins, kept heads, long sentences, damaged models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute_force import is_tree
from few import RandomBase, trees

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import ModelError
from dynet_vdgi.few_trees.arc_crf import ArcCrf
from dynet_vdgi.inference import eisner
from dynet_vdgi.parser import decoding, given_heads
from dynet_vdgi.parser.crf_engine import CrfEngine
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.engine import Scores, ScoringEngine

TEXT = [replace(one, heads=None) for one in trees(18, 30)]


@pytest.fixture(scope="module")
def engine() -> CrfEngine:
    return CrfEngine(ArcCrf(log2_buckets=12).fit(trees(12), RandomBase()))


def trees_of(engine, sentences, **options):
    return [each.heads for each in find(engine, sentences, **options)]


def test_trees_are_those_with_the_most_heads_expected_to_be_right(engine):
    found = find(engine, TEXT, margins=True)
    assert [each.heads for each in found] == trees_of(engine, TEXT)
    assert trees_of(engine, TEXT) == [
        eisner.expected_best(arcs) for arcs in engine.crf.marginals(TEXT)
    ]
    for (tree, margins, _), sentence in zip(found, TEXT):
        probabilities = eisner.marginals(engine.crf.scores(sentence))[list(tree), range(len(tree))]
        assert np.allclose(1 / (1 + np.exp(-margins)), probabilities, atol=1e-8)


def test_given_heads_are_kept_and_certain(engine):
    given = [replace(one, heads=(len(one), *(FREE,) * (len(one) - 1))) for one in TEXT]
    for (tree, margins, _), one in zip(find(engine, given, margins=True, keep_heads=True), given):
        assert tree == given_heads.complete(engine.crf.scores(one), one.heads)
        assert tree[0] == len(one)
        assert margins[0] == np.max(margins) > 15
    free = [replace(one, heads=(FREE,) * len(one)) for one in TEXT]
    assert trees_of(engine, free, keep_heads=True) == trees_of(engine, TEXT)


def test_what_needs_no_decision_gets_none(engine):
    crossing, empty = replace(TEXT[0], heads=(3, 4, 0, 3, 3)), Sentence((), ())
    whole, nothing, other = find(engine, [crossing, empty, TEXT[1]], margins=True, keep_heads=True)
    assert (whole.heads, whole.margins.tolist()) == (crossing.heads, [0.0] * 5)
    assert (nothing.heads, len(nothing.margins)) == ((), 0)
    assert other.heads == trees_of(engine, TEXT[1:2])[0]


def test_long_sentences_are_parsed_in_pieces(engine, monkeypatch):
    monkeypatch.setattr(decoding, "LONGEST_PIECE", 4)
    found = find(engine, TEXT, margins=True)
    assert all(is_tree(each.heads) and len(each.margins) == len(each.heads) for each in found)
    one, columns = TEXT[0], ("forms", "tags", "feats")
    first = replace(
        one, **{name: getattr(one, name)[:4] for name in columns}, deprels=(), gaps=one.gaps[:5]
    )
    assert found[0].heads[:4] == trees_of(engine, [first])[0]
    # heads may cross pieces, so such a sentence stays whole
    given = replace(one, heads=(FREE,) * 4 + (1,))
    assert trees_of(engine, [given], keep_heads=True)[0][4] == 1


class Known(ScoringEngine):
    """log p of relations, which counts the words of a batch."""

    def scores(self, sentences):
        arcs = [np.eye(len(s) + 1, k=1) for s in sentences]
        return Scores(
            arcs, lambda heads: np.stack([heads, np.arange(len(heads))], axis=1).astype(float)
        )


def test_log_p_of_relations_comes_with_the_words_of_each_sentence(monkeypatch):
    assert [each.log_p for each in find(Known(), TEXT)] == [None] * len(TEXT)
    for longest in (decoding.LONGEST_PIECE, 4):
        monkeypatch.setattr(decoding, "LONGEST_PIECE", longest)
        for each in find(Known(), TEXT, relations=True):
            assert each.log_p is None or (each.log_p[:, 0] == each.heads).all()
            # of another root than in the piece
            assert (each.log_p is None) == (len(each.heads) > longest)


def test_a_base_with_another_number_of_parts_is_a_damaged_model(engine):
    class Damaged(RandomBase):
        def all_parts(self, sentences):
            return (np.zeros((2, 2, 2)) for _ in sentences)

    crf = ArcCrf(log2_buckets=12).fit([], RandomBase())
    crf.base = Damaged()
    with pytest.raises(ModelError, match="parameters do not fit"):
        CrfEngine(crf)

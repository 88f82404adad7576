"""Table, trees and text together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute_force import crosses, is_tree
from few import RandomBase, trees
from wording import Wording

from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.few_trees.arc_crf import ArcCrf
from dynet_vdgi.few_trees.word_perceptron import WordPerceptron
from dynet_vdgi.inference import eisner
from dynet_vdgi.parser.given_heads import KeepError
from dynet_vdgi.training.few_trees import FewTrees

TEXT = [replace(one, heads=None, deprels=()) for one in trees(18, 30)]
GOLD = trees(18, 30)


def learner():
    return FewTrees(ArcCrf(log2_buckets=12), WordPerceptron(log2_buckets=12, orders=1))


def votes():
    """An unsupervised teacher's marginals."""
    return [eisner.marginals(RandomBase(3.0).potentials(sentence)) for sentence in TEXT]


def accuracy(parsed):
    return np.mean([a == b for s, p in zip(GOLD, parsed) for a, b in zip(s.heads, p.heads)])


def test_without_trees_the_student_learns_the_teachers_trees():
    learnt = learner().fit(TEXT, [], RandomBase(), votes())
    assert learnt.share == 1
    taught = [eisner.expected_best(marginals) for marginals in votes()]
    agreed = [a == b for p, t in zip(learnt.predict(TEXT), taught) for a, b in zip(p.heads, t)]
    assert np.mean(agreed) > 0.8


def test_trees_move_both_parsers():
    none, some = (learner().fit(TEXT, trees(k), RandomBase(), votes()) for k in (0, 12))
    assert 0 < some.share < 0.5
    assert accuracy(some.predict(TEXT)) > 0.9 > accuracy(none.predict(TEXT))
    assert accuracy(replace(some, student=None).predict(TEXT)) > 0.9


def test_trees_without_text_and_text_without_a_teacher(wording: Wording):
    alone = learner().fit([], trees(12), RandomBase())
    assert accuracy(alone.predict(TEXT)) > 0.9
    with wording.raises(VdgiError):
        alone.confidences(TEXT)
    learnt = learner().fit(TEXT, trees(12), RandomBase())
    assert learnt.share == 0
    assert accuracy(learnt.predict(TEXT)) > 0.9


def test_partial_trees_are_completed_around_what_is_given():
    learnt = learner().fit(TEXT, trees(12), RandomBase(), votes())
    partial = [replace(one, heads=(FREE, *one.heads[1:-1], FREE)) for one in trees(6)]
    for one in partial:
        whole = learnt.completed(one).heads
        assert whole[1:-1] == one.heads[1:-1]
        assert is_tree(whole)
        assert not crosses(whole)
    crossing = replace(trees(1)[0], heads=(3, 4, FREE, 0, FREE))
    assert learnt.completed(crossing).heads[:2] == (3, 4)


def test_partial_trees_teach():
    partial = [
        replace(one, heads=tuple(FREE if (d + k // 6) % 2 else h for d, h in enumerate(one.heads)))
        for k, one in enumerate(trees(24))
    ]
    learnt = learner().fit(TEXT, partial, RandomBase(), votes())
    assert accuracy(learnt.predict(TEXT)) > 0.85


def test_given_heads_are_kept_by_both_parsers():
    learnt = learner().fit(TEXT, trees(12), RandomBase(), votes())
    given = [replace(one, heads=(len(one), *(FREE,) * (len(one) - 1))) for one in TEXT]
    exact = replace(learnt, student=None)
    for parsed in (learnt.predict(given, keep_heads=True), exact.predict(given, keep_heads=True)):
        assert all(one.heads[0] == len(one) for one in parsed)
        assert all(is_tree(one.heads) for one in parsed)
    impossible = [replace(TEXT[0], heads=(0, 0, FREE, FREE, FREE))]
    for predict in (learnt.predict, exact.predict):
        with pytest.raises(KeepError, match="are roots"):
            predict(impossible, keep_heads=True)
    assert learnt.predict([TEXT[0]], keep_heads=True) == learnt.predict([TEXT[0]])

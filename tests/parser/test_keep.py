"""Given heads are kept, or it is said why they cannot be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from brute_force import projective_trees
from wording import Wording

from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.inference import eisner
from dynet_vdgi.parser.given_heads import KeepError, complete, conflict


def fits(given, heads):
    return all(one in (FREE, head) for one, head in zip(given, heads))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_there_is_a_reason_exactly_where_there_is_no_tree(n):
    trees = projective_trees(n)
    for given in product(range(-1, n + 1), repeat=n):
        possible = any(fits(given, tree) for tree in trees)
        assert (conflict(given) is None) == possible, given


def test_the_tree_has_most_expected_arcs_of_those_that_contain_what_is_given():
    scores = np.random.default_rng(2).normal(size=(6, 6))
    for given in ((FREE, 1, FREE, FREE, 3), (FREE, FREE, 0, FREE, FREE), (FREE,) * 5):
        marginals = eisner.marginals(eisner.constrained_scores(scores, given))
        trees = [tree for tree in projective_trees(5) if fits(given, tree)]
        expected = {tree: sum(marginals[h, d] for d, h in enumerate(tree)) for tree in trees}
        assert complete(scores, given) == max(expected, key=expected.get)


def test_whole_trees_stay_as_they_are():
    assert complete(np.zeros((4, 4)), (2, 0, 2)) == (2, 0, 2)


@pytest.mark.parametrize(
    "heads",
    [
        (0, 0),
        (2, 1, FREE),
        (1,),
        (FREE, 9),
        (3, 4, FREE, FREE),
        (3, 0, FREE),
        (3, FREE, 2),
    ],
)
def test_reasons(heads, wording: Wording):
    wording.check(conflict(heads))
    with pytest.raises(KeepError) as caught:
        complete(np.zeros((len(heads) + 1,) * 2), heads)
    wording.check(caught.value)

"""The transition system against enumeration that shares no code with it."""

from __future__ import annotations

import brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.paper.transitions import Action, State, oracle

DERIVATIONS = {1: 1, 2: 2, 3: 8, 4: 40, 5: 224, 6: 1344, 7: 8448}
TREES = {1: 1, 2: 2, 3: 7, 4: 30, 5: 143, 6: 728, 7: 3876}


def heads_of(actions, n):
    """The tree of a complete derivation."""
    state = State(n)
    for action in actions:
        state.apply(action)
    assert state.is_final
    return tuple(state.heads)


def grow(n):
    """All derivations that `State` calls legal."""
    agenda, found = [[]], []
    while agenda:
        prefix = agenda.pop()
        state = State(n)
        for action in prefix:
            state.apply(action)
        if state.is_final:
            assert state.legal() == (False, False, False)
            found.append(tuple(prefix))
        agenda += [[*prefix, action] for action, legal in zip(Action, state.legal()) if legal]
    return found


@pytest.mark.parametrize("n", range(1, 7))
def test_legal_derivations_are_those_of_enumeration(n):
    found = grow(n)
    assert len(found) == len(set(found)) == DERIVATIONS[n]
    assert set(found) == {actions for actions, _ in brute_force.derivations(n)}
    assert {heads_of(actions, n) for actions in found} == {
        heads for _, heads in brute_force.derivations(n)
    }


def test_counts_for_seven_words():
    derivations = brute_force.derivations(7)
    assert len(derivations) == DERIVATIONS[7]
    assert len({heads_of(actions, 7) for actions, _ in derivations}) == TREES[7]


@pytest.mark.parametrize("n", range(1, 7))
def test_oracle_inverts_heads_of_for_every_projective_tree(n):
    trees = brute_force.projective_trees(n)
    assert len(trees) == TREES[n]
    for tree in trees:
        assert heads_of(oracle(tree), n) == tree


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6))
def test_oracle_rejects_all_that_is_no_projective_tree(heads):
    sound = (
        all(head <= len(heads) for head in heads)
        and brute_force.is_tree(heads)
        and not brute_force.crosses(heads)
    )
    if sound:
        assert heads_of(oracle(heads), len(heads)) == tuple(heads)
    else:
        with pytest.raises(ValueError, match="projective tree|outside"):
            oracle(heads)


@pytest.mark.parametrize(
    "actions",
    [
        [Action.LEFT_REDUCE],
        [Action.SHIFT, Action.RIGHT_REDUCE],
        [Action.SHIFT] * 3,
    ],
)
def test_impossible_derivations_are_named(actions, wording: Wording):
    with wording.raises(ValueError):
        heads_of(actions, 2)

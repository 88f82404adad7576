"""The arc-standard transition system for projective trees with one root (paper, section
"Background").

A derivation of n words has 2n - 1 actions. ROOT is never on the stack: the last word left there is
the root, attached without an action and without a score. Only this module decides legality; a
neural stack keeps pace with `State` by pushing and popping whenever `State` does.

The derivation of "the dog barks", whose heads are 2, 3 and 0:

>>> state = State(3)
>>> for action in oracle([2, 3, 0]):
...     state.apply(action)
...     print(f"{action.name:11} {state.stack!s:6} {state.heads}")
SHIFT       [1]    [0, 0, 0]
SHIFT       [1, 2] [0, 0, 0]
LEFT_REDUCE [2]    [2, 0, 0]
SHIFT       [2, 3] [2, 0, 0]
LEFT_REDUCE [3]    [2, 3, 0]
>>> state.is_final
True
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class Action(IntEnum):
    """The three moves; the integer is the index in the action softmax."""

    SHIFT = 0  # called GEN in the decoder
    LEFT_REDUCE = 1  # the top of the stack becomes the head of the word below it
    RIGHT_REDUCE = 2  # the word below the top becomes the head of the top


N_ACTIONS = len(Action)

SHIFT_ONLY = (True, False, False)

REDUCE_ONLY = (False, True, True)

ANY_ACTION = (True, True, True)

NO_ACTION = (False, False, False)


class State:
    """A parser state over words 1..n: `stack` of words, `read` words shifted so far, `heads` found
    so far."""

    __slots__ = ("heads", "n", "read", "stack")

    def __init__(self, n: int) -> None:
        self.n = n
        self.read = 0
        self.stack: list[int] = []
        self.heads = [0] * n

    @property
    def is_final(self) -> bool:
        """True after 2n - 1 actions: nothing to read, one word on the stack."""
        return self.read == self.n and len(self.stack) == 1

    def legal(self) -> tuple[bool, bool, bool]:
        """Which of SHIFT, LEFT_REDUCE, RIGHT_REDUCE may come next; none in the final state."""
        if len(self.stack) < 2:
            return SHIFT_ONLY if self.read < self.n else NO_ACTION
        return ANY_ACTION if self.read < self.n else REDUCE_ONLY

    def apply(self, action: int) -> None:
        """Takes one action. Raises: ValueError, the action is illegal here."""
        if not self.legal()[action]:
            raise ValueError(
                f"{Action(action).name} is illegal: stack {self.stack}, "
                f"{self.read} of {self.n} words read"
            )
        if action == Action.SHIFT:
            self.read += 1
            self.stack.append(self.read)
            return
        top = self.stack.pop()
        if action == Action.LEFT_REDUCE:
            self.heads[self.stack[-1] - 1] = top
            self.stack[-1] = top
        else:
            self.heads[top - 1] = self.stack[-1]

    def after(self, action: int) -> State:
        """A new state, one action later. Raises: ValueError, the action is illegal here."""
        later = State(0)
        later.n, later.read, later.stack, later.heads = (
            self.n,
            self.read,
            self.stack.copy(),
            self.heads.copy(),
        )
        later.apply(action)
        return later


def oracle(heads: Sequence[int]) -> tuple[Action, ...]:
    """The canonical derivation of a tree: reduce as soon as the dependent has all its own
    dependents.

    Raises: ValueError, `heads` is not a projective tree with one root.
    """
    n = len(heads)
    state, actions = State(n), []
    missing = [0] * (n + 1)  # dependents still to come
    for head in heads:
        if not 0 <= head <= n:
            raise ValueError(f"head {head} is outside 0..{n}")
        missing[head] += 1
    while not state.is_final:
        action = Action.SHIFT
        if len(state.stack) >= 2:
            second, top = state.stack[-2:]
            if heads[second - 1] == top and not missing[second]:
                action = Action.LEFT_REDUCE
            elif heads[top - 1] == second and not missing[top]:
                action = Action.RIGHT_REDUCE
        if not state.legal()[action]:
            break
        if action is not Action.SHIFT:
            missing[heads[(second if action is Action.LEFT_REDUCE else top) - 1]] -= 1
        state.apply(action)
        actions.append(action)
    if not state.is_final or state.heads != list(heads):
        raise ValueError(f"heads {list(heads)} are not a projective tree with one root")
    return tuple(actions)

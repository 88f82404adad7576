"""The lockstep engine's bookkeeping in integers: sentences, rows, states, and steps.

`lockstep` explains the letters, rows and states, with the example that is run here: two samples of
one sentence of three words share a row until the third action, where one reduces and the other
shifts.

>>> batch = Batch([Encoded(tags=(1, 2, 3), words=(0, 0, 0))])
>>> rows = Rows(batch, copies=2, merge=True)
>>> S, L, R = Action
>>> for actions in zip([S, S, L, S, L], [S, S, S, L, L]):
...     step = rows.advance(np.array(actions))
...     print("actions", step.action, "states on top", rows.top, "row of each sample", step.row_of)
actions [0] states on top [1] row of each sample [0 0]
actions [0] states on top [2] row of each sample [0 0]
actions [1 0] states on top [3 4] row of each sample [0 1]
actions [1 0] states on top [5 6] row of each sample [1 0]
actions [1 1] states on top [7 8] row of each sample [1 0]
>>> rows.heads.tolist()
[[2, 3, 0], [3, 3, 0]]

The states below states 0 to 8, and the words that these stand for:

>>> rows.below[:9].tolist(), rows.word[:9].tolist()
([0, 0, 1, 0, 2, 1, 3, 0, 0], [0, 1, 2, 2, 3, 3, 3, 3, 3])

Only `Gather.of` uses DyNet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.paper.layers import Expression
from dynet_vdgi.paper.transitions import N_ACTIONS, Action
from dynet_vdgi.system.array_types import Flags, Ints
from dynet_vdgi.system.dynet_setup import dy


class Batch:
    """B sentences of n words each; word i (from 0) of sentence b is column i * B + b."""

    def __init__(self, sentences: Sequence[Encoded]) -> None:
        lengths = [len(sentence) for sentence in sentences]
        if len(set(lengths)) != 1 or not lengths[0]:
            raise ValueError(f"sentences of one length are needed, these have {lengths}")
        self.size, self.n = len(sentences), lengths[0]
        self.tags = np.array([sentence.tags for sentence in sentences]).T.ravel()  # (n * B,)
        self.words = np.array([sentence.words for sentence in sentences]).T.ravel()  # (n * B,)


@dataclass(frozen=True)
class Gather:
    """States as columns of the expressions that hold them: `pieces` of (number of the expression,
    columns).

    `order` says where each state is in the concatenation of the pieces; None if they are in order
    already.
    """

    pieces: list[tuple[int, list[int]]]
    order: list[int] | None

    def of(self, history: Sequence[Expression]) -> Expression:
        """The states' outputs or cells (H,)xR from all of them."""
        picked = [dy.pick_batch_elems(history[source], columns) for source, columns in self.pieces]
        joined = dy.concatenate_to_batch(picked) if len(picked) > 1 else picked[0]
        return joined if self.order is None else dy.pick_batch_elems(joined, self.order)


@dataclass(frozen=True)
class Push:
    """The parts of R new states: first the compositions of two states, then the words shifted."""

    items: list[Gather]  # heads and dependents; empty where nothing is composed
    words: list[int]  # columns of the words
    below: Gather  # (R,)


@dataclass(frozen=True)
class Transition:
    """One transition of all rows: P rows before it, R >= P after it."""

    sentence: Ints  # (P,)
    read: Ints  # (P,) words read
    depth: Ints  # (P,) items on the stack
    parent: Ints  # (R,) row before
    action: Ints  # (R,)
    row_of: Ints  # (N,) row after, of each sample
    push: Push | None  # None in the last step, after which the stack is not read


class Rows:
    """All rows as they are now, all states so far, and the steps that led here."""

    def __init__(self, batch: Batch, copies: int, merge: bool) -> None:
        self.batch, self.n_steps, n_samples = batch, 2 * batch.n - 1, batch.size * copies
        of_samples = np.repeat(np.arange(batch.size), copies)
        self.sentence = np.arange(batch.size) if merge else of_samples
        self.row_of = of_samples if merge else np.arange(n_samples)  # (N,)
        self.read = np.zeros_like(self.sentence)
        self.depth = np.zeros_like(self.sentence)
        self.top = np.zeros_like(self.sentence)  # state
        self.n_states, most = 1, 1 + n_samples * self.n_steps
        self.below = np.zeros(most, dtype=np.int64)  # of each state, the state below it
        self.word = np.zeros(most, dtype=np.int64)  # the word on top, 1..n
        # the expression that holds it: 0, then one a step
        self.source = np.zeros(most, dtype=np.int64)
        self.column = np.zeros(most, dtype=np.int64)  # and the column there
        self.heads = np.zeros((n_samples, batch.n), dtype=np.int64)
        self.steps: list[Transition] = []

    def legal(self) -> tuple[Flags, Flags]:
        """Whether SHIFT, and whether both REDUCEs are legal in each row; as `State.legal` of
        `transitions`."""
        return self.read < self.batch.n, self.depth >= 2

    def gather(self, states: Ints) -> Gather:
        """Where `states` (R,) are."""
        source, order = self.source[states], None
        if (source[1:] < source[:-1]).any():
            by_source = np.argsort(source, kind="stable")
            order = np.argsort(by_source).tolist()
            states, source = states[by_source], source[by_source]
        columns = self.column[states].tolist()
        cuts = [0, *(np.flatnonzero(source[1:] != source[:-1]) + 1).tolist(), len(columns)]
        return Gather([(int(source[a]), columns[a:z]) for a, z in zip(cuts, cuts[1:])], order)

    def advance(self, actions: Ints) -> Transition:
        """Takes one action (N,) of each sample.

        The new rows are sorted by the state below their new one, so that gathering those needs no
        reordering; this puts rows that reduced before rows that shifted.

        Raises: ValueError, an action is illegal.
        """
        can_shift, can_reduce = self.legal()
        shifts = actions == Action.SHIFT  # (N,)
        if not np.where(shifts, can_shift[self.row_of], can_reduce[self.row_of]).all():
            raise ValueError(f"an action of step {len(self.steps)} is illegal")
        n_before, second = len(self.top), self.below[self.top]
        below = np.where(shifts, self.top[self.row_of], self.below[second][self.row_of])
        keys = (below * N_ACTIONS + actions) * n_before + self.row_of
        keys, row_of = np.unique(keys, return_inverse=True)
        parent, action, below = (
            keys % n_before,
            keys // n_before % N_ACTIONS,
            keys // (n_before * N_ACTIONS),
        )

        top, second = self.top[parent], second[parent]
        sentence, read, depth = self.sentence[parent], self.read[parent], self.depth[parent]
        shifted, top_is_head = action == Action.SHIFT, action == Action.LEFT_REDUCE  # (R,)
        head, dependent = np.where(top_is_head, top, second), np.where(top_is_head, second, top)
        samples = np.flatnonzero(~shifts)
        arc = row_of[samples]
        self.heads[samples, self.word[dependent[arc]] - 1] = self.word[head[arc]]

        push, n_reduced = None, int(np.count_nonzero(~shifted))
        if len(self.steps) < self.n_steps - 1:
            items = (
                [self.gather(states[:n_reduced]) for states in (head, dependent)]
                if n_reduced
                else []
            )
            words = (read * self.batch.size + sentence)[n_reduced:]
            push = Push(items, words.tolist(), self.gather(below))
        step = Transition(self.sentence, self.read, self.depth, parent, action, row_of, push)
        self.steps.append(step)
        self._add_states(below, np.where(shifted, read + 1, self.word[head]))
        self.sentence, self.row_of = sentence, row_of
        self.read, self.depth = read + shifted, np.where(shifted, depth + 1, depth - 1)
        return step

    def _add_states(self, below: Ints, word: Ints) -> None:
        new = slice(self.n_states, self.n_states + len(below))
        self.below[new], self.word[new] = below, word
        self.source[new], self.column[new] = len(self.steps), np.arange(len(below))
        self.top, self.n_states = np.arange(new.start, new.stop), new.stop

"""Features of arc-hybrid states: templates over the words around the stack and the buffer.

In packed sentences word i is row i, nothing is 0, and ROOT is n + 1.

Letters: n words, p word atoms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynet_vdgi.features.atoms import AGREEING, AGREEMENT, GAPS
from dynet_vdgi.features.templates import Templates
from dynet_vdgi.inference.arc_hybrid import (
    LEFTMOST,
    N_CHILDREN,
    RIGHTMOST,
    STACK,
)
from dynet_vdgi.system.array_types import Codes, Ints
from dynet_vdgi.system.jit import compiled

_IN_ORDER = """
nothing s0 s1 s2 b0 b1 b2 before s0_left s0_right s1_left s1_right b0_left
s0_children s1_children gap span depth
"""

ATOMS = tuple(_IN_ORDER.split())
"""The atoms of a state.

Tags: s0 s1 s2 the top of the stack and the items below, b0 b1 b2 the front of the buffer and the
words after it, `before` the word before the front, X_left and X_right the outermost dependents of X
on that side. Numbers: dependents of s0 and s1 so far, gap from s0 to b0, span from s1 to s0, words
on the stack.
"""

TEMPLATES = (
    "s0",
    "s0 b0",
    "s0 s1",
    "b0 b1",
    "b0 b1 b2",
    "s0 s1 b0",
    "s0 b0 b1",
    "s0 s1 b0 b1",
    "s0 s1 s2 b0",
    "s0 b0 b1 b2",
    "s0 before b0 b1",
    "s0 s0_left s0_right b0",
    "s0 s1 s0_left b0",
    "s0 s1 s0_right b0",
    "s0 s0_right b0 b1",
    "s0 s1 s1_left b0",
    "s0 s1 s1_right b0",
    "s0 b0 b0_left",
    "s0 gap b0",
    "s0 s1 span b0",
    "s0 s0_children b0",
    "s0 s1 s1_children b0",
    "s0 depth b0",
)
"""The atoms of each feature, up to four. A change here makes model files unreadable: FORMAT."""

MOST_CHILDREN, MOST_DEPTH, FARTHEST_DISTANCE = 3, 3, 5  # larger numbers are taken for these

N_PLACES = 13
"""The places of atoms: nothing, then the next twelve of ATOMS, s0 to b0_left."""

NUMBERS = ("s0_children", "s1_children", "gap", "span", "depth", "gaps0", "gaps1")
"""As there; gaps0 and gaps1: in how many places there is punctuation from s0 to b0, and from s1 to
s0. These two, and agreement, may be absent: 0."""

FARTHEST_GAP = 2  # more places with punctuation count as these


@compiled
def numbers_of(state: Ints, size: int, front: int) -> tuple[int, int, int, int, int]:
    """The numbers among the atoms of a state, in their order."""
    s0, s1 = state[STACK, size + 2], state[STACK, size + 1]
    return (
        min(state[N_CHILDREN, s0], MOST_CHILDREN),
        min(state[N_CHILDREN, s1], MOST_CHILDREN),
        min(front - s0, FARTHEST_DISTANCE) if s0 else 0,
        min(s0 - s1, FARTHEST_DISTANCE) if s1 else 0,
        min(size, MOST_DEPTH),
    )


class StateFeatures(NamedTuple):
    """A model's atoms: columns of words, then NUMBERS, then whether s0 agrees with b0, and s0 with
    s1."""

    places: Ints  # (p,) of words
    columns: Ints  # (p,): which columns of these; atoms 1..p
    templates: Templates


@compiled
def look(state: Ints, size: int, front: int, places: Ints) -> None:
    """The rows of the words in all places, N_PLACES of them."""
    s0, s1 = state[STACK, size + 2], state[STACK, size + 1]
    places[0], places[1], places[2], places[3] = 0, s0, s1, state[STACK, size]
    places[4], places[5], places[6], places[7] = front, front + 1, front + 2, front - 1
    places[8], places[9] = state[LEFTMOST, s0], state[RIGHTMOST, s0]
    places[10], places[11] = state[LEFTMOST, s1], state[RIGHTMOST, s1]
    places[12] = state[LEFTMOST, front]


@compiled
def fill_numbers(state: Ints, size: int, front: int, rows: Codes, numbers: Codes) -> None:
    """NUMBERS and agreement, numbers (7 + 8,)."""
    s0, s1 = state[STACK, size + 2], state[STACK, size + 1]
    numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] = numbers_of(state, size, front)
    has_gaps = rows[len(rows) - 3, GAPS] > 0
    most = np.uint64(FARTHEST_GAP)
    numbers[5] = 1 + min(rows[front, GAPS] - rows[s0, GAPS], most) if has_gaps and s0 else 0
    numbers[6] = 1 + min(rows[s0, GAPS] - rows[s1, GAPS], most) if has_gaps and s1 else 0
    k = 7
    for other in (front, s1):
        for column in range(AGREEMENT, AGREEMENT + len(AGREEING)):
            value, other_value = rows[s0, column], rows[other, column]
            numbers[k] = 0
            if value and other_value:
                numbers[k] = 1 if value == other_value else 2
            k += 1


@compiled
def find_features(
    rows: Codes, features: StateFeatures, shift: int, places: Ints, atoms: Codes, buckets: Codes
) -> int:
    """Fills in the buckets of the features, given `places` and the numbers among `atoms`.

    Returns the number of features: those with an absent atom do not exist. `atoms` (2 a,) are words
    and numbers, and after them workspace for their addends to hashes.
    """
    parts, of_template, of_atom, certain = features.templates
    n_words, n_atoms = len(features.places), len(of_atom)
    for k in range(n_words):
        atoms[k + 1] = rows[places[features.places[k]], features.columns[k]]
    for k in range(n_atoms):
        atoms[n_atoms + k] = atoms[k] * of_atom[k]
    width, down = parts.shape[1], np.uint64(shift)
    for t in range(certain):
        code = of_template[t]
        for k in range(width):
            atom = parts[t, k]
            if not atom:
                break
            code += atoms[n_atoms + atom]
        buckets[t] = code >> down
    n_found = certain
    for t in range(certain, len(parts)):
        code, exists = of_template[t], True
        for k in range(width):
            atom = parts[t, k]
            if not atom or not exists:
                break
            exists = atoms[atom] != 0
            code += atoms[n_atoms + atom]
        if exists:
            buckets[n_found] = code >> down
            n_found += 1
    return n_found

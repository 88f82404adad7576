"""Features of arcs, and the kernels that score arcs by the features' weights and learn the weights.

Rows are those of one sentence as `features.atoms` packs them, (n + 4, c), with ROOT at n + 1. Arcs
are [head, dependent], ROOT at 0.

Letters: n words, c columns of atoms, t templates, a atoms, B buckets of weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynet_vdgi.features.atoms import (
    AGREEING,
    AGREEMENT,
    EXTRA_ROWS,
    GAPS,
    C,
    M,
    P,
    PackedRows,
    S,
    T,
    W,
)
from dynet_vdgi.features.hashing import GOLDEN_FACTOR, PRIME_FACTOR, shift_of
from dynet_vdgi.features.templates import Templates, table_of, without
from dynet_vdgi.system.array_types import Codes, Flags, Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled

NEIGHBOURS = ("h-1", "h+1", "d-1", "d+1")

ATOMS = (
    "nothing",
    *(f"{word}.{column}" for word in ("h", "d") for column in "TMCWS"),
    *(f"{word}.{column}" for word in NEIGHBOURS for column in "TCW"),
    "distance",
    "h.P",
    "d.P",
    "d+1.P",
    "gaps",
    "border",
    "between",
    *AGREEING,
)
"""The atoms of an arc from h to d: columns of the two words and their neighbours (ROOT's are
empty); the distance in bins, 0 for ROOT; gaps, in how many places between them there is
punctuation, in a sentence that has any between its words; border, for arcs from ROOT, whether d
is the first or the last word; between, the tag of one of the words between them; whether the
values of Case and so on are the same. The side on which d stands is part of every feature."""

OPTIONAL = frozenset(ATOMS[ATOMS.index("h.P") :])
"""Atoms that may be absent."""

TEMPLATES = (
    "h.T d.T",
    "h.T d.T distance",
    "h.T distance",
    "d.T distance",
    "h.T d.T h+1.T d-1.T",
    "h.T d.T h-1.T d-1.T",
    "h.T d.T h+1.T d+1.T",
    "h.T d.T h-1.T d+1.T",
    "h.T d.T h-1.T",
    "h.T d.T h+1.T",
    "h.T d.T d-1.T",
    "h.T d.T d+1.T",
    "d.T border",
    "h.T d.T gaps",
    "h.T d.T distance gaps",
    "d.T gaps d.P",
    "h.T gaps h.P",
    "h.T d.T d.P d+1.P",
    "h.T d.M",
    "h.M d.T",
    "h.M d.M",
    "h.T d.C",
    "h.C d.C",
    "d.C distance",
    "h.C d.T distance",
    "h.T d.C distance",
    *(f"h.T d.T {name}" for name in AGREEING),
    "h.T d.T d+1.C",
    "h.T d.T d-1.C",
    "h.T d.T h-1.C",
    "h.T d.T h+1.C",
    "h.T d.W",
    "h.W d.T",
    "h.W d.W",
    "h.T d.S",
    "h.S d.T",
    "h.S d.S",
    "d.W distance",
    "h.T d.T d+1.W",
    "d.T d+1.W",
    "h.T d.T d-1.W",
    "h.T d.T h-1.W",
    "h.T d.T h+1.W",
    "h.T d.T between",
)
"""The features of an arc; the last one is there once for every tag between the two words."""

SEED = 1401  # of the hashing

FARTHEST_GAP = 2  # more places with punctuation count as these

LEAST_GRADIENT = 1e-3
"""Arcs whose probability is this close to its target are not learnt from."""

_DISTANCE, _H_P = ATOMS.index("distance"), ATOMS.index("h.P")

_BETWEEN, _AGREEING = ATOMS.index("between"), ATOMS.index(AGREEING[0])

# 2: of the arc
_ROLES = np.array([{"h": 0, "d": 1}.get(re.split("[-+.]", atom)[0], 2) for atom in ATOMS])

_OF_SIDE = np.array([GOLDEN_FACTOR, PRIME_FACTOR], np.uint64)  # added to all features of a side


def templates(*, feats: bool = True, words: bool = True) -> Templates:
    """The table of the templates, with or without features of FEATS and forms."""
    unused = {*(() if feats else ("M", "C", *AGREEING)), *(() if words else ("W", "S"))}
    return table_of(without(TEMPLATES, unused), ATOMS, OPTIONAL, SEED)


@compiled
def distance_bin(distance: int) -> int:
    """1, 2, 3, 4 for 4 and 5, 5 for 6 to 9, 6 for more."""
    if distance <= 3:
        return distance
    if distance <= 5:
        return 4
    return 5 if distance <= 9 else 6


class ArcRoom(NamedTuple):
    """The workspace of the kernels, and what the words of a sentence add to features' codes."""

    atoms: Codes  # (a,)
    buckets: Codes  # of the features of an arc
    of_places: Codes  # (2, 7, t): the template, the side and the distance
    of_words: Codes  # (2, n + 1, t): each word as a head, ROOT at 0, and as a dependent
    exist: Flags  # (2, n + 1, t): if the word has all atoms that the template needs of it
    before: Ints  # (n + 1,): the last word with the same tag before each; 0: none

    @classmethod
    def of(cls, longest: int, table: Templates) -> ArcRoom:
        """A workspace for the arcs of sentences of up to so many words."""
        t = len(table.parts)
        has_distance = (table.parts == _DISTANCE).any(axis=1)
        of_distance = (
            np.arange(7, dtype=np.uint64)[:, None] * table.of_atom[_DISTANCE] * has_distance
        )
        shape = (2, longest + 1, t)
        return cls(
            np.zeros(len(ATOMS), np.uint64),
            np.zeros(t + longest, np.uint64),
            _OF_SIDE[:, None, None] + of_distance + table.of_template,
            np.zeros(shape, np.uint64),
            np.zeros(shape, np.bool_),
            np.zeros(longest + 1, np.int64),
        )


@compiled
def fill_atoms_of_words(rows: Codes, word: int, atoms: Codes) -> None:
    """The atoms of a word as a head, ROOT at 0, and as a dependent."""
    h = word if word else len(rows) - 3
    before, after = (word - 1, word + 1) if word else (0, 0)
    k = 1
    for row in (h, word):
        for column in (T, M, C, W, S):
            atoms[k] = rows[row, column]
            k += 1
    for row in (before, after, before, after):
        for column in (T, C, W):
            atoms[k] = rows[row, column]
            k += 1
    atoms[_H_P], atoms[_H_P + 1], atoms[_H_P + 2] = rows[h, P], rows[word, P], rows[after, P]


@compiled
def add_words(rows: Codes, table: Templates, room: ArcRoom) -> None:
    """What each word adds to the codes of features, computed once for all of its arcs."""
    for word in range(len(rows) - 3):
        fill_atoms_of_words(rows, word, room.atoms)
        for t in range(len(table.parts)):
            for role in range(2):
                room.of_words[role, word, t], room.exist[role, word, t] = 0, True
            for atom in table.parts[t]:
                role = _ROLES[atom]
                if role < 2:
                    room.of_words[role, word, t] += room.atoms[atom] * table.of_atom[atom]
                    if atom >= _H_P and room.atoms[atom] == 0:
                        room.exist[role, word, t] = False
        room.before[word] = 0
        for earlier in range(1, word):
            if rows[earlier, T] == rows[word, T]:
                room.before[word] = earlier


@compiled
def fill_atoms_of_arc(rows: Codes, head: int, dependent: int, atoms: Codes) -> None:
    """The atoms that need both words of an arc, but for `distance` and `between`."""
    n = len(rows) - 4
    gaps = rows[max(head, dependent), GAPS] - (
        rows[min(head, dependent), GAPS] if head else np.uint64(0)
    )
    atoms[_H_P + 3] = 1 + min(gaps, np.uint64(FARTHEST_GAP)) if rows[n + 1, GAPS] else 0
    atoms[_H_P + 4] = 0 if head else 1 + (dependent == 1) + 2 * (dependent == n)
    for j in range(len(AGREEING)):
        of_head = rows[head if head else n + 1, AGREEMENT + j]
        of_dependent = rows[dependent, AGREEMENT + j]
        atoms[_AGREEING + j] = 0
        if of_head and of_dependent:
            atoms[_AGREEING + j] = 1 if of_head == of_dependent else 2


@compiled
def find_buckets(
    rows: Codes, table: Templates, shift: int, head: int, dependent: int, room: ArcRoom
) -> int:
    """Fills in the buckets of the arc's features and returns their number, after `add_words`."""
    atoms, buckets, down, last = room.atoms, room.buckets, np.uint64(shift), len(table.parts) - 1
    place = room.of_places[
        1 if dependent > head else 0, distance_bin(abs(head - dependent)) if head else 0
    ]
    of_head, of_dependent = room.of_words[0, head], room.of_words[1, dependent]
    for t in range(table.certain):
        buckets[t] = (of_head[t] + of_dependent[t] + place[t]) >> down
    n_found = table.certain
    fill_atoms_of_arc(rows, head, dependent, atoms)
    for t in range(table.certain, last):
        if room.exist[0, head, t] and room.exist[1, dependent, t]:
            exists = True
            code = of_head[t] + of_dependent[t] + place[t]
            for atom in table.parts[t]:
                if atom > _H_P + 2:
                    code += atoms[atom] * table.of_atom[atom]
                    exists = exists and atoms[atom] != 0
            if exists:
                buckets[n_found] = code >> down
                n_found += 1
    if head:
        code = of_head[last] + of_dependent[last] + place[last]
        low, high = min(head, dependent), max(head, dependent)
        for word in range(low + 1, high):
            if room.before[word] <= low:
                buckets[n_found] = (code + rows[word, T] * table.of_atom[_BETWEEN]) >> down
                n_found += 1
    return n_found


@compiled
def score_arcs(
    packed: PackedRows, table: Templates, weights: Floats, scores: Floats, room: ArcRoom
) -> None:
    """Adds to the scores of all arcs of sentences in a row the weights (B,) of their features."""
    shift, at = shift_of(len(weights)), 0
    for s in range(len(packed.first) - 1):
        start, n = packed.first[s] + EXTRA_ROWS * s, packed.first[s + 1] - packed.first[s]
        rows = packed.rows[start : start + n + EXTRA_ROWS]
        add_words(rows, table, room)
        for head in range(n + 1):
            for dependent in range(1, n + 1):
                if head != dependent:
                    total = 0.0
                    for k in range(find_buckets(rows, table, shift, head, dependent, room)):
                        total += weights[room.buckets[k]]
                    scores[at + dependent] += total
            at += n + 1


@compiled
def learn_arcs(
    rows: Codes,
    table: Templates,
    gradients: Floats,
    rate: float,
    ridge: float,
    weights: Floats,
    squares: Floats,
    room: ArcRoom,
) -> None:
    """The kernel of `learn`."""
    n = len(rows) - 4
    shift = shift_of(len(weights))
    add_words(rows, table, room)
    for head in range(n + 1):
        for dependent in range(1, n + 1):
            gradient = gradients[head, dependent - 1]
            if head == dependent or abs(gradient) < LEAST_GRADIENT:
                continue
            for k in range(find_buckets(rows, table, shift, head, dependent, room)):
                bucket = room.buckets[k]
                step = gradient - ridge * weights[bucket]
                squares[bucket] += step * step
                weights[bucket] += rate * step / math.sqrt(squares[bucket])


_SCORE, _LEARN = Kernel(score_arcs, "the arc CRF"), Kernel(learn_arcs, "the arc CRF")


def add_scores(
    packed: PackedRows, table: Templates, weights: Floats, scores: Sequence[Floats]
) -> list[Floats]:
    """The scores (n + 1, n + 1) of all arcs of sentences, and the weights (B,) of their features
    added."""
    lengths = np.diff(packed.first)
    flat = np.concatenate([*(of_arcs.ravel() for of_arcs in scores), np.zeros(0)])
    room = ArcRoom.of(int(lengths.max(initial=0)), table)
    _SCORE(packed, table, weights, flat, room, work=flat.size)
    parts = np.split(flat, np.cumsum((lengths + 1) ** 2)[:-1])
    return [part.reshape(n + 1, n + 1) for part, n in zip(parts, lengths.tolist())]


def learn(
    rows: Codes,
    table: Templates,
    gradients: Floats,
    rate: float,
    ridge: float,
    weights: Floats,
    squares: Floats,
) -> None:
    """One ascending step of AdaGrad, given the gradient (n + 1, n) of the objective by the scores
    of arcs.

    Changes weights (B,) and squares (B,), the sums of squared gradients so far. The ridge draws
    weights to 0.
    """
    room = ArcRoom.of(len(rows) - EXTRA_ROWS, table)
    _LEARN(rows, table, gradients, rate, ridge, weights, squares, room, work=gradients.size)

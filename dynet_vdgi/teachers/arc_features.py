"""Features of arcs, and the kernels that score arcs by the features' weights and learn the weights.

Rows are those of one sentence as `data.atoms` packs them, (n + 4, c), with ROOT at n + 1. Arcs are
[head, dependent], ROOT at 0.

Letters: n words, c columns of atoms, t templates, a atoms, B buckets of weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynet_vdgi.data.atoms import AGREEING, AGREEMENT, GAPS, C, M, P, S, T, W
from dynet_vdgi.data.templates import Templates, shift_of, table_of, without
from dynet_vdgi.system.arrays import Codes, Floats
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
"""The atoms of an arc from h to d: columns of the two words and their neighbours (ROOT's are empty); the
distance in bins, 0 for ROOT; gaps, in how many places between them there is punctuation, in a sentence that
has any between its words; border, for arcs from ROOT, whether d is the first or the last word; between, the
tag of one of the words between them; whether the values of Case and so on are the same. The side on which d
stands is part of every feature."""

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
LEAST_SLOPE = 1e-3
"""Arcs whose probability is this close to its target are not learnt from."""

_H_T, _D_T = ATOMS.index("h.T"), ATOMS.index("d.T")
_DISTANCE, _H_P = ATOMS.index("distance"), ATOMS.index("h.P")
_BETWEEN, _AGREEING = ATOMS.index("between"), ATOMS.index(AGREEING[0])
_OF_SIDE = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)  # added to all features of a side


def templates(*, feats: bool = True, words: bool = True) -> Templates:
    """The table of the templates, with or without features of FEATS and forms."""
    unused = {*(() if feats else ("M", "C", *AGREEING)), *(() if words else ("W", "S"))}
    return table_of(without(TEMPLATES, unused), ATOMS, OPTIONAL, SEED)


# ------------------------------------------------------------------------------------------- features
@compiled
def distance_bin(distance: int) -> int:
    """1, 2, 3, 4 for 4 and 5, 5 for 6 to 9, 6 for more."""
    if distance <= 3:
        return distance
    if distance <= 5:
        return 4
    return 5 if distance <= 9 else 6


@compiled
def fill_atoms(rows: Codes, head: int, dependent: int, atoms: Codes) -> None:
    """The atoms (a,) of an arc, but for `between`."""
    n = len(rows) - 4
    h = head if head else n + 1
    before, after = (head - 1, head + 1) if head else (0, 0)
    k = 1
    for row in (h, dependent):
        for column in (T, M, C, W, S):
            atoms[k] = rows[row, column]
            k += 1
    for row in (before, after, dependent - 1, dependent + 1):
        for column in (T, C, W):
            atoms[k] = rows[row, column]
            k += 1
    atoms[_DISTANCE] = distance_bin(abs(head - dependent)) if head else 0
    atoms[_H_P], atoms[_H_P + 1], atoms[_H_P + 2] = rows[h, P], rows[dependent, P], rows[dependent + 1, P]
    gaps = rows[max(head, dependent), GAPS] - (rows[min(head, dependent), GAPS] if head else np.uint64(0))
    atoms[_H_P + 3] = 1 + min(gaps, np.uint64(FARTHEST_GAP)) if rows[n + 1, GAPS] else 0
    atoms[_H_P + 4] = 0 if head else 1 + (dependent == 1) + 2 * (dependent == n)
    for j in range(len(AGREEING)):
        mine, other = rows[h, AGREEMENT + j], rows[dependent, AGREEMENT + j]
        atoms[_AGREEING + j] = 0 if not mine or not other else 1 if mine == other else 2


@compiled
def find_buckets(
    rows: Codes, table: Templates, shift: int, head: int, dependent: int, atoms: Codes, buckets: Codes
) -> int:
    """Fills in the buckets of the arc's features and returns their number. `atoms` (a,) is workspace."""
    fill_atoms(rows, head, dependent, atoms)
    parts, of_template, of_atom, certain = table
    side = _OF_SIDE[1 if dependent > head else 0]
    width, down, found = parts.shape[1], np.uint64(shift), 0
    last = len(parts) - 1  # the template with `between`
    for t in range(last):
        exists = True
        code = of_template[t] + side
        for k in range(width):
            atom = parts[t, k]
            if t >= certain and atom >= _H_P and atoms[atom] == 0:
                exists = False
            code += atoms[atom] * of_atom[atom]
        if exists:
            buckets[found] = code >> down
            found += 1
    if head:
        code = of_template[last] + side + atoms[_H_T] * of_atom[_H_T] + atoms[_D_T] * of_atom[_D_T]
        low, high = min(head, dependent), max(head, dependent)
        for word in range(low + 1, high):
            is_new = True
            for earlier in range(low + 1, word):
                if rows[earlier, T] == rows[word, T]:
                    is_new = False
                    break
            if is_new:
                buckets[found] = (code + rows[word, T] * of_atom[_BETWEEN]) >> down
                found += 1
    return found


# ------------------------------------------------------------------------------------------- kernels
class ArcRoom(NamedTuple):
    """The workspace of the kernels."""

    atoms: Codes  # (a,)
    buckets: Codes  # of the features of an arc

    @classmethod
    def of(cls, rows: Codes, table: Templates) -> ArcRoom:
        """A workspace for the arcs of a sentence."""
        return cls(np.zeros(len(ATOMS), np.uint64), np.zeros(len(table.parts) + len(rows), np.uint64))


@compiled
def score_arcs(rows: Codes, table: Templates, weights: Floats, scores: Floats, room: ArcRoom) -> None:
    """The kernel of `add_scores`."""
    n = len(rows) - 4
    atoms, buckets = room
    shift = shift_of(len(weights))
    for head in range(n + 1):
        for dependent in range(1, n + 1):
            if head == dependent:
                continue
            total = 0.0
            for k in range(find_buckets(rows, table, shift, head, dependent, atoms, buckets)):
                total += weights[buckets[k]]
            scores[head, dependent] += total


@compiled
def learn_arcs(
    rows: Codes,
    table: Templates,
    slopes: Floats,
    rate: float,
    ridge: float,
    weights: Floats,
    squares: Floats,
    room: ArcRoom,
) -> None:
    """The kernel of `learn`."""
    n = len(rows) - 4
    atoms, buckets = room
    shift = shift_of(len(weights))
    for head in range(n + 1):
        for dependent in range(1, n + 1):
            slope = slopes[head, dependent - 1]
            if head == dependent or abs(slope) < LEAST_SLOPE:
                continue
            for k in range(find_buckets(rows, table, shift, head, dependent, atoms, buckets)):
                bucket = buckets[k]
                own = slope - ridge * weights[bucket]
                squares[bucket] += own * own
                weights[bucket] += rate * own / math.sqrt(squares[bucket])


# ------------------------------------------------------------------------------------------- for Python
_SCORE, _LEARN = Kernel(score_arcs, "the arc CRF"), Kernel(learn_arcs, "the arc CRF")


def add_scores(rows: Codes, table: Templates, weights: Floats, scores: Floats) -> None:
    """Adds to the scores (n + 1, n + 1) of all arcs the weights (B,) of their features."""
    _SCORE(rows, table, weights, scores, ArcRoom.of(rows, table), work=scores.size)


def learn(
    rows: Codes, table: Templates, slopes: Floats, rate: float, ridge: float, weights: Floats, squares: Floats
) -> None:
    """One ascending step of AdaGrad, given the gradient (n + 1, n) of the objective by the scores of arcs.

    Changes weights (B,) and squares (B,), the sums of squared gradients so far. The ridge draws weights to 0.
    """
    room = ArcRoom.of(rows, table)
    _LEARN(rows, table, slopes, rate, ridge, weights, squares, room, work=slopes.size)

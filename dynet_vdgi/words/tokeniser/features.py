"""What the tokeniser sees of each character: hashed features, and the sums of their weights.

A chunk is what stands between white space.

Letters: as in `characters`; K features of a unit, F features with weights, L labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynet_vdgi.features.hashing import pair_code
from dynet_vdgi.system.array_types import Codes, Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.words.tokeniser.symbols import (
    LAST_LETTER,
    LETTERS,
    N_KINDS,
    NUMBER,
    WHITE,
    Numbers,
    Symbols,
)
from dynet_vdgi.words.tokeniser.unit_templates import UnitTemplate

LEFT, RIGHT = 3, 4
"""How far single symbols are seen."""

LONGEST_ENDING = 8
"""Characters of a word's ending; four code points are a syllable or two of Indian scripts."""

MOST_FEATURES = 64
"""Of a unit."""

_ONE, _TWO, _THREE = (np.uint64(number) for number in (1, 2, 3))

_ALL_KINDS, _SORTS = np.uint64(N_KINDS), np.uint64(4)


class Window(NamedTuple):
    """What features are computed from; all arrays are (N,)."""

    codes: Numbers
    kinds: Numbers
    before: Codes  # hashes of the chunk's characters up to this one
    after: Codes  # hashes of those after this one
    shapes: Codes  # hashes of the chunk's kinds up to this one, repeated ones once
    begins: Numbers  # first symbol of the chunk
    ends: Numbers  # last symbol of the chunk


class WeightLookup(NamedTuple):
    """Weights of features, and where features are found: `table` and `shift` of
    `words.tagger.chain.find`."""

    keys: Codes  # (F,)
    table: Numbers
    shift: int
    weights: Floats  # (F, L)


@compiled
def fill_window(w: Window) -> None:
    """Fills in all arrays but the first two."""
    n = len(w.codes)
    for i in range(n):
        code, kind = np.uint64(w.codes[i]), np.uint64(w.kinds[i])
        if i == 0 or w.kinds[i] <= WHITE or w.kinds[i - 1] <= WHITE:
            w.begins[i] = i
            w.before[i], w.shapes[i] = pair_code(_ONE, code), pair_code(_TWO, kind)
        else:
            w.begins[i] = w.begins[i - 1]
            w.before[i] = pair_code(w.before[i - 1], code)
            w.shapes[i] = (
                w.shapes[i - 1]
                if w.kinds[i] == w.kinds[i - 1]
                else pair_code(w.shapes[i - 1], kind)
            )
    for i in range(n - 1, -1, -1):
        if i + 1 == n or w.kinds[i] <= WHITE or w.kinds[i + 1] <= WHITE:
            w.ends[i], w.after[i] = i, _THREE
        else:
            w.ends[i] = w.ends[i + 1]
            w.after[i] = pair_code(w.after[i + 1], np.uint64(w.codes[i + 1]))


@compiled
def sort_of(kind: int) -> Any:
    """0: white space or an edge, 1: a letter or mark, 2: a number, 3: anything else."""
    if kind <= WHITE:
        return np.uint64(0)
    if kind <= LAST_LETTER:
        return np.uint64(1)
    return np.uint64(2 if kind == NUMBER else 3)


@compiled
def single_key(d: int, code: int, is_kind: int) -> Any:
    """The feature of a symbol's code or kind at distance d."""
    return pair_code(np.uint64(2 * (d + LEFT) + is_kind + 1), np.uint64(code))


@compiled
def put(keys: Codes, n: int, t: int, h: np.uint64) -> int:
    """Adds a feature of template t; returns the number of features."""
    keys[n] = pair_code(np.uint64(100 + t), h)
    return n + 1


@compiled
def letters_before(w: Window, i: int) -> int:
    """How many letters, without marks, are right before a symbol of a chunk, 7 at most; 8 more:
    shortly before them the symbol occurs, too."""
    at, letters = i - 1, 0
    while letters < 7 and at >= w.begins[i] and LETTERS <= w.kinds[at] <= LAST_LETTER:
        letters += w.kinds[at] != LAST_LETTER
        at -= 1
    for other in range(max(w.begins[i], at - 8), at + 1):
        if w.codes[other] == w.codes[i]:
            return letters + 8
    return letters


@compiled
def fill_keys(w: Window, i: int, keys: Codes) -> int:
    """The features of unit i but for those of single symbols; returns how many they are."""
    c, k = w.codes, w.kinds
    c0, c1, c2 = np.uint64(c[i]), np.uint64(c[i + 1]), np.uint64(c[i + 2])
    b1, b2, b3 = np.uint64(c[i - 1]), np.uint64(c[i - 2]), np.uint64(c[i - 3])
    c3, c4 = np.uint64(c[i + 3]), np.uint64(c[i + 4])
    left2, right2 = pair_code(b1, c0), pair_code(c1, c2)
    left3, right3 = pair_code(left2, b2), pair_code(right2, c3)
    n = put(keys, 0, UnitTemplate.ALWAYS, _ONE)
    n = put(keys, n, UnitTemplate.L1_C, left2)
    n = put(keys, n, UnitTemplate.C_R1, pair_code(c0, c1))
    n = put(keys, n, UnitTemplate.R1_R2, right2)
    n = put(keys, n, UnitTemplate.L1_C_R1, pair_code(left2, c1))
    n = put(keys, n, UnitTemplate.L2_TO_C, left3)
    n = put(keys, n, UnitTemplate.C_TO_R2, pair_code(c0, right2))
    n = put(keys, n, UnitTemplate.R1_TO_R3, right3)
    n = put(keys, n, UnitTemplate.L3_TO_C, pair_code(left3, b3))
    n = put(keys, n, UnitTemplate.R1_TO_R4, pair_code(right3, c4))
    n = put(keys, n, UnitTemplate.L2_TO_R3, pair_code(left3, right3))
    n = put(keys, n, UnitTemplate.UP_TO_C, w.before[i])
    n = put(keys, n, UnitTemplate.AFTER_C, w.after[i])
    n_before, n_after = min(4, i - w.begins[i]), min(4, w.ends[i] - i)
    n = put(keys, n, UnitTemplate.SYMBOLS_UP_TO_AND_AFTER_C, np.uint64(8 * n_before + n_after))
    # Kinds, which are seen often enough even of characters that are not.
    k0, k1, k2, k3 = np.uint64(k[i]), np.uint64(k[i + 1]), np.uint64(k[i + 2]), np.uint64(k[i + 3])
    around = (np.uint64(k[i - 1]) * _ALL_KINDS + k0) * _ALL_KINDS + k1
    n = put(keys, n, UnitTemplate.KINDS_L1_TO_R1, around)
    n = put(keys, n, UnitTemplate.KINDS_C_TO_R2, (k0 * _ALL_KINDS + k1) * _ALL_KINDS + k2)
    n = put(
        keys,
        n,
        UnitTemplate.KINDS_C_TO_R3,
        ((k0 * _ALL_KINDS + k1) * _ALL_KINDS + k2) * _ALL_KINDS + k3,
    )
    n = put(
        keys,
        n,
        UnitTemplate.KINDS_L2_TO_R2,
        (around * _ALL_KINDS + np.uint64(k[i - 2])) * _ALL_KINDS + k2,
    )
    n = put(
        keys, n, UnitTemplate.KIND_OF_C_IF_REPEATED, np.uint64(c[i] == c[i + 1]) * _ALL_KINDS + k0
    )
    s0, s1, s2, s3 = sort_of(k[i]), sort_of(k[i + 1]), sort_of(k[i + 2]), sort_of(k[i + 3])
    r1, r2 = sort_of(k[i - 1]), sort_of(k[i - 2])
    near = (r1 * _SORTS + s0) * _SORTS + s1
    n = put(keys, n, UnitTemplate.SORTS_L1_TO_R1, near)
    n = put(keys, n, UnitTemplate.SORTS_L1_TO_R2, near * _SORTS + s2)
    n = put(
        keys, n, UnitTemplate.SORTS_L2_TO_R3, ((near * _SORTS + s2) * _SORTS + s3) * _SORTS + r2
    )
    n = put(keys, n, UnitTemplate.C_SORTS_L1_R1, pair_code(c0, r1 * _SORTS + s1))
    n = put(keys, n, UnitTemplate.R1_SORTS_C_R2, pair_code(c1, s0 * _SORTS + s2))
    n = put(keys, n, UnitTemplate.C_SORTS_L1_R1_R2, pair_code(c0, (r1 * _SORTS + s1) * _SORTS + s2))
    n = put(
        keys,
        n,
        UnitTemplate.R1_SORTS_L1_C_R2_R3,
        pair_code(c1, ((s0 * _SORTS + s2) * _SORTS + s3) * _SORTS + r1),
    )
    if s0 == _THREE or (s0 == _ONE and s1 == _THREE):  # an abbreviation with its full stop?
        at = i if s0 == _THREE else i + 1
        letters = letters_before(w, at)
        mark, side = pair_code(_ONE, np.uint64(c[at])), np.uint64(at - i)
        few = np.uint64(2 * (letters // 8) + ((letters % 8) <= 2))
        n = put(
            keys,
            n,
            UnitTemplate.MARK_LETTERS_BEFORE,
            pair_code(mark, _TWO * np.uint64(letters) + side),
        )
        n = put(keys, n, UnitTemplate.MARK_FEW_LETTERS_BEFORE, pair_code(mark, _TWO * few + side))
        kinds = (_TWO * few + side) * _ALL_KINDS * _ALL_KINDS
        kinds += np.uint64(k[at + 1]) * _ALL_KINDS + np.uint64(k[at + 2])
        n = put(keys, n, UnitTemplate.MARK_FEW_LETTERS_BEFORE_KINDS_AFTER, pair_code(mark, kinds))
    if s1 != s0:  # a token may end here
        begin, h = w.begins[i], pair_code(left3, b3)
        for size in range(5, LONGEST_ENDING + 1):
            if i - begin + 1 >= size:
                h = pair_code(h, np.uint64(c[i - size + 1]))
                n = put(keys, n, UnitTemplate.LAST_FIVE + size - 5, h)
        h = pair_code(np.uint64(c[begin]), np.uint64(c[begin + 1]))
        n = put(keys, n, UnitTemplate.FIRST_TWO_OF_CHUNK, h)
        n = put(keys, n, UnitTemplate.FIRST_THREE_OF_CHUNK, pair_code(h, np.uint64(c[begin + 2])))
    if n_after:
        return put(keys, n, UnitTemplate.UP_TO_C_KIND_OF_R1, pair_code(w.before[i], k1))
    previous, following = w.before[w.begins[i] - 2], w.before[w.ends[i + 2]]  # chunks
    n = put(keys, n, UnitTemplate.NEXT_CHUNK_SPACE, pair_code(following, c1))
    n = put(keys, n, UnitTemplate.PREVIOUS_CHUNK, previous)
    n = put(keys, n, UnitTemplate.CHUNK_KIND_OF_R2, pair_code(w.before[i], k2))
    n = put(keys, n, UnitTemplate.CHUNK_NEXT_CHUNK, pair_code(w.before[i], following))
    n = put(keys, n, UnitTemplate.PREVIOUS_CHUNK_CHUNK, pair_code(w.before[i], previous))
    n = put(keys, n, UnitTemplate.SHAPE_KIND_OF_R2, pair_code(w.shapes[i], k2))
    n = put(keys, n, UnitTemplate.L1_C_KIND_OF_R2, pair_code(left2, k2))
    n = put(keys, n, UnitTemplate.L2_TO_C_KIND_OF_R2, pair_code(left3, k2))
    n = put(keys, n, UnitTemplate.C_KIND_OF_R2, pair_code(c0, k2))
    n = put(keys, n, UnitTemplate.C_KINDS_R2_R3, pair_code(c0, k2 * _ALL_KINDS + k3))
    return put(keys, n, UnitTemplate.C_NEXT_CHUNK, pair_code(c0, following))


@compiled
def all_keys(w: Window, units: Numbers, first: Ints, keys: Codes) -> None:
    """All features of each unit, of unit u from first[u] to first[u + 1], into keys (at least U *
    K,)."""
    fill_window(w)
    n = 0
    for u in range(len(units)):
        first[u] = n
        for d in range(-LEFT, RIGHT + 1):
            keys[n] = single_key(d, w.codes[units[u] + d], 0)
            keys[n + 1] = single_key(d, w.kinds[units[u] + d], 1)
            n += 2
        n += fill_keys(w, units[u], keys[n:])
    first[len(units)] = n


@compiled
def add_weights(keys: Codes, n: int, lookup: WeightLookup, places: Numbers, row: Floats) -> None:
    """Adds the weights of the first n features to a row (L,), as far as they have any.

    First looks where they may be, because the processor then fetches many places at a time.
    """
    shift, mask = np.uint64(lookup.shift), len(lookup.table) - 1
    for k in range(n):
        places[k] = lookup.table[np.int64(keys[k] >> shift)]
    for k in range(n):
        f, place = places[k] - 1, np.int64(keys[k] >> shift)
        while f >= 0 and lookup.keys[f] != keys[k]:
            place = (place + 1) & mask
            f = lookup.table[place] - 1
        if f >= 0:
            for t in range(len(row)):
                row[t] += lookup.weights[f, t]


@compiled
def all_scores(
    w: Window,
    symbols: Symbols,
    lookup: WeightLookup,
    singles: Floats,
    keys: Codes,
    places: Numbers,
    scores: Floats,
) -> None:
    """Adds the weights of each unit's features to its scores (U, L); singles (K, D, L) are 0, as
    workspace.

    There are far fewer different symbols than units, so each symbol's own weights are looked up
    only once.
    """
    fill_window(w)
    for d in range(-LEFT, RIGHT + 1):
        for number in range(len(symbols.distinct)):
            i = symbols.distinct[number]
            keys[0], keys[1] = single_key(d, w.codes[i], 0), single_key(d, w.kinds[i], 1)
            add_weights(keys, 2, lookup, places, singles[d + LEFT, number])
    for u in range(len(symbols.units)):
        i = symbols.units[u]
        row = scores[u]
        for d in range(-LEFT, RIGHT + 1):
            of_symbol = singles[d + LEFT, symbols.ids[i + d]]
            for t in range(len(row)):
                row[t] += of_symbol[t]
        add_weights(keys, fill_keys(w, i, keys), lookup, places, row)


KEYS = Kernel(all_keys, "the tokeniser")

SCORES = Kernel(all_scores, "the tokeniser")


def work_of(symbols: Symbols) -> int:
    """The work of computing features, in units of `jit`: a character takes Python a millisecond."""
    return 10 * len(symbols.units)


def window(symbols: Symbols) -> Window:
    """A window over a text, whose further arrays `fill_window` fills in."""
    n = len(symbols.codes)
    before, after, shapes = (np.zeros(n, np.uint64) for _ in range(3))
    begins, ends = (np.zeros(n, np.int32) for _ in range(2))
    return Window(symbols.codes, symbols.kinds, before, after, shapes, begins, ends)


def keys_of(symbols: Symbols) -> tuple[Ints, Codes]:
    """The features of a text's units: those of unit u from first[u] to first[u + 1] (U + 1,)."""
    n_units = len(symbols.units)
    first, keys = np.zeros(n_units + 1, np.int64), np.zeros(n_units * MOST_FEATURES, np.uint64)
    KEYS(window(symbols), symbols.units, first, keys, work=work_of(symbols))
    return first, keys[: first[-1]]


def scores_of(symbols: Symbols, lookup: WeightLookup) -> Floats:
    """The sums (U, L) of the weights of each unit's features."""
    n_labels = lookup.weights.shape[1]
    singles = np.zeros((LEFT + RIGHT + 1, len(symbols.distinct), n_labels))
    scores = np.zeros((len(symbols.units), n_labels))
    keys, places = np.zeros(MOST_FEATURES, np.uint64), np.zeros(MOST_FEATURES, np.int32)
    SCORES(window(symbols), symbols, lookup, singles, keys, places, scores, work=work_of(symbols))
    return scores

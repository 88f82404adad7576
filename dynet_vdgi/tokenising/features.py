"""What the tokeniser sees of each character: a fixed number of hashed features.

A chunk is what stands between white space. Letters: N symbols of `characters`, U units, which are the symbols
that are not white, F features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.compiled.jit import compiled
from dynet_vdgi.compiled.machine_code import ENOUGH, Kernel
from dynet_vdgi.tokenising.characters import PADDING, PARAGRAPH, WHITE, Ints, Symbols

Keys = NDArray[np.uint64]
Hashes = NDArray[np.uint64]

N_FEATURES = 48
"""Most features of a unit; those that it does not have are 0."""

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xC2B2AE3D27D4EB4F)


class Window(NamedTuple):
    """What the features of any symbol are computed from; arrays are (N,)."""

    codes: Ints
    kinds: Ints
    before: Hashes  # of the chunk's characters up to this one
    after: Hashes  # of those after this one
    shapes: Hashes  # of the chunk's kinds up to this one, repeated ones once
    begins: Ints  # first symbol of the chunk
    ends: Ints  # last one


@compiled
def _mixed(a: np.uint64, b: np.uint64) -> np.uint64:
    """One hash of two numbers."""
    h = (a ^ (b * _A)) * _B
    return h ^ (h >> np.uint64(29))


@compiled
def fill_window(w: Window) -> None:
    """Fills in all but the first two arrays."""
    n = len(w.codes)
    for i in range(n):
        is_white = w.kinds[i] <= WHITE
        code, kind = np.uint64(w.codes[i] + 1), np.uint64(w.kinds[i] + 1)
        if is_white or w.kinds[i - 1] <= WHITE:
            w.begins[i] = i
            w.before[i] = _mixed(np.uint64(1), code)
            w.shapes[i] = _mixed(np.uint64(2), kind)
        else:
            w.begins[i] = w.begins[i - 1]
            w.before[i] = _mixed(w.before[i - 1], code)
            w.shapes[i] = w.shapes[i - 1] if w.kinds[i] == w.kinds[i - 1] else _mixed(w.shapes[i - 1], kind)
    for i in range(n - 1, -1, -1):
        if w.kinds[i] <= WHITE or i + 1 == n or w.kinds[i + 1] <= WHITE:
            w.ends[i] = i
            w.after[i] = np.uint64(3)
        else:
            w.ends[i] = w.ends[i + 1]
            w.after[i] = _mixed(w.after[i + 1], np.uint64(w.codes[i + 1] + 1))


@compiled
def _put(keys: Keys, t: int, h: np.uint64) -> None:
    """Feature t has this hash."""
    keys[t] = _mixed(np.uint64(t + 1), h) | np.uint64(1)


@compiled
def fill_keys(w: Window, i: int, keys: Keys) -> int:
    """The features (F,) of symbol i, which is not white; returns F."""
    c, k = w.codes, w.kinds
    for t in range(N_FEATURES):
        keys[t] = 0
    _put(keys, 0, np.uint64(0))
    t = 1
    for d in range(-3, 5):
        _put(keys, t, np.uint64(c[i + d]))
        _put(keys, t + 1, np.uint64(k[i + d]))
        t += 2
    c0, c1, c2, c3 = np.uint64(c[i]), np.uint64(c[i + 1]), np.uint64(c[i + 2]), np.uint64(c[i + 3])
    p1, p2, p3 = np.uint64(c[i - 1]), np.uint64(c[i - 2]), np.uint64(c[i - 3])
    left2, right2 = _mixed(p1, c0), _mixed(c1, c2)
    left3, right3 = _mixed(left2, p2), _mixed(right2, c3)
    _put(keys, 17, left2)
    _put(keys, 18, _mixed(c0, c1))
    _put(keys, 19, right2)
    _put(keys, 20, _mixed(left2, c1))
    _put(keys, 21, left3)
    _put(keys, 22, _mixed(c0, right2))
    _put(keys, 23, right3)
    _put(keys, 24, _mixed(left3, p3))
    _put(keys, 25, _mixed(right3, np.uint64(c[i + 4])))
    _put(keys, 26, _mixed(left3, right3))
    base = np.uint64(32)
    k0, k1, k2, k3 = np.uint64(k[i]), np.uint64(k[i + 1]), np.uint64(k[i + 2]), np.uint64(k[i + 3])
    q1, q2 = np.uint64(k[i - 1]), np.uint64(k[i - 2])
    around = (q1 * base + k0) * base + k1
    _put(keys, 27, around)
    _put(keys, 28, (k0 * base + k1) * base + k2)
    _put(keys, 29, ((k0 * base + k1) * base + k2) * base + k3)
    _put(keys, 30, (around * base + q2) * base + k2)
    _put(keys, 31, w.before[i])
    _put(keys, 32, w.after[i])
    n_before, n_after = min(4, i - w.begins[i]), min(4, w.ends[i] - i)
    _put(keys, 33, np.uint64(8 * n_before + n_after))
    if n_after:
        _put(keys, 34, _mixed(w.before[i], k1))
        return 48
    first = i + 2  # of the next chunk
    white, next_kind = c1, k2
    _put(keys, 36, _mixed(w.before[w.ends[first]], white))
    _put(keys, 37, _mixed(w.before[i], next_kind))
    _put(keys, 38, _mixed(left2, next_kind))
    _put(keys, 39, _mixed(c0, next_kind))
    _put(keys, 40, _mixed(w.before[i], w.before[w.ends[first]]))
    previous = w.begins[i] - 2
    _put(keys, 41, _mixed(w.before[i], w.before[previous]))
    _put(keys, 42, _mixed(w.shapes[i], next_kind))
    _put(keys, 43, _mixed(left3, next_kind))
    _put(keys, 44, w.before[previous])
    _put(keys, 45, _mixed(_mixed(c0, np.uint64(k[i + 2])), np.uint64(k[i + 3])))
    _put(keys, 46, _mixed(c0, w.before[w.ends[first]]))
    return 48


@compiled
def all_keys(w: Window, units: Ints, keys: Keys) -> None:
    """The features (U, F) of the symbols `units` (U,)."""
    fill_window(w)
    for u in range(len(units)):
        fill_keys(w, units[u], keys[u])


KEYS = Kernel(all_keys, "the tokeniser's features", ENOUGH)


def window(symbols: Symbols) -> Window:
    """A window over a text, whose computed arrays `fill_window` fills in."""
    n = len(symbols.codes)
    hashes = [np.zeros(n, np.uint64) for _ in range(3)]
    return Window(symbols.codes, symbols.kinds, *hashes, np.zeros(n, np.int32), np.zeros(n, np.int32))


def units_of(symbols: Symbols) -> Ints:
    """The symbols (U,) that are not white."""
    return np.flatnonzero(symbols.kinds > WHITE).astype(np.int32)


def keys_of(symbols: Symbols) -> Keys:
    """The features (U, F) of a text's units."""
    units = units_of(symbols)
    keys = np.zeros((len(units), N_FEATURES), np.uint64)
    KEYS(window(symbols), units, keys, work=len(units) // 10)
    return keys


__all__ = ["PADDING", "PARAGRAPH"]

"""Hashing of features: 64-bit codes of texts and of pairs of codes, and the bucket of a code.

A feature is never stored as text. Its code depends on nothing but what it is made of, so weights
learnt in one run mean the same in every other one. Model files hold codes and buckets: a change of
any number here makes them invalid.

Kernels mix the codes of a feature's parts by a multiplication; the highest bits then number its
bucket.

>>> from dynet_vdgi.system.jit import as_python
>>> house, second = np.uint64(text_code("house")), np.uint64(2)
>>> with np.errstate(over="ignore"):  # as in machine code
...     feature = int(as_python(pair_code)(house, second))
>>> f"{feature:016x}", feature >> as_python(shift_of)(1024)
('e67167e36438278e', 921)
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from dynet_vdgi.system.jit import compiled

GOLDEN_FACTOR, PRIME_FACTOR = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
"""Odd factors that spread codes over all bits: 2 ** 64 over the golden ratio, and a prime of
xxHash."""

ALL_BITS = (1 << 64) - 1

_GOLDEN, _PRIME = np.uint64(GOLDEN_FACTOR), np.uint64(PRIME_FACTOR)

_DOWN = np.uint64(29)


@lru_cache(maxsize=100_000)
def text_code(text: str) -> int:
    """A 64-bit number for a text, the same in every run; kernels may make codes of other kinds
    beside these."""
    return int.from_bytes(
        blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little"
    )


def code_of(kind: str, text: str) -> int:
    """A 64-bit number for a text of some kind, such as a form or a tag."""
    return text_code(f"{kind}\0{text}")


def odd_number(text: str, seed: int) -> int:
    """An odd 64-bit number for a text, the same in every run (the generator splitmix64)."""
    z = (code_of(f"{seed}", text) + GOLDEN_FACTOR) & ALL_BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & ALL_BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & ALL_BITS
    return z ^ (z >> 31) | 1


@compiled
def pair_code(first: np.uint64, second: np.uint64) -> Any:
    """The code of two codes in this order."""
    product = (first ^ (second * _GOLDEN)) * _PRIME
    return product ^ (product >> _DOWN)


@compiled
def unordered_pair_code(one: np.uint64, other: np.uint64) -> np.uint64:
    """The code of two codes in any order."""
    product = (one ^ other) * _GOLDEN
    mixture: np.uint64 = product ^ (product >> _DOWN)
    return mixture


@compiled
def shift_of(n_buckets: int) -> int:
    """The shift of a code whose highest bits number a bucket; `n_buckets` is a power of two."""
    shift = 64
    while n_buckets > 1:
        n_buckets //= 2
        shift -= 1
    return shift

"""Features written as templates, such as "s0 b0.W", and the numbers that kernels hash them with.

A template names the atoms that make up one feature. Kernels compute the atoms of a situation as 64-bit
numbers and look up the weight of each template in one bucket, given by the highest bits of a sum: the
template's odd random number plus, for each of its atoms, the atom times another odd random number
(multiply-shift hashing, Dietzfelbinger 1996).

Letters: t templates, a atoms, w atoms of the longest template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dynet_vdgi.system.arrays import Codes, Ints
from dynet_vdgi.system.jit import compiled

MASK = (1 << 64) - 1


class Templates(NamedTuple):
    """Templates for a kernel. From `certain` on, templates have atoms that may be absent, which are then 0.

    A feature with an absent atom does not exist. Atom 0 is always 0 and pads short templates.
    """

    parts: Ints  # (t, w): the atoms of each
    of_template: Codes  # (t,)
    of_atom: Codes  # (a,)
    certain: int


def random_words(count: int, state: int = 0) -> list[int]:
    """64-bit numbers that are the same in every run (the generator splitmix64)."""
    words = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        words.append(z ^ (z >> 31))
    return words


def table_of(
    templates: Sequence[str], atoms: Sequence[str], optional: Collection[str], seed: int
) -> Templates:
    """The templates' table; `atoms` are all atoms in the kernel's order, the first one "nothing".

    The numbers of a template depend only on its text and the seed, so weights learnt with some of the
    templates keep their meaning beside others.

    Raises: ValueError, a template names an unknown atom.
    """
    ordered = sorted(templates, key=lambda template: not optional_free(template, optional))
    rows = [[atoms.index(name) for name in template.split()] for template in ordered]
    width = max(map(len, rows))
    parts = np.array([row + [0] * (width - len(row)) for row in rows], np.int64)
    certain = sum(optional_free(template, optional) for template in ordered)
    of_template = np.array([_number(template, seed) for template in ordered], np.uint64)
    return Templates(
        parts, of_template, np.array([_number(name, seed) for name in atoms], np.uint64), certain
    )


def optional_free(template: str, optional: Collection[str]) -> bool:
    """Whether none of the template's atoms may be absent."""
    return not any(name in optional for name in template.split())


def without(templates: Iterable[str], columns: Collection[str]) -> tuple[str, ...]:
    """The templates that use none of these columns of atoms, such as "W" in "s0.W"."""
    return tuple(
        template
        for template in templates
        if not any(name.rpartition(".")[2] in columns for name in template.split())
    )


@compiled
def shift_of(n_buckets: int) -> int:
    """The shift of a 64-bit number whose highest bits number a bucket; `n_buckets` is a power of two."""
    shift = 64
    while n_buckets > 1:
        n_buckets //= 2
        shift -= 1
    return shift


def _number(text: str, seed: int) -> int:
    """An odd 64-bit number for a text."""
    from dynet_vdgi.data.atoms import code_of

    return random_words(1, code_of(f"{seed}", text))[0] | 1

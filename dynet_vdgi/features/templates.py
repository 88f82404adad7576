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

from dynet_vdgi.features.atoms import code_of
from dynet_vdgi.system.array_types import Codes, Ints
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


def table_of(templates: Sequence[str], atoms: Sequence[str], optional: Collection[str], seed: int) -> Templates:
    """The templates' table; `atoms` are all atoms in the kernel's order, the first one "nothing".

    The numbers of a template depend only on its text and the seed, so weights learnt with some of the
    templates keep their meaning beside others.

    Raises: ValueError, a template names an unknown atom.
    """
    can_be_absent = {template: any(name in optional for name in template.split()) for template in templates}
    ordered = sorted(templates, key=can_be_absent.__getitem__)
    rows = [[atoms.index(name) for name in template.split()] for template in ordered]
    width = max(map(len, rows))
    parts = np.array([row + [0] * (width - len(row)) for row in rows], np.int64)
    of_template, of_atom = (np.array([_number(x, seed) for x in each], np.uint64) for each in (ordered, atoms))
    return Templates(parts, of_template, of_atom, sum(not can_be_absent[template] for template in ordered))


def without(templates: Iterable[str], columns: Collection[str]) -> tuple[str, ...]:
    """The templates that use none of these columns of atoms, such as "W" in "s0.W"."""
    return tuple(
        template for template in templates if not any(name.rpartition(".")[2] in columns for name in template.split())
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
    """An odd 64-bit number for a text, the same in every run (the generator splitmix64)."""

    z = (code_of(f"{seed}", text) + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31) | 1

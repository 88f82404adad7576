"""Features written as templates, such as "s0 b0.W", and the numbers that kernels hash them with.

A template names the atoms that make up one feature. Kernels compute the atoms of a situation as
64-bit numbers and look up the weight of each template in one bucket, given by the highest bits of a
sum: the template's odd random number plus, for each of its atoms, the atom times another odd random
number (multiply-shift hashing, Dietzfelbinger 1996).

Letters: t templates, a atoms, w atoms of the longest template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dynet_vdgi.features.hashing import odd_number
from dynet_vdgi.system.array_types import Codes, Ints


class Templates(NamedTuple):
    """Templates for a kernel. From `certain` on, templates have atoms that may be absent, which are
    then 0.

    A feature with an absent atom does not exist. Atom 0 is always 0 and pads short templates.
    """

    parts: Ints  # (t, w): the atoms of each
    of_template: Codes  # (t,)
    of_atom: Codes  # (a,)
    certain: int


def table_of(
    templates: Sequence[str], atoms: Sequence[str], optional: Collection[str], seed: int
) -> Templates:
    """The templates' table; `atoms` are all atoms in the kernel's order, the first one "nothing".

    The numbers of a template depend only on its text and the seed, so weights learnt with some of
    the templates keep their meaning beside others.

    Raises: ValueError, a template names an unknown atom.
    """
    can_be_absent = {
        template: any(name in optional for name in template.split()) for template in templates
    }
    ordered = sorted(templates, key=can_be_absent.__getitem__)
    rows = [[atoms.index(name) for name in template.split()] for template in ordered]
    width = max(map(len, rows))
    parts = np.array([row + [0] * (width - len(row)) for row in rows], np.int64)
    return Templates(
        parts,
        of_template=np.array([odd_number(template, seed) for template in ordered], np.uint64),
        of_atom=np.array([odd_number(atom, seed) for atom in atoms], np.uint64),
        certain=sum(not can_be_absent[template] for template in ordered),
    )


def without(templates: Iterable[str], columns: Collection[str]) -> tuple[str, ...]:
    """The templates that use none of these columns of atoms, such as "W" in "s0.W"."""
    return tuple(
        template
        for template in templates
        if not any(name.rpartition(".")[2] in columns for name in template.split())
    )

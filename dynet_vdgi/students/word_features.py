"""The features of the linear parser with words: templates over tags, FEATS, forms and punctuation.

Words are named as in `arc_hybrid.ATOMS`, with a column of `data.atoms`: "s0.W" is the form of the word on top
of the stack.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dynet_vdgi.data.atoms import AGREEING, COLUMNS
from dynet_vdgi.data.templates import table_of, without
from dynet_vdgi.students import arc_hybrid
from dynet_vdgi.students.word_kernels import N_PLACES, NUMBERS, StateFeatures

PLACES = arc_hybrid.ATOMS[:N_PLACES]

_AGREEMENT = tuple(f"{name}_{word}" for word in ("b0", "s1") for name in AGREEING)  # of s0 with that word
_OPTIONAL = frozenset(("gaps0", "gaps1", "b0.P", "b1.P", *_AGREEMENT))


def _of_tags(template: str) -> str:
    return " ".join(f"{name}.T" if name in PLACES else name for name in template.split())


_PUNCTUATION = (
    "s0.T b0.T gaps0",
    "s0.T s1.T b0.T gaps0 gaps1",
    "s0.T s1.T gaps1",
    "s0.T b0.T b0.P",
    "s0.T s1.T b0.P",
    "s0.T b0.T b0.P b1.P",
    "s0.T b0.T b1.T b0.P",
    "s0.T gap gaps0 b0.P",
)
_FEATS = (
    "s0.M",
    "b0.M",
    "s0.M b0.T",
    "s0.T b0.M",
    "s0.M b0.M",
    "s0.M s1.T",
    "s0.T s1.M",
    "s0.M s1.M",
    "s0.C b0.C",
    "s0.C s1.C",
    "s0.C s1.C b0.C",
    "s0.C s1.T b0.T",
    "s0.T s1.C b0.T",
    "s0.T s1.T b0.C",
    "s0.C b0.C b1.C",
    "s0.C gap b0.T",
    "s0.C s0_left.T s0_right.T b0.T",
    "s0.C b0.T b1.T b2.T",
    *(f"s0.T {name.rpartition('_')[2]}.T {name}" for name in _AGREEMENT),
    "s0.T b0.T s0_left.C",
    "s0.T b0.T s0_right.C",
    "s0.T s1.T s0_right.C",
    "s0.T s1.T s1_right.C",
    "s0.T s1.T s1_left.C",
    "s0.T b0.T b0_left.C",
    "s0.T b0.T s2.C",
    "s0.C s1.C s2.C b0.T",
    "s0.T b0.C s0_right.T b1.T",
)
_WORDS = (
    "s0.W",
    "b0.W",
    "s0.W b0.T",
    "s0.T b0.W",
    "s0.W s1.T",
    "s0.T s1.W",
    "s0.W b0.W",
    "s0.W s1.W",
    "s0.S b0.T",
    "s0.T b0.S",
    "s0.S b0.S",
    "b1.W b0.T",
    "s0.T b0.T s0_left.W",
    "s0.T b0.T s0_right.W",
    "s0.T s1.T s0_right.W",
    "s0.T s1.T s1_right.W",
    "s0.T b0.T b0_left.W",
    "s0.T b0.T before.W",
    "s0.T b0.T b1.W",
)

TEMPLATES = (*map(_of_tags, arc_hybrid.TEMPLATES), *_PUNCTUATION, *_FEATS, *_WORDS)
"""A change here makes model files unreadable: `word_perceptron.FORMAT`."""

SEED = 1402  # of the hashing


@lru_cache(maxsize=4)
def features(*, feats: bool = True, words: bool = True) -> StateFeatures:
    """The templates for the kernels, with or without features of FEATS and forms."""
    unused = {*(() if feats else ("M", "C", *_AGREEMENT)), *(() if words else ("W", "S"))}
    chosen = without(TEMPLATES, unused)
    named = sorted({name for template in chosen for name in template.split() if "." in name})
    atoms = ("nothing", *named, *NUMBERS, *_AGREEMENT)
    at = [name.split(".") for name in named]
    return StateFeatures(
        np.array([PLACES.index(place) for place, _ in at], np.int64),
        np.array([COLUMNS.index(column) for _, column in at], np.int64),
        table_of(chosen, atoms, _OPTIONAL, SEED),
    )

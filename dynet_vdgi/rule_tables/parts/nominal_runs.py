"""Runs of nominals without particles between them, where the morphs of XPOS show the particles.

    flat run = 5 NOUN PROPN NUM PRON | NOUN PROPN NUM ADV ; bare NNG NNP ; particle JKS JKO

A run continues from a word of the first group whose XPOS ends, after its last +, with one of
`bare`, to the next word, if that is of the second group. The first word of a run is the head of the
others, and takes over the particle at the end of the run. The part counts in proportion to the
share of nominals with one of the particles.

    name end = 8 PROPN

In a sequence of words of the group, without punctuation between them, the last is the head.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.views import SideBySide, View, WordType, last_morph
from dynet_vdgi.system.array_types import Floats

FULL_SHARE = 0.1
"""Share of nominals with particles at which the part has full weight."""


def _measure(views: Sequence[View], setting: Setting, text: Text) -> float:
    nominals, particles = setting.groups[0].tags, setting.names("particle")
    n_nominals = n_with_particle = 0
    for view in views:
        for tag, xpos in zip(view.tags, view.xpos):
            if tag in nominals:
                n_nominals += 1
                n_with_particle += last_morph(xpos) in particles
    return round(min(1.0, n_with_particle / max(1, n_nominals) / FULL_SHARE), 4)


def _read(views: SideBySide, setting: Setting, text: Text) -> None:
    if not text.findings[setting.name]:
        return
    before, after = setting.groups
    bare = setting.names("bare")

    def is_bare(word: WordType) -> bool:
        tag, feats, xpos = word
        return (last_morph(xpos) or xpos) in bare and before.has(tag, feats)

    for view in views.views:
        for word in range(1, view.n):
            if (
                view.gaps[word]
                or not after.has(*view.words[word][:2])
                or not is_bare(view.words[word - 1])
            ):
                continue
            view.symbols[word] += "+flat"
            first = view.runs.get(word - 1, word - 1)
            view.runs[word] = first
            view.run_ends[first] = word


def _add(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    weight = setting.weight * text.findings[setting.name]
    for s, view in enumerate(views.views):
        for word, first in view.runs.items():
            arcs[s, first, word] += weight


def _add_ends(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    every = views.flags(setting.groups[0])
    for s in np.flatnonzero(every.any(axis=1)).tolist():
        names, start = every[s], 0
        for word in range(1, views.n + 1):
            if word == views.n or not names[word] or not names[word - 1] or views.are_gaps[s, word]:
                if names[start] and word - start > 1:
                    arcs[s, word - 1, start : word - 1] += setting.weight
                start = word


NOMINAL_RUNS_KINDS = (
    Kind("name end", Syntax(("names",)), add=_add_ends),
    Kind(
        "flat run",
        Syntax(("nominals", "what follows"), {"bare": "names", "particle": "names"}),
        _measure,
        _read,
        _add,
    ),
)

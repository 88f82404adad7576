"""What a tagger has learnt, and what its bundles consist of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.tagging.bundles import Bundles, Parts
from dynet_vdgi.tagging.crf import Crf
from dynet_vdgi.tagging.type_means import TypeMeans

UNKNOWN = "_"


@dataclass
class TaggerState:
    """What learning finds, and what a file of a tagger holds."""

    tags: list[str]
    bundles: list[tuple[str, str]]  # UPOS and FEATS, sorted
    xpos: list[tuple[str, str]]  # UPOS and XPOS, sorted; empty: no word had one
    rules: list[tuple[str, str]]  # UPOS and rules of lemmas, sorted; empty: no word had a lemma
    lemmas: dict[str, str]  # of words, by `key_of`
    first: Crf
    means: TypeMeans
    second: Crf
    of_feats: Bundles
    of_xpos: Bundles
    of_rules: Bundles
    jackknifed: float | None  # share of words whose UPOS the first pass finds without their sentence
    n_words: int  # with tags, learnt from


def feats_parts(bundles: Sequence[tuple[str, str]], tags: Sequence[str]) -> Parts:
    """A bundle's parts: each Name=Value of its FEATS, which all tags share, and UPOS and FEATS as a whole."""
    return _parts(bundles, tags, lambda feats: [] if feats == UNKNOWN else feats.split("|"))


def plain_parts(pairs: Sequence[tuple[str, str]], tags: Sequence[str]) -> Parts:
    """The parts of XPOS and of rules of lemmas: itself, which all UPOS share, and it and UPOS together."""
    return _parts(pairs, tags, lambda value: [value])


def _parts(
    bundles: Sequence[tuple[str, str]], tags: Sequence[str], shared: Callable[[str], list[str]]
) -> Parts:
    """Bundles, sorted by tag, with their parts, of which each name is one."""
    named = [[*shared(value), f"{tag} {value}"] for tag, value in bundles]
    names: dict[str, int] = {}
    parts = [names.setdefault(name, len(names)) for each in named for name in each]
    of_tags = Counter(tag for tag, _ in bundles)
    return Parts(
        np.cumsum([0, *(of_tags[tag] for tag in tags)], dtype=np.int64),
        np.cumsum([0, *map(len, named)], dtype=np.int64),
        np.array(parts, np.int32),
    )

"""What a tagger has learnt, as one value, and the parts of which its bundles of FEATS consist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.words.tagger.bundles import Bundles, Parts
from dynet_vdgi.words.tagger.crf import Crf
from dynet_vdgi.words.tagger.retagger import LearningText
from dynet_vdgi.words.tagger.type_means import TypeMeans

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
    # share of words whose UPOS the first pass finds without their sentence
    jackknifed: float | None
    n_words: int  # with tags, learnt from
    text: LearningText | None = None  # for the retagger; None: it is not asked


def feats_parts(bundles: Sequence[tuple[str, str]], tags: Sequence[str]) -> Parts:
    """A bundle's parts: each Name=Value of its FEATS, which all tags share, and UPOS and FEATS as a
    whole."""
    return _parts(bundles, tags, values_of)


def values_of(feats: str) -> list[str]:
    return [] if feats == UNKNOWN else feats.split("|")


def plain_parts(pairs: Sequence[tuple[str, str]], tags: Sequence[str]) -> Parts:
    """The parts of XPOS and of rules of lemmas: itself, which all UPOS share, and it and UPOS
    together."""
    return _parts(pairs, tags, lambda value: [value])


def _parts(
    bundles: Sequence[tuple[str, str]], tags: Sequence[str], shared: Callable[[str], list[str]]
) -> Parts:
    """Bundles, sorted by tag, with their parts, of which each name is one."""
    named = [_names(tag, value, shared) for tag, value in bundles]
    number = {name: k for k, name in enumerate(named_parts(bundles, shared))}
    parts = [number[name] for each in named for name in each]
    of_tags = Counter(tag for tag, _ in bundles)
    return Parts(
        np.cumsum([0, *(of_tags[tag] for tag in tags)], dtype=np.int64),
        np.cumsum([0, *map(len, named)], dtype=np.int64),
        np.array(parts, np.int32),
    )


def _names(tag: str, value: str, shared: Callable[[str], list[str]]) -> list[str]:
    return [*shared(value), f"{tag} {value}"]


def named_parts(
    bundles: Sequence[tuple[str, str]], shared: Callable[[str], list[str]]
) -> list[str]:
    """The names of the parts, in the order of their numbers."""
    return list(
        dict.fromkeys(name for tag, value in bundles for name in _names(tag, value, shared))
    )

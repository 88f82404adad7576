"""Sentences whose tags are guessed: the tagger's probabilities under the universal parser's names.

What the parser expects of an arc under these probabilities is in `arc_flags`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.system.array_types import Floats32
from dynet_vdgi.universal.encoding import AGREEING, TAG, TAGS, SoftText, number_of_tag

LEAST_CHANCE = 0.01
"""Less probable tags are left out, and the others made to sum to 1: most words then have one to
three tags."""


def soft_text(sentences: Sequence[Sentence], features: Sequence[str]) -> SoftText | None:
    """What is expected of sentences whose tags a tagger chose; None: the tags of all are given."""
    softs = [sentence.soft for sentence in sentences if sentence.soft is not None]
    if len(softs) < len(sentences) or not softs:
        return None
    names: dict[str, None] = {}  # of the taggers' features, each once, in their order
    for features_of_tagger in dict.fromkeys(soft.features for soft in softs):
        names.update(dict.fromkeys(features_of_tagger))
    names_of_values: list[str] = []
    ends = [0]  # of the names of each feature's values
    for agreeing in AGREEING:
        names_of_values += [name for name in names if name.partition("=")[0] == agreeing]
        ends.append(len(names_of_values))
    chances = _columns_by_name([(_of_ud(soft.tags), soft.chances) for soft in softs], TAGS)
    expected = [(soft.features, soft.expected) for soft in softs]
    # punctuation, for parsers that keep it
    chances[chances.max(axis=1, initial=0) < LEAST_CHANCE, TAG["X"]] = 1.0
    chances[chances < LEAST_CHANCE] = 0
    chances /= chances.sum(axis=1, keepdims=True)
    order = np.argsort(-chances, axis=1, kind="stable")
    return SoftText(
        chances,
        (chances > 0).sum(axis=1),
        order.astype(np.int8),
        np.take_along_axis(chances, order, 1),
        _columns_by_name(expected, features),
        _columns_by_name(expected, names_of_values),
        np.array(ends),
    )


@lru_cache
def _of_ud(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags as the parser names them; punctuation as it is."""
    return tuple([tag if tag == "PUNCT" else TAGS[number_of_tag(tag)] for tag in tags])


def _columns_by_name(
    tables: Iterable[tuple[Sequence[str], Floats32]], wanted: Sequence[str]
) -> Floats32:
    """Tables with named columns, one below the other, with the wanted columns; others of one name
    are added."""
    number = {name: k for k, name in enumerate(wanted)}
    parts = []
    for names, group in groupby(tables, itemgetter(0)):
        columns = [(k, number[name]) for k, name in enumerate(names) if name in number]
        to = np.zeros((len(names), len(wanted)), np.float32)
        to[tuple(np.array(columns, np.int64).reshape(-1, 2).T)] = 1
        parts.append(np.concatenate([table for _, table in group]) @ to)
    return np.concatenate(parts)

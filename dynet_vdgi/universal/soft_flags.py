"""The universal parser's channels of arcs where tags are guessed: their expectations under the tagger's probabilities.

All that the network reads before its first layer of rectifiers is linear in a word's tag, its features, the numbers of
a pair of tags, and the flags of an arc. So each is replaced by its expectation, as if words were independent; what two
flags say together is not looked at. With certain tags and features the numbers are those of `channels`.

Letters: N words in S sentences; n words in one of them; T tags; F known features; V values of agreeing features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.system.array_types import Bytes, Floats, Floats32, Ints
from dynet_vdgi.system.jit import Kernel, compiled, compiled_floats
from dynet_vdgi.universal.arc_flags import (
    _BETWEEN,
    _NOUN,
    _PRON,
    _PROPN,
    AGREE,
    BETWEEN,
    DISTANCES,
    MOST_FLAGS,
    SAME,
    count_gaps,
    flags_of_place,
)
from dynet_vdgi.universal.encoding import AGREEING, N_TAGS, TAG, TAGS, SoftText, number_of_tag

LEAST = 0.01
"""Less probable tags are left out, and the others made to sum to 1: most words then have one to three tags."""

NOTHING = 1e-3
"""A flag whose expectation is below this is not looked at."""


def soft_text(sentences: Sequence[Sentence], features: Sequence[str]) -> SoftText | None:
    """What is expected of sentences whose tags a tagger chose; None: the tags of all are given."""
    softs = [sentence.soft for sentence in sentences if sentence.soft is not None]
    if len(softs) < len(sentences) or not softs:
        return None
    names = dict.fromkeys(name for known in dict.fromkeys(soft.features for soft in softs) for name in known)
    of_agreeing = [[name for name in names if name.partition("=")[0] == agreeing] for agreeing in AGREEING]
    chances, known, values = (
        _moved(tables, wanted)
        for tables, wanted in (
            ([(_of_ud(soft.tags), soft.chances) for soft in softs], TAGS),
            ([(soft.features, soft.expected) for soft in softs], features),
            ([(soft.features, soft.expected) for soft in softs], [name for each in of_agreeing for name in each]),
        )
    )
    chances[chances.max(axis=1, initial=0) < LEAST, TAG["X"]] = 1.0  # punctuation, for parsers that keep it
    chances[chances < LEAST] = 0
    chances /= chances.sum(axis=1, keepdims=True)
    order = np.argsort(-chances, axis=1, kind="stable")
    return SoftText(
        chances,
        (chances > 0).sum(axis=1),
        order.astype(np.int8),
        np.take_along_axis(chances, order, 1),
        known,
        values,
        np.cumsum([0, *map(len, of_agreeing)]),
    )


@lru_cache
def _of_ud(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags as the parser names them; punctuation as it is."""
    return tuple([tag if tag == "PUNCT" else TAGS[number_of_tag(tag)] for tag in tags])


def _moved(tables: Iterable[tuple[Sequence[str], Floats32]], wanted: Sequence[str]) -> Floats32:
    """Tables with named columns, one below the other, with the wanted columns; others of one name are added."""
    number = {name: k for k, name in enumerate(wanted)}
    parts = []
    for names, group in groupby(tables, itemgetter(0)):
        own = [(k, number[name]) for k, name in enumerate(names) if name in number]
        to = np.zeros((len(names), len(wanted)), np.float32)
        to[tuple(np.array(own, np.int64).reshape(-1, 2).T)] = 1
        parts.append(np.concatenate([table for _, table in group]) @ to)
    return np.concatenate(parts)


def soft_workspace(longest: int) -> tuple[Floats, Ints, Ints, Floats32]:
    """Running sums, flags and what is expected of them, for sentences of up to so many words."""
    sums = np.zeros((longest + 1, N_TAGS)), np.zeros((longest + 2, 2), np.int64)
    return *sums, np.zeros(MOST_FLAGS, np.int64), np.zeros(MOST_FLAGS, np.float32)


@compiled
def sum_words(chances: Floats32, gaps: Bytes, so_far: Floats, gaps_so_far: Ints) -> None:
    """Running sums: so_far[i, t] of the chances of tag t among the first i words; gaps as in `count_gaps`."""
    n = len(chances)
    for tag in range(N_TAGS):
        so_far[0, tag] = 0
    for i in range(n):
        for tag in range(N_TAGS):
            so_far[i + 1, tag] = so_far[i, tag] + chances[i, tag]
    count_gaps(gaps, gaps_so_far)


@compiled
def expected_flags(
    head: int,
    dependent: int,
    chances: Floats32,
    values: Floats32,
    ends: Ints,
    so_far: Floats,
    gaps_so_far: Ints,
    flags: Ints,
    amounts: Floats32,
) -> int:
    """Writes the flags of an arc and what is expected of each; how many there are. As `arc_flags.flags_of`."""
    amounts[:] = 1.0
    size = flags_of_place(head, dependent, len(chances), gaps_so_far, flags)
    if head == 0:
        return size
    low, high = min(head, dependent), max(head, dependent)
    if high - low > 1:
        after, before = so_far[high - 1], so_far[low]
        for k in range(7):
            tag = _BETWEEN[k]
            amount = after[tag] - before[tag]
            if tag == _NOUN:  # any nominal
                amount += after[_PROPN] - before[_PROPN] + after[_PRON] - before[_PRON]
            if amount > NOTHING:
                flags[size], amounts[size] = BETWEEN + k, min(1.0, amount)
                size += 1
        for k in range(2):
            own = chances[head - 1] if k == 0 else chances[dependent - 1]
            same = 0.0
            for tag in range(N_TAGS):
                if own[tag] > 0:
                    same += own[tag] * (after[tag] - before[tag])
            if same > NOTHING:
                flags[size], amounts[size] = SAME + 2 * k, min(1.0, same)
                size += 1
            if same > 1 + NOTHING:
                flags[size], amounts[size] = SAME + 2 * k + 1, min(1.0, same - 1)
                size += 1
    x, y = values[head - 1], values[dependent - 1]
    for k in range(4):
        both, of_x, of_y = 0.0, 0.0, 0.0
        for v in range(ends[k], ends[k + 1]):
            both += x[v] * y[v]
            of_x += x[v]
            of_y += y[v]
        has = min(1.0, of_x) * min(1.0, of_y)
        if has > NOTHING:
            both = min(both, has)
            for differs, amount in ((0, both), (1, has - both)):
                if amount > NOTHING:
                    flags[size], amounts[size] = AGREE + 2 * k + differs, amount
                    size += 1
    return size


@compiled
def expect_flags_of_trees(
    chances: Floats32,
    values: Floats32,
    ends: Ints,
    gaps: Bytes,
    so_far: Floats,
    gaps_so_far: Ints,
    flags: Ints,
    amounts: Floats32,
    start: Ints,
    heads: Ints,
    result: Floats32,
) -> None:
    """Writes what is expected of the flags of the arcs from `heads` (N,) to `result` (N, flags), zero at first."""
    for s in range(len(start) - 1):
        low, high = start[s], start[s + 1]
        its, its_values = chances[low:high], values[low:high]
        sum_words(its, gaps[low + s : high + s + 1], so_far, gaps_so_far)
        for word in range(low, high):
            arc = heads[word], word - low + 1
            size = expected_flags(arc[0], arc[1], its, its_values, ends, so_far, gaps_so_far, flags, amounts)
            for k in range(size):
                result[word, flags[k]] = amounts[k]


@compiled_floats
def score_soft_arcs(
    head_part: Floats32,
    dependent_part: Floats32,
    root_part: Floats32,
    pair_part: Floats32,
    flag_part: Floats32,
    out: Floats32,
    straight: Floats32,
    chances: Floats32,
    n_tags: Ints,
    tags: Bytes,
    chance: Floats32,
    values: Floats32,
    ends: Ints,
    gaps: Bytes,
    so_far: Floats,
    gaps_so_far: Ints,
    flags: Ints,
    amounts: Floats32,
    pairs: Floats32,
    hidden: Floats32,
    start: Ints,
    scores: Floats32,
) -> None:
    """Log-probabilities log p(h | d) of all arcs of sentences in a row, as `arc_flags.score_arcs`.

    pairs (17, 2, A + 1 + 8) is workspace.
    """
    width = len(out)
    at = 0
    for s in range(len(start) - 1):
        low, n = start[s], start[s + 1] - start[s]
        its, its_values = chances[low : low + n], values[low : low + n]
        sum_words(its, gaps[low + s : low + s + n + 1], so_far, gaps_so_far)
        for dependent in range(1, n + 1):
            d = low + dependent - 1
            for of_head in range(N_TAGS + 1):  # what each tag of a head makes of this word's tags
                if of_head == N_TAGS or so_far[n, of_head] > 0:
                    for side in range(2):
                        pairs[of_head, side] = 0
                        for b in range(n_tags[d]):
                            pair = pair_part[of_head, tags[d, b], side]
                            for k in range(len(pair)):
                                pairs[of_head, side, k] += chance[d, b] * pair[k]
            best = np.float32(-1e30)
            for head in range(n + 1):
                place = at + head * n + dependent - 1
                if head == dependent:
                    scores[place] = -1e30
                    continue
                h = low + head - 1
                other = head_part[h] if head else root_part
                for k in range(width):
                    hidden[k] = dependent_part[d, k] + other[k]
                size = expected_flags(head, dependent, its, its_values, ends, so_far, gaps_so_far, flags, amounts)
                distance = width + 1 + (flags[0] % DISTANCES if head else 0)
                score, side = np.float32(0), int(dependent > head)
                for a in range(n_tags[h] if head else 1):
                    amount = chance[h, a] if head else np.float32(1)
                    pair = pairs[tags[h, a] if head else N_TAGS, side]
                    score += amount * (pair[width] + pair[distance])
                    for k in range(width):
                        hidden[k] += amount * pair[k]
                for f in range(size):
                    flag, amount = flag_part[flags[f]], amounts[f]
                    score += amount * straight[flags[f]]
                    for k in range(width):
                        hidden[k] += amount * flag[k]
                for k in range(width):
                    score += max(hidden[k], np.float32(0)) * out[k]
                scores[place] = score
                best = max(best, score)
            total = np.float32(0)
            for head in range(n + 1):
                total += np.exp(scores[at + head * n + dependent - 1] - best)
            log_total = best + np.log(total)
            for head in range(n + 1):
                scores[at + head * n + dependent - 1] -= log_total
        at += n * (n + 1)


FLAG_SOFT_TREES = Kernel(expect_flags_of_trees, "the universal parser")

SCORE_SOFT_ARCS = Kernel(score_soft_arcs, "the universal parser")

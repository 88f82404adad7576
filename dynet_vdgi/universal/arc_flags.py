"""What is seen of an arc: the place of its words, what lies between them, whether they agree.

An arc has `PAIR_NUMBERS` numbers of its tags and side, from the text's profile, and a few of `N_FLAGS` flags.
`flags_of` lists the flags of an arc; the learner makes a row of numbers of them, the parser adds up weights.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.system.array_types import Bytes, Floats32, Ints
from dynet_vdgi.system.jit import Kernel, compiled, compiled_floats
from dynet_vdgi.universal.encoding import N_TAGS, TAG

DISTANCES = 8
"""Bins of distance: 1, 2, 3, 4, 5-6, 7-9, 10-15, 16 and more."""

PLACE, GAPS, BETWEEN, SAME, AGREE, FROM_ROOT, N_FLAGS = 0, 16, 19, 26, 30, 38, 41
"""First flag of each group."""

MOST_FLAGS = 24
"""Most flags of an arc: one place, three gaps, seven between, four of the same tag, eight of agreement, of which
four where tags are certain."""

ROWS_OF_PAIRS = (N_TAGS + 1) * N_TAGS * 2 * DISTANCES
"""Rows of a table with a weight for each tag of the head, tag of the dependent, side and bin of distance."""

_NOUN, _PROPN, _PRON = TAG["NOUN"], TAG["PROPN"], TAG["PRON"]

_BETWEEN = tuple([TAG[tag] for tag in ["VERB", "NOUN", "ADP", "CCONJ", "SCONJ", "AUX", "PART"]])


def workspace(longest: int) -> tuple[Ints, Ints, Ints]:
    """Running counts of tags and of gaps, and flags, for sentences of up to so many words."""
    counts = np.zeros((longest + 1, N_TAGS), np.int64), np.zeros((longest + 2, 2), np.int64)
    return *counts, np.zeros(MOST_FLAGS, np.int64)


@compiled
def bin_of(distance: int) -> int:
    """The bin of a distance of 1 or more."""
    if distance <= 4:
        return distance - 1
    return 4 if distance <= 6 else 5 if distance <= 9 else 6 if distance <= 15 else 7


@compiled
def count_gaps(gaps: Bytes, gaps_so_far: Ints) -> None:
    """Running counts: gaps_so_far[i] any and strong ones among the first i gaps of a sentence."""
    gaps_so_far[0, 0] = gaps_so_far[0, 1] = 0
    for i in range(len(gaps)):
        gaps_so_far[i + 1, 0] = gaps_so_far[i, 0] + (gaps[i] > 0)
        gaps_so_far[i + 1, 1] = gaps_so_far[i, 1] + (gaps[i] > 1)


@compiled
def count_words(tags: Bytes, gaps: Bytes, so_far: Ints, gaps_so_far: Ints) -> None:
    """Running counts: so_far[i, t] words of tag t among the first i; gaps as in `count_gaps`."""
    n = len(tags)
    for tag in range(N_TAGS):
        so_far[0, tag] = 0
    for i in range(n):
        for tag in range(N_TAGS):
            so_far[i + 1, tag] = so_far[i, tag]
        so_far[i + 1, tags[i]] += 1
    count_gaps(gaps, gaps_so_far)


@compiled
def flags_of_place(head: int, dependent: int, n: int, gaps_so_far: Ints, flags: Ints) -> int:
    """Writes the flags of an arc that no tag changes, of a sentence of n words; how many there are, the place first."""
    if head == 0:
        flags[0] = FROM_ROOT
        size = 1
        if dependent == 1:
            flags[size] = FROM_ROOT + 1
            size += 1
        if dependent == n:
            flags[size] = FROM_ROOT + 2
            size += 1
        return size
    low, high = min(head, dependent), max(head, dependent)
    flags[0] = PLACE + DISTANCES * (dependent > head) + bin_of(high - low)
    size = 1
    n_gaps = gaps_so_far[high, 0] - gaps_so_far[low, 0]
    if n_gaps > 0:
        flags[size] = GAPS
        size += 1
        if n_gaps > 1:
            flags[size] = GAPS + 1
            size += 1
        if gaps_so_far[high, 1] > gaps_so_far[low, 1]:
            flags[size] = GAPS + 2
            size += 1
    return size


@compiled
def flags_of(
    head: int,
    dependent: int,
    tags: Bytes,
    agreeing: Ints,
    bundle: Ints,
    so_far: Ints,
    gaps_so_far: Ints,
    flags: Ints,
) -> int:
    """Writes the flags of an arc (head 0 is ROOT, dependent from 1); how many there are, the place first."""
    size = flags_of_place(head, dependent, len(tags), gaps_so_far, flags)
    if head == 0:
        return size
    low, high = min(head, dependent), max(head, dependent)
    if high - low > 1:
        after, before = so_far[high - 1], so_far[low]
        for k in range(7):
            tag = _BETWEEN[k]
            is_there = after[tag] > before[tag]
            if tag == _NOUN:  # any nominal
                is_there = is_there or after[_PROPN] > before[_PROPN] or after[_PRON] > before[_PRON]
            if is_there:
                flags[size] = BETWEEN + k
                size += 1
        for k in range(2):
            tag = tags[head - 1] if k == 0 else tags[dependent - 1]
            same = after[tag] - before[tag]
            if same > 0:
                flags[size] = SAME + 2 * k
                size += 1
            if same > 1:
                flags[size] = SAME + 2 * k + 1
                size += 1
    x, y = bundle[head - 1], bundle[dependent - 1]
    for k in range(4):
        a, b = agreeing[x, k], agreeing[y, k]
        if a and b:
            flags[size] = AGREE + 2 * k + (a != b)
            size += 1
    return size


@compiled
def code_arcs(
    tags: Bytes,
    gaps: Bytes,
    bundle: Ints,
    agreeing: Ints,
    so_far: Ints,
    gaps_so_far: Ints,
    flags: Ints,
    codes: Ints,
    rows: Ints,
) -> None:
    """Flags, a bit each, and rows of the table of pairs of all arcs (n, n + 1), by dependent and head.

    Both must be zero at first; they stay so where a word would be its own head.
    """
    n = len(tags)
    count_words(tags, gaps, so_far, gaps_so_far)
    for dependent in range(1, n + 1):
        tag = int(tags[dependent - 1])
        for head in range(n + 1):
            if head == dependent:
                continue
            of_head = int(tags[head - 1]) if head else N_TAGS
            code = 0
            for k in range(flags_of(head, dependent, tags, agreeing, bundle, so_far, gaps_so_far, flags)):
                code |= 1 << flags[k]
            codes[dependent - 1, head] = code
            place = flags[0] if head else DISTANCES
            rows[dependent - 1, head] = (of_head * N_TAGS + tag) * 2 * DISTANCES + place


CODE_ARCS = Kernel(code_arcs, "the universal parser")


@compiled
def flag_trees(
    tags: Bytes,
    gaps: Bytes,
    bundle: Ints,
    agreeing: Ints,
    so_far: Ints,
    gaps_so_far: Ints,
    flags: Ints,
    start: Ints,
    heads: Ints,
    result: Floats32,
) -> None:
    """Marks the flags of the arcs from `heads` (N,) in `result` (N, F), which must be zero at first."""
    for s in range(len(start) - 1):
        low, high = start[s], start[s + 1]
        its_tags, its_bundle = tags[low:high], bundle[low:high]
        count_words(its_tags, gaps[low + s : high + s + 1], so_far, gaps_so_far)
        for word in range(low, high):
            size = flags_of(heads[word], word - low + 1, its_tags, agreeing, its_bundle, so_far, gaps_so_far, flags)
            for k in range(size):
                result[word, flags[k]] = 1.0


FLAG_TREES = Kernel(flag_trees, "the universal parser")


@compiled_floats
def score_arcs(
    head_part: Floats32,
    dependent_part: Floats32,
    root_part: Floats32,
    pair_part: Floats32,
    flag_part: Floats32,
    out: Floats32,
    straight: Floats32,
    tags: Bytes,
    gaps: Bytes,
    bundle: Ints,
    agreeing: Ints,
    so_far: Ints,
    gaps_so_far: Ints,
    flags: Ints,
    hidden: Floats32,
    start: Ints,
    scores: Floats32,
) -> None:
    """Log-probabilities log p(h | d) of all arcs of sentences in a row, each (n + 1, n) by head.

    head_part, dependent_part (N, A), root_part (A,) are what the words add to the hidden layer; pair_part
    (17, 16, 2, A + 1 + 8) what their tags and the side add to it, to the score, and with the distance to the
    score; flag_part (F, A) what flags add; `straight` (F,) what they add to the score. Workspace: running
    counts, flags, and a hidden layer (A,).
    """
    width = len(out)
    at = 0
    for s in range(len(start) - 1):
        low, n = start[s], start[s + 1] - start[s]
        its_tags = tags[low : low + n]
        its_bundle = bundle[low : low + n]
        count_words(its_tags, gaps[low + s : low + s + n + 1], so_far, gaps_so_far)
        for dependent in range(1, n + 1):
            tag = int(its_tags[dependent - 1])
            word = dependent_part[low + dependent - 1]
            best = np.float32(-1e30)
            for head in range(n + 1):
                place = at + head * n + dependent - 1
                if head == dependent:
                    scores[place] = -1e30
                    continue
                of_head = int(its_tags[head - 1]) if head else N_TAGS
                pair = pair_part[of_head, tag, int(dependent > head)]
                other = head_part[low + head - 1] if head else root_part
                for k in range(width):
                    hidden[k] = word[k] + other[k] + pair[k]
                size = flags_of(head, dependent, its_tags, agreeing, its_bundle, so_far, gaps_so_far, flags)
                score = pair[width] + pair[width + 1 + flags[0] % DISTANCES] if head else pair[width] + pair[width + 1]
                for f in range(size):
                    flag = flag_part[flags[f]]
                    score += straight[flags[f]]
                    for k in range(width):
                        hidden[k] += flag[k]
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


SCORE_ARCS = Kernel(score_arcs, "the universal parser")

"""What is seen of an arc: the place of its words, what lies between them, whether they agree.

An arc has `PAIR_NUMBERS` numbers of its tags and side, from the text's profile, and a few of
`N_FLAGS` flags. `flags_of` lists the flags of an arc; the learner makes a row of numbers of them,
the parser adds up weights.

Where tags are guessed, a flag has an amount below 1, what is expected of it under the tagger's
probabilities. All that the network reads before its first layer of rectifiers is linear in a word's
tag, its features, the numbers of a pair of tags, and the flags of an arc. So each is replaced by
its expectation, as if words were independent; what two flags say together is not looked at. A tag
that is certain has probability 1, and all amounts are 1.

In "the old dog sleeps" the arc from the fourth word to the first has two flags: its place, to the
left at distance 3, and a noun between:

>>> from dynet_vdgi.conllu.sentence import Sentence
>>> from dynet_vdgi.system.jit import as_python
>>> from dynet_vdgi.universal.encoding import encode
>>> text = encode([Sentence.of_tags(["DET", "ADJ", "NOUN", "VERB"])], ())
>>> words, room = ArcWords.of(text), ArcWorkspace.of(4)
>>> as_python(count_words)(0, 0, 4, words, room)
>>> n_flags = as_python(flags_of)(4, 1, 0, 4, words, room)
>>> room.flags[:n_flags].tolist() == [PLACE + 2, BETWEEN + 1]
True

Letters: N words in S sentences; n words in one of them; T tags; A units of the arcs' layer; F
flags; V values of features that agree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynet_vdgi.system.array_types import Bytes, Floats, Floats32, Ints
from dynet_vdgi.system.jit import Kernel, compiled, compiled_floats
from dynet_vdgi.universal.encoding import AGREEING, N_TAGS, TAG, CodedText

DISTANCES = 8
"""Bins of distance: 1, 2, 3, 4, 5-6, 7-9, 10-15, 16 and more."""

PLACE, GAPS, BETWEEN, SAME, AGREE, FROM_ROOT, N_FLAGS = 0, 16, 19, 26, 30, 38, 41
"""First flag of each group."""

LEAST_AMOUNT = 1e-3
"""A flag whose amount is below this is not looked at."""

GUESSED = -1
"""Stands for the value of a feature that is guessed."""

MOST_FLAGS = 24
"""Most flags of an arc: one place, three gaps, seven between, four of the same tag, eight of
agreement, of which four where tags are certain."""

ROWS_OF_PAIRS = (N_TAGS + 1) * N_TAGS * 2 * DISTANCES
"""Rows of a table with a weight for each tag of the head, tag of the dependent, side and bin of
distance."""

_NOUN, _PROPN, _PRON = TAG["NOUN"], TAG["PROPN"], TAG["PRON"]

_BETWEEN = tuple([TAG[tag] for tag in ["VERB", "NOUN", "ADP", "CCONJ", "SCONJ", "AUX", "PART"]])


class ArcWords(NamedTuple):
    """What arcs read of the words of sentences in a row.

    Word i may have the first n_tags[i] tags in tag[i], with the probabilities in chance[i].
    agreeing[i, k] is the number of its value of feature k, 0 if it has none, GUESSED if `values`
    has probabilities instead: those of feature k are from ends[k] to ends[k + 1].
    Sentence s has the gaps start[s] + s to start[s + 1] + s + 1.
    """

    chances: Floats32  # (N, T)
    n_tags: Ints  # (N,)
    tag: Bytes  # (N, most tags of a word)
    chance: Floats32  # (N, most tags of a word), the highest first
    agreeing: Ints  # (N, len(AGREEING))
    values: Floats32  # (N, V)
    ends: Ints  # (len(AGREEING) + 1,)
    gaps: Bytes  # (N + S,)

    @classmethod
    def of(cls, text: CodedText) -> ArcWords:
        """Those of a text, whose tags are guessed if it has a `soft` part, else certain."""
        if (soft := text.soft) is not None:
            agreeing = np.full((len(soft.chances), len(AGREEING)), GUESSED)
            features = agreeing, soft.values, soft.ends
            return cls(soft.chances, soft.n_tags, soft.tag, soft.chance, *features, text.gaps)
        return cls.of_certain(text.tags, text.bundle, text.agreeing, text.gaps)

    @classmethod
    def of_certain(cls, tags: Bytes, bundle: Ints, agreeing: Ints, gaps: Bytes) -> ArcWords:
        """Words with these tags (N,); word i has the values in row bundle[i] of `agreeing`."""
        n_words = len(tags)
        return cls(
            np.eye(N_TAGS, dtype=np.float32)[tags],
            np.ones(n_words, np.int64),
            np.ascontiguousarray(tags).reshape(n_words, 1),
            np.ones((n_words, 1), np.float32),
            agreeing[bundle],
            np.zeros((n_words, 0), np.float32),
            np.zeros(len(AGREEING) + 1, np.int64),
            np.ascontiguousarray(gaps),
        )


class ArcWorkspace(NamedTuple):
    """Workspace, large enough for the longest sentence."""

    so_far: Floats  # (n + 1, T): running sums of the probabilities of tags
    gaps_so_far: Ints  # (n + 2, 2): running counts of gaps, any and strong ones
    flags: Ints  # of an arc
    amounts: Floats32  # of these flags
    pairs: Floats32  # (T + 1, 2, A + 1 + DISTANCES): of one dependent, by tag of the head
    hidden: Floats32  # (A,)

    @classmethod
    def of(cls, longest: int, n_hidden: int = 0) -> ArcWorkspace:
        """Enough for sentences of up to `longest` words, and a layer of `n_hidden` units."""
        return cls(
            np.zeros((longest + 1, N_TAGS)),
            np.zeros((longest + 2, 2), np.int64),
            np.zeros(MOST_FLAGS, np.int64),
            np.zeros(MOST_FLAGS, np.float32),
            np.zeros((N_TAGS + 1, 2, n_hidden + 1 + DISTANCES), np.float32),
            np.zeros(n_hidden, np.float32),
        )


class ArcWeights(NamedTuple):
    """What the kernel of scores needs of the weights, in one text.

    `root` is what ROOT as a head adds to the hidden layer. `pairs` is what tags and the side add to
    it, to the score, and with the distance to the score. `flags` is what flags add to the hidden
    layer, `straight` what they add to the score; `out` makes a score of the hidden layer.
    """

    root: Floats32  # (A,)
    pairs: Floats32  # (T + 1, T, 2, A + 1 + DISTANCES)
    flags: Floats32  # (F, A)
    out: Floats32  # (A,)
    straight: Floats32  # (F,)


@compiled
def bin_of(distance: int) -> int:
    """The bin of a distance of 1 or more."""
    if distance <= 4:
        return distance - 1
    if distance <= 6:
        return 4
    if distance <= 9:
        return 5
    return 6 if distance <= 15 else 7


@compiled
def count_words(s: int, low: int, n: int, words: ArcWords, room: ArcWorkspace) -> None:
    """Running sums of sentence s, whose n words begin at `low`: of tags, of any and strong gaps."""
    so_far, gaps_so_far, chances, gaps = room.so_far, room.gaps_so_far, words.chances, words.gaps
    for tag in range(N_TAGS):
        so_far[0, tag] = 0
    for i in range(n):
        for tag in range(N_TAGS):
            so_far[i + 1, tag] = so_far[i, tag] + chances[low + i, tag]
    gaps_so_far[0, 0] = gaps_so_far[0, 1] = 0
    for i in range(n + 1):
        gap = gaps[low + s + i]
        gaps_so_far[i + 1, 0] = gaps_so_far[i, 0] + (gap > 0)
        gaps_so_far[i + 1, 1] = gaps_so_far[i, 1] + (gap > 1)


@compiled
def flags_of_place(head: int, dependent: int, n: int, room: ArcWorkspace) -> int:
    """Writes the flags of an arc that no tag changes; how many there are, the place first."""
    flags, gaps_so_far = room.flags, room.gaps_so_far
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
    head: int, dependent: int, first: int, n: int, words: ArcWords, room: ArcWorkspace
) -> int:
    """Writes the flags of an arc and their amounts; how many there are, the place first.

    Head 0 is ROOT; words count from 1 in a sentence of n words that begins at `first`.
    `count_words` must have read it.
    """
    flags, amounts = room.flags, room.amounts
    amounts[:] = 1.0
    size = flags_of_place(head, dependent, n, room)
    if head == 0:
        return size
    h, d = first + head - 1, first + dependent - 1
    low, high = min(head, dependent), max(head, dependent)
    if high - low > 1:
        so_far, after = room.so_far, high - 1
        for k in range(7):
            tag = _BETWEEN[k]
            amount = so_far[after, tag] - so_far[low, tag]
            if tag == _NOUN:  # any nominal
                amount += (
                    so_far[after, _PROPN]
                    - so_far[low, _PROPN]
                    + so_far[after, _PRON]
                    - so_far[low, _PRON]
                )
            if amount > LEAST_AMOUNT:
                flags[size], amounts[size] = BETWEEN + k, min(1.0, amount)
                size += 1
        for k in range(2):
            word = h if k == 0 else d
            if words.n_tags[word] == 1:
                tag = int(words.tag[word, 0])
                same = so_far[after, tag] - so_far[low, tag]
            else:
                same = 0.0
                for tag in range(N_TAGS):
                    chance = words.chances[word, tag]
                    if chance > 0:
                        same += chance * (so_far[after, tag] - so_far[low, tag])
            if same > LEAST_AMOUNT:
                flags[size], amounts[size] = SAME + 2 * k, min(1.0, same)
                size += 1
            if same > 1 + LEAST_AMOUNT:
                flags[size], amounts[size] = SAME + 2 * k + 1, min(1.0, same - 1)
                size += 1
    values, ends = words.values, words.ends
    for k in range(4):
        a, b = words.agreeing[h, k], words.agreeing[d, k]
        if a != GUESSED:
            if a and b:
                flags[size] = AGREE + 2 * k + (a != b)
                size += 1
            continue
        both, of_x, of_y = 0.0, 0.0, 0.0
        for v in range(ends[k], ends[k + 1]):
            x, y = values[h, v], values[d, v]
            both += x * y
            of_x += x
            of_y += y
        has = min(1.0, of_x) * min(1.0, of_y)
        if has > LEAST_AMOUNT:
            both = min(both, has)
            for differs, amount in ((0, both), (1, has - both)):
                if amount > LEAST_AMOUNT:
                    flags[size], amounts[size] = AGREE + 2 * k + differs, amount
                    size += 1
    return size


@compiled
def code_arcs(words: ArcWords, room: ArcWorkspace, codes: Ints, rows: Ints) -> None:
    """Flags, a bit each, and rows of the table of pairs of all arcs (n, n + 1) of a sentence.

    By dependent and head; its tags are certain. Both must be zero at first; they stay so where a
    word would be its own head.
    """
    n = len(words.chances)
    count_words(0, 0, n, words, room)
    for dependent in range(1, n + 1):
        tag = int(words.tag[dependent - 1, 0])
        for head in range(n + 1):
            if head == dependent:
                continue
            of_head = int(words.tag[head - 1, 0]) if head else N_TAGS
            code = 0
            for k in range(flags_of(head, dependent, 0, n, words, room)):
                code |= 1 << room.flags[k]
            codes[dependent - 1, head] = code
            place = room.flags[0] if head else DISTANCES
            rows[dependent - 1, head] = (of_head * N_TAGS + tag) * 2 * DISTANCES + place


CODE_ARCS = Kernel(code_arcs, "the universal parser")


@compiled
def flag_trees(
    words: ArcWords, room: ArcWorkspace, start: Ints, heads: Ints, result: Floats32
) -> None:
    """Writes the amounts of flags of the arcs from `heads` (N,) to `result` (N, F), zero before."""
    for s in range(len(start) - 1):
        low, n = start[s], start[s + 1] - start[s]
        count_words(s, low, n, words, room)
        for word in range(low, low + n):
            size = flags_of(heads[word], word - low + 1, low, n, words, room)
            for k in range(size):
                result[word, room.flags[k]] = room.amounts[k]


FLAG_TREES = Kernel(flag_trees, "the universal parser")


@compiled_floats
def score_arcs(
    weights: ArcWeights,
    heads: Floats32,
    dependents: Floats32,
    words: ArcWords,
    room: ArcWorkspace,
    start: Ints,
    scores: Floats32,
) -> None:
    """Log-probabilities log p(h | d) of all arcs of sentences in a row, each (n + 1, n) by head.

    heads, dependents (N, A) are what words add to the hidden layer as heads and as dependents.
    """
    out, straight, pairs_of_tags, flag_part = (
        weights.out,
        weights.straight,
        weights.pairs,
        weights.flags,
    )
    tags, n_tags, chance = words.tag, words.n_tags, words.chance
    flags, amounts, pairs, hidden = room.flags, room.amounts, room.pairs, room.hidden
    width = len(out)
    at = 0
    for s in range(len(start) - 1):
        low, n = start[s], start[s + 1] - start[s]
        count_words(s, low, n, words, room)
        for dependent in range(1, n + 1):
            d = low + dependent - 1
            is_certain = n_tags[d] == 1
            tag = int(tags[d, 0])
            if not is_certain:
                for of_head in range(N_TAGS + 1):  # the mean over this word's tags
                    if of_head == N_TAGS or room.so_far[n, of_head] > 0:
                        for side in range(2):
                            pairs[of_head, side] = 0
                            for b in range(n_tags[d]):
                                pair = pairs_of_tags[of_head, tags[d, b], side]
                                for k in range(len(pair)):
                                    pairs[of_head, side, k] += chance[d, b] * pair[k]
            best = np.float32(-1e30)
            for head in range(n + 1):
                place = at + head * n + dependent - 1
                if head == dependent:
                    scores[place] = -1e30
                    continue
                h = low + head - 1
                other = heads[h] if head else weights.root
                size = flags_of(head, dependent, low, n, words, room)
                distance = width + 1 + (flags[0] % DISTANCES if head else 0)
                score, side = np.float32(0), int(dependent > head)
                for a in range(n_tags[h] if head else 1):
                    amount = chance[h, a] if head else np.float32(1)
                    of_head = int(tags[h, a]) if head else N_TAGS
                    pair = pairs_of_tags[of_head, tag, side] if is_certain else pairs[of_head, side]
                    score += amount * (pair[width] + pair[distance])
                    if a == 0:
                        for k in range(width):
                            hidden[k] = dependents[d, k] + other[k] + amount * pair[k]
                    else:
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


SCORE_ARCS = Kernel(score_arcs, "the universal parser")

"""What the universal parser sees: words as numbers, and flags of arcs.

Sentences as the universal parser sees them: arrays of tags, features, punctuation, frequencies.

Letters: N words in S sentences; n words in one of them; F known features (`Name=Value`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.system.arrays import Bytes, Floats32, Ints
from dynet_vdgi.system.jit import Kernel, compiled, compiled_floats

_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN SCONJ SYM VERB X"
TAGS = tuple(_TAGS.split())
TAG = {tag: number for number, tag in enumerate(TAGS)}
_OTHER_NAMES = {"CONJ": "CCONJ", "PUNCT": "X", "_": "X"}
N_TAGS = len(TAGS)
ROOT = N_TAGS
"""The tag of the root, in tables of pairs of tags."""

_RELATIONS = """
acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl
fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis reparandum root vocative xcomp
"""
RELATIONS = tuple(_RELATIONS.split())
RELATION = {relation: number for number, relation in enumerate(RELATIONS)}

AGREEING = ("Case", "Gender", "Number", "Person")
"""Features whose agreement between head and dependent is seen."""

NO_GAP, WEAK, STRONG, MIXED = range(4)
"""Kinds of gap between two words: no punctuation, commas or dashes, ends of clauses, any other."""
_WEAK, _STRONG = frozenset(",、،-"), frozenset(".!?;:。؟।")

BANDS = 8
"""Bands of frequency of a form: 0 unknown; 1 a tenth of all words or more; each next one 2.8 times rarer."""


@dataclass(frozen=True)
class SoftText:
    """What is expected of the words of sentences in a row.

    Word i may have the first n_tags[i] tags in tag[i], with the probabilities in chance[i]. `values` (N, V) are
    the probabilities of values of the features that agree; those of feature k are from ends[k] to ends[k + 1].
    """

    chances: Floats32  # (N, T)
    n_tags: Ints  # (N,)
    tag: Bytes  # (N, T)
    chance: Floats32  # (N, T), the highest first
    features: Floats32  # (N, F)
    values: Floats32
    ends: Ints  # (len(AGREEING) + 1,)


@dataclass(frozen=True)
class CodedText:
    """Sentences in a row.

    `start` (S + 1,) counts words; sentence s has the words start[s] to start[s + 1] and the gaps
    start[s] + s to start[s + 1] + s + 1. `bundle` (N,) numbers the rows of `features` (B, F) and `agreeing`
    (B, 4), which hold the distinct values of FEATS; a value of `agreeing` is 0 where a feature is missing.
    """

    start: Ints
    tags: Bytes
    bundle: Ints
    features: NDArray[np.float32]
    agreeing: Ints
    gaps: Bytes
    band: Bytes
    heads: Ints | None = None
    relations: Ints | None = None  # -1: none of RELATIONS
    sentences: tuple[Sentence, ...] = ()  # as given, for the teacher of a text
    soft: SoftText | None = None  # what is expected of words whose tags are guessed

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def lengths(self) -> Ints:
        return np.diff(self.start)

    def part(self, sentences: Ints) -> CodedText:
        """Some of the sentences, perhaps with repetitions."""
        ends = self.start[1:]
        words = np.concatenate([np.arange(self.start[s], ends[s]) for s in sentences] or [self.start[:0]])
        gaps = np.concatenate([np.arange(self.start[s] + s, ends[s] + s + 1) for s in sentences] or [self.start[:0]])
        return replace(
            self,
            start=np.concatenate([[0], np.cumsum(self.lengths[sentences])]),
            tags=self.tags[words],
            bundle=self.bundle[words],
            gaps=self.gaps[gaps],
            band=self.band[words],
            heads=None if self.heads is None else self.heads[words],
            relations=None if self.relations is None else self.relations[words],
            sentences=tuple([self.sentences[s] for s in sentences]) if self.sentences else (),
        )

    def gaps_of(self, s: int) -> Bytes:
        """The kinds (n + 1,) of the gaps around the words of a sentence."""
        return self.gaps[self.start[s] + s : self.start[s + 1] + s + 1]


def number_of_tag(tag: str) -> int:
    """The number of a tag among TAGS; that of X if it is not of UD."""
    return TAG.get(_OTHER_NAMES.get(tag, tag), TAG["X"])


def features_of(feats: str) -> list[str]:
    """The features of a value of FEATS.

    >>> features_of("Case=Nom|Number=Sing"), features_of("_")
    (['Case=Nom', 'Number=Sing'], [])
    """
    return [feature for feature in feats.split("|") if "=" in feature]


def known_features(treebanks: Iterable[Sequence[Sentence]], least: int = 4) -> tuple[str, ...]:
    """The features that occur in at least `least` treebanks, sorted."""
    seen = Counter[str]()
    for treebank in treebanks:
        bundles = {feats for sentence in treebank for feats in sentence.feats}
        seen.update({feature for feats in bundles for feature in features_of(feats)})
    return tuple(sorted(feature for feature, n in seen.items() if n >= least))


def kind_of_gap(forms: str) -> int:
    """The kind of gap that punctuation makes; its forms have spaces between."""
    if not forms:
        return NO_GAP
    marks = set(forms.split())
    return WEAK if marks <= _WEAK else STRONG if marks & _STRONG else MIXED


def gap_pairs(before: Ints, after: Ints) -> Ints:
    """One number for the kinds of the gaps before and after a word."""
    return before * 4 + after


def band_of_forms(sentences: Iterable[Sentence]) -> dict[str, int]:
    """The band of frequency of each form of a text."""
    counts = Counter(form for sentence in sentences for form in sentence.forms)
    counts.pop("_", None)
    total = sum(counts.values())
    return {form: 1 + min(BANDS - 2, max(0, int(np.log2(0.1 / (n / total)) / 1.5))) for form, n in counts.items()}


def encode(sentences: Sequence[Sentence], features: Sequence[str], bands: Mapping[str, int] | None = None) -> CodedText:
    """The sentences as arrays; `bands` are those of the text that they are from."""
    place = {feature: number for number, feature in enumerate(features)}
    numbers_of_tags: dict[str, int] = {}
    number_of_gap: dict[str, int] = {}
    number_of_bundle = {"_": 0}
    values: dict[str, int] = {}
    tags: list[int] = []
    bundle: list[int] = []
    gaps: list[int] = []
    band: list[int] = []
    for sentence in sentences:
        upos = sentence.upos or sentence.tags
        for tag in upos:
            if tag not in numbers_of_tags:
                numbers_of_tags[tag] = number_of_tag(tag)
            tags.append(numbers_of_tags[tag])
        for feats in sentence.feats or ("_",) * len(sentence):
            bundle.append(number_of_bundle.setdefault(feats, len(number_of_bundle)))
        for gap in sentence.gaps or ("",) * (len(sentence) + 1):
            if gap not in number_of_gap:
                number_of_gap[gap] = kind_of_gap(gap)
            gaps.append(number_of_gap[gap])
        band += [bands.get(form, BANDS - 1 if form != "_" else 0) for form in sentence.forms] if bands else ()
    of_bundle = np.zeros((max(1, len(number_of_bundle)), len(features)), np.float32)
    agreeing = np.zeros((len(of_bundle), len(AGREEING)), np.int64)
    for feats, row in number_of_bundle.items():
        for feature in features_of(feats):
            if feature in place:
                of_bundle[row, place[feature]] = 1.0
            name, _, value = feature.partition("=")
            if name in AGREEING:
                agreeing[row, AGREEING.index(name)] = values.setdefault(value, len(values) + 1)
    start = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)
    has_trees = bool(sentences) and all(sentence.heads is not None for sentence in sentences)
    heads = np.array([h for s in sentences for h in s.heads or ()], np.int64) if has_trees else None
    relations = None
    if has_trees:
        relations = np.array(
            [
                RELATION.get(relation.partition(":")[0], -1)
                for sentence in sentences
                for relation in (sentence.deprels or ("_",) * len(sentence))
            ],
            np.int64,
        )
    return CodedText(
        start,
        np.array(tags, np.int8),
        np.array(bundle, np.int64),
        of_bundle,
        agreeing,
        np.array(gaps, np.int8),
        np.array(band, np.int8) if bands else np.zeros(len(tags), np.int8),
        heads,
        relations,
        tuple(sentences),
    )


# ----------------------------------------------------------------------------------------------------
# What is seen of an arc: the place of its words, what lies between them, whether they agree.
#
# An arc has `PAIR_NUMBERS` numbers of its tags and side, from the text's profile, and a few of `N_FLAGS` flags.
# `flags_of` lists the flags of an arc; the learner makes a row of numbers of them, the parser adds up weights.


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

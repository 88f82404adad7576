"""Sentences as the universal parser sees them: arrays of tags, features, punctuation, frequencies.

>>> sentence = Sentence(
...     ("Kim", "sleeps"), ("PROPN", "VERB"), feats=("Number=Sing", "Person=3"), gaps=("", "", ".")
... )
>>> text = encode([sentence, sentence], ("Number=Sing",))
>>> [TAGS[tag] for tag in text.tags], text.start.tolist(), text.gaps.tolist()
(['PROPN', 'VERB', 'PROPN', 'VERB'], [0, 2, 4], [0, 0, 2, 0, 0, 2])
>>> text.bundle.tolist(), text.features.tolist()  # the first bundle is that without features
([1, 2, 1, 2], [[0.0], [1.0], [0.0]])

Letters: N words in S sentences; n words in one of them; F known features (`Name=Value`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.system.array_types import Bytes, Floats32, Ints

_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN SCONJ SYM VERB X"

TAGS = tuple(_TAGS.split())

TAG = {tag: number for number, tag in enumerate(TAGS)}

_OTHER_NAMES = {"CONJ": "CCONJ", "PUNCT": "X", "_": "X"}

N_TAGS = len(TAGS)

ROOT = N_TAGS
"""The tag of the root, in tables of pairs of tags."""

_RELATIONS = """
acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis
reparandum root vocative xcomp
"""

RELATIONS = tuple(_RELATIONS.split())

RELATION = {relation: number for number, relation in enumerate(RELATIONS)}

AGREEING = ("Case", "Gender", "Number", "Person")
"""Features whose agreement between head and dependent is seen."""

NO_GAP, WEAK, STRONG, MIXED = range(4)
"""Kinds of gap between two words: no punctuation, commas or dashes, ends of clauses, any other."""

_WEAK, _STRONG = frozenset(",、،-"), frozenset(".!?;:。؟।")

BANDS = 8
"""Bands of frequency of a form: 0 unknown; 1 a tenth of all words or more; each next one 2.8 times
rarer."""


@dataclass(frozen=True)
class SoftText:
    """What is expected of the words of sentences in a row.

    Word i may have the first n_tags[i] tags in tag[i], with the probabilities in chance[i].
    `values` (N, V) are the probabilities of values of the features that agree; those of feature k
    are from ends[k] to ends[k + 1].
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
    start[s] + s to start[s + 1] + s + 1. `bundle` (N,) numbers the rows of `features` (B, F) and
    `agreeing` (B, 4), which hold the distinct values of FEATS; a value of `agreeing` is 0 where a
    feature is missing.
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
        words = np.concatenate(
            [np.arange(self.start[s], ends[s]) for s in sentences] or [self.start[:0]]
        )
        gaps = np.concatenate(
            [np.arange(self.start[s] + s, ends[s] + s + 1) for s in sentences] or [self.start[:0]]
        )
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
    if marks <= _WEAK:
        return WEAK
    return STRONG if marks & _STRONG else MIXED


def gap_pairs(before: Ints, after: Ints) -> Ints:
    """One number for the kinds of the gaps before and after a word."""
    return before * 4 + after


def band_of_forms(sentences: Iterable[Sentence]) -> dict[str, int]:
    """The band of frequency of each form of a text."""
    counts = Counter(form for sentence in sentences for form in sentence.forms)
    counts.pop("_", None)
    total = sum(counts.values())
    return {
        form: 1 + min(BANDS - 2, max(0, int(np.log2(0.1 / (n / total)) / 1.5)))
        for form, n in counts.items()
    }


def encode(
    sentences: Sequence[Sentence], features: Sequence[str], bands: Mapping[str, int] | None = None
) -> CodedText:
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
        band += (
            [bands.get(form, BANDS - 1 if form != "_" else 0) for form in sentence.forms]
            if bands
            else ()
        )
    of_bundle = np.zeros((max(1, len(number_of_bundle)), len(features)), np.float32)
    agreeing = np.zeros((len(of_bundle), len(AGREEING)), np.int64)
    for feats, row in number_of_bundle.items():
        for feature in features_of(feats):
            if feature in place:
                of_bundle[row, place[feature]] = 1.0
            name, _, value = feature.partition("=")
            if name in AGREEING:
                agreeing[row, AGREEING.index(name)] = values.setdefault(value, len(values) + 1)
    start = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(
        np.int64
    )
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

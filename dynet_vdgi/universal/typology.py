"""What kind of language a text is in: numbers counted in its tags, features and punctuation.

`Profile.numbers` describes the text as a whole. `Profile.pairs` (17, 16, 2, K) has K numbers for
each tag of a head (the last is ROOT), tag of a dependent, and side of the dependent (0 left, 1
right). All are logarithms of smoothed ratios, so they lie within a few units of zero. No tree is
needed; the teacher of the text (`text_teacher`) says which arcs are expected. Where nouns follow
their adjectives, the number of this pair is positive:

>>> from dynet_vdgi.conllu.sentence import Sentence
>>> from dynet_vdgi.universal.encoding import encode
>>> text = encode([Sentence.of_tags(["DET", "ADJ", "NOUN", "VERB"])] * 20, ())
>>> counts = TagCounts.of(text)
>>> counts.neighbours[TAG["NOUN"], TAG["ADJ"]].tolist()  # adjectives to the left, right of nouns
[20.0, 0.0]
>>> profile = Profile.of(text, (), np.zeros((N_TAGS + 1, N_TAGS, 2)))
>>> profile.numbers.shape, profile.pairs.shape
((134,), (17, 16, 2, 15))
>>> bool(profile.pairs[TAG["NOUN"], TAG["ADJ"], LEFT, 0] > 0)
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.universal.encoding import N_TAGS, TAG, TAGS, CodedText

LEFT, RIGHT = 0, 1

PAIR_NUMBERS = 15

WINDOW = 8
"""Words at most this far apart count as in one another's reach."""

_BESIDE = """
NOUN-ADJ NOUN-DET NOUN-NUM NOUN-ADP PROPN-ADP PRON-ADP VERB-AUX VERB-NOUN VERB-PRON VERB-PROPN
VERB-ADV NOUN-PROPN VERB-SCONJ VERB-PART NOUN-PART VERB-ADP ADJ-ADV NOUN-PRON NOUN-CCONJ VERB-CCONJ
ADJ-AUX NOUN-AUX
"""

_AMONG_CONTENT = """
VERB-NOUN VERB-PRON VERB-PROPN VERB-ADP NOUN-ADP PROPN-ADP VERB-AUX NOUN-AUX VERB-SCONJ NOUN-PRON
NOUN-PROPN NOUN-CCONJ VERB-CCONJ PRON-ADP
"""

_NEIGHBOURS, _CONTENT = _BESIDE.split(), _AMONG_CONTENT.split()

_ARCS = [*_NEIGHBOURS, "VERB-VERB", "NOUN-NOUN", "NOUN-VERB", "PROPN-PROPN"]

_HEADS = ["NOUN", "VERB", "ADJ", "PROPN"]

_AROUND_VERB = [
    "NOUN",
    "PROPN",
    "PRON",
    "ADV",
    "ADP",
    "AUX",
    "SCONJ",
    "PART",
    "ADJ",
    "NUM",
    "DET",
    "CCONJ",
]

_MODIFIERS = np.array([TAG[tag] for tag in ["DET", "ADJ", "NUM", "ADV", "PART", "INTJ", "SYM"]])

_SHARES = {
    "NOUN": "Case Gender Number Case=Nom Person[psor] Number[psor] Definite",
    "ADJ": "Case Gender",
    "VERB": "VerbForm VerbForm=Fin VerbForm=Part VerbForm=Conv VerbForm=Inf "
    "Person Tense Aspect Number",
}
"""Features, and values of them, that are counted in the words of a tag."""

N_NUMBERS = 134
"""Numbers of a text in this version, see `Profile`."""


@dataclass(frozen=True)
class TagCounts:
    """Counts (16, 16, 2) of pairs of words in a text: [tag, tag of the other word, side of the
    other word]."""

    neighbours: Floats
    content: Floats  # neighbours once modifiers are left out
    reach: Floats  # all words within WINDOW

    @classmethod
    def of(cls, text: CodedText) -> TagCounts:
        tags, sentence = text.tags.astype(np.int64), np.repeat(np.arange(len(text)), text.lengths)
        is_content = ~np.isin(tags, _MODIFIERS)
        reach = sum(_ordered(tags, sentence, distance) for distance in range(1, WINDOW + 1))
        return cls(
            _ordered(tags, sentence, 1),
            _ordered(tags[is_content], sentence[is_content], 1),
            np.asarray(reach),
        )


def _ordered(tags: Ints, sentence: Ints, distance: int) -> Floats:
    """Counts (16, 16, 2) of words `distance` apart in a sentence."""
    counts = np.zeros((N_TAGS, N_TAGS, 2))
    together = sentence[distance:] == sentence[:-distance]
    first, second = tags[:-distance][together], tags[distance:][together]
    pairs = np.bincount(first * N_TAGS + second, minlength=N_TAGS**2).reshape(N_TAGS, N_TAGS)
    counts[:, :, RIGHT], counts[:, :, LEFT] = pairs, pairs.T
    return counts


@dataclass(frozen=True)
class Profile:
    """The numbers of a text."""

    numbers: NDArray[np.float32]
    pairs: NDArray[np.float32]

    @classmethod
    def of(cls, text: CodedText, names: tuple[str, ...], arcs: ArrayLike) -> Profile:
        """Measures a text; `names` are those of its features, `arcs` (17, 16, 2) its expected
        arcs."""
        counts, arcs = TagCounts.of(text), np.asarray(arcs, float)
        left, right = arcs[[TAG[tag] for tag in _HEADS]].sum(1).T
        of_heads = {f"head {tag}": float(x) for tag, x in zip(_HEADS, _ratio(left, right, 1.0))}
        numbers = _numbers(text, counts, names) | _sides("arc", _ARCS, arcs, 1.0) | of_heads
        return cls(np.array(list(numbers.values()), np.float32), _pair_numbers(counts, arcs))


def _sides(what: str, pairs: list[str], table: Floats, smooth: float = 3.0) -> dict[str, float]:
    """How often the second tag of each pair is to the left of the first."""
    a, b = np.array([[TAG[tag] for tag in pair.split("-")] for pair in pairs]).T
    ratios = _ratio(table[a, b, LEFT], table[a, b, RIGHT], smooth)
    return {f"{what} {pair}": float(x) for pair, x in zip(pairs, ratios)}


def _pair_numbers(counts: TagCounts, arcs: Floats) -> NDArray[np.float32]:
    numbers = np.zeros((N_TAGS + 1, N_TAGS, 2, PAIR_NUMBERS), np.float32)
    numbers[:N_TAGS, :, :, :5] = _five(counts.neighbours)
    numbers[:N_TAGS, :, :, 5:10] = _five(counts.content)
    for k, table in enumerate((counts.reach, counts.reach - counts.neighbours)):
        numbers[:N_TAGS, :, :, 10 + k] = np.log((table + 4) / (table[:, :, ::-1] + 4)) / 2
    inner = arcs[:N_TAGS]
    numbers[:N_TAGS, :, :, 12] = np.log((inner + 1) / (inner[:, :, ::-1] + 1)) / 2
    numbers[..., 13] = np.log((arcs + 0.5) / (arcs.sum((0, 2), keepdims=True) + 8)) / 3
    numbers[..., 14] = np.log((arcs + 0.5) / (arcs.sum((1, 2), keepdims=True) + 8)) / 3
    return numbers


def _five(table: Floats) -> Floats:
    """Five numbers of each pair of tags and side, from counts of neighbours (16, 16, 2)."""
    both = table.sum(2, keepdims=True)
    of_dependent, of_head = both.sum(0, keepdims=True), both.sum(1, keepdims=True)
    expected = of_head * of_dependent / (both.sum() + 1) / 2
    return np.concatenate(
        [
            x[..., None]
            for x in (
                np.log((table + 2) / (table[:, :, ::-1] + 2)) / 2,
                np.broadcast_to(np.log((both + 0.5) / (of_dependent + 8)) / 3, table.shape),
                np.log((table + 0.5) / (of_dependent + 8)) / 3,
                np.clip(np.log((table + 1) / (expected + 1)), -2, 2) / 2,
                np.log((table + 0.5) / (of_head + 8)) / 3,
            )
        ],
        -1,
    )


def _ratio(before: ArrayLike, after: ArrayLike, smooth: float = 3.0) -> Floats:
    result: Floats = np.log((np.asarray(before) + smooth) / (np.asarray(after) + smooth)) / 3
    return result


def _numbers(text: CodedText, counts: TagCounts, names: tuple[str, ...]) -> dict[str, float]:
    tags, lengths, start = text.tags.astype(np.int64), text.lengths, text.start
    n_words, sentence = len(tags), np.repeat(np.arange(len(text)), text.lengths)
    share = np.bincount(tags, minlength=N_TAGS) / max(1, n_words)
    result = {f"share {tag}": x for tag, x in zip(TAGS, np.log(share + 1e-3) / 3 + 1.2)}
    long = np.flatnonzero(lengths > 1)
    first = np.bincount(tags[start[:-1][long]], minlength=N_TAGS)
    last = np.bincount(tags[start[1:][long] - 1], minlength=N_TAGS)
    result |= {f"edge {tag}": x for tag, x in zip(TAGS, _ratio(first, last, 2.0))}
    verb, auxiliary = TAG["VERB"], TAG["AUX"]
    n_verbs = np.bincount(sentence[tags == verb], minlength=len(text))
    with_verb = 1 + (n_verbs > 0).sum()
    result["verb last"], result["verb first"] = last[verb] / with_verb, first[verb] / with_verb
    result["verb or aux last"] = (last[verb] + last[auxiliary]) / with_verb
    result |= _sides("next", _NEIGHBOURS, counts.neighbours)
    result |= _sides("content", _CONTENT, counts.content)
    verb_at = np.zeros(len(text), np.int64)
    verb_at[sentence[tags == verb]] = np.flatnonzero(tags == verb)
    in_simple = (n_verbs == 1)[sentence] & (tags != verb)
    before = in_simple & (np.arange(n_words) < verb_at[sentence])
    n_before = np.bincount(tags[before], minlength=N_TAGS)
    n_after = np.bincount(tags[in_simple & ~before], minlength=N_TAGS)
    for tag in _AROUND_VERB:
        result[f"around verb {tag}"] = _ratio(n_before[TAG[tag]], n_after[TAG[tag]])
    result |= _morphology(text, names)
    result["length"] = np.log(max(1.0, lengths.mean())) / 2 - 1.2 if len(text) else 0.0
    inner = text.gaps > 0
    inner[start[:-1] + np.arange(len(text))] = inner[start[1:] + np.arange(len(text))] = False
    has_inner = np.bincount(np.repeat(np.arange(len(text)), lengths + 1), inner, len(text)) > 0
    result["inner punctuation"] = has_inner[long].mean() if len(long) else 0.0
    result["verbs a sentence"] = n_verbs.mean() / 3 if len(text) else 0.0
    return {name: float(x) for name, x in result.items()}


def _morphology(text: CodedText, names: tuple[str, ...]) -> dict[str, float]:
    """Shares of the words of a tag that have a feature, or a value of it."""
    result = {}
    for tag, features in _SHARES.items():
        of_tag = text.bundle[text.tags == TAG[tag]]
        for wanted in features.split():
            columns = [
                k for k, name in enumerate(names) if wanted in (name, name.partition("=")[0])
            ]
            has = text.features[:, columns].max(1) if columns else np.zeros(len(text.features))
            result[f"{tag} {wanted}"] = float(has[of_tag].mean()) if len(of_tag) else 0.0
    return result

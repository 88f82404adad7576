"""Features of words, as items of a `crf`: their spelling, and the means of their types.

A word type, which is a form, makes five items: as the word itself, as the word to its left or
right, and as the word two to its left or right. Their features are hashed from the letters in a
kernel.

The mean of a lower-cased type is that of the probabilities of tags of all its occurrences, in raw
text and in the text to tag, by a first tagger. The second tagger sees the means of a word's own
type and of its neighbours'.

Type 0 is none, so it stands beside the first and the last word of a sentence:

>>> words = WordTypes.of([["The", "dog"], ["the"]])
>>> words.forms, words.types.tolist(), words.lower.tolist()  # "The" and "the" are alike
(['', 'The', 'dog', 'the'], [1, 2, 3], [0, 1, 2, 1])
>>> types_around(words.types, words.first, offsets=(-1, 1)).tolist()
[[0, 2], [1, 0], [0, 0]]

Letters: V word types, L letters of all types, N words, S sentences, T tags.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.nfc import nfc
from dynet_vdgi.features.hashing import text_code, unordered_pair_code
from dynet_vdgi.system.array_types import Codes, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.words.tagger.chain import Numbers
from dynet_vdgi.words.tagger.crf import Items, Tokens
from dynet_vdgi.words.tagger.spelling_templates import SpellingTemplate

Letters = NDArray[np.uint32]

SLOTS = 5
"""Items of a type: itself, left, right, two to the left, two to the right."""

OFFSETS = (0, -1, 1, -2, 2)

PREFIX, SUFFIX = 4, 6
"""Letters of the longest prefixes and suffixes."""

MOST_FEATURES = 64
"""At least as many as all features of a type."""

OUTSIDE = 0
"""The type of what is before the first word and after the last."""

_SHAPES = {"Lu": "X", "Lt": "X", "Ll": "x"}

_PLACES = Items(
    np.array([0, 0, 1, 2, 4]),
    np.array(
        [text_code(text) for text in ("capital", "first", "first", "first and capital")], np.uint64
    ),
)
"""Elsewhere; a capital elsewhere; the first word; the first word with a capital."""


@compiled
def feature(code: np.uint64, template: int, slot: int) -> np.uint64:
    """The code of a feature."""
    return unordered_pair_code(
        unordered_pair_code(code, np.uint64(template + 1)), np.uint64(slot + 1)
    )


@compiled
def fill_codes(letters: Letters, ends: Ints, whole: Codes, first: Ints, codes: Codes) -> None:
    """The features of all types' items: `first` (5 V + 1,) and codes, as `crf.Items` has them.

    Type v has the letters from ends[v] to ends[v + 1], lower-cased; whole (V, 3) are its shape, a
    code of the form if that is not lower-case, or 0, and whether it has a hyphen inside.
    """
    count = 0
    for v in range(len(ends) - 1):
        start, end = ends[v], ends[v + 1]
        for slot in range(SLOTS):
            first[SLOTS * v + slot] = count
            code = np.uint64(end - start)
            for at in range(start, end):
                code = unordered_pair_code(code, np.uint64(letters[at]))
            codes[count] = feature(code, SpellingTemplate.FORM, slot)
            count += 1
            if slot > 2 or (v == OUTSIDE and slot):
                continue
            codes[count] = feature(whole[v, 0], SpellingTemplate.SHAPE, slot)
            count += 1
            longest = SUFFIX if slot == 0 else 3
            code = np.uint64(0)
            for k in range(min(longest, end - start)):
                code = unordered_pair_code(code, np.uint64(letters[end - 1 - k]))
                codes[count] = feature(code, SpellingTemplate.LAST_LETTER + k, slot)
                count += 1
            longest = PREFIX if slot == 0 else 2
            code = np.uint64(0)
            for k in range(min(longest, end - start)):
                code = unordered_pair_code(code, np.uint64(letters[start + k]))
                if slot == 0 or k == 1 or end - start == 1:
                    codes[count] = feature(code, SpellingTemplate.FIRST_LETTER + k, slot)
                    count += 1
            if slot == 0:
                codes[count] = feature(
                    np.uint64(min(8, end - start)), SpellingTemplate.LENGTH, slot
                )
                codes[count + 1] = feature(np.uint64(0), SpellingTemplate.ALWAYS, slot)
                count += 2
                if whole[v, 1]:
                    codes[count] = feature(whole[v, 1], SpellingTemplate.CASED_FORM, slot)
                    count += 1
                if whole[v, 2]:
                    codes[count] = feature(np.uint64(0), SpellingTemplate.HYPHEN, slot)
                    count += 1
    first[SLOTS * (len(ends) - 1)] = count


_FILL = Kernel(fill_codes, "the tagger")


@lru_cache(maxsize=20_000)
def _shape_of(letter: str) -> str:
    category = unicodedata.category(letter)
    return _SHAPES.get(category) or {"N": "d", "P": "p", "S": "p", "M": "m"}.get(category[0], "o")


@lru_cache(maxsize=200_000)
def shape(form: str) -> str:
    """The kinds of a form's letters, repetitions left out.

    >>> shape("McDonald's"), shape("1990-91")
    ('XxXxpx', 'dpd')
    """
    kinds = [_shape_of(letter) for letter in form]
    return "".join(kind for kind, before in zip(kinds, ["", *kinds]) if kind != before)


def items_of(forms: Sequence[str]) -> Items:
    """The items (5 V,) of word types; the first one, whose form does not matter, is OUTSIDE."""
    lower = ["", *(form.lower() for form in forms[1:])]
    ends = np.zeros(len(forms) + 1, np.int64)
    np.cumsum([len(each) for each in lower], out=ends[1:])
    letters = np.frombuffer("".join(lower).encode("utf-32-le", "surrogatepass"), np.uint32)
    whole = [
        (text_code(shape(form)), text_code(form) if form != low else 0, "-" in low[1:-1])
        for form, low in zip(forms, lower)
    ]
    first = np.zeros(SLOTS * len(forms) + 1, np.int64)
    codes = np.zeros(MOST_FEATURES * len(forms), np.uint64)
    _FILL(letters, ends, np.array(whole, np.uint64).reshape(-1, 3), first, codes, work=len(forms))
    return Items(first, codes[: first[-1]].copy())


class WordTypes(NamedTuple):
    """The words of sentences, by type; type OUTSIDE is none of them."""

    forms: list[str]  # (V,), in the form NFC
    lower: Ints  # (V,): the number of each type's lower-cased form
    lower_forms: list[str]
    types: Ints  # (N,)
    first: Ints  # (S + 1,)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> WordTypes:
        """The words of sentences, given by their forms."""
        numbers: dict[str, int] = {}
        types: list[int] = []
        ends = [0]
        for forms in sentences:
            types += [numbers.setdefault(form, len(numbers) + 1) for form in map(nfc, forms)]
            ends.append(len(types))
        cased: dict[str, int] = {}
        lower = [0, *(cased.setdefault(form.lower(), len(cased) + 1) for form in numbers)]
        return cls(
            ["", *numbers], np.array(lower), ["", *cased], np.array(types, np.int64), np.array(ends)
        )

    def tokens(self) -> Tokens:
        """The words with the features of their spelling and of their place in the sentence."""
        items = items_of(self.forms)
        n_items = len(items.first) - 1
        around_words = types_around(self.types, self.first, OFFSETS) * SLOTS + np.arange(SLOTS)
        is_upper = np.array([form[:1].isupper() for form in self.forms])
        place = is_upper[self.types].astype(np.int64)
        place[self.first[:-1][np.diff(self.first) > 0]] += 2
        uses = np.concatenate([around_words, n_items + place[:, None]], axis=1)
        return Tokens(joined_items(items, _PLACES), uses.astype(np.int32), self.first)


def joined_items(one: Items, other: Items) -> Items:
    """The items of both."""
    return Items(
        np.concatenate([one.first, one.first[-1] + other.first[1:]]),
        np.concatenate([one.codes, other.codes]),
    )


def with_items(tokens: Tokens, items: Items, uses: Ints | Numbers) -> Tokens:
    """The tokens with further items, used as `uses` (N, k) says."""
    further_uses = uses + (len(tokens.items.first) - 1)
    return Tokens(
        joined_items(tokens.items, items),
        np.concatenate([tokens.uses, further_uses.astype(np.int32)], axis=1),
        tokens.first,
    )


def types_around(types: Ints, first: Ints, offsets: Sequence[int]) -> Numbers:
    """The types (N, offsets) of the words at these offsets from each word; OUTSIDE beyond its
    sentence."""
    n = len(types)
    sentence = np.repeat(np.arange(len(first) - 1), np.diff(first))
    neighbours = np.zeros((n, len(offsets)), np.int32)
    for k, offset in enumerate(offsets):
        at = np.arange(n) + offset
        inside = (at >= first[sentence]) & (at < first[sentence + 1])
        neighbours[inside, k] = types[at[inside]]
    return neighbours

"""What is counted of words in a text, the same in every language: how often, how long, where,
beside what.

No number tells a letter, so a network that reads them can learn from one language for another
(`retagger`). Types are lower-cased forms. A word's neighbours are those of its sentence with no
punctuation between.

Of another word, "walks" shares the last letter, the last two and three, the first two and three
with "talks" or "walked", and its stem with none:

>>> words = CountedWords.of(WordTypes.of([["walks", "talks", "walked"]]))
>>> ones = np.ones((len(words.number), 1))  # to count the words that are alike
>>> words.sums_over_alike(np.array([words.number["walks"]]), ones)[0, :, 0].tolist()
[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]

Letters: V types, the first of which stands for no word; N words; S sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynet_vdgi.conllu.punctuation import is_mark
from dynet_vdgi.features.hashing import text_code
from dynet_vdgi.system.array_types import Codes, Flags, Floats, Floats32, Ints
from dynet_vdgi.words.tagger.spelling import WordTypes

BANDS = 7
"""Of frequency, of neighbours: 0 there is none, 1 a tenth of all words or more; each next one 3.5
times rarer."""

N_NUMBERS = 33 + 2 * BANDS
"""Of a type."""

N_OF_TEXT = 3 * N_NUMBERS + 2

NO_NEIGHBOUR = -6.0
"""In place of the log relative frequency of one."""

SIDES = 1, 2, 3, 2, 3, 0
"""Letters by which types are alike: the last, the last two, three, the first two, three; all but
two, the stem."""


def spelling_flags(form: str) -> tuple[bool, ...]:
    """Whether a lower-cased form is punctuation; has a digit, only digits, a hyphen inside, an
    apostrophe, something other than letters; has two equal halves; begins with a letter that has
    no case.

    >>> [k for k, is_so in enumerate(spelling_flags("mid-1990s")) if is_so]
    [1, 3, 5]
    """
    half, first = len(form) // 2, form[:1]
    return (
        form == "" or is_mark(form),
        any(letter.isdigit() for letter in form),
        form.isdigit(),
        "-" in form[1:-1],
        "'" in form or "’" in form,
        not form.isalpha(),
        len(form) > 3 and form[:half] == form[half:],
        first.isalpha() and first == first.upper(),
    )


def stem_of(form: str) -> str:
    """A form without its last two letters; three at least."""
    return form[: max(3, len(form) - 2)]


def cases_of(words: WordTypes) -> Flags:
    """Whether words (N, 2) begin with a capital, and whether they are all capitals, of two letters
    or more."""
    return np.array(
        [(form[:1].isupper(), len(form) > 1 and form.isupper()) for form in words.forms]
    )[words.types]


@dataclass(frozen=True, eq=False)
class CountedWords:
    """The words of a text, and the numbers of their types and of the text."""

    number: dict[str, int]  # of types; "" is 0
    codes: Codes  # (V,): of `hashing.text_code`
    spelling: Flags  # (V, 8): `spelling_flags`
    lengths: Ints  # (V,)
    sides: Ints  # (V, SIDES): equal where letters are
    types: Ints  # (N,)
    cases: Flags  # (N, 2): `cases_of`
    first: Ints  # (S + 1,)

    @classmethod
    def of(cls, words: WordTypes, earlier: Mapping[str, int] = {}) -> CountedWords:
        """The words of a text; types of an `earlier` text are not described again."""
        forms = [form for form in ("", *words.lower_forms[1:]) if form not in earlier]
        number = {**earlier, **{form: k for k, form in enumerate(forms, len(earlier))}}
        of_lower = np.array([number[form] for form in words.lower_forms], np.int64)
        sides = [
            [hash(letters) for letters in (f[-1:], f[-2:], f[-3:], f[:2], f[:3], stem_of(f))]
            for f in forms
        ]
        return cls(
            number=number,
            codes=np.array([text_code(form) for form in forms], np.uint64),
            spelling=np.array([spelling_flags(form) for form in forms], np.bool_).reshape(-1, 8),
            lengths=np.array([len(form) for form in forms], np.int64),
            sides=np.array(sides, np.int64).reshape(-1, len(SIDES)),
            types=of_lower[words.lower][words.types],
            cases=cases_of(words),
            first=words.first,
        )

    def plus(self, words: WordTypes) -> CountedWords:
        """This text and other words, as `of` counts them together."""
        new = CountedWords.of(words, self.number)
        names = "codes", "spelling", "lengths", "sides", "types", "cases"
        both = {name: np.concatenate([getattr(self, name), getattr(new, name)]) for name in names}
        return CountedWords(
            new.number, **both, first=np.append(self.first, self.first[-1] + new.first[1:])
        )

    def sums_over_alike(self, types: Ints, values: Floats) -> Floats:
        """The sums (X, SIDES, C) of the values (V, C) of other words' types that are like each of
        these (X,)."""
        totals = np.zeros((len(types), len(SIDES), values.shape[1]))
        for k, size in enumerate(SIDES):
            letters = self.sides[:, k]
            wanted, place = np.unique(letters[types], return_inverse=True)
            at = np.minimum(np.searchsorted(wanted, letters), len(wanted) - 1)
            is_member = (wanted[at] == letters) & (self.lengths > size) & ~self.spelling[:, 0]
            members = np.flatnonzero(is_member)
            members = members[np.argsort(at[members], kind="stable")]
            groups = np.flatnonzero(np.diff(at[members], prepend=-1))
            sums = np.zeros((len(wanted), values.shape[1]))
            if len(groups):  # np.add.at takes several times as long
                sums[at[members[groups]]] = np.add.reduceat(values[members], groups)
            totals[:, k] = sums[place] - values[types] * is_member[types, None]
        return totals

    @cached_property
    def of_text(self) -> Floats32:
        """The numbers (N_OF_TEXT,) of the text: means over words and over types, deviations, how
        many there are."""
        count = np.bincount(self.types, minlength=len(self.number)) * ~self.spelling[:, 0]
        count, numbers = count[count > 0], self.numbers[count > 0]
        total = count.sum()
        if not total:
            return np.zeros(N_OF_TEXT, np.float32)
        sizes = np.array([len(count) / total, np.log(total) / 5])
        return np.concatenate(
            [count @ numbers / total, numbers.mean(0), numbers.std(0), sizes]
        ).astype(np.float32)

    @cached_property
    def numbers(self) -> Floats32:
        """The numbers (V, N_NUMBERS) of each type; zeros for punctuation."""
        n = len(self.number)
        at = np.flatnonzero(~self.spelling[self.types, 0])
        types, (capital, upper) = self.types[at], self.cases[at].T
        sentence = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))[at]
        starts, ends = (
            np.diff(sentence, prepend=-1) > 0,
            np.diff(sentence, append=len(self.first)) > 0,
        )
        follows = (np.diff(at, prepend=-1) == 1) & ~starts
        precedes = (np.diff(at, append=-1) == 1) & ~ends
        left, right = (
            np.where(follows, np.roll(types, 1), 0),
            np.where(precedes, np.roll(types, -1), 0),
        )

        def sums(values: Flags | Floats) -> Floats:
            return np.asarray(np.bincount(types, values, n), np.float64)

        def distinct(other: Ints, size: int) -> Floats:
            codes = np.sort(types * size + other)  # np.unique takes ten times as long
            return np.bincount(codes[np.diff(codes, prepend=-1) > 0] // size, minlength=n).astype(
                np.float64
            )

        total = max(1, len(types))
        c = np.maximum(np.bincount(types, minlength=n), 1.0)
        log_f = np.log(c / total)
        band = 1 + np.clip(np.log2(0.1 * total / c) / 1.8, 0, BANDS - 2).astype(np.int64)
        log_f[0], band[0] = NO_NEIGHBOUR, 0
        in_bands = [
            np.bincount(types * BANDS + band[other], minlength=n * BANDS).reshape(n, BANDS).T / c
            for other in (left, right)
        ]
        first, last, inside = sums(starts), sums(ends), sums(~starts)
        lefts, rights = (np.log(np.maximum(distinct(other, n), 1)) for other in (left, right))
        length, is_word = self.lengths, ~self.spelling[:, 0]
        columns = [
            log_f / 3 + 2, c == 1, c == 2, np.log(c) / 3,
            length / 8, (length - length[types].sum() / total) / 3,
            length == 1, length == 2, length == 3,
            sums(capital & ~starts) / (inside + 0.5), inside > 0,
            sums(capital & starts) / c, sums(upper) / c,
            *self.spelling.T[1:],
            first / c, last / c,
            sums(~ends & ~precedes) / c, sums(~starts & ~follows) / c, sums(left == types) / c,
            np.log((first + 1) / (last + 1)),
            lefts - np.log(c), rights - np.log(c), lefts / 3, rights / 3,
            sums(log_f[left]) / c / 3 + 2, sums(log_f[right]) / c / 3 + 2,
            distinct(sentence, len(self.first)) / c,
            *in_bands[0], *in_bands[1],
        ]  # fmt: skip
        return np.ascontiguousarray((np.array(columns, np.float32) * is_word).T)

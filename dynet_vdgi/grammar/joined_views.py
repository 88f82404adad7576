"""Many sentences at once, as the parts of a rule table see them: `views.View` for many sentences, on arrays.

The words of all sentences stand one after the other. Before each sentence and after the last stands a dummy
word, tagged BOUNDARY; it belongs to no group, and there is a gap before it.

Letters: K words, S sentences, L = K + S + 1 places.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.numbering import Known, Numbering
from dynet_vdgi.grammar.patterns import Group
from dynet_vdgi.grammar.views import NOTHING, AnyView, Reading, WordType
from dynet_vdgi.system.arrays import Flags, Ints

BOUNDARY = "\n"
"""No word of a text has this tag."""


class Forms(NamedTuple):
    """Forms of words, looked up only where a part asks for them."""

    texts: Known[str]
    numbers: Callable[[Ints], Ints]  # of the given words, from 0..K-1, among the texts


class Lexicon:
    """Numbers for the types, readings and symbols of words; kept from one joined view to the next."""

    def __init__(self) -> None:
        self.types: Numbering[WordType] = Numbering()
        self.readings: Numbering[Reading] = Numbering()
        self.symbols: Numbering[str] = Numbering()
        self.types((BOUNDARY, NOTHING, NOTHING))

    def reading_of(self, word: WordType) -> int:
        """The reading of a word before any part changes it."""
        return self.readings(word[:2])

    def symbol_of(self, word: WordType) -> int:
        """The symbol of a word before any part changes it."""
        return self.symbols(word[0])


class _Strings(Sequence[str]):
    """One column of the words' present readings or symbols."""

    def __init__(self, known: Sequence[tuple[str, ...]], numbers: Ints, part: int) -> None:
        self._known, self._numbers, self._part = known, numbers, part

    def __getitem__(self, word: Any) -> Any:
        return self._known[self._numbers[word]][self._part]

    def __len__(self) -> int:
        return len(self._numbers)


class JoinedView(AnyView):
    """Sentences whose words have these types (K,), by number in the lexicon, and begin at first (S + 1,).

    gaps (K,): punctuation was removed just before a word. `places` (K,) holds the words' positions here; in a
    text that is a mirror image, these run from right to left.
    """

    def __init__(
        self, lexicon: Lexicon, types: Ints, first: Ints, gaps: Flags, forms: Forms, is_mirrored: bool = False
    ) -> None:
        n_words, n_sentences = len(types), len(first) - 1
        self.n = n_words + n_sentences + 1
        places = np.arange(n_words) + np.repeat(np.arange(1, n_sentences + 1), np.diff(first))
        boundaries = first + np.arange(n_sentences + 1)
        before: Flags = np.zeros(self.n + 1, np.bool_)  # and a gap after the last place, which does not count
        before[places] = gaps
        if is_mirrored:
            places, boundaries, before = self.n - 1 - places, self.n - 1 - boundaries[::-1], before[::-1]
        before = before[: self.n].copy()
        before[boundaries[:-1] + 1] = False
        before[boundaries] = True
        self.places, self._boundaries, self._are_gaps = places, boundaries, before
        self._lexicon, self._forms = lexicon, forms
        self._types = np.zeros(self.n, np.int64)
        self._types[places] = types
        self._words = np.zeros(self.n, np.int64)
        self._words[places] = np.arange(n_words)
        self._readings = lexicon.types.table("reading", lexicon.reading_of)[self._types]
        self.symbols = lexicon.types.table("symbol", lexicon.symbol_of)[self._types]
        self.tags = _Strings(lexicon.types.known, self._types, 0)
        self.feats = _Strings(lexicon.types.known, self._types, 1)
        self.xpos = _Strings(lexicon.types.known, self._types, 2)
        self.read = _Strings(lexicon.readings.known, self._readings, 0)
        self.predicates: dict[int, int] = {}
        self.linked: dict[int, tuple[int, list[int]]] = {}
        self.runs: dict[int, int] = {}
        self.run_ends: dict[int, int] = {}

    @property
    def are_gaps(self) -> Flags:
        return self._are_gaps

    def where(self, key: Hashable, holds: Callable[[WordType], bool]) -> Flags:
        def is_so(word: WordType) -> bool:
            return word[0] != BOUNDARY and holds(word)

        found: Flags = self.by_type(key, is_so, np.bool_)
        return found

    def by_type(self, key: Hashable, function: Callable[[WordType], Any], dtype: Any) -> NDArray[Any]:
        return self._lexicon.types.table(key, function, dtype)[self._types]

    def flags(self, group: Group, bare: bool = False) -> Flags:
        def has(reading: Reading) -> bool:
            tag, feats = reading
            return tag != BOUNDARY and group.has(tag, NOTHING if bare else feats)

        found: Flags = self._lexicon.readings.table((group, bare), has, np.bool_)[self._readings]
        return found

    def by_form(self, words: Ints, key: Hashable, function: Callable[[str], Any], dtype: Any) -> NDArray[Any]:
        numbers = self._forms.numbers(self._words[words])
        return self._forms.texts.table(key, lambda form: function(form.lower()), dtype)[numbers]

    def rename(self, word: int, tag: str, symbol: str) -> None:
        self._readings[word] = self._lexicon.readings((tag, self.feats[word]))
        self.symbols[word] = self._lexicon.symbols(symbol)

    def rename_all(self, words: Sequence[int], tag: str, symbol: str) -> None:
        def renamed(word: WordType) -> int:
            return self._lexicon.readings((tag, word[1]))

        places = np.array(words, np.int64)
        self._readings[places] = self._lexicon.types.table((tag, "renamed"), renamed)[self._types[places]]
        self.symbols[places] = self._lexicon.symbols(symbol)

    def set_symbol(self, word: int, symbol: str) -> None:
        self.symbols[word] = self._lexicon.symbols(symbol)

    def distinguish(self, finer: Callable[[WordType], str], known: dict[WordType, str]) -> None:
        symbols, types = self._lexicon.symbols, self._lexicon.types
        found = types.table(id(known), lambda word: symbols(finer(word) or word[0]))[self._types]
        own = types.table("symbol", self._lexicon.symbol_of)[self._types]
        self.symbols = np.where(self.symbols == own, found, self.symbols)

    def mark_symbols(self, flags: Flags, mark: str) -> None:
        add_mark(self._lexicon.symbols, self.symbols, flags, mark)

    def end_of(self, word: int) -> int:
        return int(self._boundaries[np.searchsorted(self._boundaries, word)])


def add_mark(strings: Numbering[str], numbers: Ints, flags: Flags, mark: str) -> None:
    """Adds a mark to the flagged ones of some strings, given by their numbers (n,); in place."""
    numbers[flags] = strings.changed(numbers[flags], lambda string: string + mark)

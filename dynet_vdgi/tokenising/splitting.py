"""From a multiword token to its words, where these are not just pieces of it: du = de + le.

A token and its words share a core, their longest common stretch; what surrounds it is rewritten: of
`auquel = à + lequel` the core is `quel`, and the beginning `au` becomes `à|le`. A new token is rewritten at
both ends as the known ones with the longest common beginning and the longest common ending were.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from dynet_vdgi.data.conllu_faults import has_stray_space
from dynet_vdgi.data.raw_text import form_of

GLUE = "\x1f"
"""Between words that are rewritten as one text; in none of them."""

LONGEST = 12
"""Characters of a beginning or ending that rules look at."""

Rewriting = tuple[int, str]
"""How many characters at the end (or beginning) of a token become which text."""


class Splitter(Struct, frozen=True):
    """What is known about the words of multiword tokens; all forms are in lower case."""

    words: dict[str, tuple[str, ...]] = {}  # of known tokens
    begins: dict[str, Rewriting] = {}  # by beginnings of tokens
    ends: dict[str, Rewriting] = {}

    @classmethod
    def fit(cls, tokens: Iterable[tuple[str, Sequence[str]]]) -> Splitter:
        """Learns from forms of multiword tokens, each as often as it occurs, and their words."""
        seen: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for form, words in tokens:
            seen[form.lower()][tuple([word.lower() for word in words])] += 1
        known = {form: found.most_common(1)[0][0] for form, found in seen.items()}
        begins: dict[str, Counter[Rewriting]] = defaultdict(Counter)
        ends: dict[str, Counter[Rewriting]] = defaultdict(Counter)
        for form, words in known.items():
            (n_begin, begin), (n_end, end) = rewritings(form, GLUE.join(words))
            for n in range(n_begin, min(LONGEST, len(form)) + 1):
                begins[form[:n]][n_begin, begin] += 1
            for n in range(n_end, min(LONGEST, len(form)) + 1):
                ends[form[len(form) - n :]][n_end, end] += 1
        return cls(known, _best(begins, slice(None, -1)), _best(ends, slice(1, None)))

    def split(self, form: str) -> tuple[str, ...]:
        """The words of a token; itself, if nothing is known that splits it."""
        low = form.lower()
        if len(low) != len(form):  # a letter whose small form is two
            return (form,)
        words = _with_case(form, self.words.get(low) or self._rewritten(form, low))
        return words if len(words) > 1 and all(map(_is_form, words)) else (form,)

    def _rewritten(self, form: str, low: str) -> tuple[str, ...]:
        n_begin, begin = _longest(self.begins, [low[:n] for n in range(min(LONGEST, len(low)), -1, -1)])
        n_end, end = _longest(self.ends, [low[len(low) - n :] for n in range(min(LONGEST, len(low)), -1, -1)])
        if n_begin + n_end > len(form):
            n_begin, begin = 0, ""
        words = tuple((begin + form[n_begin : len(form) - n_end] + end).split(GLUE))
        return words


def _is_form(word: str) -> bool:
    """Whether a word can be written: what has been learnt may give others."""
    return word != "" and word == form_of(word) and not has_stray_space(word)


def _best(found: Mapping[str, Counter[Rewriting]], shorter: slice) -> dict[str, Rewriting]:
    """The most frequent rewriting of each stretch, unless that of the next shorter one is the same."""
    best = {stretch: counts.most_common(1)[0][0] for stretch, counts in found.items()}
    return {s: rewriting for s, rewriting in best.items() if not s or best.get(s[shorter]) != rewriting}


def _longest(known: Mapping[str, Rewriting], stretches: Iterable[str]) -> Rewriting:
    return next((known[stretch] for stretch in stretches if stretch in known), (0, ""))


def rewritings(form: str, words: str) -> tuple[Rewriting, Rewriting]:
    """What becomes of the beginning and of the end of a form, around the longest stretch shared with `words`.

    >>> rewritings("auquel", "à|lequel"), rewritings("des", "de|les")
    (((2, 'à|le'), (0, '')), ((0, ''), (1, '|les')))
    """
    size, i, j = longest_shared(form, words)
    return (i, words[:j]), (len(form) - i - size, words[j + size :])


def longest_shared(left: str, right: str) -> tuple[int, int, int]:
    """Length and beginnings of the longest stretch that both have; the first one of several."""
    best, before = (0, 0, 0), [0] * (len(right) + 1)
    for i, character in enumerate(left, 1):
        row = [0] * (len(right) + 1)
        for j, other in enumerate(right, 1):
            if character == other:
                row[j] = before[j - 1] + 1
                if row[j] > best[0]:
                    best = row[j], i - row[j], j - row[j]
        before = row
    return best


def _with_case(form: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words in capitals, or with a capital at first, as the token is."""
    if len(form) > 1 and form.isupper():
        return tuple([word.upper() for word in words])
    if form[0].isupper():
        return words[0][:1].upper() + words[0][1:], *words[1:]
    return tuple(words)

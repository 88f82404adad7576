"""From a multiword token to its words, where these are not just pieces of it: du = de + le.

A token and its words share a core, their longest common stretch; what surrounds it is rewritten: of
`auquel = à + lequel` the core is `quel`, and the beginning `au` becomes `à|le`. A new token is rewritten at
both ends as the known ones with the longest common beginning and the longest common ending were.

Whether a token is split at all, the tokeniser's CRF says, which sees the context. It hardly says so of forms
that it has never seen. They are split, too, if enough of the known forms with the longest common ending are; how
many is enough is what would have been best for the known forms, had each been new.
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

WEIGHTS, SHARES = (0.25, 0.5, 1.0, 2.0, 4.0), (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 2.0)
"""Weights of shorter endings, and shares, that `likely_endings` chooses from; 2: no new form is split."""

Rewriting = tuple[int, str]
"""How many characters at the end (or beginning) of a token become which text."""


class Splitter(Struct, frozen=True):
    """What is known about the words of multiword tokens; all forms are in lower case."""

    words: dict[str, tuple[str, ...]] = {}  # of known tokens
    begins: dict[str, Rewriting] = {}  # by beginnings of tokens
    ends: dict[str, Rewriting] = {}
    likely: dict[str, bool] = {}  # by endings: whether new forms are split
    others: frozenset[str] = frozenset()  # forms that are not split and yet have such an ending

    @classmethod
    def fit(cls, tokens: Iterable[tuple[str, Sequence[str]]]) -> Splitter:
        """Learns from forms and their words, each as often as it occurs; no words: the token is not split."""
        seen: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for form, words in tokens:
            seen[form.lower()][tuple([word.lower() for word in words])] += 1
        usual = {form: bool(found.most_common(1)[0][0]) for form, found in seen.items()}
        splits = {form: [words for words, _ in found.most_common() if words] for form, found in seen.items()}
        known = {form: found[0] for form, found in splits.items() if found}
        begins: dict[str, Counter[Rewriting]] = defaultdict(Counter)
        ends: dict[str, Counter[Rewriting]] = defaultdict(Counter)
        for form, words in known.items():
            (n_begin, begin), (n_end, end) = rewritings(form, GLUE.join(words))
            for n in range(n_begin, min(LONGEST, len(form)) + 1):
                begins[form[:n]][n_begin, begin] += 1
            for n in range(n_end, min(LONGEST, len(form)) + 1):
                ends[form[len(form) - n :]][n_end, end] += 1
        likely = likely_endings(usual)
        others = frozenset(form for form in usual if form not in known and _is_likely(likely, form))
        return cls(known, _best(begins, slice(None, -1)), _best(ends, slice(1, None)), likely, others)

    def is_split(self, form: str) -> bool:
        """Whether a form that has not been seen is split, by its ending."""
        low = form.lower()
        return _is_likely(self.likely, low) and low not in self.words and low not in self.others

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


# ------------------------------------------------------------------------------------------- new forms
def likely_endings(is_split: Mapping[str, bool]) -> dict[str, bool]:
    """By endings of known forms: whether new forms are split; a longer ending counts before a shorter one.

    The share of the forms with an ending that are split is smoothed by that of the next shorter ending. How
    much, and what share is enough, is what makes most of the known forms right, each without itself.
    """
    if not any(is_split.values()):
        return {}
    n_all, n_split = Counter[str](), Counter[str]()
    for form, its in is_split.items():
        for ending in _endings(form):
            n_all[ending] += 1
            n_split[ending] += its
    right: Counter[tuple[float, float]] = Counter()
    for form, its in is_split.items():
        for weight in WEIGHTS:
            share = 0.0
            for ending in reversed(_endings(form)):
                if n_all[ending] == 1:
                    break
                share = (n_split[ending] - its + weight * share) / (n_all[ending] - 1 + weight)
            right.update((weight, enough) for enough in SHARES if (share >= enough) == its)
    weight, enough = max(right, key=lambda choice: (right[choice], choice))
    shares = {"": 0.0}
    for ending in sorted(n_all, key=len):
        shares[ending] = (n_split[ending] + weight * shares[ending[1:]]) / (n_all[ending] + weight)
    return {e: s >= enough for e, s in shares.items() if e and (s >= enough) != (shares[e[1:]] >= enough)}


def _endings(form: str) -> list[str]:
    """Endings of a form, the longest first."""
    return [form[len(form) - n :] for n in range(min(LONGEST, len(form)), 0, -1)]


def _is_likely(likely: Mapping[str, bool], form: str) -> bool:
    return bool(likely) and next((likely[e] for e in _endings(form) if e in likely), False)


# ------------------------------------------------------------------------------------------- rewriting
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

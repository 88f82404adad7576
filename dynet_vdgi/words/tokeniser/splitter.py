"""From a multiword token to its words, where these are not just pieces of it: du = de + le.

A token and its words share a core, their longest common stretch; what surrounds it is rewritten: of
`auquel = à + lequel` the core is `quel`, and the beginning `au` becomes `à|le`. A new token is
rewritten at both ends as the known ones with the longest common beginning and the longest common
ending were:

>>> splitter = Splitter.fit([("auquel", ("à", "lequel"))])
>>> splitter.split("auquel"), splitter.split("auquelle")
(('à', 'lequel'), ('à', 'lequelle'))

Whether a token is split at all, the tokeniser's CRF says, which sees the context. It says little of
forms that it has never seen. For these a logistic regression looks at the endings and lengths of
the known forms, each as if it had not been seen.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from math import log
from operator import mul

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dynet_vdgi.conllu.faults import has_stray_space
from dynet_vdgi.conllu.raw_text import form_of

GLUE = "\x1f"
"""Between words that are rewritten as one text; in none of them."""

LONGEST_ENDING = 12
"""Characters of a beginning or ending that rules look at."""

MOST_WORDS, MOST_LETTERS = 32, 1000
"""Of a token; what has more is not learnt. UD's longest has 10 words."""

WORDS_A_LETTER = 4
"""Most words of a token for each of its characters, which bounds what a damaged file can make of a
text."""

PROBABLE = -1.4
"""Log odds that are enough for a new form that the context says is to be split: a fifth."""

Rewriting = tuple[int, str]
"""How many characters at the end (or beginning) of a token become which text."""


class Splitter(Struct, frozen=True):
    """What is known about the words of multiword tokens; all forms are in lower case."""

    words: dict[str, tuple[str, ...]] = {}  # of known tokens
    begins: dict[str, Rewriting] = {}  # by beginnings of tokens
    ends: dict[str, Rewriting] = {}
    shares: dict[str, float] = {}  # of the forms with an ending: those that are split
    weights: tuple[float, ...] = ()  # of `_evidence`
    others: frozenset[str] = frozenset()  # forms that are not split although they look so

    @classmethod
    def fit(cls, tokens: Iterable[tuple[str, Sequence[str]]]) -> Splitter:
        """Learns from forms and their words, each as often as it occurs; no words: the token is not
        split."""
        seen: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for form, words in tokens:
            if len(words) > MOST_WORDS or sum(map(len, words)) > MOST_LETTERS:
                continue
            seen[form.lower()][tuple([word.lower() for word in words])] += 1
        usual: dict[str, bool] = {}  # whether a form is split more often than not
        usual_words: dict[str, tuple[str, ...]] = {}  # into which, where it is split
        for form, counts in seen.items():
            usual[form] = bool(counts.most_common(1)[0][0])
            splits = [words for words, _ in counts.most_common() if words]
            if splits:
                usual_words[form] = splits[0]
        begins: dict[str, Counter[Rewriting]] = defaultdict(Counter)
        ends: dict[str, Counter[Rewriting]] = defaultdict(Counter)
        for form, words in usual_words.items():
            begin, end = rewritings(form, GLUE.join(words))
            for n in range(begin[0], min(LONGEST_ENDING, len(form)) + 1):
                begins[form[:n]][begin] += 1
            for n in range(end[0], min(LONGEST_ENDING, len(form)) + 1):
                ends[form[len(form) - n :]][end] += 1
        splitter = cls(
            usual_words,
            _best(begins, slice(None, -1)),
            _best(ends, slice(1, None)),
            *_regression(usual),
        )
        if not splitter.weights:
            return splitter
        others = [
            form for form in usual if form not in usual_words and splitter.is_split(form, True)
        ]
        return replace(splitter, others=frozenset(others))

    def is_split(self, form: str, is_probable: bool) -> bool:
        """Whether a token is to be split; `is_probable`: the context says so, and decides for known
        forms."""
        low = form.lower()
        if not self.weights or low in self.words or low in self.others:
            return is_probable
        share = 0.0
        for ending in _endings(low):  # the longest first
            if ending in self.shares:
                share = self.shares[ending]
                break
        share = min(max(share, 0.0), 1.0)  # a damaged file may say anything
        score: float = sum(map(mul, self.weights, _evidence(low, share)))
        return score > (PROBABLE if is_probable else 0.0)

    def split(self, form: str) -> tuple[str, ...]:
        """The words of a token; itself, if nothing is known that splits it."""
        low = form.lower()
        if len(low) != len(form):  # a letter whose small form is two
            return (form,)
        words = self.words.get(low)
        if not words:
            sizes = range(min(LONGEST_ENDING, len(low)), -1, -1)
            n_begin, begin = _longest(self.begins, [low[:n] for n in sizes])
            n_end, end = _longest(self.ends, [low[len(low) - n :] for n in sizes])
            if n_begin + n_end > len(low):
                n_begin, begin = 0, ""
            words = tuple((begin + form[n_begin : len(form) - n_end] + end).split(GLUE))
        if len(form) > 1 and form.isupper():
            words = tuple([word.upper() for word in words])
        elif form[0].isupper():
            words = words[0][:1].upper() + words[0][1:], *words[1:]
        can_be_written = all(w != "" and w == form_of(w) and not has_stray_space(w) for w in words)
        is_sound = 1 < len(words) <= WORDS_A_LETTER * len(form) and can_be_written
        return words if is_sound else (form,)


def _best(counts_of: Mapping[str, Counter[Rewriting]], shorter: slice) -> dict[str, Rewriting]:
    """The most frequent rewriting of each stretch, unless the next shorter one has the same."""
    best = {stretch: counts.most_common(1)[0][0] for stretch, counts in counts_of.items()}
    return {
        s: rewriting for s, rewriting in best.items() if not s or best.get(s[shorter]) != rewriting
    }


def _longest(rewriting_of: Mapping[str, Rewriting], stretches: Iterable[str]) -> Rewriting:
    """The rewriting of the first stretch that has one; the one that changes nothing if none has."""
    for stretch in stretches:
        if stretch in rewriting_of:
            return rewriting_of[stretch]
    return 0, ""


def _regression(is_split: Mapping[str, bool]) -> tuple[dict[str, float], tuple[float, ...]]:
    """`shares` and `weights` of a splitter; empty if no form is split.

    The share of the forms with an ending that are split is smoothed by that of the next shorter
    ending.
    """
    if not any(is_split.values()):
        return {}, ()
    n_all, n_split = Counter[str](), Counter[str]()
    for form, was_split in is_split.items():
        for ending in _endings(form):
            n_all[ending] += 1
            n_split[ending] += was_split
    rows = []
    for form, was_split in is_split.items():
        share = 0.0
        for ending in reversed(_endings(form)):
            if n_all[ending] == 1:
                break
            # of the other forms, and the smoothing
            share = (n_split[ending] - was_split + share) / n_all[ending]
        rows.append(_evidence(form, share))
    # A logistic regression by Newton's method, with a penalty on squared weights.
    x, y = np.array(rows), np.array(list(is_split.values()), float)
    weights, penalty = np.zeros(x.shape[1]), 0.1
    for _ in range(20):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (p - y) + penalty * weights
        curvature = (x.T * (p * (1 - p))) @ x + penalty * np.eye(len(weights))
        weights = weights - np.linalg.solve(curvature, gradient)
    shares = {"": 0.0}
    for ending in sorted(n_all, key=len):
        shares[ending] = round((n_split[ending] + shares[ending[1:]]) / (n_all[ending] + 1), 3)
    needed_shares = {e: share for e, share in shares.items() if e and share != shares[e[1:]]}
    return needed_shares, tuple(weights.tolist())


def _evidence(form: str, share: float) -> tuple[float, float, float]:
    """What the regression sees: 1, the log odds of a share, and the logarithm of the number of
    letters."""
    marks = 0
    if not form.isalpha():
        marks = sum(unicodedata.category(character)[0] == "M" for character in form)
    letters = len(form) - marks
    return 1.0, log((share + 0.02) / (1.02 - share)), log(1 + letters)


def _endings(form: str) -> list[str]:
    """Endings of a form, the longest first."""
    return [form[start:] for start in range(max(0, len(form) - LONGEST_ENDING), len(form))]


def rewritings(form: str, words: str) -> tuple[Rewriting, Rewriting]:
    """What becomes of the beginning and of the end of a form, around the longest stretch shared
    with `words`.

    >>> rewritings("auquel", "à|lequel"), rewritings("des", "de|les")
    (((2, 'à|le'), (0, '')), ((0, ''), (1, '|les')))
    """
    i, j, size = SequenceMatcher(None, form, words, autojunk=False).find_longest_match()
    return (i, words[:j]), (len(form) - i - size, words[j + size :])

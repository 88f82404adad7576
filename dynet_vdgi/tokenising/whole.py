"""Knowledge of texts in all languages: what stays whole, rare marks, multiword tokens.

Addresses, numbers, times, dates, @names, #tags and emoji stay whole in all languages.

A hundred sentences rarely have any. A tokeniser that has seen the contrary in most cases goes by what it has
seen, kind by kind.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from difflib import SequenceMatcher
from math import log
from operator import mul
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dynet_vdgi.data.conllu_blocks import has_stray_space
from dynet_vdgi.data.raw_text import Document, Token, TokenisedSentence, form_of

# Letters of scripts without spaces are no part of addresses and names, which may stand right before them.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef"
_MARKS = "\u0300-\u036f\u0900-\u0dff\u200c\u200d"  # some of which are no letters to `re`
_LETTER = rf"(?:(?![{_DENSE}])[\w{_MARKS}])"
_NAME = rf"(?![\d_]){_LETTER}+"
_NO_URL = r"\s\x00-\x1f\x7f-\x9f\ufeff()"
_IN_URL = rf"[^{_NO_URL}<>\"“”«»{_DENSE}]|\([^{_NO_URL}]*\)"
_IN_EMAIL = "A-Za-z0-9À-ɏ_%+-"
_DOMAIN = "[A-Za-z0-9À-ɏ-]+"
_ALONE = r"(?<!\d)(?<!\d[.,:])"
PICTURE = (  # a flag, or an emoji with its tone; what joins several is not seen
    r"[\U0001f1e6-\U0001f1ff]{2}|[\d#*]\ufe0f?\u20e3"
    r"|[\u231a\u231b\u23e9-\u23f3\u25fb-\u25fe\u2600-\u2757\u2763-\u2767\u2794-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff]"
    r"[\U0001f3fb-\U0001f3ff\ufe0f]*"
)


def _series(marks: str, number: str = r"\d+", least: int = 1) -> str:
    """Numbers with one of the marks between them, `least` times at least."""
    return rf"(?<!\d)(?<!\d{marks}){number}(?:{marks}{number}){{{least},}}(?!\d|{marks}\d)"


_PATTERNS = {
    "url": rf"(?:https?://|ftp://|www\.)(?:{_IN_URL})*(?:[/#=&%+~$-]|{_LETTER}|\([^{_NO_URL}]*\))",
    "email": rf"(?<![{_IN_EMAIL}])[{_IN_EMAIL}][{_IN_EMAIL}.]{{0,63}}@{_DOMAIN}(?:\.{_DOMAIN})+",
    "time": rf"{_ALONE}\d{{1,2}}:\d\d(?::\d\d)?(?!\d|[.,:]\d)",
    "number": rf"{_ALONE}(?:\d{{1,3}}(?:\.\d{{3}})+(?:,\d+)?|\d{{1,3}}(?:,\d{{2,3}})+(?:\.\d+)?|\d+[.,٫٬]\d+)"
    r"(?!\d|[.,:]\d)",
    "name": rf"(?<!\w)@{_LETTER}+(?:[.-]{_LETTER}+)*",
    "tag": rf"(?<!\w)#{_NAME}",
}
_LATER = {  # kinds that tokenisers of earlier versions know nothing of
    "picture": PICTURE,
    "slash": _series("/"),
    "date": r"(?<!\d)(?<!\d-)\d{4}-\d\d-\d\d(?!\d|-\d)",
    "dots": rf"{_series('[.]', least=2)}|(?<!\d)\d{{1,3}}(?:['’]\d{{3}})+(?!\d)",
    "range": r"(?<!\d[.,:])" + _series("[-–]", r"\d+(?:[.,:]\d+)*"),
    "ratio": _series(":"),
    "digits": r"\d*[¼½¾⅐-⅞]|\d+",
}
_ALL = _PATTERNS | _LATER


def _one_of(kinds: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{kind}>{_ALL[kind]})" for kind in kinds))


_FIRST = ("url", "email", "date", "range")  # else their first numbers would be found before them
_ANY = _one_of((*_FIRST, *(kind for kind in _ALL if kind not in _FIRST)))
_NUMBERS = _one_of(("time", "number", "ratio", "digits"))
_HINT = re.compile(rf"\d[.,:٫٬/'’–-]\d|\d\d|[(\[{{]\d|\d[)\]}}]|[¼½¾⅐-⅞]|[@#]|://|www\.|{PICTURE}")
"""In every stretch; most texts have few."""

_AFTER = re.compile(r"[.,;:!?…)\]}\"”»]+(?=\s|\Z)|[)\]}\"”»]")
_SPACE = re.compile(r"\s")
_NEXT = re.compile(r"\s*(\S?)")

EDGES, STOP, MARKS, BRACKETS = "edges", "stop", "marks", "brackets"
KINDS = (*_PATTERNS, EDGES, STOP, *_LATER, MARKS)
"""What stays whole; that marks at its edges are tokens, or at those of pictures; and that a full stop after it
ends a sentence. Files of tokenisers hold their numbers."""

DIGITS, RANGE = "digits", "range"


class Whole(NamedTuple):
    """A stretch of a text that stays whole."""

    start: int
    end: int
    kind: str
    cut_before: bool  # a token ends right before it
    cut_after: bool  # a token ends with it
    ends_sentence: bool  # the full stop after it ends a sentence
    edge: str = EDGES  # what decides whether it is cut: EDGES, MARKS or BRACKETS


def wholes(text: str) -> Iterator[Whole]:
    """The stretches that stay whole in a text, in their order.

    >>> [text[w.start:w.end] for text in ["(a@b.ie, www.b.ie/?x) at 12:30."] for w in wholes(text)]
    ['a@b.ie', 'www.b.ie/?x', '12:30']
    """
    for found in _matches(text):
        start, end = found.span()
        before = text[start - 1 : start]
        if found.lastgroup == "picture":
            opens, closes = _is_mark(before), _is_mark(text[end : end + 1])
            yield Whole(start, end, "picture", opens, closes, False, MARKS)
            continue
        if found.lastgroup == DIGITS:
            opens, closes = before in tuple("([{"), text[end : end + 1] in tuple(")]}")
            if end - start > 1 or opens or closes:
                yield Whole(start, end, DIGITS, opens, closes, False, BRACKETS)
            continue
        opens = before == '"' or (before != "" and unicodedata.category(before) in ("Ps", "Pi"))
        after = _AFTER.match(text, end)
        ends_sentence = False
        if after and after[0][0] in ".!?…":
            follows = _NEXT.match(text, after.end())
            letter = follows[1] if follows else ""
            is_begin = not (letter.islower() or letter.isdigit())
            ends_sentence = is_begin and len(after[0]) == 1
            after = after if is_begin or len(after[0]) > 1 else None
        yield Whole(start, end, found.lastgroup or "", opens, after is not None, ends_sentence)


def _is_mark(character: str) -> bool:
    return character != "" and unicodedata.category(character)[0] == "P"


def numbers_in(text: str, whole: Whole, cut: Set[str]) -> Iterator[tuple[int, int]]:
    """Where the numbers of a stretch are that stay together although the stretch itself is cut."""
    found = _NUMBERS.finditer(text, whole.start, whole.end)
    return (number.span() for number in found if number.lastgroup not in cut)


def _matches(text: str) -> Iterator[re.Match[str]]:
    done = 0
    for hint in _HINT.finditer(text):
        start = hint.start()
        if start < done:
            continue
        while start > done and not text[start - 1].isspace():
            start -= 1
        space = _SPACE.search(text, hint.end())
        done = space.start() if space else len(text)
        yield from _ANY.finditer(text, start, done)


# ----------------------------------------------------------------------------------------------------
# Knowledge of punctuation in all languages: invented sentences for marks that are rare in treebanks.
#
# A hundred sentences rarely have every bracket and quotation mark that the next text has. That these are tokens of
# their own need not be learnt from each language, unlike what an apostrophe, a hyphen or a full stop is.
_NO_LETTER = re.compile(r"[^\w\u0300-\u036f\u0900-\u0dff\u0e00-\u109f\u1780-\u17ff]|[\d_]")
"""Characters of no word; marks of the scripts of South Asia are none to `re`."""

PAIRS = ("()", "[]", '""', "“”", "„“", "«»", "‘’")
_FORMS = (  # marks, and sentences with them
    *((pair, ("w OwC w.", "OwC w w.", "w w Ow wC, w.")) for pair in PAIRS),
    *((mark, ("w wO w w.", "wO w.")) for mark in ",;:"),
    *((mark, ("w w wO", "wO")) for mark in "?!…"),
)
"""O is the first mark and C the last, `w` is a word, a space is a space, everything else is a token."""

RARE = 10
"""A mark that the treebank has less often is shown in invented sentences, too."""


def invented(documents: Sequence[Document]) -> list[Document]:
    """Documents of one sentence each, of the treebank's words and marks that are rare in it.

    None where less than half of the tokens are followed by a space, because marks are written otherwise.
    """
    words, multiword, marks, n_spaces, n_tokens = [], set(), Counter[str](), 0, 0
    for document in documents:
        marks.update(document.text)
        for sentence in document.sentences:
            for start, end, its in sentence.tokens:
                n_spaces += document.text[end : end + 1].isspace()
                n_tokens += 1
                form = document.text[start:end]
                if len(its) > 1:
                    multiword.add(form.lower())
                elif end - start > 1 and not _NO_LETTER.search(form):
                    words.append(form)
    words = [word for word in words if word.lower() not in multiword]
    if not words or 2 * n_spaces < n_tokens:
        return []
    rng = random.Random(1)
    made = []
    for pair, pattern in ((pair, pattern) for pair, patterns in _FORMS for pattern in patterns):
        if min(marks[mark] for mark in pair) < RARE:
            tokens, text = [], ""
            for c in pattern:
                piece = {"O": pair[0], "C": pair[-1]}.get(c) or (rng.choice(words) if c == "w" else c)
                if piece != " ":
                    tokens.append(Token(len(text), len(text) + len(piece), (piece,)))
                text += piece
            made.append(Document(text, (TokenisedSentence(tuple(tokens), True),)))
    return made


# ----------------------------------------------------------------------------------------------------
# From a multiword token to its words, where these are not just pieces of it: du = de + le.
#
# A token and its words share a core, their longest common stretch; what surrounds it is rewritten: of
# `auquel = à + lequel` the core is `quel`, and the beginning `au` becomes `à|le`. A new token is rewritten
# at both ends as the known ones with the longest common beginning and the longest common ending were.
#
# Whether a token is split at all, the tokeniser's CRF says, which sees the context. It says little of forms
# that it has never seen. For these a logistic regression looks at the endings and lengths of the known
# forms, each as if it had not been seen.
GLUE = "\x1f"
"""Between words that are rewritten as one text; in none of them."""

LONGEST = 12
"""Characters of a beginning or ending that rules look at."""

MOST_WORDS, MOST_LETTERS = 32, 1000
"""Of a token; what has more is not learnt. UD's longest has 10 words."""

WORDS_A_LETTER = 4
"""Most words of a token for each of its characters, which bounds what a damaged file can make of a text."""

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
        """Learns from forms and their words, each as often as it occurs; no words: the token is not split."""
        seen: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for form, words in tokens:
            if len(words) > MOST_WORDS or sum(map(len, words)) > MOST_LETTERS:
                continue
            seen[form.lower()][tuple([word.lower() for word in words])] += 1
        usual = {form: bool(found.most_common(1)[0][0]) for form, found in seen.items()}
        splits = {form: [words for words, _ in found.most_common() if words] for form, found in seen.items()}
        known = {form: found[0] for form, found in splits.items() if found}
        begins: dict[str, Counter[Rewriting]] = defaultdict(Counter)
        ends: dict[str, Counter[Rewriting]] = defaultdict(Counter)
        for form, words in known.items():
            begin, end = rewritings(form, GLUE.join(words))
            for n in range(begin[0], min(LONGEST, len(form)) + 1):
                begins[form[:n]][begin] += 1
            for n in range(end[0], min(LONGEST, len(form)) + 1):
                ends[form[len(form) - n :]][end] += 1
        splitter = cls(known, _best(begins, slice(None, -1)), _best(ends, slice(1, None)), *_regression(usual))
        if not splitter.weights:
            return splitter
        others = [form for form in usual if form not in known and splitter.is_split(form, True)]
        return replace(splitter, others=frozenset(others))

    def is_split(self, form: str, is_probable: bool) -> bool:
        """Whether a token is to be split; `is_probable`: the context says so, and decides for known forms."""
        low = form.lower()
        if not self.weights or low in self.words or low in self.others:
            return is_probable
        known = (share for share in map(self.shares.get, _endings(low)) if share is not None)
        share = min(max(next(known, 0.0), 0.0), 1.0)  # a damaged file may say anything
        score: float = sum(map(mul, self.weights, _evidence(low, share)))
        return score > (PROBABLE if is_probable else 0.0)

    def split(self, form: str) -> tuple[str, ...]:
        """The words of a token; itself, if nothing is known that splits it."""
        low = form.lower()
        if len(low) != len(form):  # a letter whose small form is two
            return (form,)
        words = self.words.get(low)
        if not words:
            sizes = range(min(LONGEST, len(low)), -1, -1)
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


def _best(found: Mapping[str, Counter[Rewriting]], shorter: slice) -> dict[str, Rewriting]:
    """The most frequent rewriting of each stretch, unless that of the next shorter one is the same."""
    best = {stretch: counts.most_common(1)[0][0] for stretch, counts in found.items()}
    return {s: rewriting for s, rewriting in best.items() if not s or best.get(s[shorter]) != rewriting}


def _longest(known: Mapping[str, Rewriting], stretches: Iterable[str]) -> Rewriting:
    return next((known[stretch] for stretch in stretches if stretch in known), (0, ""))


# ------------------------------------------------------------------------------------------- new forms
def _regression(is_split: Mapping[str, bool]) -> tuple[dict[str, float], tuple[float, ...]]:
    """`shares` and `weights` of a splitter; empty if no form is split.

    The share of the forms with an ending that are split is smoothed by that of the next shorter ending.
    """
    if not any(is_split.values()):
        return {}, ()
    n_all, n_split = Counter[str](), Counter[str]()
    for form, its in is_split.items():
        for ending in _endings(form):
            n_all[ending] += 1
            n_split[ending] += its
    rows = []
    for form, its in is_split.items():
        share = 0.0
        for ending in reversed(_endings(form)):
            if n_all[ending] == 1:
                break
            share = (n_split[ending] - its + share) / n_all[ending]  # of the other forms, and the smoothing
        rows.append(_evidence(form, share))
    # A logistic regression by Newton's method, with a penalty on squared weights.
    x, y = np.array(rows), np.array(list(is_split.values()), float)
    weights, penalty = np.zeros(x.shape[1]), 0.1
    for _ in range(20):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (p - y) + penalty * weights
        curvature = (x.T * (p * (1 - p))) @ x + penalty * np.eye(len(weights))
        weights = weights - np.linalg.solve(curvature, slope)
    shares = {"": 0.0}
    for ending in sorted(n_all, key=len):
        shares[ending] = round((n_split[ending] + shares[ending[1:]]) / (n_all[ending] + 1), 3)
    kept = {e: share for e, share in shares.items() if e and share != shares[e[1:]]}
    return kept, tuple(weights.tolist())


def _evidence(form: str, share: float) -> tuple[float, float, float]:
    """What the regression sees: 1, the log odds of a share, and the logarithm of the number of letters."""
    marks = 0 if form.isalpha() else sum(unicodedata.category(character)[0] == "M" for character in form)
    letters = len(form) - marks
    return 1.0, log((share + 0.02) / (1.02 - share)), log(1 + letters)


def _endings(form: str) -> list[str]:
    """Endings of a form, the longest first."""
    return [form[start:] for start in range(max(0, len(form) - LONGEST), len(form))]


# ------------------------------------------------------------------------------------------- rewriting
def rewritings(form: str, words: str) -> tuple[Rewriting, Rewriting]:
    """What becomes of the beginning and of the end of a form, around the longest stretch shared with `words`.

    >>> rewritings("auquel", "à|lequel"), rewritings("des", "de|les")
    (((2, 'à|le'), (0, '')), ((0, ''), (1, '|les')))
    """
    i, j, size = SequenceMatcher(None, form, words, autojunk=False).find_longest_match()
    return (i, words[:j]), (len(form) - i - size, words[j + size :])

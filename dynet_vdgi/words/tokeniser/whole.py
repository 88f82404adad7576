"""Addresses, numbers, times, dates, @names, #tags and emoji stay whole in all languages.

A hundred sentences rarely have any. A tokeniser that has seen the contrary in most cases goes by
what it has seen, kind by kind.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

# Letters of scripts without spaces are no part of addresses and names, which may stand right before
# them.
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
    r"|[\u231a\u231b\u23e9-\u23f3\u25fb-\u25fe\u2600-\u2757\u2763-\u2767\u2794-\u27bf\u2b05-\u2b55"
    r"\U0001f000-\U0001faff]"
    r"[\U0001f3fb-\U0001f3ff\ufe0f]*"
)

_PATTERNS = {
    "url": rf"(?:https?://|ftp://|www\.)(?:{_IN_URL})*(?:[/#=&%+~$-]|{_LETTER}|\([^{_NO_URL}]*\))",
    "email": rf"(?<![{_IN_EMAIL}])[{_IN_EMAIL}][{_IN_EMAIL}.]{{0,63}}@{_DOMAIN}(?:\.{_DOMAIN})+",
    "time": rf"{_ALONE}\d{{1,2}}:\d\d(?::\d\d)?(?!\d|[.,:]\d)",
    "number": rf"{_ALONE}(?:\d{{1,3}}(?:\.\d{{3}})+(?:,\d+)?|\d{{1,3}}(?:,\d{{2,3}})+(?:\.\d+)?"
    r"|\d+[.,٫٬]\d+)(?!\d|[.,:]\d)",
    "name": rf"(?<!\w)@{_LETTER}+(?:[.-]{_LETTER}+)*",
    "tag": rf"(?<!\w)#{_NAME}",
}

_FIRST = ("url", "email", "date", "range")  # else their first numbers would be found before them

_HINT = re.compile(rf"\d[.,:٫٬/'’–-]\d|\d\d|[(\[{{]\d|\d[)\]}}]|[¼½¾⅐-⅞]|[@#]|://|www\.|{PICTURE}")
"""In every stretch; most texts have few."""

_AFTER = re.compile(r"[.,;:!?…)\]}\"”»]+(?=\s|\Z)|[)\]}\"”»]")

_SPACE = re.compile(r"\s")

_NEXT = re.compile(r"\s*(\S?)")

EDGES, STOP, MARKS, BRACKETS = "edges", "stop", "marks", "brackets"

DIGITS, RANGE = "digits", "range"


def _series(marks: str, number: str = r"\d+", least: int = 1) -> str:
    """Numbers with one of the marks between them, `least` times at least."""
    return rf"(?<!\d)(?<!\d{marks}){number}(?:{marks}{number}){{{least},}}(?!\d|{marks}\d)"


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


_ANY = _one_of((*_FIRST, *(kind for kind in _ALL if kind not in _FIRST)))

_NUMBERS = _one_of(("time", "number", "ratio", "digits"))


WHOLE_KINDS = (*_PATTERNS, EDGES, STOP, *_LATER, MARKS)
"""What stays whole; that marks at its edges are tokens, or at those of pictures; and that a full
stop after it ends a sentence. Files of tokenisers hold their numbers."""


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
    for match in _matches(text):
        start, end = match.span()
        before = text[start - 1 : start]
        if match.lastgroup == "picture":
            opens, closes = _is_mark(before), _is_mark(text[end : end + 1])
            yield Whole(start, end, "picture", opens, closes, False, MARKS)
            continue
        if match.lastgroup == DIGITS:
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
        yield Whole(start, end, match.lastgroup or "", opens, after is not None, ends_sentence)


def _is_mark(character: str) -> bool:
    return character != "" and unicodedata.category(character)[0] == "P"


def numbers_in(text: str, whole: Whole, cut: Set[str]) -> Iterator[tuple[int, int]]:
    """Where the numbers of a stretch are that stay together although the stretch itself is cut."""
    matches = _NUMBERS.finditer(text, whole.start, whole.end)
    return (number.span() for number in matches if number.lastgroup not in cut)


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

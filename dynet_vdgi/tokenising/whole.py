"""What is known in all languages: what stays whole, and marks that are rare in treebanks.

What stays whole in all languages: addresses, numbers with separators, times, @names and #tags.

A hundred sentences rarely have any. A tokeniser that has seen the contrary in most cases goes by what it has
seen, kind by kind.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dynet_vdgi.data.raw_text import Document, Token, TokenisedSentence

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
_PATTERNS = {
    "url": rf"(?:https?://|ftp://|www\.)(?:{_IN_URL})*(?:[/#=&%+~$-]|{_LETTER}|\([^{_NO_URL}]*\))",
    "email": rf"(?<![{_IN_EMAIL}])[{_IN_EMAIL}][{_IN_EMAIL}.]{{0,63}}@{_DOMAIN}(?:\.{_DOMAIN})+",
    "time": rf"{_ALONE}\d{{1,2}}:\d\d(?::\d\d)?(?!\d|[.,:]\d)",
    "number": rf"{_ALONE}(?:\d{{1,3}}(?:\.\d{{3}})+(?:,\d+)?|\d{{1,3}}(?:,\d{{2,3}})+(?:\.\d+)?|\d+[.,٫٬]\d+)"
    r"(?!\d|[.,:]\d)",
    "name": rf"(?<!\w)@{_LETTER}+(?:[.-]{_LETTER}+)*",
    "tag": rf"(?<!\w)#{_NAME}",
}
_ANY = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()))
_HINT = re.compile(r"\d[.,:٫٬]\d|[@#]|://|www\.")
"""In every stretch; most texts have few."""

_AFTER = re.compile(r"[.,;:!?…)\]}\"”»]+(?=\s|\Z)|[)\]}\"”»]")
_SPACE = re.compile(r"\s")
_NEXT = re.compile(r"\s*(\S?)")

EDGES, STOP = "edges", "stop"
KINDS = (*_PATTERNS, EDGES, STOP)
"""What stays whole; that marks at its edges are tokens; and that a full stop after it ends a sentence."""


class Whole(NamedTuple):
    """A stretch of a text that stays whole."""

    start: int
    end: int
    kind: str
    cut_before: bool  # a token ends right before it
    cut_after: bool  # a token ends with it
    ends_sentence: bool  # the full stop after it ends a sentence


def wholes(text: str) -> Iterator[Whole]:
    """The stretches that stay whole in a text, in their order.

    >>> [text[w.start:w.end] for text in ["(a@b.ie, www.b.ie/?x) at 12:30."] for w in wholes(text)]
    ['a@b.ie', 'www.b.ie/?x', '12:30']
    """
    for found in _matches(text):
        start, end = found.span()
        before = text[start - 1 : start]
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
# A hundred sentences rarely have every bracket and quotation mark that the next text has. That these are
# tokens of their own need not be learnt from each language, unlike what an apostrophe, a hyphen or a full
# stop is.


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
    return [
        _document(
            [{"O": its[0], "C": its[-1]}.get(c) or (rng.choice(words) if c == "w" else c) for c in form]
        )
        for its, forms in _FORMS
        if min(marks[mark] for mark in its) < RARE
        for form in forms
    ]


def _document(pieces: Sequence[str]) -> Document:
    tokens, place = [], 0
    for piece in pieces:
        if piece != " ":
            tokens.append(Token(place, place + len(piece), (piece,)))
        place += len(piece)
    return Document("".join(pieces), (TokenisedSentence(tuple(tokens), True),))

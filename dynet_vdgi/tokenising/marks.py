"""Knowledge of punctuation in all languages: invented sentences for marks that are rare in treebanks.

A hundred sentences rarely have every bracket and quotation mark that the next text has. That these are tokens
of their own need not be learnt from each language, unlike what an apostrophe, a hyphen or a full stop is.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from dynet_vdgi.data.raw_text import Document, Token, TokenisedSentence

_NO_LETTER = re.compile(r"[^\w\u0300-\u036f\u0900-\u0dff\u0e00-\u109f\u1780-\u17ff]|[\d_]")
"""Characters of no word; marks of the scripts of South Asia are none to `re`."""

PAIRS = tuple(map(tuple, ("()", "[]", '""', "“”", "„“", "«»", "‘’")))
MARKS, ENDS = ",;:", "?!…"

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
        _document([rng.choice(words) if each == "w" else each for each in form]) for form in _forms(marks)
    ]


def _forms(marks: Counter[str]) -> Iterator[list[str]]:
    """Sentences: `w` is a word, a space is a space, everything else is a token."""
    for opening, closing in PAIRS:
        if min(marks[opening], marks[closing]) < RARE:
            for form in ("w OwC w.", "OwC w w.", "w w Ow wC, w."):
                yield [opening if c == "O" else closing if c == "C" else c for c in form]
    for mark in MARKS:
        if marks[mark] < RARE:
            for form in ("w wM w w.", "wM w."):
                yield [mark if c == "M" else c for c in form]
    for mark in ENDS:
        if marks[mark] < RARE:
            for form in ("w w wM", "wM"):
                yield [mark if c == "M" else c for c in form]


def _document(pieces: Sequence[str]) -> Document:
    tokens, place = [], 0
    for piece in pieces:
        if piece != " ":
            tokens.append(Token(place, place + len(piece), (piece,)))
        place += len(piece)
    return Document("".join(pieces), (TokenisedSentence(tuple(tokens), True),))

"""Knowledge of punctuation in all languages: invented sentences for marks that are rare in
treebanks.

A hundred sentences rarely have every bracket and quotation mark that the next text has. That these
are tokens of their own need not be learnt from each language, unlike what an apostrophe, a hyphen
or a full stop is.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

from dynet_vdgi.conllu.raw_text import Document, Token, TokenisedSentence

_NO_LETTER = re.compile(r"[^\w\u0300-\u036f\u0900-\u0dff\u0e00-\u109f\u1780-\u17ff]|[\d_]")
"""Characters of no word; marks of the scripts of South Asia are none to `re`."""

PAIRS = ("()", "[]", '""', "“”", "„“", "«»", "‘’")

_FORMS = (  # marks, and sentences with them
    *((pair, ("w OwC w.", "OwC w w.", "w w Ow wC, w.")) for pair in PAIRS),
    *((mark, ("w wO w w.", "wO w.")) for mark in ",;:"),
    *((mark, ("w w wO", "wO")) for mark in "?!…"),
)
"""O is the first mark and C the last, `w` is a word, a space is a space, everything else is a
token."""

RARE_OCCURRENCES = 10
"""A mark that the treebank has less often is shown in invented sentences, too."""


def invented(documents: Sequence[Document]) -> list[Document]:
    """Documents of one sentence each, of the treebank's words and marks that are rare in it.

    None where less than half of the tokens are followed by a space, because marks are written
    otherwise.
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
        if min(marks[mark] for mark in pair) < RARE_OCCURRENCES:
            tokens, text = [], ""
            for c in pattern:
                piece = {"O": pair[0], "C": pair[-1]}.get(c) or (
                    rng.choice(words) if c == "w" else c
                )
                if piece != " ":
                    tokens.append(Token(len(text), len(text) + len(piece), (piece,)))
                text += piece
            made.append(Document(text, (TokenisedSentence(tuple(tokens), True),)))
    return made

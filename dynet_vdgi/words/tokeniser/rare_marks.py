"""Knowledge of punctuation in all languages: invented sentences for marks that are rare in
treebanks.

A hundred sentences rarely have every bracket and quotation mark that the next text has. That these
are tokens of their own need not be learnt from each language, unlike what an apostrophe, a hyphen
or a full stop is.

A text without any mark but full stops gets sentences with all the others:

>>> tokens = tuple([Token(3 * k, 3 * k + 2, ("ab",)) for k in range(3)])
>>> document = Document("ab ab ab", (TokenisedSentence(tokens),))
>>> [one.text for one in invented_documents([document])][:4]
['ab (ab) ab.', '(ab) ab ab.', 'ab ab (ab ab), ab.', 'ab [ab] ab.']
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


def invented_documents(documents: Sequence[Document]) -> list[Document]:
    """Documents of one sentence each, of the treebank's words and marks that are rare in it.

    None where less than half of the tokens are followed by a space, because marks are written
    otherwise.
    """
    words, multiword, marks, n_spaces, n_tokens = [], set(), Counter[str](), 0, 0
    for document in documents:
        marks.update(document.text)
        for sentence in document.sentences:
            for start, end, words_of_token in sentence.tokens:
                n_spaces += document.text[end : end + 1].isspace()
                n_tokens += 1
                form = document.text[start:end]
                if len(words_of_token) > 1:
                    multiword.add(form.lower())
                elif end - start > 1 and not _NO_LETTER.search(form):
                    words.append(form)
    words = [word for word in words if word.lower() not in multiword]
    if not words or 2 * n_spaces < n_tokens:
        return []
    rng = random.Random(1)
    made = []
    for pair, patterns in _FORMS:
        if min(marks[mark] for mark in pair) < RARE_OCCURRENCES:
            made += [_invented_document(pattern, pair, words, rng) for pattern in patterns]
    return made


def _invented_document(
    pattern: str, pair: str, words: Sequence[str], rng: random.Random
) -> Document:
    """A sentence of this pattern of `_FORMS` with these marks and random words."""
    tokens, text = [], ""
    for letter in pattern:
        if letter == "w":
            piece = rng.choice(words)
        else:
            piece = {"O": pair[0], "C": pair[-1]}.get(letter, letter)
        if piece != " ":
            tokens.append(Token(len(text), len(text) + len(piece), (piece,)))
        text += piece
    return Document(text, (TokenisedSentence(tuple(tokens), True),))

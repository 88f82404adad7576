r"""What the tokeniser sees of a text: letters in the form NFC, and no format characters.

A format character, such as a soft hyphen, a zero-width space or a mark of direction, is left out,
so it never begins or makes a word, but stays with what is before it; after white space it counts as
white space. It is seen if it mostly begins words in the text learnt from; and between two letters,
if the text has it often, such as the zero-width non-joiner in Persian, but no word ends before it
then.

In "so", a soft hyphen, "ft", and e with an accent of its own, six characters are seen:

>>> seen = Seen.of("so\u00adft e\u0301")
>>> seen.text, seen.starts.tolist(), seen.ends.tolist()
('soft é', [0, 1, 3, 4, 5, 6], [1, 3, 4, 5, 6, 8])
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.nfc import nfc
from dynet_vdgi.conllu.raw_text import (
    FORMAT,
    SPACES,
    Document,
    Token,
)
from dynet_vdgi.system.array_types import Ints

JOINER = "\u200d"
"""It makes one picture of several emoji."""

LEAST_OCCURRENCES = 10
"""Format characters that the text learnt from has less often are not learnt."""

_ATTACHED = range(0x1160, 0x1200)
"""Vowels and final consonants of Hangul, which attach to the letter before them as marks do."""

NONE: frozenset[str] = frozenset()


class Seen(NamedTuple):
    """The text that is seen, n characters, and which stretch of the original each stands for."""

    text: str
    starts: Ints  # (n,)
    ends: Ints  # (n,): format characters that are left out belong to the character before them
    joined: NDArray[np.bool_]  # (n,): no word ends with it

    @classmethod
    def of(cls, text: str, letter_like: Set[str] = NONE, between_letters: Set[str] = NONE) -> Seen:
        """What is seen of a text.

        letter_like: format characters that are seen everywhere, as letters are. between_letters:
        others, seen between letters only.
        """
        joined, is_seen = np.zeros(len(text), np.bool_), np.ones(len(text), np.bool_)
        for match in FORMAT.finditer(text):
            place = match.start()
            if match[0] in letter_like:
                continue
            before, after = text[place - 1 : place], text[place + 1 : place + 2]
            if match[0] in between_letters and _kind(before) in "LM" and _kind(after) in "LM":
                joined[place - 1] = True
                continue
            if match[0] == JOINER and _kind(after) in "LMS":
                last = place - 1
                while last >= 0 and not is_seen[last]:
                    last -= 1
                if last >= 0 and not SPACES.match(text[last]):
                    joined[last] = True
            is_seen[place] = False
        starts = np.flatnonzero(is_seen)
        ends = np.append(starts[1:], len(text))
        if len(starts) < len(text):
            text, joined = "".join([text[place] for place in starts.tolist()]), joined[starts]
        seen = cls(text, starts, ends[: len(starts)], joined)
        return seen if unicodedata.is_normalized("NFC", text) else seen._compose()

    def _compose(self) -> Seen:
        """With all characters in the form NFC."""
        points = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), np.uint32)
        distinct, numbers = np.unique(points, return_inverse=True)
        letters = list(map(chr, distinct.tolist()))
        attached = np.array([_kind(a) == "M" or ord(a) in _ATTACHED for a in letters])[numbers]
        attached[1:] &= ~np.array([SPACES.match(a) is not None for a in letters])[numbers][:-1]
        changing = np.array([nfc(a) != a for a in letters])[numbers] | attached
        borders = np.append(np.flatnonzero(~attached), len(points))
        borders = np.append(0, borders) if len(borders) and borders[0] else borders
        odd = np.flatnonzero(np.logical_or.reduceat(changing, borders[:-1]))
        pieces: list[str] = []
        parts: list[tuple[Ints, Ints, NDArray[np.bool_]]] = []
        done = 0
        for begin, end in zip(borders[odd].tolist(), borders[odd + 1].tolist()):
            old = self.text[begin:end]
            new = nfc(old)
            if new == old:
                continue
            pieces += [self.text[done:begin], new]
            parts.append((self.starts[done:begin], self.ends[done:begin], self.joined[done:begin]))
            n = len(new)
            of_last = np.append(np.ones(n - 1, np.bool_), self.joined[end - 1])
            parts.append((np.full(n, self.starts[begin]), np.full(n, self.ends[end - 1]), of_last))
            done = end
        pieces.append(self.text[done:])
        parts.append((self.starts[done:], self.ends[done:], self.joined[done:]))
        starts, ends, joined = zip(*parts)
        return Seen(
            "".join(pieces), np.concatenate(starts), np.concatenate(ends), np.concatenate(joined)
        )


def is_plain(text: str) -> bool:
    """Whether a text is seen as it is."""
    return text.isascii() or (unicodedata.is_normalized("NFC", text) and not FORMAT.search(text))


def formats_of(documents: Sequence[Document]) -> tuple[frozenset[str], frozenset[str]]:
    """The format characters that mostly begin words in documents, and the others that are there
    often."""
    n_all, n_begin = Counter[str](), Counter[str]()
    for document in documents:
        n_all.update(FORMAT.findall(document.text))
        for sentence in document.sentences:
            for token in sentence.tokens:
                whole = (document.text[token.start : token.end],)
                words = token.words if len(token.words) > 1 else whole
                n_begin.update(word[0] for word in words if FORMAT.match(word))
    begin = frozenset(letter for letter, n in n_begin.items() if 2 * n >= n_all[letter])
    return begin, frozenset(letter for letter, n in n_all.items() if n >= LEAST_OCCURRENCES) - begin


def seen_document(document: Document, letter_like: Set[str], between_letters: Set[str]) -> Document:
    """A document as it is seen, for learning."""
    if is_plain(document.text):
        return document
    seen = Seen.of(document.text, letter_like, between_letters)

    def tokens_seen(tokens: Sequence[Token]) -> Iterator[Token]:
        for token in tokens:
            start, end = np.searchsorted(seen.starts, [token.start, token.end]).tolist()
            words = [Seen.of(word, letter_like, between_letters).text for word in token.words]
            words = [word for word in words if word]
            if start < end:
                yield Token(start, end, tuple(words) or (seen.text[start:end],))

    sentences = [s._replace(tokens=tuple(tokens_seen(s.tokens))) for s in document.sentences]
    return Document(
        seen.text,
        tuple(s for s in sentences if s.tokens),
        document.name,
        n_silent=document.n_silent,
    )


def _kind(character: str) -> str:
    """The first letter of its category; "-" for none."""
    return unicodedata.category(character)[0] if character else "-"

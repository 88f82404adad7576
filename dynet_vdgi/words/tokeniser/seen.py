"""What the tokeniser sees of a text: letters in the form NFC, and no format characters.

A format character, such as a soft hyphen, a zero-width space or a mark of direction, is left out,
so it never begins or makes a word, but stays with what is before it; after white space it counts as
white space. It is seen if it mostly begins words in the text learnt from; and between two letters,
if the text has it often, such as the zero-width non-joiner in Persian, but no word ends before it
then.
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
    """The text that is seen, n characters, and the stretches of the original that they stand for."""

    text: str
    starts: Ints  # (n,)
    ends: Ints  # (n,): format characters that are left out belong to the character before them
    joined: NDArray[np.bool_]  # (n,): no word ends with it

    @classmethod
    def of(cls, text: str, own: Set[str] = NONE, known: Set[str] = NONE) -> Seen:
        """What is seen of a text.

        own: format characters that are seen everywhere, as letters are. known: others, seen between
        letters.
        """
        joined, kept = np.zeros(len(text), np.bool_), np.ones(len(text), np.bool_)
        for found in FORMAT.finditer(text):
            place = found.start()
            if found[0] in own:
                continue
            before, after = text[place - 1 : place], text[place + 1 : place + 2]
            if found[0] in known and _kind(before) in "LM" and _kind(after) in "LM":
                joined[place - 1] = True
                continue
            if found[0] == JOINER and _kind(after) in "LMS":
                last = place - 1
                while last >= 0 and not kept[last]:
                    last -= 1
                if last >= 0 and not SPACES.match(text[last]):
                    joined[last] = True
            kept[place] = False
        starts = np.flatnonzero(kept)
        ends = np.append(starts[1:], len(text))
        if len(starts) < len(text):
            text, joined = "".join([text[place] for place in starts.tolist()]), joined[starts]
        seen = cls(text, starts, ends[: len(starts)], joined)
        return seen if unicodedata.is_normalized("NFC", text) else seen._composed()

    def _composed(self) -> Seen:
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
        starts, ends, joined = map(np.concatenate, zip(*parts))
        return Seen("".join(pieces), starts, ends, joined)


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
                own = (document.text[token.start : token.end],)
                words = token.words if len(token.words) > 1 else own
                n_begin.update(word[0] for word in words if FORMAT.match(word))
    begin = frozenset(letter for letter, n in n_begin.items() if 2 * n >= n_all[letter])
    return begin, frozenset(letter for letter, n in n_all.items() if n >= LEAST_OCCURRENCES) - begin


def seen_document(document: Document, own: Set[str], known: Set[str]) -> Document:
    """A document as it is seen, for learning."""
    if is_plain(document.text):
        return document
    seen = Seen.of(document.text, own, known)

    def tokens(its: Sequence[Token]) -> Iterator[Token]:
        for token in its:
            start, end = np.searchsorted(seen.starts, [token.start, token.end]).tolist()
            words = tuple(
                word for word in (Seen.of(word, own, known).text for word in token.words) if word
            )
            if start < end:
                yield Token(start, end, words or (seen.text[start:end],))

    sentences = [s._replace(tokens=tuple(tokens(s.tokens))) for s in document.sentences]
    return Document(
        seen.text,
        tuple(s for s in sentences if s.tokens),
        document.name,
        n_silent=document.n_silent,
    )


def _kind(character: str) -> str:
    """The first letter of its category; "-" for none."""
    return unicodedata.category(character)[0] if character else "-"

r"""Raw text and its tokens: places of tokens, and white space, with the escapes that CoNLL-U has
for it.

Spaces are recorded as UDPipe does: SpaceAfter=No, or SpacesAfter, SpacesBefore and SpacesInToken,
whose values have \s for a space, \t, \r, \n, \p for |, \\ for \, and \uXXXX for other white space.
White space, here, includes control characters and byte-order marks, because a form cannot hold
them; format characters between tokens are recorded with it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from dynet_vdgi.conllu.formats import raw_format
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.files import AnyPath, is_conllu

_BEGINS_AS_CONLLU = re.compile(
    r"\ufeff?\s*(?:#[^\n]*\n)*(1(?:-[0-9]+)?\t[^\t\n]+(?:\t[^\t\n]+){8}\r?\n)"
)

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.S)

_ESCAPED = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|", "\\": "\\"}

_ESCAPES = {character: "\\" + letter for letter, character in _ESCAPED.items()}

BYTE_ORDER_MARK = "\ufeff"
"""At the beginning of a file it says how the text is encoded, and belongs to no sentence."""

SPACES = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]+")
"""White space."""

FORMAT = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufff9-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001-\U000e007f]"
)
"""A format character that cannot be seen: category Cf but for white space and the signs before
numbers."""

GAP = re.compile(f"(?:{SPACES.pattern}|{FORMAT.pattern})+")
"""What may stand between tokens."""


class Token(NamedTuple):
    """A stretch of the text, and the forms of its words; several make it a multiword token."""

    start: int
    end: int
    words: tuple[str, ...]


class TokenisedSentence(NamedTuple):
    """The tokens of a sentence."""

    tokens: tuple[Token, ...]
    begins_paragraph: bool = False


@dataclass(frozen=True)
class Document:
    """A text and its sentences; offsets count characters of `text`.

    `n_silent`: the number of sentences that do not say where spaces are missing.
    """

    text: str
    sentences: tuple[TokenisedSentence, ...]
    name: str = ""
    n_silent: int = field(default=0, compare=False)


def is_named(path: AnyPath) -> bool:
    """Whether a file is raw text by its name."""
    return os.fspath(path).endswith((".txt", ".txt.gz"))


def check_raw(text: str, name: str, first: int = 1) -> None:
    """Raises: DataError, a text begins as CoNLL-U does, with comments and a first word, has a NUL
    byte, or is XML.

    `first` is the number of the text's first line.
    """
    if (place := text.find("\0")) >= 0:
        line = first + text.count("\n", 0, place)
        raise DataError(name, line, "NUL byte", "a damaged or binary file, or UTF-16 text?")
    if other := raw_format(text):
        raise DataError(name, first, f"this is {other.name}, not raw text", other.remedy)
    if beginning := _BEGINS_AS_CONLLU.match(text):
        line = first + text.count("\n", 0, beginning.start(1))
        remedy = "give it a name that ends in .conllu"
        if is_conllu(name):
            remedy = "it is split into words already: vdgi tag and vdgi parse take it as it is"
        raise DataError(name, line, "this is CoNLL-U, not raw text", remedy)


def form_of(text: str) -> str:
    """A text as a form may have it: runs of white space become a space, but single no-break spaces
    stay.

    >>> form_of("20 \\n 000")
    '20 000'
    """
    if text.isprintable() and "  " not in text:
        return text
    return SPACES.sub(
        lambda run: run[0] if len(run[0]) == 1 and unicodedata.category(run[0]) == "Zs" else " ",
        text,
    )


def escaped(text: str) -> str:
    r"""Text as a value in MISC.

    >>> escaped(" \n|\u00a0")
    '\\s\\n\\p\\u00a0'
    """
    return "".join(map(_escape, text))


@lru_cache(maxsize=1 << 10)
def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    is_odd = SPACES.match(character) or (FORMAT.match(character) and character < "\U00010000")
    return f"\\u{ord(character):04x}" if is_odd else character


def unescaped(value: str) -> str:
    """The text that `escaped` made a value; an unknown escape stays as it is."""

    def meant(escape: re.Match[str]) -> str:
        code = escape[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPED.get(code, escape[0])

    return _ESCAPE.sub(meant, value) if "\\" in value else value

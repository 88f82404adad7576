"""Converts sentences to and from objects of the library `conllu` (`TokenList`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynet_vdgi.data.conllu import Heads, sentence_of
from dynet_vdgi.data.conllu_blocks import Block
from dynet_vdgi.data.conllu_faults import NUMBER
from dynet_vdgi.data.conllu_writing import unchanged
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError, check_kind

if TYPE_CHECKING:
    import conllu


def to_conllu(sentence: Sentence) -> conllu.TokenList:
    """The sentence as an object of the `conllu` library, whose `serialize()` gives the text back.

    ID and HEAD are parsed; FEATS, DEPS and MISC stay text, because that library loses parts of them. It keeps
    comments as a dictionary, so of two comments with one key only the last survives, and a comment without
    `=` is a key without a value.

    Raises: UsageError, the argument is no `Sentence`; UsageError and DataError, as `write`.
    """
    check_kind("sentence", sentence, Sentence, "a Sentence")
    from conllu import parse_token_and_metadata

    def unparsed(columns: list[str], index: int) -> str:
        return columns[index]

    parsers: dict[str, Callable[[list[str], int], Any]] = dict.fromkeys(("feats", "deps", "misc"), unparsed)
    return parse_token_and_metadata(
        unchanged(sentence),
        field_parsers={**parsers, "head": _head},
        metadata_parsers={"__fallback__": lambda key, value: (key, value)},
    )


def from_conllu(tokens: conllu.TokenList, *, heads: Heads = "optional", tags: str = "upos") -> Sentence:
    """The sentence of an object of the `conllu` library: comments, ranges and empty nodes go to its `source`.

    `heads` and `tags` are as in `read`. That library's `parse` drops comments without `=`, except `newdoc`
    and `newpar`. To keep them, read the file with `read`, and convert with `to_conllu` when needed.

    Raises: `DataError` where its text is not sound CoNLL-U; line numbers are those of `tokens.serialize()`.
    `UsageError` for another object, such as the list of sentences that `conllu.parse` gives.
    """
    if not hasattr(tokens, "serialize"):
        raise UsageError(
            f"a {type(tokens).__name__} where a TokenList is expected: convert its items one by one"
        )
    lines = tokens.serialize().rstrip("\n").split("\n")
    if not all(lines):
        what = "an empty line" if any(lines) else "no words"
        raise DataError("<TokenList>", lines.index("") + 1, f"a sentence with {what}")
    return sentence_of(Block("<TokenList>", 1, lines), heads, tags)


def _head(columns: list[str], index: int) -> int | str | None:
    """The number, if it is one; reading with `heads="ignored"` lets any other text through."""
    text = columns[index]
    if NUMBER.fullmatch(text):
        return int(text)
    return None if text == "_" else text

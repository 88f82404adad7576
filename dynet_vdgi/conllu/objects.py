"""Sentences to and from objects of the library conllu (`TokenList`), whose columns are read by
name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dynet_vdgi.conllu.blocks import Block
from dynet_vdgi.conllu.extra_columns import COLUMNS, extra_in
from dynet_vdgi.conllu.faults import quoted
from dynet_vdgi.conllu.reading import HeadPolicy, sentence_of
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import block_of
from dynet_vdgi.errors import DataError, UsageError, check_kind

if TYPE_CHECKING:
    import conllu

KEYS = tuple([column.lower() for column in COLUMNS])
"""The keys of that library's tokens, in the order of the columns."""

EARLIER_KEYS = {"upostag": "upos", "xpostag": "xpos"}
"""What that library called them before its version 3; it takes either for the other."""


def to_conllu(sentence: Sentence) -> conllu.TokenList:
    """The sentence as an object of the `conllu` library, whose `serialize()` gives the text back.

    ID and HEAD are parsed; FEATS, DEPS and MISC stay text, because that library loses parts of
    them. It keeps comments as a dictionary, so of two comments with one key only the last survives,
    and a comment without `=` is a key without a value.

    Raises: UsageError, the argument is no `Sentence`; UsageError and DataError, as `write`.
    """
    check_kind("sentence", sentence, Sentence, "a Sentence")
    from conllu import parse_token_and_metadata

    extra = sentence.source.extra if sentence.source else ()
    return parse_token_and_metadata(
        block_of(sentence),
        fields=[*KEYS, *(name.lower() for name in extra)],
        field_parsers=dict.fromkeys(
            ("feats", "deps", "misc"), lambda columns, index: columns[index]
        ),
        metadata_parsers={"__fallback__": lambda key, value: (key, value)},
    )


def from_conllu(
    tokens: conllu.TokenList, *, heads: HeadPolicy = "optional", tags: str = "upos"
) -> Sentence:
    """The sentence of an object of the `conllu` library: comments, ranges and empty nodes go to its
    `source`.

    Columns are read by the names that the library gives them (`id`, `form`, `lemma`, `upos`,
    `xpos`, `feats`, `head`, `deprel`, `deps`, `misc`; `upostag` and `xpostag`, too), in any order;
    a missing one is `_`. Columns after MISC are those that the comment `global.columns` names.
    `heads` and `tags` are as in `read`. That library's `parse` drops comments without `=`, except
    `newdoc` and `newpar`. To keep them, read the file with `read`, and convert with `to_conllu`
    when needed.

    Raises: `DataError` where it is not sound CoNLL-U; lines are counted as `tokens.serialize()` has
    them. `UsageError` for another object, such as the list of sentences that `conllu.parse` gives,
    or a tree, which has lost ranges and empty nodes; for a key that is no column; and for a value
    that no column can hold.
    """
    from conllu import TokenList, TokenTree
    from conllu.serializer import serialize

    if isinstance(tokens, TokenTree):
        remedy = (
            "give the TokenList from which the tree was made, or conllu.parse(tree.serialize())[0]"
        )
        raise UsageError(f"a TokenTree, which has no multiword tokens and no empty nodes: {remedy}")
    if not isinstance(tokens, TokenList):
        kind = type(tokens).__name__
        raise UsageError(f"a {kind} where a TokenList is expected: convert its items one by one")
    for key, value in (tokens.metadata or {}).items():
        if any(end in f"{key}{value}" for end in "\n\r"):
            raise UsageError(
                f"the comment {quoted(str(key))} has a line end, which CoNLL-U cannot hold"
            )
    comments = serialize(TokenList([], tokens.metadata)).rstrip("\n")
    lines = [*comments.split("\n")] if comments else []
    if not tokens:
        raise DataError("<TokenList>", len(lines) + 1, "a sentence with no words")
    keys = [*KEYS, *(name.lower() for name in extra_in([*lines, "_"], (), are_named=True))]
    lines += [_line(token, number, keys) for number, token in enumerate(tokens, 1)]
    return sentence_of(Block("<TokenList>", 1, lines), heads, tags)


def _line(token: Mapping[str, Any], number: int, columns_in_order: Sequence[str] = KEYS) -> str:
    """The line of a token, the so-manieth of its list. Raises: UsageError, see `from_conllu`."""
    from conllu.exceptions import ParseException
    from conllu.serializer import serialize_field

    place = f"token {number}"
    if not isinstance(token, Mapping):
        raise UsageError(f"{place}: {token!r:.40} is no Token")
    columns = dict.fromkeys(columns_in_order, "_")
    keys: dict[str, str] = {}
    for key, value in token.items():
        name = EARLIER_KEYS.get(key, key)
        if name not in columns:
            remedy = "remove it, or put its value into misc"
            raise UsageError(
                f"{place}: the key {key!r:.40} is no column of CoNLL-U "
                f"({', '.join(columns_in_order)}): {remedy}"
            )
        try:
            text = "_" if value in ([], ()) else serialize_field(value)
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, ParseException):
            raise UsageError(
                f"{place}: {key}={value!r:.60} cannot be written as a column"
            ) from None
        if any(character in text for character in "\t\n\r\0"):
            raise UsageError(f"{place}: {key} cannot hold a tab, a line end or NUL: {quoted(text)}")
        if name in keys and columns[name] != text:
            raise UsageError(
                f"{place}: {keys[name]} and {key} are one column and differ: remove one of them"
            )
        keys[name], columns[name] = key, text
    return "\t".join(columns.values())

"""Reading CoNLL-U strictly.

The format is that of Universal Dependencies, https://universaldependencies.org/format.html. This
module checks its form and the basic tree, but not the inventories of tags and relations. The
`conllu` library reads the same files but silently accepts many faults (wrong column counts, heads
outside the sentence, cycles, two sentences run together); this reader refuses them and names file
and line. `conllu.writing` writes every byte back; `conllu.objects` converts to that library's
objects.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from dynet_vdgi.conllu.blocks import Block, OnFault, items, warn
from dynet_vdgi.conllu.faults import (
    NUMBER,
    TAGGERS,
    BlockCheck,
    FeatsFault,
    Repair,
    feats_fault,
    ignores_feats,
    is_feats,
    is_other_format,
    quoted,
)
from dynet_vdgi.conllu.sentence import Sentence, Source
from dynet_vdgi.conllu.tag_sets import is_punctuation
from dynet_vdgi.conllu.tree_faults import FREE, cycle, listed
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.files import AnyPath
from dynet_vdgi.system.messages import count

HeadPolicy = Literal["optional", "partial", "required", "unchecked", "ignored"]

TAG_COLUMNS = ("upos", "xpos")

KNOWN = "known"
"""Reading for a tagger: tags are UPOS, `_` where that is missing."""

Columns = list[Sequence[str]]
"""The ten columns of a sentence's words."""

_UNDECODED = re.compile("[\udc80-\udcff]")

_SMALL_NUMBERS = {str(number): number for number in range(512)}

_BY_XPOS = "words count as punctuation if their XPOS is a mark such as . , : or begins with PUNCT"

_TREES = "trees are needed here"

_NO_TREES = "read as text without trees, here and below"


def read(
    path: AnyPath,
    *,
    heads: HeadPolicy = "optional",
    tags: str = "upos",
    on_error: OnFault | None = None,
    on_repair: OnFault = warn,
) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, one after the other; memory does not grow with the file.

    `path` may end in `.gz` or be `-` (standard input). Each sentence keeps its lines in `source`.
    `heads` says what column 7 must hold:

    * "optional": a valid tree with one root, or no tree: `_` for all words of a sentence, for some,
      or 0 for all (`heads` is then None; the last two cases are reported to `on_repair`);
    * "partial": as "optional", but a tree may lack the heads of some words, which become FREE;
      the given heads form no cycle, and at most one of them is 0;
    * "required": a valid tree with one root;
    * "unchecked": numbers, of which no tree need be possible (`conllu.tree_faults` says why not),
      or `_`, which is FREE; `heads` is None if all are `_`;
    * "ignored": any non-empty text; `heads` is None.

    `tags` names the column of the sentences' tags, "upos" or "xpos"; it must be filled. With XPOS
    as tags, UPOS still determines punctuation, and is kept in the sentences' `upos`. Words without
    UPOS are then PUNCT if their XPOS says so (see `tags.is_punctuation`), else "_". With "known",
    tags are UPOS and may be `_`.

    With `on_error`, faults are passed to it instead of raised: a faulty sentence is skipped, and at
    most one fault per sentence is reported; that a file is of another format, or cannot be read to
    its end, ends the reading. That FEATS have the form of another format is reported once, at the
    end, with the number of sentences. Windows line ends, a byte-order mark, extra, missing or
    blank-filled empty lines and a missing last line end are mended and reported to `on_repair`
    (default: a warning of the logger "dynet_vdgi"), once a file.

    Raises: `DataError`, with line number, for the first fault in form; also for a file without
    sentences.
    """
    return checked_sentences(items(path), heads, tags, on_error, on_repair)


def checked_sentences(
    items: Iterable[Block | DataError],
    heads: HeadPolicy,
    tags: str,
    on_error: OnFault | None = None,
    on_repair: OnFault = warn,
) -> Iterator[Sentence]:
    """The sentences of blocks, with the faults and repairs among them; arguments and errors as of
    `read`."""
    reported: set[str] = set()
    feats: list[FeatsFault] = []
    for item in items:
        repairs: list[DataError] = []
        sentence = fault = None
        if isinstance(item, Repair):
            repairs.append(item)
        elif isinstance(item, DataError):
            fault = item
        else:
            try:
                sentence = sentence_of(item, heads, tags, repairs.append)
            except DataError as error:
                fault = error
        if sentence is not None:
            yield sentence
        if fault is not None:
            if on_error is None:
                raise fault
            if isinstance(fault, FeatsFault):
                feats.append(fault)
                continue
            on_error(fault)
            if is_other_format(fault.message):  # each further line is a fault
                return
        for repair in repairs:
            if repair.message not in reported:
                reported.add(repair.message)
                on_repair(repair)
    if feats and on_error is not None:
        first, n_more = feats[0], len(feats) - 1
        more = f", as in {count(n_more, 'more sentence')}" if n_more else ""
        on_error(FeatsFault(first.path, first.line, first.message + more, first.hint))


def sentence_of(
    block: Block, heads: HeadPolicy = "optional", tags: str = "upos", on_repair: OnFault = warn
) -> Sentence:
    """The checked sentence of a block; arguments as in `read`, but repairs are reported for every
    block.

    Raises: `DataError` for a fault.
    """
    name, first, lines, soft, extra = block
    by_xpos, has_feats = tags == "xpos", not ignores_feats()
    check = BlockCheck(name, first, extra)
    (_, forms, lemmas, upos, xpos, feats, texts, deprels, _, _), rows = _columns(
        check, lines, tags, has_feats
    )
    tree = None if heads == "ignored" else tree_of(check, texts, rows, heads, on_repair)
    upos_tags = tuple(map(sys.intern, upos))
    if "_" in upos_tags and tags != KNOWN:
        hint = f"{_BY_XPOS}, here and below"
        on_repair(check.repair(rows[upos_tags.index("_")], "column 4 (UPOS) is missing", hint))
        marks = ["PUNCT" if is_punctuation(tag) else "_" for tag in xpos]
        upos_tags = tuple([tag if tag != "_" else mark for tag, mark in zip(upos_tags, marks)])
    return Sentence(
        tuple(forms),
        tuple(map(sys.intern, xpos)) if by_xpos else upos_tags,
        tree,
        Source(name, first, tuple(lines), tuple(rows), extra),
        upos_tags if by_xpos else (),
        _interned(lemmas),
        _interned(xpos),
        _interned(feats) if has_feats else (),
        _interned(deprels) if tree else (),
        soft=soft,
    )


def decoded_sentence_of(block: Block, heads: HeadPolicy, tags: str, on_repair: OnFault) -> Sentence:
    """`sentence_of` a block of a file whose bytes that are not UTF-8 have become lone surrogates.

    Raises: `DataError`, as `sentence_of`, and for such bytes.
    """
    for row, line in enumerate(block.lines):
        if not line.isascii() and (byte := _UNDECODED.search(line)):
            message = f"byte 0x{ord(byte[0]) - 0xDC00:02x} is not UTF-8"
            raise DataError(block.path, block.line + row, message, "save the file as UTF-8")
    return sentence_of(block, heads, tags, on_repair)


def _columns(
    block: BlockCheck, lines: Sequence[str], tag_column: str, has_feats: bool
) -> tuple[Columns, Sequence[int]]:
    """Columns and rows of the words of a block. Raises: `DataError`, the first fault."""
    words: list[list[str]] = []
    rows: list[int] = []
    for row, columns, is_word in block.token_lines(lines):
        if has_feats and not is_feats(columns[5]):
            raise feats_fault(block, row, columns[5])
        if not is_word:
            continue
        if columns[3] == "_" and tag_column == "upos":
            use_xpos = "to use column 5, XPOS: --set data.tags=xpos; otherwise "
            hint = (use_xpos if columns[4] != "_" else "") + TAGGERS
            raise block.fault(row, "column 4 (UPOS) is missing", hint)
        if columns[4] == "_" and tag_column == "xpos":
            hint = "tags are taken from there: fill it, or set data.tags=upos"
            raise block.fault(row, "column 5 (XPOS) is missing", hint)
        words.append(columns)
        rows.append(row)
    return list(zip(*words)), rows


def _interned(column: Sequence[str]) -> tuple[str, ...]:
    """A column whose equal entries share memory; empty if no word has an entry."""
    if column[0] == "_" and column.count("_") == len(column):
        return ()
    return tuple(map(sys.intern, column))


def tree_of(
    block: BlockCheck,
    texts: Sequence[str],
    rows: Sequence[int],
    policy: HeadPolicy,
    on_repair: OnFault,
) -> tuple[int, ...] | None:
    """The heads if they form a tree with one root; None where heads may be missing, all or some,
    and are."""
    n_words, n_missing = len(texts), texts.count("_")
    small_numbers = [number for number in map(_SMALL_NUMBERS.get, texts) if number is not None]
    if (
        len(small_numbers) == n_words
        and small_numbers.count(0) == 1
        and max(small_numbers) <= n_words
        and not cycle(small_numbers)
    ):
        return tuple(small_numbers)
    if policy == "unchecked" and n_missing == n_words:
        return None
    if policy == "unchecked":
        pairs = zip(rows, texts)
        circle = [
            FREE if text == "_" else _number(block, row, text, n_words) for row, text in pairs
        ]
        return tuple(circle)
    if n_missing:
        row = rows[texts.index("_")]
        if policy == "required":
            which = "" if n_missing == n_words else f" for {n_missing} of {count(n_words, 'word')}"
            raise block.fault(row, f"column 7 (HEAD) is missing{which}", _TREES)
        if policy != "partial" and n_missing < n_words:
            message = "column 7 (HEAD) is filled for some words of the sentence only"
            on_repair(block.repair(row, message, _NO_TREES))
        if policy != "partial" or n_missing == n_words:
            return None
    if texts.count("0") == n_words > 1:
        message = "HEAD is 0 for every word of the sentence"
        if policy == "required":
            raise block.fault(rows[0], message, _TREES)
        on_repair(block.repair(rows[0], message, _NO_TREES))
        return None
    heads = []
    for word, text in enumerate(texts, 1):
        if text == "_":
            heads.append(FREE)
            continue
        head = _number(block, rows[word - 1], text, n_words)
        if head > n_words:
            raise block.fault(rows[word - 1], f"HEAD {head} is outside the sentence (1..{n_words})")
        if head == word:
            raise block.fault(rows[word - 1], f"word {word} is its own head")
        heads.append(head)
    n_roots = heads.count(0)
    if n_roots == 0 and not n_missing:
        raise block.fault(rows[0], "no root", "exactly one word must have HEAD 0")
    if n_roots > 1:
        roots = [word for word, head in enumerate(heads, 1) if head == 0]
        message = f"{n_roots} roots: words {listed(roots)}"
        raise block.fault(rows[roots[1] - 1], message, "exactly one word must have HEAD 0")
    if circle := cycle(heads):
        raise block.fault(rows[circle[0] - 1], f"cycle of heads through words {listed(circle)}")
    return tuple(heads)


def _number(block: BlockCheck, row: int, text: str, n_words: int) -> int:
    """The number in column 7 of a row."""
    head = _SMALL_NUMBERS.get(text, -1)
    if head >= 0:
        return head
    if not NUMBER.fullmatch(text):
        hint = f"expected 0 (root) or 1..{n_words}"
        raise block.fault(row, f"HEAD {quoted(text)} is not a valid number", hint)
    return int(text)

"""CoNLL-U as blocks of lines, cut without looking into them, and the faults of their form."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from dynet_vdgi.conllu.extra_columns import extra_in
from dynet_vdgi.conllu.faults import Repair
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.files import AnyPath, lines_of, shown
from dynet_vdgi.system.limits import limit, to_raise

if TYPE_CHECKING:
    from dynet_vdgi.conllu.soft_tags import SoftTags

OnFault = Callable[[DataError], None]

WINDOW = 1 << 20
"""Characters of sentences that are handed on together."""

_LOGGER = logging.getLogger("dynet_vdgi")


class Block(NamedTuple):
    """The lines of one sentence, without line ends, before anything is checked."""

    path: str
    line: int  # number of its first line in the file
    lines: list[str]
    soft: SoftTags | None = None  # of its words, if a tagger chose tags
    extra: tuple[str, ...] = ()  # names of the columns after MISC


def blocks(
    path: AnyPath, on_repair: OnFault | None = None, *, undecoded: bool = False
) -> Iterator[Block]:
    """The sentences of a file as unchecked blocks, for `sentence_of`, perhaps in another process.

    undecoded: bytes that are not UTF-8 become lone surrogates, see `files.lines_of`.

    Raises: `DataError` where the file cannot be read, and for a file without sentences.
    """
    for item in items(path, undecoded=undecoded):
        if isinstance(item, Repair):
            (on_repair or warn)(item)
        elif isinstance(item, DataError):
            raise item
        else:
            yield item


def windows(blocks: Iterable[Block], times: int = 1) -> Iterator[list[Block]]:
    """The blocks in lists of at least `times` WINDOW characters; the last may be smaller.

    Raises: `DataError`, as the iterator of the blocks does, after the blocks before it.
    """
    window: list[Block] = []
    size = 0
    try:
        for block in blocks:
            window.append(block)
            size += sum(map(len, block.lines))
            if size >= times * WINDOW:
                yield window
                window, size = [], 0
    except DataError:
        if window:
            yield window
        raise
    if window:
        yield window


def blocks_in(text: str, name: str) -> list[Block]:
    """The sentences of a text with regular line ends and one empty line after each sentence.

    The text is the program's own: lines may have columns after MISC though no comment names them.
    """
    blocks: list[Block] = []
    extra: tuple[str, ...] = ()
    number = 1
    for block in text[:-2].split("\n\n"):
        lines = block.split("\n")
        extra = extra_in(lines, extra, are_named=False)
        blocks.append(Block(name, number, lines, None, extra))
        number += len(lines) + 1
    return blocks


def warn(repair: DataError) -> None:
    """The default treatment of repairs."""
    _LOGGER.warning("%s", repair)


def ignore(repair: DataError) -> None:
    """The treatment of repairs that are reported elsewhere."""


def items(path: AnyPath, *, undecoded: bool = False) -> Iterator[Block | DataError]:
    """Blocks, faults of the file and repairs, in file order; `undecoded` as in `blocks`."""
    name = shown(path)
    hint = "the file is empty: was it downloaded in full?"
    try:
        for item in _cut(lines_of(path, undecoded=undecoded), name):
            if not isinstance(item, Repair):
                hint = ""
            elif hint:
                hint = "the file holds only empty lines"
            yield item
    except DataError as error:
        yield error
    else:
        if hint:
            yield DataError(name, None, "no sentences", hint)


def _cut(lines: Iterable[str], name: str) -> Iterator[Block | DataError]:
    """Blocks of lines; finds the faults to repair. A block that is too large appears as a fault in
    its place.

    Repairs precede their block, but follow that of line 1, which may show that the file is not
    CoNLL-U.
    """
    reported: set[str] = set()
    repairs: list[Repair] = []
    extra: tuple[str, ...] = ()

    def repair(line: int, message: str, hint: str) -> None:
        if message not in reported:
            reported.add(message)
            repairs.append(Repair(name, line, message, hint))

    def with_repairs(block: Block) -> list[Block | Repair]:
        items: list[Block | Repair] = [*repairs, block] if block.line > 1 else [block, *repairs]
        repairs.clear()
        return items

    block: list[str] = []
    first = number = size = 0
    most_lines, most_characters = limit("lines"), limit("sentence")
    # the rest of a block that is too large, up to the next empty line
    is_skipped, ended = False, True
    for number, line in enumerate(lines, 1):
        if line[-1] != "\n":
            ended = False
            repair(number, "no line end after the last line", "added")
        elif line.endswith("\r\n"):
            line = line[:-2]
            repair(number, "Windows line end (CRLF)", "read as LF, here and below")
        else:
            line = line[:-1]
        if number == 1 and line.startswith("\ufeff"):
            line = line[1:]
            repair(number, "byte-order mark", "removed")
        if line and not line.isspace():
            if is_skipped:
                continue
            if not block:
                first, size = number, 0
            block.append(line)
            size += len(line)
            if len(block) > most_lines or size > most_characters:
                what, unit = "lines", "lines"
                if len(block) <= most_lines:
                    what, unit = "sentence", "characters"
                hint = f"not a CoNLL-U file? {to_raise(what)}"
                yield DataError(name, first, f"no empty line in {limit(what)} {unit}", hint)
                block, is_skipped = [], True
            continue
        if not block and not is_skipped:
            repair(number, "needless empty line", "skipped, here and below")
        elif line:
            repair(number, "white space in an empty line", "removed, here and below")
        if block:
            extra = extra_in(block, extra)
            yield from with_repairs(Block(name, first, block, None, extra))
        block, is_skipped = [], False
    if block:
        if ended:
            repair(number, "no empty line after the last sentence", "added")
        yield from with_repairs(Block(name, first, block, None, extra_in(block, extra)))
    yield from repairs

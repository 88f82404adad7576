"""Cuts CoNLL-U files into sentences without checking what is in them; `conllu` does that.

While the ends of lines are regular, whole texts are cut at once.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from dynet_vdgi.data.conllu_faults import Repair
from dynet_vdgi.data.files import AnyPath, TextSource, open_source, shown
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.limits import limit, to_raise

OnFault = Callable[[DataError], None]

TEXT = 1 << 20
"""Bytes in a passage that make it worth handing on."""

CHUNK, _LONGEST = 1 << 13, 1 << 18  # bytes handed on at least, and looked at at most
_LOGGER = logging.getLogger("dynet_vdgi")
_NEWLINE = ord("\n")
_LINE_BEGINS_BLANK = re.compile(r"\n[^\S\n]")
_USUAL = frozenset(b"#0123456789\n")
"""How most lines begin."""


class Block(NamedTuple):
    """The lines of one sentence, without line ends, before anything is checked."""

    path: str
    line: int  # number of its first line in the file
    lines: list[str]


class Passage(NamedTuple):
    """Some whole sentences with regular line ends and one empty line between each two."""

    path: str
    line: int  # number of its first line in the file
    content: bytes  # UTF-8; ends with an empty line

    @property
    def text(self) -> str:
        return self.content.decode()

    def blocks(self) -> Iterator[Block]:
        number = self.line
        for block in self.text[:-2].split("\n\n"):
            lines = block.split("\n")
            yield Block(self.path, number, lines)
            number += len(lines) + 1


def blocks(path: AnyPath, on_repair: OnFault | None = None) -> Iterator[Block]:
    """The sentences of a file as unchecked blocks, for `sentence_of`, perhaps in another process.

    Raises: `DataError` where the file cannot be read, and for a file without sentences.
    """
    for item in passages(path, on_repair, size=CHUNK):
        if isinstance(item, Block):
            yield item
        else:
            yield from item.blocks()


def passages(path: AnyPath, on_repair: OnFault | None = None, size: int = TEXT) -> Iterator[Passage | Block]:
    """The sentences of a file, in passages of at least `size` bytes (the last may be smaller).

    A sentence with an odd line comes as a block of its own.

    Raises: as `blocks`.
    """
    for item in raw_items(path, size):
        if isinstance(item, (Passage, Block)):
            yield item
        elif isinstance(item, Repair):
            (on_repair or warn)(item)
        else:
            raise item


def warn(repair: DataError) -> None:
    """The default treatment of repairs."""
    _LOGGER.warning("%s", repair)


def raw_items(path: AnyPath, size: int) -> Iterator[Passage | Block | DataError]:
    """Texts of at least `size` bytes or blocks, faults of the file and repairs, in file order."""
    name = shown(path)
    hint = "the file is empty: was it downloaded in full?"
    try:
        with open_source(path) as source:
            for item in _read_passages(source, name, size):
                if isinstance(item, Repair):
                    hint = hint and "the file holds only empty lines"
                else:
                    hint = ""
                yield item
    except DataError as error:
        yield error
    else:
        if hint:
            yield DataError(name, None, "no sentences", hint)


def _read_passages(source: TextSource, name: str, size: int) -> Iterator[Passage | Block | DataError]:
    """The content of a file: texts while nothing is odd, then blocks between empty lines, and repairs.

    A block that is too large appears as a fault in its place.
    """
    parts: list[bytes] = []
    rest, n_ready, first, number = b"", 0, 1, 1
    while len(rest) <= _LONGEST <= limit("line"):
        piece = source.piece(size)
        if piece is None:
            break
        ended, found, begun = (rest + piece).rpartition(b"\n\n")
        is_whole = bool(piece) or not begun
        n_lines = _plain_lines(ended + found) if is_whole else None
        if n_lines is None:
            rest += piece
            break
        rest = begun
        if found:
            parts += (ended, found)
            n_ready += len(ended)
            number += n_lines
        if n_ready >= size or (parts and not piece):
            yield Passage(name, first, b"".join(parts))
            parts, n_ready, first = [], 0, number
        if not piece:
            return
    if parts:
        yield Passage(name, first, b"".join(parts))
    yield from _blocks_line_by_line(source.text(rest, number - 1), name, number - 1)


def _plain_lines(text: bytes) -> int | None:
    """The number of lines; None: maybe two empty lines, white space before one, odd line ends or letters."""
    import numpy as np  # late: the program's help imports modules that name CoNLL-U

    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    if text[:1] == b"\n" or (ends[2:] - ends[:-2] == 2).any() or b"\r" in text:
        return None
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return None
    begins = np.flatnonzero(np.bincount(data[ends[:-1] + 1]))
    if not _USUAL.issuperset((*text[:1], *begins.tolist())) and (
        decoded[0].isspace() or decoded[0] == "\ufeff" or _LINE_BEGINS_BLANK.search(decoded)
    ):
        return None
    return len(ends)


def _blocks_line_by_line(handle: Iterable[str], name: str, before: int) -> Iterator[Block | DataError]:
    """Blocks of the lines after the first `before`; finds the faults to repair.

    Repairs precede their block, but follow that of line 1, which may show that the file is not CoNLL-U.
    """
    told: set[str] = set()
    found: list[Repair] = []

    def repair(line: int, message: str, hint: str) -> None:
        if message not in told:
            told.add(message)
            found.append(Repair(name, line, message, hint))

    def with_repairs(block: Block) -> list[Block | Repair]:
        items: list[Block | Repair] = [*found, block]
        if block.line == 1:
            items = [block, *found]
        found.clear()
        return items

    lines: list[str] = []
    first, number, size = 0, before, 0
    most_lines, most_characters = limit("lines"), limit("sentence")
    is_skipped, ended = False, True  # the rest of a block that is too large, up to the next empty line
    for number, line in enumerate(handle, before + 1):
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
            if not lines:
                first, size = number, 0
            lines.append(line)
            size += len(line)
            if len(lines) > most_lines or size > most_characters:
                what = "lines" if len(lines) > most_lines else "sentence"
                yield _too_large(name, first, what)
                lines, is_skipped = [], True
            continue
        if not lines and not is_skipped:
            repair(number, "needless empty line", "skipped, here and below")
        elif line:
            repair(number, "white space in an empty line", "removed, here and below")
        if lines:
            yield from with_repairs(Block(name, first, lines))
        lines, is_skipped = [], False
    if lines:
        if ended:
            repair(number, "no empty line after the last sentence", "added")
        yield from with_repairs(Block(name, first, lines))
    yield from found


def _too_large(name: str, first: int, what: str) -> DataError:
    """The fault of a block that begins in this line and exceeds a limit."""
    unit = "lines" if what == "lines" else "characters"
    message = f"no empty line in {limit(what)} {unit}"
    return DataError(name, first, message, f"not a CoNLL-U file? {to_raise(what)}")

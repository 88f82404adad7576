"""CoNLL-U files cut into sentences, before anything in them is checked; `conllu` checks it.

As long as nothing is odd about the ends of lines, whole texts are cut at once.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple, TextIO

from dynet_vdgi.data.conllu_faults import Repair
from dynet_vdgi.data.files import AnyPath, open_text, shown
from dynet_vdgi.errors import DataError
from dynet_vdgi.limits import limit, to_raise

OnFault = Callable[[DataError], None]

TEXT = 1 << 20
"""Characters that are worth handing on together."""

CHUNK, _LONGEST = 1 << 13, 1 << 18  # characters that are read, or looked at, at once
_LOGGER = logging.getLogger("dynet_vdgi")
_LINE_BEGINS_BLANK = re.compile(r"\n[^\S\n]")


class Block(NamedTuple):
    """The lines of one sentence, without line ends, before anything is checked."""

    path: str
    line: int  # number of its first line in the file
    lines: list[str]


class Passage(NamedTuple):
    """Some whole sentences, whose lines end as they should and between which there is one empty line."""

    path: str
    line: int  # number of its first line in the file
    text: str  # ends with an empty line

    def blocks(self) -> Iterator[Block]:
        """Its sentences."""
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
    """The same, as long as no line is odd as texts, each of so many characters at least but for the last.

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
    """What is done about repairs unless something else is asked for."""
    _LOGGER.warning("%s", repair)


def raw_items(path: AnyPath, size: int) -> Iterator[Passage | Block | DataError]:
    """Texts of so many characters at least or blocks, faults of the file and repairs, in file order."""
    name = shown(path)
    hint = "file is empty; a Git LFS or partial checkout?"
    try:
        with open_text(path) as handle:
            for item in _read_passages(handle, name, size):
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


def _read_passages(handle: TextIO, name: str, size: int) -> Iterator[Passage | Block | DataError]:
    """What is in a file: as long as nothing is odd, texts; then blocks between empty lines, and repairs.

    A block that is too large is a fault in its place.
    """
    parts: list[str] = []
    text, n_ready, first, number = "", 0, 1, 1
    fault: Exception | None = None
    try:
        while True:
            piece = handle.read(CHUNK)  # a fault takes what is read with it along
            text += piece
            is_whole = bool(piece) or text.endswith("\n\n")
            if not is_whole or len(text) > _LONGEST or _has_odd_lines(text):
                break
            ended, found, text = text.rpartition("\n\n")
            if found:
                parts += (ended, found)
                n_ready += len(ended)
                number += ended.count("\n") + 2
            if n_ready >= size or (parts and not piece):
                yield Passage(name, first, "".join(parts))
                parts, n_ready, first = [], 0, number
            if not piece:
                return
    except (DataError, UnicodeDecodeError) as error:  # what stands before it comes first
        fault = error
    if parts:
        yield Passage(name, first, "".join(parts))
    if fault is not None:
        raise fault
    begun = io.StringIO(text + handle.readline(), newline="\n")
    yield from _blocks_line_by_line(chain(begun, handle), name, number - 1)


def _has_odd_lines(text: str) -> bool:
    """Whether text between two empty lines may have another one, white space before a line, or odd ends."""
    if text[0].isspace() or text[0] == "\ufeff" or "\r" in text or "\n\n\n" in text:
        return True
    return _LINE_BEGINS_BLANK.search(text) is not None


def _blocks_line_by_line(handle: Iterable[str], name: str, before: int) -> Iterator[Block | DataError]:
    """Blocks of the lines after the first `before`; finds what is to be repaired."""
    told: set[str] = set()

    def repair(line: int, message: str, hint: str) -> Iterator[Repair]:
        if message not in told:
            told.add(message)
            yield Repair(name, line, message, hint)

    lines: list[str] = []
    first, number, size = 0, before, 0
    most_lines, most_characters = limit("lines"), limit("sentence")
    is_skipped, ended = False, True  # the rest of a block that is too large, up to the next empty line
    for number, line in enumerate(handle, before + 1):
        if line[-1] != "\n":
            ended = False
            yield from repair(number, "no line end after the last line", "added")
        elif line.endswith("\r\n"):
            line = line[:-2]
            yield from repair(number, "Windows line end (CRLF)", "read as LF, here and below")
        else:
            line = line[:-1]
        if number == 1 and line.startswith("\ufeff"):
            line = line[1:]
            yield from repair(number, "byte-order mark", "removed")
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
            yield from repair(number, "needless empty line", "skipped, here and below")
        elif line:
            yield from repair(number, "white space in an empty line", "removed, here and below")
        if lines:
            yield Block(name, first, lines)
        lines, is_skipped = [], False
    if lines:
        if ended:
            yield from repair(number, "no empty line after the last sentence", "added")
        yield Block(name, first, lines)


def _too_large(name: str, first: int, what: str) -> DataError:
    """The fault of a block that begins in this line and goes on beyond a limit."""
    unit = "lines" if what == "lines" else "characters"
    message = f"no empty line in {limit(what)} {unit}"
    return DataError(name, first, message, f"not a CoNLL-U file? {to_raise(what)}")

"""Rows of word-vector files: detects the format from the content, takes wanted rows, counts odd rows.

Text (GloVe's; word2vec's and fastText's with a header `rows dimensions`) and word2vec's binary format. A file
is read once, from beginning to end; memory grows with the wanted rows, not with the file.
"""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data import files
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.limits import limit, to_raise
from dynet_vdgi.system.names import count as counted

Floats = NDArray[np.float32]
Row = tuple[int, bytes, bytes]  # its number (of the line in text), word, numbers
Fields = Sequence[float | bytes]

BUFFER = 1 << 20  # bytes read at once; the first of them reveal the format
SNIFFED_ROWS = 100
BEGINNING = 3  # words of the file that a message names when the file has none of the wanted words

_BOM = b"\xef\xbb\xbf"
_NOT_VECTORS = {  # first bytes of files that are often mistaken for vectors
    b"\x1f\x8b": ("gzip data", "its name must end in .gz"),
    b"\xff\xfe": ("UTF-16 text", "save the file as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save the file as UTF-8"),
    b"\x80": ("a Python pickle", "pickles can run code; save the vectors with gensim's save_word2vec_format"),
    b"version https://git-lfs": ("a Git LFS pointer", "fetch the file itself: git lfs pull"),
}
_HTML = re.compile(rb"\s*<(!doctype|html|head|\?xml)", re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # bytes that do not occur in text
_DECIMAL = re.compile(rb"[-+]?\d*\.\d+(e[-+]?\d+)?", re.IGNORECASE)
_HINT = "cut off, or not a file of word vectors?"


@contextmanager
def byte_stream(path: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file, decompressed; faults are reported as by `files.open_text`."""
    with files.open_text(path, has_lines=False) as text:
        yield io.BufferedReader(cast(io.RawIOBase, text.buffer), BUFFER)


def refuse_others(path: str, head: bytes) -> None:
    """Raises `DataError` if the first bytes of a file belong to another well-known format."""
    name = files.shown(path)
    if not head.strip():
        raise DataError(name, None, "the file is empty", "download it again, or fetch it: git lfs pull")
    if _HTML.match(head):
        raise DataError(name, None, "this is a web page, not a file of word vectors", "download it again")
    for start, (what, hint) in _NOT_VECTORS.items():
        if head.startswith(start):
            raise DataError(name, None, f"this is {what}, not a file of word vectors", hint)


@dataclass(frozen=True)
class WantedRows:
    """Vectors (dim,) of words, in the file's order, notes on the other rows, and the file's first words."""

    vectors: dict[str, Floats]
    dim: int
    notes: tuple[str, ...]
    beginning: tuple[str, ...]


def wanted_rows(path: str, stream: io.BufferedReader, wanted: Collection[str]) -> WantedRows:
    """The rows of a stream whose words are wanted; the first row of a word counts.

    Rows unlike the others, or not in UTF-8, are skipped and noted.

    Raises: DataError, no row is sound, or a wanted one has a value that is no finite number.
    """
    layout = _layout(path, stream.peek(BUFFER))
    if stream.peek(len(_BOM)).startswith(_BOM):
        stream.read(len(_BOM))
    if layout.promised is not None:
        stream.readline()
    keys = {word.encode(errors="surrogatepass"): word for word in wanted}
    malformed, not_utf8, repeated = _Oddities(), _Oddities(), _Oddities()
    vectors: dict[str, Floats] = {}
    beginning: list[str] = []
    n_rows = 0
    rows = (
        _binary_rows(stream, layout, malformed)
        if layout.binary
        else _text_rows(path, stream, layout, malformed)
    )
    for n_rows, (number, word, numbers) in enumerate(rows, 1):
        if word in keys:
            if keys[word] in vectors:
                repeated.add(number, keys[word])
            else:
                vectors[keys[word]] = _vector(path, layout, number, keys[word], numbers)
        elif not word.isascii() and not _is_utf8(word):
            not_utf8.add(number)
        if n_rows <= BEGINNING:
            beginning.append(word.decode(errors="replace"))
    if not n_rows:
        message = f"no row is a word and {counted(layout.dim, 'number')}, separated by spaces"
        raise DataError(files.shown(path), malformed.number or None, message, _HINT)
    notes = _notes(layout, n_rows + malformed.count, malformed, not_utf8, repeated)
    return WantedRows(vectors, layout.dim, tuple(notes), tuple(beginning))


# Format


@dataclass(frozen=True)
class _Layout:
    dim: int
    binary: bool
    promised: int | None  # rows according to the header, None without header

    def place(self, number: int) -> str:
        return f"{'row' if self.binary else 'line'} {number:,}"


def _layout(path: str, head: bytes) -> _Layout:
    """The format of a file, detected from its beginning.

    Raises: `DataError` where there is no row of a word and numbers.
    """
    name = files.shown(path)
    lines = head[len(_BOM) if head.startswith(_BOM) else 0 :].split(b"\n")
    header = re.fullmatch(rb"(\d{1,18}) ([1-9]\d{0,8})\s*", lines[0])
    widths = [_n_numbers(line) for line in lines[1 if header else 0 :][:SNIFFED_ROWS]]
    if header:
        promised, dim = map(int, header.groups())
        if 4 * dim > limit("line"):
            raise DataError(name, 1, f"the header says {counted(dim, 'number')} a row", to_raise("line"))
        if any(width >= dim for width in widths):
            return _Layout(dim, False, promised)
        if _CONTROL.search(head) or not _is_utf8(head, complete=False):
            return _Layout(dim, True, promised)
        message = f"the header says {counted(dim, 'number')} a row, but the first rows have fewer"
        raise DataError(name, 1, message, _HINT)
    frequent = Counter(width for width in widths if width > 1)
    if not frequent:
        message = "no row of a word and its numbers, separated by spaces"
        raise DataError(name, None, message, "expected vectors of GloVe, word2vec or fastText")
    return _Layout(max(frequent, key=lambda width: (frequent[width], width)), False, None)


def _n_numbers(line: bytes) -> int:
    """How many fields at the end of a line are numbers; at least one is left to be the word."""
    fields = line.rstrip(b" \r\n").split(b" ")
    count = 0
    while count < len(fields) - 1 and _number(fields[-1 - count]) is not None:
        count += 1
    return count


def _number(field: float | bytes) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _is_utf8(data: bytes, complete: bool = True) -> bool:
    """Whether this is UTF-8; unless `complete`, the last letter may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, complete)
    except UnicodeDecodeError:
        return False
    return True


# Rows


class _Oddities:
    """Rows of one kind that are not used: their number, and the first."""

    def __init__(self) -> None:
        self.count, self.number, self.word = 0, 0, ""

    def add(self, number: int, word: str = "") -> None:
        if not self.count:
            self.number, self.word = number, word
        self.count += 1


def _text_rows(path: str, stream: io.BufferedReader, layout: _Layout, malformed: _Oddities) -> Iterator[Row]:
    """Sound rows of text; a word may have spaces inside, as some of GloVe's do."""
    dim, longest = layout.dim, limit("line")
    lines = iter(partial(stream.readline, longest + 1), b"")
    for number, line in enumerate(lines, 1 if layout.promised is None else 2):
        if len(line) > longest:
            raise DataError(
                files.shown(path), number, f"a line of more than {longest} bytes", to_raise("line")
            )
        row = line.rstrip(b" \r\n")
        spaces = row.count(b" ")
        if spaces == dim:
            end = row.find(b" ")
        elif spaces > dim:
            end = len(row.rsplit(b" ", dim)[0])
            if _DECIMAL.fullmatch(row[:end].rpartition(b" ")[2]):  # no end of a word, but a number too many
                malformed.add(number)
                continue
        else:
            if row:
                malformed.add(number)
            continue
        yield number, row[:end], row[end + 1 :]


def _binary_rows(stream: io.BufferedReader, layout: _Layout, malformed: _Oddities) -> Iterator[Row]:
    """Rows of word2vec's binary format, whose own program ends them with a newline."""
    size = 4 * layout.dim
    data, start, number = b"", 0, 0
    while True:
        space = data.find(b" ", start)
        end = space + 1 + size
        if space >= 0 and end <= len(data):
            number += 1
            yield number, data[start:space].lstrip(b"\n"), data[space + 1 : end]
            start = end
            continue
        endless = space < 0 and len(data) - start > BUFFER
        more = b"" if endless else stream.read(max(BUFFER, size))
        data, start = data[start:] + more, 0
        if not more:
            if data.strip(b"\n"):
                malformed.add(number + 1)
            return


def _vector(path: str, layout: _Layout, number: int, word: str, numbers: bytes) -> Floats:
    """The numbers of a row (dim,).

    Raises: `DataError` for a field that is not a number, or not finite.
    """
    fields: Fields = np.frombuffer(numbers, "<f4").tolist() if layout.binary else numbers.split(b" ")
    values = np.array([_number(field) for field in fields], np.float64)  # None becomes nan
    bad = np.flatnonzero(~(np.abs(values) <= np.finfo(np.float32).max))
    if not len(bad):
        return values.astype(np.float32)
    field = fields[bad[0]]
    shown = field.decode(errors="backslashreplace") if isinstance(field, bytes) else f"{field:g}"
    message = f"number {bad[0] + 1} of {word!r} is {shown!r}, not a finite number"
    if layout.binary:
        raise DataError(files.shown(path), None, f"{layout.place(number)}: {message}")
    raise DataError(files.shown(path), number, message, "mend the row or delete it")


def _notes(
    layout: _Layout, n_rows: int, malformed: _Oddities, not_utf8: _Oddities, repeated: _Oddities
) -> Iterator[str]:
    if layout.promised is not None and layout.promised != n_rows:
        missing = ": the file was cut off?" if layout.promised > n_rows else ""
        yield f"  the header promises {counted(layout.promised, 'row')}, there are {n_rows:,}{missing}"
    what = f"without a word and {counted(layout.dim, 'number')}"
    for oddities, kind in (
        (malformed, what),
        (not_utf8, "not in UTF-8"),
        (repeated, "of a word that has one already"),
    ):
        if oddities.count:
            word = f"{oddities.word!r}, " if oddities.word else ""
            first = f"first: {word}{layout.place(oddities.number)}"
            yield f"  {counted(oddities.count, 'row')} {kind} passed over ({first})"

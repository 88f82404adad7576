"""Which format a file of word vectors has, told from its bytes; other files are refused by name.

A file is binary only if its bytes cannot be text, so text with a fault never becomes numbers: the
lines of a binary file hardly ever end in a number that people can read. All rows are counted before
any is read, because gensim reads as many as the header says, and stretches a row of one number to a
whole vector.
"""

from __future__ import annotations

import gzip
import os
import re
import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import BinaryIO, Literal, NamedTuple

from dynet_vdgi.errors import DataError
from dynet_vdgi.system import files
from dynet_vdgi.system.messages import count

HEAD = 1 << 16
"""Bytes that are read first."""

LONGEST_ROW = 1 << 24
"""Bytes of a row of text."""

LONGEST_WORD = 1 << 13
"""Bytes of a word in a binary file."""

FASTTEXT = struct.pack("<i", 793712314)
"""First bytes of fastText's own format."""

_DEFLATED = 1000  # times smaller than its content, gzip data may be at most

_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?(\d{1,18}) ([1-9]\d{0,8})\s*\n")

_NUMBER = re.compile(
    rb"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE
)

_NUMBER_LIKE = re.compile(rb"[-+.,]*\d[-+.,\deE]*|[-+]?(?:nan|inf(?:inity)?)", re.IGNORECASE)

_DECIMAL_COMMA = re.compile(rb"[-+]?\d*,\d+(?:[eE][-+]?\d+)?")

_WHOLE = re.compile(rb"\d+")

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")

_SAMPLE = 100  # lines that tell text from bytes

_FEW_NUMBERS = 5  # numbers of a row; whole ones of three digits count words

_GENSIM = "load it there, and write it by save_word2vec_format(FILE, binary=True)"

_WRITE = (
    "write its words and vectors as text: "
    "a word and its numbers a line, with single blanks between them"
)

_UNPACK = "unpack it, and name the file of vectors in it"

_SAVE = "save its rows as plain text"

_FETCH = "the download failed: fetch the file itself"

_OTHER_FILES: tuple[tuple[bytes, str, str], ...] = (
    # How they begin, what they are, and what to do; the first that fits counts.
    (rb"PK\x03\x04(?s:.){0,150}\.npy", "NumPy's format .npz", _WRITE),
    (rb"PK\x03\x04(?s:.){0,300}/data\.pkl", "a model of PyTorch", _WRITE),
    (rb"PK\x03\x04(?s:.){0,300}\[Content_Types\]\.xml", "a Word or Excel file", _SAVE),
    (rb"PK[\x03\x05\x07][\x04\x06\x08]", "a zip archive", f"{_UNPACK}: unzip"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", f"{_UNPACK}: 7z x"),
    (rb"Rar!\x1a\x07", "a RAR archive", f"{_UNPACK}: unrar x"),
    (rb"\xfd7zXZ\0", "an xz file", f"{_UNPACK}: xz -d"),
    (rb"\x5d\0\0[\0-\xff]{2}\xff{8}", "an lzma file", f"{_UNPACK}: xz -d"),
    (rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", "a bzip2 file", f"{_UNPACK}: bunzip2"),
    (rb"\x28\xb5\x2f\xfd", "a Zstandard file", f"{_UNPACK}: unzstd"),
    (rb"\x04\x22\x4d\x18", "an lz4 file", f"{_UNPACK}: unlz4"),
    (rb"\x1f\x9d", "a file of compress (.Z)", f"{_UNPACK}: uncompress"),
    (
        rb"\x1f\x8b",
        "gzip data without a name in .gz",
        "rename it to NAME.gz; tar -xzf, if its name ends in .tgz",
    ),
    (rb"(?s).{257}ustar", "a tar archive", f"{_UNPACK}: tar -xf"),
    (rb"\x80[\x02-\x05](?s:.){0,300}gensim", "a model in gensim's own format (a pickle)", _GENSIM),
    (rb"\x80\x02\x8a\nl\xfc\x9cF\xf9", "a model of PyTorch", _WRITE),
    (
        rb"\x80[\x02-\x05]|c(?:copy_reg|numpy|gensim|collections)\S*\n|\([dl]p\d+\n",
        "a pickle of Python",
        _WRITE,
    ),
    (
        rb"\x93NUMPY",
        "an array of NumPy (.npy), without words",
        f"if gensim wrote it, name no part: {_GENSIM}",
    ),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", _WRITE),
    (rb"[\0-\xff]{6}\0\0\{\"", "a safetensors file", _WRITE),
    (rb"GGUF", "a GGUF model", _WRITE),
    (rb"SQLite format 3\0", "an SQLite database", _WRITE),
    (rb"PAR1|ARROW1|FEA1", "a Parquet or Arrow table", _WRITE),
    (rb"%PDF-", "a PDF file", "fetch the file of vectors"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8", "a picture", "another path?"),
    (rb"\x7fELF|MZ\x90\0", "a program", "another path?"),
    (rb"\xd0\xcf\x11\xe0", "an old Word or Excel file", _SAVE),
    (
        rb"\xff\xfe|\xfe\xff|(?:[ -~]\0){4}|(?:\0[ -~]){4}",
        "UTF-16 or UTF-32",
        "save the file as UTF-8",
    ),
    (rb"version https://git-lfs", "a pointer of Git LFS", "fetch the file itself: git lfs pull"),
    (rb"\s*<(?i:!doctype|html|head|\?xml)\b", "a web page (HTML or XML)", _FETCH),
    (rb"\s*(?:\{\s*\"|\[\s*[\[{\"])", "JSON", _WRITE),
)  # fmt: skip


class Form(NamedTuple):
    """The format of a file of vectors, and what its header says, if it has one."""

    kind: Literal["fasttext", "binary", "text"]
    header: tuple[int, int] | None = None  # rows, numbers of each


class Fault(NamedTuple):
    """What is wrong with a row, and the remedy."""

    message: str
    hint: str


def form_of(path: str) -> Form:
    """The format of a file. Raises: DataError, it is damaged, or no file of vectors."""
    name = files.shown(path)
    try:
        with files.open_bytes(path) as handle:
            head = handle.read(HEAD)
        _check_kind(name, head)
        if head.startswith(FASTTEXT):
            return Form("fasttext")
        match = _HEADER.match(head)
        header = (int(match[1]), int(match[2])) if match else None
        first = match.end() if match else 0
        if header and _is_binary(head[first:], header):
            _check_binary(path, first, header)
            return Form("binary", header)
        _check_text(path, head, first, header)
        return Form("text", header)
    except (EOFError, OSError, zlib.error) as error:
        if isinstance(error, gzip.BadGzipFile) and "Not a gzipped" in str(error):
            raise DataError(
                name, None, "not gzip data", "if it is not compressed, rename it without .gz"
            ) from None
        hint = "the file is damaged or was cut off: fetch it again"
        raise DataError(name, None, f"cannot be read: {error}", hint) from None


def _check_kind(name: str, head: bytes) -> None:
    if not head.strip():
        raise DataError(name, None, "the file is empty", _FETCH)
    for begin, what, remedy in _OTHER_FILES:
        if re.match(begin, head):
            raise DataError(name, None, f"this is {what}, not a file of word vectors", remedy)


def _is_binary(body: bytes, header: tuple[int, int]) -> bool:
    """Whether what follows a header is binary, and cannot be text."""
    lines = body.split(b"\n")[:_SAMPLE]
    lines = lines[:-1] if len(lines) > 1 else lines  # which may be cut off
    textual = 0
    for line in lines:
        fields = line.split()
        textual += len(fields) > 1 and _NUMBER_LIKE.fullmatch(fields[-1]) is not None
    if 2 * textual > len(lines):
        return False
    if _CONTROL.search(body):
        return True
    try:
        body.decode()
    except UnicodeDecodeError as error:
        if error.start < len(body) - 4:  # else a letter that the end of the head has cut
            return not _is_latin(body)
    # Bytes that all are letters by chance: few rows, and the file ends where the header says.
    n_rows, dim = header
    end, values = 0, list[float]()
    for _ in range(n_rows):
        space = body.find(b" ", end)
        end = space + 1 + 4 * dim
        if space < 0 or end > len(body):
            return False
        values += struct.unpack(f"<{dim}f", body[space + 1 : end])
    is_plausible = all(value == 0 or 1e-12 < abs(value) < 1e6 for value in values)
    return bool(values) and is_plausible and not body[end:].strip()


def _is_latin(body: bytes) -> bool:
    """Whether most bytes are those of numbers: text in an older encoding of letters, and with
    faults."""
    return 2 * len(re.findall(rb"[-+.,\d\s]", body)) > len(body)


def _check_binary(path: str, first: int, header: tuple[int, int]) -> None:
    """Raises: DataError, the file does not end where its header says."""
    name, (n_rows, dim) = files.shown(path), header
    size, most = 4 * dim, os.path.getsize(path) * (_DEFLATED if name.lower().endswith(".gz") else 1)
    says = f"the header says {count(n_rows, 'row')} of {count(dim, 'number')}"
    cut_off = "cut off, or another program's header? fetch it again"
    if n_rows * (size + 1) > most:
        raise DataError(name, 1, f"{says}: more than the file can hold", cut_off)
    with files.open_bytes(path) as handle:
        handle.read(first)
        n_complete, rest = _binary_rows(handle, n_rows, size)
    if n_complete < n_rows:
        raise DataError(name, 1, f"{says}: the file ends after row {n_complete:,}", cut_off)
    if rest.strip():
        hint = "rows that the header leaves out, or other numbers a row: write the file again"
        raise DataError(name, 1, f"{says}: after these, the file goes on", hint)


def _binary_rows(handle: BinaryIO, n_rows: int, size: int) -> tuple[int, bytes]:
    """How many of the rows are there, and some bytes after them; `size`: of a vector."""
    chunk, start = b"", 0
    for row in range(n_rows):
        while (space := chunk.find(b" ", start)) < 0 or space + 1 + size > len(chunk):
            more = handle.read(1 << 20)
            if not more or (space < 0 and len(chunk) - start > LONGEST_WORD):
                return row, b""
            chunk, start = chunk[start:] + more, 0
        start = space + 1 + size
    return n_rows, chunk[start:] + handle.read(100)


def _check_text(path: str, head: bytes, first: int, header: tuple[int, int] | None) -> None:
    """Raises: DataError, a row is no word with its numbers, or the header says otherwise."""
    name = files.shown(path)
    if b"\0" in head:
        raise DataError(
            name, None, "this is binary data, not a file of word vectors that is known", _WRITE
        )
    lines = head[first:].split(b"\n")
    lines = lines[:-1] if len(lines) > 1 else lines  # which may be cut off
    rows = [line for line in lines if line.strip()]
    if not rows:
        raise DataError(name, 1, "no rows after this line", _FETCH)
    usual, of_first = _usual_size(rows), _n_numbers(rows[0])
    dim, where = (header[1], "the header says") if header else (usual or of_first, "most rows have")
    if header and usual not in (0, dim) and of_first == usual:
        if usual == 1 and _are_whole(rows):  # the first row looks like a header
            _check_counts(name, rows)
        message = f"the header says {count(dim, 'number')} a row, the rows have {usual}"
        raise DataError(
            name,
            1,
            message,
            f"cut off on the right? If not, write '{header[0]} {usual}' in this line",
        )
    for number, line in enumerate(lines, start=2 if header else 1):
        fault = row_fault(line, dim, where, usual) if line.strip() else None
        if fault:
            raise DataError(name, number, *fault)
    if not header:
        _check_counts(name, rows)
    _check_rows(path, dim, where, header)


def _check_rows(path: str, dim: int, where: str, header: tuple[int, int] | None) -> None:
    """Counts the rows and the numbers in each. Raises: DataError, one has others, or the header is
    wrong."""
    name, number, last = files.shown(path), 0, 0
    blank = 0  # the first of the empty lines that may be the end of the file
    with files.open_bytes(path) as handle:
        while line := handle.readline(LONGEST_ROW):
            number += 1
            if number == 1 and header:
                continue
            if not (stripped := line.rstrip()):
                blank = blank or number
                continue
            if len(line) == LONGEST_ROW and line[-1:] != b"\n":
                raise DataError(
                    name,
                    number,
                    f"a line of more than {LONGEST_ROW:,} bytes",
                    "no file of word vectors?",
                )
            if blank:
                raise DataError(name, blank, *_EMPTY_LINE)
            if stripped.count(b" ") != dim:
                fault = row_fault(line, dim, where, dim) or Fault(
                    "no row of a word and its numbers", _WRITE
                )
                raise DataError(name, number, *fault)
            last = number
    if header and last - 1 != header[0]:
        rows = f"the header says {count(header[0], 'row')}, the file has {last - 1:,}"
        hint = (
            f"if it is whole, write '{last - 1} {dim}' in its first line; "
            "if it was cut off, fetch it again"
        )
        raise DataError(name, 1, rows, hint)


def faulty_row(path: str, form: Form) -> tuple[int, Fault] | None:
    """The first row of a text with a fault, and its line; for what gensim cannot read."""
    with files.open_bytes(path) as handle:
        dim = form.header[1] if form.header else 0
        for number, line in enumerate(handle, start=1):
            if number == 1 and form.header:
                continue
            dim = dim or _n_numbers(line)
            if line.strip() and (fault := row_fault(line, dim, "the file has", dim)):
                return number, fault
    return None


_EMPTY_LINE = Fault("an empty line between rows", "delete it")


def row_fault(line: bytes, dim: int, where: str, usual: int) -> Fault | None:
    """What is wrong with a row; None: it is a word and `dim` numbers, each after a single blank.

    where: what says that there are `dim` numbers. usual: numbers of most rows, 0 if nobody knows.
    """
    line = line.rstrip()
    if not line:
        return _EMPTY_LINE
    word, *numbers = line.split(b" ")
    wrong = next((number for number in numbers if not _NUMBER.fullmatch(number)), None)
    if b"\t" in line and (wrong is not None or len(numbers) != dim):
        return Fault("a tab between word and numbers", "a single blank is expected: tr '\\t' ' '")
    if not numbers:
        for sign, named in ((b";", "semicolons"), (b",", "commas")):
            if line.count(sign) > 1:
                hint = f"{named}? a single blank is expected: tr '{sign.decode()}' ' '"
                return Fault("no blank between word and numbers", hint)
        return Fault(f"no numbers after {_shown(word)}", f"a list of words? {_WRITE}")
    # else a row of no word, which nobody asks for
    if not word and (wrong is not None or len(numbers) != dim):
        return Fault("a blank before the word", "each line begins with its word: sed 's/^ *//'")
    if wrong == b"":
        return Fault("several blanks in a row", "a single blank is expected: tr -s ' '")
    if wrong is not None and _DECIMAL_COMMA.fullmatch(wrong):
        hint = "numbers have a point: sed 's/\\([0-9]\\),\\([0-9]\\)/\\1.\\2/g'"
        return Fault(f"{_shown(wrong)} has a decimal comma", hint)
    if wrong is not None:
        hint = f"a word has no blanks: awk 'NF == {(usual or dim) + 1}' keeps the other rows"
        hint = hint if usual else "is this a file of word vectors? A row is a word and its numbers"
        return Fault(f"{_shown(wrong)} is no number", hint)
    if len(numbers) != dim:
        hint = "cut off, joined with the next row, or a word with a blank? "
        hint += f"awk 'NF == {(usual or dim) + 1}' keeps the other rows"
        return Fault(f"{count(len(numbers), 'number')}, but {where} {dim}", hint)
    return None


def _n_numbers(row: bytes) -> int:
    return row.rstrip().count(b" ")


def _usual_size(rows: Sequence[bytes]) -> int:
    """The numbers of most rows that have nothing but numbers after their word; 0: there are
    none."""
    sizes = Counter[int]()
    for row in rows:
        numbers = row.split()[1:]
        sizes[len(numbers)] += bool(numbers) and all(map(_NUMBER.fullmatch, numbers))
    size, n = max(sizes.items(), key=lambda item: item[1], default=(0, 0))
    return size if n else 0


def _check_counts(name: str, rows: Sequence[bytes]) -> None:
    """Raises: DataError, the rows are words and how often they occur."""
    dim, are_whole = _n_numbers(rows[0]), _are_whole(rows)
    if dim == 1 or (
        dim < _FEW_NUMBERS
        and are_whole
        and any(len(n) > 2 for row in rows for n in row.split()[1:])
    ):
        what = "counts" if are_whole else "frequencies"
        hint = "word vectors have many numbers a word: is there another file in the same download?"
        raise DataError(
            name, 1, f"this is a list of words and {what}: {count(dim, 'number')} a word", hint
        )


def _are_whole(rows: Sequence[bytes]) -> bool:
    return all(_WHOLE.fullmatch(number) for row in rows for number in row.split()[1:])


def _shown(field: bytes) -> str:
    text = repr(field.decode(errors="replace"))
    return text if len(text) <= 40 else f"{text[:36]}...'"

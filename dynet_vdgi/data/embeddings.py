"""Word vectors for the words of a vocabulary, read from a file, and word vectors learnt from text.

Formats that are read: GloVe text, word2vec and fastText text (with a header `rows dimensions`), word2vec
binary, each also in .gz, and fastText's own binary format. Of all but the last only the rows of wanted words
reach gensim, so that memory grows with the vocabulary and not with the file; fastText's own format needs all
of its file in memory, and gives words that it lacks a vector made of their character n-grams.

Shapes: V words, D numbers of a vector.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import math
import os
import re
import struct
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, TextIO, cast

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data import files
from dynet_vdgi.errors import DataError, UsageError

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

Floats = NDArray[np.float32]
Guess = Callable[[str], Optional[Floats]]

BUFFER = 1 << 20  # bytes read at once; the format is told from the first of them
SNIFFED_ROWS = 100

CACHE_FORMAT = 1
CACHE_ABOVE = 10_000_000  # bytes: smaller files are read at once
CACHE_KEPT = 8  # files

WINDOW = 5  # words to either side
NGRAMS = (3, 6)  # characters of the shortest and the longest
MAX_BUCKETS = 2_000_000  # n-gram vectors

FASTTEXT = struct.pack("<i", 793712314)  # first bytes of fastText's own format
_FASTTEXT_HEADER = struct.Struct("<2i12id3i")  # signature; arguments; words and labels, words, labels
_LFS = "fetch the file itself: git lfs pull"
_NOT_VECTORS = {  # first bytes of files that are often taken for vectors
    b"PK\x03\x04": ("a zip archive", "unpack it, and name the file of vectors that was in it"),
    b"\x1f\x8b": ("gzip data", "its name must end in .gz"),
    b"\xff\xfe": ("UTF-16 text", "save the file as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save the file as UTF-8"),
    b"\x80": ("a Python pickle", "pickles can run code; save the vectors with gensim's save_word2vec_format"),
    b"version https://git-lfs": ("a Git LFS pointer", _LFS),
}
_HTML = re.compile(rb"\s*<(!doctype|html|head|\?xml)", re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # bytes that text does not have
_DECIMAL = re.compile(rb"[-+]?\d*\.\d+(e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors of V words. `values` (V, D) has zeros where `found` (V,) is false; `notes` are for the log."""

    values: Floats
    found: NDArray[np.bool_]
    notes: tuple[str, ...]

    @property
    def dim(self) -> int:
        """D, the numbers of a vector."""
        return int(self.values.shape[1])


def load(path: str, words: Sequence[str]) -> Embeddings:
    """The vectors that a file has for `words`: row i of the result belongs to `words[i]`.

    A word without a row of its own gets that of its lower-case form. What large files gave is kept in the
    user's cache folder, by the content of the file and the words asked for.

    Raises:
        DataError: the file cannot be read, holds no vectors, has a value that is no finite number in a row
            that is needed, or has none of the words.
    """
    cached = _cache_file(path, words)
    embeddings = _cached(cached) if cached else None
    if embeddings is None:
        embeddings = _read(path, words)
        if cached:
            _keep(embeddings, cached)
    return embeddings


# Any format


def _read(path: str, words: Sequence[str]) -> Embeddings:
    with _byte_stream(path) as stream:
        head = stream.peek(BUFFER)
        _refuse_others(path, head)
        if not head.startswith(FASTTEXT):
            return _from_rows(path, stream, words)
    return _from_fasttext(path, words, head)


@contextmanager
def _byte_stream(path: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file, decompressed; faults are told as `files.open_text` tells them."""
    with files.open_text(path) as text:
        yield io.BufferedReader(cast(io.RawIOBase, text.buffer), BUFFER)


def _refuse_others(path: str, head: bytes) -> None:
    name = files.shown(path)
    if not head.strip():
        raise DataError(name, None, "the file is empty", "download it again, or fetch it: git lfs pull")
    if _HTML.match(head):
        raise DataError(name, None, "this is a web page, not a file of word vectors", "download it again")
    for start, (what, hint) in _NOT_VECTORS.items():
        if head.startswith(start):
            raise DataError(name, None, f"this is {what}, not a file of word vectors", hint)


def _assembled(
    path: str,
    words: Sequence[str],
    index: Mapping[str, int],
    matrix: Floats,
    notes: Sequence[str],
    guess: Guess | None = None,
) -> Embeddings:
    """Row `index[word]` of `matrix` for each word, else that of its lower-case form, else what `guess` says."""
    values, found = np.zeros((len(words), matrix.shape[1]), np.float32), np.zeros(len(words), np.bool_)
    n_lowered = n_guessed = 0
    for i, word in enumerate(words):
        vector: Floats | None = None
        row = index.get(word)
        if row is None:
            row = index.get(word.lower())
            n_lowered += row is not None
        if row is not None:
            vector = matrix[row]
        elif guess is not None:
            vector = guess(word)
            n_guessed += vector is not None
        if vector is not None:
            values[i], found[i] = vector, True
    n_found = int(found.sum())
    share = 100 * n_found / max(len(words), 1)
    all_notes = [
        f"vectors: {n_found:,} of {len(words):,} words ({share:.1f} %), {matrix.shape[1]} dimensions, "
        + files.shown(path)
    ]
    if n_lowered:
        all_notes.append(f"  {_counted(n_lowered, 'word')} by the lower-case form")
    if n_guessed:
        all_notes.append(f"  {_counted(n_guessed, 'word')} made of character n-grams")
    return Embeddings(values, found, (*all_notes, *notes))


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# Rows of text, and word2vec's binary format


@dataclass(frozen=True)
class _Layout:
    dim: int
    binary: bool
    promised: int | None  # rows according to the header, None without header

    def place(self, number: int) -> str:
        """Where a row is, in notes."""
        return f"{'row' if self.binary else 'line'} {number:,}"


class _Oddities:
    """Rows of one kind that do not count: how many, and the first."""

    def __init__(self) -> None:
        self.count, self.number, self.word = 0, 0, b""

    def add(self, number: int, word: bytes = b"") -> None:
        if not self.count:
            self.number, self.word = number, word
        self.count += 1


def _from_rows(path: str, stream: io.BufferedReader, words: Sequence[str]) -> Embeddings:
    layout = _layout(path, stream.peek(BUFFER))
    if stream.peek(3).startswith(b"\xef\xbb\xbf"):
        stream.read(3)
    if layout.promised is not None:
        stream.readline()
    wanted = {form.encode(errors="surrogatepass") for word in words for form in (word, word.lower())}
    kept, notes, beginning = _wanted_rows(path, stream, layout, wanted)
    if words and not kept:
        raise DataError(
            files.shown(path),
            None,
            f"it has none of the {_counted(len(words), 'word')} asked for",
            f"vectors of another language, or with another letter case? they begin with {beginning}",
        )
    index = {word.decode(): row for row, word in enumerate(kept)}
    return _assembled(path, words, index, _through_gensim(list(kept.values()), layout.dim), notes)


def _layout(path: str, head: bytes) -> _Layout:
    """The format of a file, told from its beginning.

    Raises: `DataError` where there is no row of a word and numbers.
    """
    lines = head[3:].split(b"\n") if head.startswith(b"\xef\xbb\xbf") else head.split(b"\n")
    header = re.fullmatch(rb"(\d{1,18}) ([1-9]\d{0,8})\s*", lines[0])
    rows = [_n_numbers(line) for line in lines[1 if header else 0 :][:SNIFFED_ROWS]]
    if header:
        promised, dim = map(int, header.groups())
        if any(numbers >= dim for numbers in rows):
            return _Layout(dim, False, promised)
        if _CONTROL.search(head):
            return _Layout(dim, True, promised)
        message = f"the header says {_counted(dim, 'number')} a row, but the first rows have fewer"
        raise DataError(files.shown(path), 1, message, "cut off, or not a file of word vectors?")
    widths = Counter(numbers for numbers in rows if numbers > 1)
    if not widths:
        message = "no row of a word and its numbers, separated by spaces: not a file of word vectors"
        raise DataError(files.shown(path), 1, message, "expected GloVe, word2vec or fastText vectors")
    return _Layout(max(widths, key=lambda numbers: (widths[numbers], numbers)), False, None)


def _n_numbers(line: bytes) -> int:
    """How many fields at the end of a line are numbers, leaving one to be the word."""
    fields = line.rstrip(b" \r\n").split(b" ")
    count = 0
    while count < len(fields) - 1 and _number(fields[-1 - count]) is not None:
        count += 1
    return count


def _number(field: bytes) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _wanted_rows(
    path: str, stream: io.BufferedReader, layout: _Layout, wanted: set[bytes]
) -> tuple[dict[bytes, bytes], list[str], str]:
    """Word -> float32 numbers of wanted rows, notes on the other rows, and the first words of the file."""
    malformed, not_utf8, repeated = _Oddities(), _Oddities(), _Oddities()
    rows = (_binary_rows if layout.binary else _text_rows)(stream, layout, malformed)
    values_of = _binary_values if layout.binary else _text_values
    kept: dict[bytes, bytes] = {}
    beginning: list[str] = []
    n_rows = 0
    for number, word, numbers in rows:
        n_rows += 1
        if word in kept:
            repeated.add(number, word)
        elif word in wanted:
            kept[word] = _checked(path, layout, number, word, values_of(numbers)).tobytes()
        elif not word.isascii() and not _is_utf8(word):
            not_utf8.add(number)
        if n_rows <= 3:
            beginning.append(repr(word.decode(errors="replace")))
    if not n_rows:
        message = f"no row is a word and {_counted(layout.dim, 'number')}, separated by spaces"
        hint = "cut off, or not a file of word vectors?"
        raise DataError(files.shown(path), malformed.number or None, message, hint)
    notes = _row_notes(layout, n_rows + malformed.count, malformed, not_utf8, repeated)
    return kept, notes, ", ".join(beginning)


def _row_notes(
    layout: _Layout, n_rows: int, malformed: _Oddities, not_utf8: _Oddities, repeated: _Oddities
) -> list[str]:
    notes = []
    if layout.promised is not None and layout.promised != n_rows:
        missing = ": the file was cut off?" if layout.promised > n_rows else ""
        notes.append(f"  the header promises {_counted(layout.promised, 'row')}, there are {n_rows:,}{missing}")
    if malformed.count:
        what = f"without a word and {_counted(layout.dim, 'number')}"
        first = layout.place(malformed.number)
        notes.append(f"  {_counted(malformed.count, 'row')} {what} passed over (first: {first})")
    if not_utf8.count:
        first = layout.place(not_utf8.number)
        notes.append(f"  {_counted(not_utf8.count, 'row')} not in UTF-8 passed over (first: {first})")
    if repeated.count:
        first = f"{repeated.word.decode()!r}, {layout.place(repeated.number)}"
        notes.append(f"  {_counted(repeated.count, 'row')} of a word that had one, passed over (first: {first})")
    return notes


def _text_rows(
    stream: io.BufferedReader, layout: _Layout, malformed: _Oddities
) -> Iterator[tuple[int, bytes, bytes]]:
    """Line number, word and numbers of each row; a word may have spaces inside, as some of GloVe's do."""
    dim = layout.dim
    for number, line in enumerate(stream, 1 if layout.promised is None else 2):
        row = line.rstrip(b" \r\n")
        spaces = row.count(b" ")
        if spaces == dim:
            end = row.find(b" ")
        elif spaces > dim:
            end = len(row) - sum(map(len, row.rsplit(b" ", dim)[1:])) - dim
            if _DECIMAL.fullmatch(row[:end].rpartition(b" ")[2]):  # no end of a word, but a number too many
                malformed.add(number)
                continue
        else:
            if row:
                malformed.add(number)
            continue
        yield number, row[:end], row[end + 1 :]


def _text_values(numbers: bytes) -> list[float | bytes]:
    """The numbers of a row; what is none stays as it is."""
    values: list[float | bytes] = []
    for field in numbers.split(b" "):
        number = _number(field)
        values.append(field if number is None else number)
    return values


def _binary_rows(
    stream: io.BufferedReader, layout: _Layout, malformed: _Oddities
) -> Iterator[tuple[int, bytes, bytes]]:
    """Row number, word and numbers of each row; the original program ends its rows with a newline."""
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
        more = b"" if space < 0 and len(data) - start > BUFFER else stream.read(max(BUFFER, size))
        data, start = data[start:] + more, 0
        if not more:
            if data.strip(b"\n"):
                malformed.add(number + 1)
            return


def _binary_values(numbers: bytes) -> list[float | bytes]:
    return cast("list[float | bytes]", np.frombuffer(numbers, "<f4").tolist())


def _checked(path: str, layout: _Layout, number: int, word: bytes, values: list[float | bytes]) -> Floats:
    """The numbers of a wanted row."""
    for i, value in enumerate(values, 1):
        if isinstance(value, bytes) or not abs(value) <= np.finfo(np.float32).max:  # nan is not <= either
            shown = value.decode(errors="backslashreplace") if isinstance(value, bytes) else f"{value:g}"
            message = f"number {i} of {word.decode()!r} is {shown!r}, not a finite number"
            if layout.binary:
                raise DataError(files.shown(path), None, f"{layout.place(number)}: {message}")
            raise DataError(files.shown(path), number, message, "mend the row or delete it")
    return np.array(values, np.float32)


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _through_gensim(rows: Sequence[bytes], dim: int) -> Floats:
    """The float32 rows as a matrix (rows, dim), by way of a small file in word2vec's format.

    The words in it are numbers, because gensim would stumble at spaces in words.
    """
    if not rows:
        return np.zeros((0, dim), np.float32)
    from gensim.models import KeyedVectors

    with tempfile.TemporaryDirectory(prefix="vdgi-") as folder:
        small = os.path.join(folder, "vectors.bin")
        with open(small, "wb") as handle:
            handle.write(b"%d %d\n" % (len(rows), dim))
            for row, numbers in enumerate(rows):
                handle.write(b"%d " % row + numbers)
        vectors = KeyedVectors.load_word2vec_format(small, binary=True)
    return np.asarray(vectors[[str(row) for row in range(len(rows))]], np.float32)


# fastText's own format


def _from_fasttext(path: str, words: Sequence[str], head: bytes) -> Embeddings:
    """As `load`; words without a row, even in lower case, get the mean vector of their character n-grams."""
    name = files.shown(path)
    if path == files.STANDARD or name.lower().endswith(".gz"):
        raise DataError(name, None, "fastText's binary format can only be read from a plain file", "unpack it")
    _check_fasttext_size(path, head)
    from gensim.models.fasttext import load_facebook_vectors

    try:
        with _quiet_gensim():
            vectors = load_facebook_vectors(path)
    except (AssertionError, NotImplementedError, RuntimeError, ValueError, struct.error) as error:
        raise DataError(name, None, f"gensim cannot read it: {error}", "damaged?") from None

    def guess(word: str) -> Floats | None:
        has_ngrams = vectors.bucket > 0 and len(word) + 2 >= vectors.min_n and vectors.max_n > 0
        return cast(Floats, vectors.get_vector(word)) if has_ngrams else None  # 2: a mark at either end

    embeddings = _assembled(path, words, vectors.key_to_index, vectors.vectors, (), guess)
    bad = np.flatnonzero(~np.isfinite(embeddings.values).all(axis=1))
    if len(bad):
        raise DataError(name, None, f"the vector of {words[bad[0]]!r} has a number that is not finite")
    if words and not embeddings.found.any():
        message = f"it has none of the {_counted(len(words), 'word')} asked for"
        raise DataError(name, None, message, "vectors of another language, or with another letter case?")
    return embeddings


def _check_fasttext_size(path: str, head: bytes) -> None:
    """A file that was cut off would keep gensim waiting for ever."""
    name, hint = files.shown(path), "download it again"
    if len(head) < _FASTTEXT_HEADER.size:
        raise DataError(name, None, "the file was cut off", hint)
    fields = _FASTTEXT_HEADER.unpack_from(head)
    dim, bucket, n_words, n_labels = fields[2], fields[10], fields[16], fields[17]
    if n_labels:
        message = "this is a fastText classifier, not word vectors"
        raise DataError(name, None, message, "learn vectors with fasttext skipgram or cbow")
    if os.path.getsize(path) < 4 * dim * (n_words + bucket):
        hint = "download it again; quantised models (.ftz) cannot be read"
        raise DataError(name, None, "the file is smaller than its header says: it was cut off", hint)


@contextmanager
def _quiet_gensim() -> Iterator[None]:
    """Without gensim's warnings about small texts and odd bytes."""
    logger = logging.getLogger("gensim")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


# Cache


def _cache_file(path: str, words: Sequence[str]) -> str | None:
    """Where the vectors of these words are kept, None if the file is so small that they are not."""
    try:
        if os.path.getsize(path) < CACHE_ABOVE:
            return None
    except OSError:
        return None  # reading it will tell what is wrong
    asked = json.dumps([CACHE_FORMAT, path, list(words)]).encode()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    name = f"{files.sha256(path)[:32]}-{hashlib.sha256(asked).hexdigest()[:32]}.npz"
    return os.path.join(base, "dynet_vdgi", "vectors", name)


def _cached(cached: str) -> Embeddings | None:
    try:
        with np.load(cached, allow_pickle=False) as stored:
            embeddings = Embeddings(stored["values"], stored["found"], tuple(map(str, stored["notes"])))
        os.utime(cached)  # the least recently used go first
    except Exception:  # on nonsense NumPy raises whatever comes: the file of vectors is read instead
        return None
    return embeddings


def _keep(embeddings: Embeddings, cached: str) -> None:
    """Stores vectors for next time, and forgets those that were not used for longest; may fail in silence."""
    folder = os.path.dirname(cached)
    with suppress(OSError, UsageError):
        os.makedirs(folder, exist_ok=True)
        with files.atomic_bytes_writer(cached) as handle:
            notes = np.array(embeddings.notes, np.str_)
            np.savez(handle, values=embeddings.values, found=embeddings.found, notes=notes)
        entries = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".npz")]
        for entry in sorted(entries, key=os.path.getmtime)[:-CACHE_KEPT]:
            os.unlink(entry)


# Learning vectors


def train(
    sentences: Iterable[list[str]],
    *,
    dim: int = 300,
    epochs: int = 10,
    min_count: int = 2,
    seed: int = 1,
    after_epoch: Callable[[], None] | None = None,
) -> KeyedVectors:
    """FastText skip-gram vectors of the words that occur at least `min_count` times.

    The same sentences and seed give the same numbers. The text is held in memory. Words with a space inside
    are left out, because files of vectors have no place for them.

    Raises:
        ValueError: no word occurs so often.
    """
    text = [[sys.intern(word) for word in sentence if " " not in word] for sentence in sentences]
    counts = Counter(word for sentence in text for word in sentence)
    words = [word for word, count in counts.items() if count >= min_count]
    if not words:
        raise ValueError(f"no word occurs {min_count} times")
    from gensim.models import FastText
    from gensim.models.callbacks import CallbackAny2Vec
    from gensim.models.fasttext import ft_ngram_hashes

    class Epochs(CallbackAny2Vec):  # type: ignore[misc]
        def on_epoch_end(self, model: FastText) -> None:
            if after_epoch is not None:
                after_epoch()

    n_ngrams = len({ngram for word in words for ngram in ft_ngram_hashes(word, *NGRAMS, MAX_BUCKETS)})
    with _quiet_gensim():
        model = FastText(
            text,
            sg=1,
            vector_size=dim,
            window=WINDOW,
            min_count=min_count,
            min_n=NGRAMS[0],
            max_n=NGRAMS[1],
            bucket=n_ngrams,  # the default, two million, is too much memory for a small text
            epochs=epochs,
            seed=seed,
            workers=1,  # several would interfere in an order of their own
            hashfxn=_stable_hash,
            callbacks=[Epochs()],
        )
    return model.wv


def _stable_hash(word: str) -> int:
    """Python's own hash of a string differs between processes."""
    return zlib.crc32(word.encode())


def write(vectors: KeyedVectors, handle: TextIO) -> None:
    """Writes vectors as word2vec's text format, with header: frequent words first, then by alphabet."""
    words = sorted(vectors.index_to_key, key=lambda word: (-vectors.get_vecattr(word, "count"), word))
    handle.write(f"{len(words)} {vectors.vector_size}\n")
    row = " ".join(["%.5g"] * vectors.vector_size)
    for word in words:
        handle.write(f"{word} {row % tuple(vectors[word].tolist())}\n")

"""Word vectors for the words of a vocabulary, read from a file by gensim, and word vectors learnt from text.

Formats: GloVe text, word2vec and fastText text (with a header `rows dimensions`), word2vec binary, each also
in .gz. gensim holds the whole file in memory.

Shapes: V words, D numbers in a vector.
"""

from __future__ import annotations

import logging
import os
import re
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data import files
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.names import count as counted

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

Floats = NDArray[np.float32]

_FASTTEXT = struct.pack("<i", 793712314)  # first bytes of fastText's own format
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?(\d{1,18}) ([1-9]\d{0,8})\s*\n")
_TEXT = re.compile(rb"[^ ]* [-+]?[\d.]+(?:[eE][-+]?\d+)?[ \r\n]")  # a word and a number in digits
_DEFLATED = 1000  # times smaller than its content, gzip data may be at most

# What gensim raises on damaged files, besides wrong arrays.
_GENSIM_FAILS: tuple[type[Exception], ...]
_GENSIM_FAILS = (ArithmeticError, AssertionError, EOFError, LookupError, MemoryError, OSError, RuntimeError)
_GENSIM_FAILS += (TypeError, ValueError, struct.error, zlib.error)

# Chosen on UD 1.4 (292,000 words of French, 61,000 of Basque): nearest neighbours often have the same tag.
# With gensim's rate of 0.025 and ten epochs the vectors of all Basque words pointed in one direction.
RATE = 0.05
WINDOW = 2  # words to either side
NGRAMS = (3, 6)  # characters of the shortest and the longest
MAX_BUCKETS = 2_000_000  # n-gram vectors


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
    """The vectors of `words` in a file: row i of the result belongs to `words[i]`.

    A word without a row of its own gets the row of its lower-case form.

    Raises: DataError, the file cannot be read, holds no vectors, has a value that is no finite number in a
    row that is needed, or has none of the words.
    """
    vectors, name = _read(path), files.shown(path)
    values = np.zeros((len(words), vectors.vector_size), np.float32)
    found = np.zeros(len(words), np.bool_)
    n_lower = 0
    for i, word in enumerate(words):
        known = word if word in vectors.key_to_index else word.lower()
        if known in vectors.key_to_index:
            values[i], found[i] = vectors.vectors[vectors.key_to_index[known]], True
            n_lower += known != word
    for i in np.flatnonzero(~np.isfinite(values).all(axis=1))[:1]:
        message = f"the vector of {words[i]!r} has a number that is not finite"
        raise DataError(name, None, message, "mend the row or delete it")
    if words and not found.any():
        begins = ", ".join(map(repr, vectors.index_to_key[:3]))
        hint = f"vectors of another language, or with another letter case? It begins with {begins}"
        raise DataError(name, None, f"it has none of the {counted(len(words), 'word')} wanted", hint)
    coverage = f"{found.sum():,} of {len(words):,} words ({100 * found.sum() / max(len(words), 1):.1f} %)"
    notes = [f"vectors: {coverage}, {vectors.vector_size} dimensions, {name}"]
    notes += [f"  {counted(n_lower, 'word')} by the lower-case form"] if n_lower else []
    return Embeddings(values, found, tuple(notes))


def _read(path: str) -> KeyedVectors:
    """The vectors of a file. Raises: DataError, gensim cannot read it."""
    name, head = files.shown(path), b""
    try:
        with files.open_bytes(path) as handle:
            head = handle.read(1 << 16)
        header = _HEADER.match(head)
        _check(name, path, head, header)
        from gensim.models import KeyedVectors

        is_text = not header or _TEXT.match(head, header.end())
        with _quiet_gensim():
            # Of several rows of a word the first counts; bytes that are not UTF-8 become a mark.
            vectors = KeyedVectors.load_word2vec_format(
                path, binary=not is_text, no_header=not header, encoding="utf-8-sig", unicode_errors="replace"
            )
        if not vectors.vector_size:
            raise ValueError("no numbers after the first space")
        return vectors
    except _GENSIM_FAILS as error:
        counts = Counter(line.count(b" ") for line in head.split(b"\n")[1:100])
        size = counts.most_common(1)[0][0] if counts else 0
        hint = (
            f"damaged, cut off, or no vectors? A word has no spaces: awk 'NF == {size + 1}' keeps such rows"
        )
        raise DataError(name, None, f"gensim cannot read it: {error}", hint) from None


def _check(name: str, path: str, head: bytes, header: re.Match[bytes] | None) -> None:
    """Refuses a file that begins like this, if gensim has no message for it, or would wait for ever."""
    start = head.lstrip()
    if not start or start.startswith((b"version https://git-lfs", b"<", b"PK\x03\x04", b"\x1f\x8b")):
        hint = "a download that failed, or an archive? Fetch it again (git lfs pull), or unpack it"
        raise DataError(name, None, "this is not a file of word vectors", hint)
    if head.startswith(_FASTTEXT):
        raise DataError(name, None, "this is fastText's binary format", "name its text file (.vec) instead")
    most = os.path.getsize(path) * (_DEFLATED if name.endswith(".gz") else 1)
    if header and most < 2 * int(header[1]) * int(header[2]):
        raise DataError(name, None, "the file is smaller than its header says", "cut off? download it again")


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


# Learning vectors


def usual_epochs(n_words: int) -> int:
    """How often to read a text of `n_words` words: three million words in all, but 5 to 50 times."""
    return min(50, max(5, round(3_000_000 / max(n_words, 1))))


def train(
    sentences: Iterable[list[str]],
    *,
    dim: int,
    epochs: int,
    min_count: int,
    seed: int,
    after_epoch: Callable[[], None] | None = None,
) -> KeyedVectors:
    """FastText skip-gram vectors of the words that occur at least `min_count` times.

    The result is reproducible from sentences and seed. The text is held in memory.

    Raises: ValueError, no word occurs that often.
    """
    text = [[sys.intern(word) for word in sentence] for sentence in sentences]
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
            alpha=RATE,
            window=WINDOW,
            min_count=min_count,
            min_n=NGRAMS[0],
            max_n=NGRAMS[1],
            bucket=n_ngrams,  # the default, two million, is too much memory for a small text
            epochs=epochs,
            seed=seed,
            workers=1,  # several would run in an unpredictable order
            callbacks=[Epochs()],
        )
    return model.wv


def write(vectors: KeyedVectors, handle: TextIO) -> int:
    """Writes vectors in word2vec's text format, with header: frequent words first, then by alphabet.

    Words with a space inside are left out, because most readers fail on them. Returns the number of words
    written.
    """
    words = [word for word in vectors.index_to_key if " " not in word]
    words.sort(key=lambda word: (-vectors.get_vecattr(word, "count"), word))
    handle.write(f"{len(words)} {vectors.vector_size}\n")
    row = " ".join(["%.5g"] * vectors.vector_size)
    for word in words:
        handle.write(f"{word} {row % tuple(vectors[word].tolist())}\n")
    return len(words)

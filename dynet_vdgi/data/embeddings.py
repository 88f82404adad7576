"""Word vectors for the words of a vocabulary, read from a file by gensim, and word vectors learnt from text.

Formats: GloVe text, word2vec and fastText text (with a header `rows dimensions`), word2vec binary, each also
in .gz, and fastText's own binary format, from which a word that the file lacks gets a vector made of its
character n-grams. gensim holds the whole file in memory, fastText's own format three times.

Shapes: V words, D numbers in a vector.
"""

from __future__ import annotations

import logging
import os
import re
import struct
import sys
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

FASTTEXT = struct.pack("<i", 793712314)  # first bytes of fastText's own format
_FASTTEXT_HEADER = struct.Struct("<2i12id3i")  # signature; arguments; words and labels, words, labels
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?(\d{1,18}) ([1-9]\d{0,8})\s*\n")
_TEXT = re.compile(rb"[^ ]* [-+]?[\d.]+(?:[eE][-+]?\d+)?[ \r\n]")  # a word and a number in digits
_DEFLATED = 1000  # times smaller than its content, gzip data may be at most

# What gensim raises on damaged files, besides wrong arrays.
_GENSIM_FAILS: tuple[type[Exception], ...]
_GENSIM_FAILS = (ArithmeticError, AssertionError, EOFError, LookupError, MemoryError, OSError, RuntimeError)
_GENSIM_FAILS += (TypeError, ValueError, struct.error)

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

    A word without a row of its own gets the row of its lower-case form, or in fastText's own format a vector
    made of its n-grams.

    Raises: DataError, the file cannot be read, holds no vectors, has a value that is no finite number in a
    row that is needed, or has none of the words.
    """
    with files.open_text(path, has_lines=False) as handle:
        head = handle.buffer.read(1 << 16)
    vectors = _read(path, head)
    values = np.zeros((len(words), vectors.vector_size), np.float32)
    found = np.zeros(len(words), np.bool_)
    times = Counter[str]()
    for i, word in enumerate(words):
        if word in vectors.key_to_index:
            values[i], found[i] = vectors.vectors[vectors.key_to_index[word]], True
        elif word.lower() in vectors.key_to_index:
            values[i], found[i] = vectors.vectors[vectors.key_to_index[word.lower()]], True
            times["by the lower-case form"] += 1
        elif _has_ngrams(vectors, word):
            values[i], found[i] = vectors.get_vector(word), True
            times["by character n-grams"] += 1
    name = files.shown(path)
    for i in np.flatnonzero(~np.isfinite(values).all(axis=1))[:1]:
        message = f"the vector of {words[i]!r} has a number that is not finite"
        raise DataError(name, None, message, "mend the row or delete it")
    if words and not found.any():
        begins = ", ".join(map(repr, vectors.index_to_key[:3]))
        hint = f"vectors of another language, or with another letter case? It begins with {begins}"
        raise DataError(name, None, f"it has none of the {counted(len(words), 'word')} wanted", hint)
    coverage = f"{found.sum():,} of {len(words):,} words ({100 * found.sum() / max(len(words), 1):.1f} %)"
    notes = [f"vectors: {coverage}, {vectors.vector_size} dimensions, {name}"]
    notes += [f"  {counted(times[how], 'word')} {how}" for how in sorted(times, reverse=True)]
    return Embeddings(values, found, tuple(notes))


def _read(path: str, head: bytes) -> KeyedVectors:
    """The vectors of a file that begins like this. Raises: DataError, gensim cannot read it."""
    name = files.shown(path)
    start = head.lstrip()
    if not start or start.startswith((b"version https://git-lfs", b"<", b"PK\x03\x04", b"\x1f\x8b")):
        hint = "a download that failed, or an archive? Fetch it again (git lfs pull), or unpack it"
        raise DataError(name, None, "this is not a file of word vectors", hint)
    is_fasttext = head.startswith(FASTTEXT)
    header = None if is_fasttext else _HEADER.match(head)
    if is_fasttext:
        _check_fasttext(path, head)
    elif header:
        most = os.path.getsize(path) * (_DEFLATED if name.endswith(".gz") else 1)
        if most < 2 * int(header[1]) * int(header[2]):
            message = "the file is smaller than its header says"
            raise DataError(name, None, message, "cut off? download it again")
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import load_facebook_vectors

    is_text = not header or _TEXT.match(head, header.end())
    try:
        with _quiet_gensim():
            if is_fasttext:
                return load_facebook_vectors(path)
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


def _has_ngrams(vectors: KeyedVectors, word: str) -> bool:
    """If the vectors have a format that makes one of n-grams; there is a mark at either end of the word."""
    return bool(getattr(vectors, "bucket", 0)) and vectors.min_n <= min(vectors.max_n, len(word) + 2)


def _check_fasttext(path: str, head: bytes) -> None:
    """Refuses files that gensim gives no message for; a truncated file would make it wait for ever."""
    name, again = files.shown(path), "download it again"
    if name.lower().endswith(".gz"):
        message = "vectors in fastText's binary format are read from a plain file only"
        raise DataError(name, None, message, "unpack it")
    if len(head) < _FASTTEXT_HEADER.size:
        raise DataError(name, None, "the file was cut off", again)
    fields = _FASTTEXT_HEADER.unpack_from(head)
    dim, bucket, n_words, n_labels = fields[2], fields[10], fields[16], fields[17]
    if n_labels > 0:
        message = "this is a fastText classifier, not a file of word vectors"
        raise DataError(name, None, message, "learn vectors with fasttext skipgram or cbow")
    if os.path.getsize(path) < 4 * dim * (n_words + bucket):
        again += "; a compressed model (.ftz) is of no use here"
        raise DataError(name, None, "the file is smaller than its header says", again)


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

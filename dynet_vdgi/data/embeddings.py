"""Word vectors for the words of a vocabulary, read from a file, and word vectors learnt from text.

Formats: GloVe text, word2vec and fastText text (with a header `rows dimensions`), word2vec binary, each also
in .gz, and fastText's own binary format. From all but the last, only the rows of wanted words are kept, so
memory grows with the vocabulary and not with the file. gensim reads fastText's own format, which needs about
three times the file's size in memory; a word that the file lacks gets a vector made of its character n-grams.

Shapes: V words, D numbers in a vector.
"""

from __future__ import annotations

import io
import logging
import os
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO, cast

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data import files, vector_rows
from dynet_vdgi.data.vector_rows import BUFFER, Floats
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.names import count as counted

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

Guess = Callable[[str], Floats | None]

FASTTEXT = struct.pack("<i", 793712314)  # first bytes of fastText's own format
_GENSIM_FAILS = (AssertionError, MemoryError, OverflowError, RuntimeError, ValueError, struct.error)
_FASTTEXT_HEADER = struct.Struct("<2i12id3i")  # signature; arguments; words and labels, words, labels

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
    with vector_rows.byte_stream(path) as stream:
        head = stream.peek(BUFFER)
        vector_rows.refuse_others(path, head)
        read = _from_fasttext if head.startswith(FASTTEXT) else _from_rows
        return read(path, words, stream)


def _from_rows(path: str, words: Sequence[str], stream: io.BufferedReader) -> Embeddings:
    wanted = {form for word in words for form in (word, word.lower())}
    rows = vector_rows.wanted_rows(path, stream, wanted)
    if words and not rows.vectors:
        raise _nothing_found(path, words, f" It begins with {', '.join(map(repr, rows.beginning))}")
    index = {word: row for row, word in enumerate(rows.vectors)}
    matrix = np.array(list(rows.vectors.values()), np.float32).reshape(len(index), rows.dim)
    return _assembled(path, words, index, matrix, rows.notes)


def _assembled(
    path: str,
    words: Sequence[str],
    index: Mapping[str, int],
    matrix: Floats,
    notes: Sequence[str] = (),
    guess: Guess | None = None,
) -> Embeddings:
    """Row `index[word]` of `matrix` for each word, else that of its lower-case form, else `guess(word)`."""
    dim = matrix.shape[1]
    values, found = np.zeros((len(words), dim), np.float32), np.zeros(len(words), np.bool_)
    n_lowered = n_guessed = 0
    for i, word in enumerate(words):
        vector: Floats | None = None
        if word in index:
            vector = matrix[index[word]]
        elif word.lower() in index:
            vector = matrix[index[word.lower()]]
            n_lowered += 1
        elif guess is not None:
            vector = guess(word)
            n_guessed += vector is not None
        if vector is not None:
            values[i], found[i] = vector, True
    n_found = int(found.sum())
    coverage = f"{n_found:,} of {len(words):,} words ({100 * n_found / max(len(words), 1):.1f} %)"
    own_notes = [f"vectors: {coverage}, {dim} dimensions, {files.shown(path)}"]
    if n_lowered:
        own_notes.append(f"  {counted(n_lowered, 'word')} by the lower-case form")
    if n_guessed:
        own_notes.append(f"  {counted(n_guessed, 'word')} by character n-grams")
    return Embeddings(values, found, (*own_notes, *notes))


def _nothing_found(path: str, words: Sequence[str], more: str = "") -> DataError:
    message = f"it has none of the {counted(len(words), 'word')} wanted"
    hint = f"vectors of another language, or with another letter case?{more}"
    return DataError(files.shown(path), None, message, hint)


# fastText's own format


def _from_fasttext(path: str, words: Sequence[str], stream: io.BufferedReader) -> Embeddings:
    """The vectors of words; a word without a row, even in lower case, gets the mean vector of its n-grams."""
    _check_fasttext(path, stream.peek(BUFFER))
    from gensim.models.fasttext import load_facebook_vectors

    try:
        with _quiet_gensim():
            vectors = load_facebook_vectors(path)
    except _GENSIM_FAILS as error:
        hint = "damaged, or too large for the memory?"
        raise DataError(path, None, f"gensim cannot read it: {error}", hint) from None

    def guess(word: str) -> Floats | None:
        shortest, longest = vectors.min_n, vectors.max_n
        has_ngrams = vectors.bucket and shortest <= min(longest, len(word) + 2)  # a mark at either end
        return cast(Floats, vectors.get_vector(word)) if has_ngrams else None

    embeddings = _assembled(path, words, vectors.key_to_index, vectors.vectors, guess=guess)
    bad = np.flatnonzero(~np.isfinite(embeddings.values).all(axis=1))
    if len(bad):
        raise DataError(path, None, f"the vector of {words[bad[0]]!r} has a number that is not finite")
    if words and not embeddings.found.any():
        raise _nothing_found(path, words)
    return embeddings


def _check_fasttext(path: str, head: bytes) -> None:
    """Refuses files that gensim gives no message for; a truncated file would make it wait for ever."""
    name, again = files.shown(path), "download it again"
    if path == files.STANDARD or name.lower().endswith(".gz"):
        message = "vectors in fastText's binary format are read from a plain file only"
        raise DataError(name, None, message, "unpack it" if path != files.STANDARD else "save it first")
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

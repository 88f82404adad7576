"""Word vectors from files, for the words of a text.

Formats: GloVe text, word2vec and fastText text (with a header `rows dimensions`), word2vec binary,
each also in .gz, and fastText's own .bin; `vector_files` tells them apart. gensim holds the whole
file in memory.

Shapes: V words, D numbers in a vector.
"""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import DataError
from dynet_vdgi.lexicon import vector_files
from dynet_vdgi.system import files
from dynet_vdgi.system.array_types import Floats32
from dynet_vdgi.system.messages import count as counted

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

# What gensim raises on damaged files, besides wrong arrays.
_GENSIM_FAILS: tuple[type[Exception], ...]

_GENSIM_FAILS = (
    ArithmeticError,
    AssertionError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
)

_GENSIM_FAILS += (TypeError, ValueError, struct.error, zlib.error)


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors of V words. `values` (V, D) has zeros where `has_vector` (V,) is false; `notes` are
    for the log."""

    values: Floats32
    has_vector: NDArray[np.bool_]
    notes: tuple[str, ...]

    @property
    def dim(self) -> int:
        """D, the numbers of a vector."""
        return int(self.values.shape[1])


def load_vectors(path: str, words: Sequence[str]) -> Embeddings:
    """The vectors of `words` in a file: row i of the result belongs to `words[i]`.

    A word without a row of its own gets the row of its lower-case form, or, in fastText's own
    format, a vector made of its character n-grams.

    Raises: DataError, the file cannot be read, holds no vectors, has a value that is no finite
    number in a row that is needed, or has none of the words.
    """
    vectors, name = _read(path), files.shown(path)
    values = np.zeros((len(words), vectors.vector_size), np.float32)
    has_vector = np.zeros(len(words), np.bool_)
    n_lower = 0
    for i, word in enumerate(words):
        spelling = word if word in vectors.key_to_index else word.lower()
        if spelling in vectors.key_to_index:
            values[i], has_vector[i] = vectors.vectors[vectors.key_to_index[spelling]], True
            n_lower += spelling != word
        elif hasattr(vectors, "vectors_ngrams") and word in vectors:
            with _quiet_gensim():
                values[i] = vectors[word]
            has_vector[i] = values[i].any()  # not of a word that is shorter than all n-grams
    for i in np.flatnonzero(~np.isfinite(values).all(axis=1))[:1]:
        message = f"the vector of {words[i]!r} has a number that is not finite"
        raise DataError(name, None, message, "mend the row or delete it")
    if words and not has_vector.any():
        begins = ", ".join(map(repr, vectors.index_to_key[:3]))
        hint = f"vectors of another language, or with another letter case? It begins with {begins}"
        raise DataError(
            name, None, f"it has none of the {counted(len(words), 'word')} wanted", hint
        )
    n_covered = has_vector.sum()
    share = f"{100 * n_covered / max(len(words), 1):.1f} %"
    coverage = f"{n_covered:,} of {len(words):,} words ({share})"
    notes = [f"vectors: {coverage}, {vectors.vector_size} dimensions, {name}"]
    notes += [f"  {counted(n_lower, 'word')} by the lower-case form"] if n_lower else []
    return Embeddings(values, has_vector, tuple(notes))


def _read(path: str) -> KeyedVectors:
    """The vectors of a file.

    Raises: DataError, it is no file of vectors, or gensim cannot read it.
    """
    form, name = vector_files.form_of(path), files.shown(path)
    try:
        from gensim.models import KeyedVectors
        from gensim.models.fasttext import load_facebook_vectors

        with _quiet_gensim():
            if form.kind == "fasttext":
                return load_facebook_vectors(path)
            # Of several rows of a word the first counts; bytes that are not UTF-8 become a mark.
            how = {"binary": form.kind == "binary", "no_header": form.header is None}
            return KeyedVectors.load_word2vec_format(
                path, encoding="utf-8-sig", unicode_errors="replace", **how
            )
    except _GENSIM_FAILS as error:
        if form.kind == "text" and (faulty := vector_files.faulty_row(path, form)):
            number, fault = faulty
            raise DataError(name, number, *fault) from None
        hint = "cut off, or a download that failed: fetch it again"
        raise DataError(name, None, f"gensim cannot read it: {error}", hint) from None


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

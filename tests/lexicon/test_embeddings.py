"""Word vectors: every format read, odd rows and files."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from wording import Wording

from dynet_vdgi.errors import DataError
from dynet_vdgi.lexicon.vectors import Embeddings, load_vectors

ROOT = Path(__file__).parents[2]
WORDS = {
    "de": [0.5, -0.25, 3e-05],
    "la": [1.5, 2, -3],
    "été": [-0.125, 4, 7],
    "10\u00a0000": [9, 8, 7],
}
"""Words of the small files; 10 000 is written with a no-break space."""


def text_of(rows: dict[str, list[float]], header: bool = False, end: str = "\n") -> str:
    lines = [f"{len(rows)} {len(next(iter(rows.values())))}"] if header else []
    lines += [" ".join([word, *map(str, values)]) for word, values in rows.items()]
    return "".join(line + end for line in lines)


def binary_of(rows: dict[str, list[float]], end: bytes = b"") -> bytes:
    header = f"{len(rows)} {len(next(iter(rows.values())))}\n".encode()
    body = (word.encode() + b" " + np.array(v, "<f4").tobytes() + end for word, v in rows.items())
    return header + b"".join(body)


def written(path: Path, data: str | bytes) -> str:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def fault_of(path: str, *words: str) -> str:
    """The message that reading ends with, without the folder."""
    with pytest.raises(DataError) as caught:
        load_vectors(path, words)
    return str(caught.value).replace(os.path.dirname(path) + os.sep, "")


def assert_vectors(loaded: Embeddings, *expected: list[float] | None) -> None:
    """None where no vector should be found."""
    assert loaded.values.dtype == np.float32
    assert loaded.has_vector.tolist() == [vector is not None for vector in expected]
    zeros = [0.0] * loaded.dim
    wanted = np.array([zeros if vector is None else vector for vector in expected], np.float32)
    np.testing.assert_array_equal(loaded.values, wanted)


# Formats

FORMATS: dict[str, str | bytes] = {
    "glove": text_of(WORDS),
    "glove, dos": text_of(WORDS, end="\r\n"),
    "glove, no newline at the end": text_of(WORDS)[:-1],
    "glove, byte order mark": "\ufeff" + text_of(WORDS),
    "fasttext": text_of(WORDS, header=True, end=" \n"),
    "word2vec": text_of(WORDS, header=True),
    "word2vec, byte order mark": "\ufeff" + text_of(WORDS, header=True),
    "binary": binary_of(WORDS),
    "binary, with newlines": binary_of(WORDS, end=b"\n"),
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_read(tmp_path, form, wording: Wording):
    data = FORMATS[form]
    data = data.encode() if isinstance(data, str) else data
    for name, content in (("v", data), ("v.gz", gzip.compress(data, mtime=0))):
        path = written(tmp_path / name, content)
        loaded = load_vectors(path, ["été", "nix", "10\u00a0000", "de"])
        assert_vectors(loaded, WORDS["été"], None, WORDS["10\u00a0000"], WORDS["de"])
        wording.check(loaded.notes)


# Words


def test_the_lower_case_form_stands_in(tmp_path, wording: Wording):
    path = written(tmp_path / "v", text_of({"paris": [1, 2], "Rome": [3, 4], "rome": [5, 6]}))
    loaded = load_vectors(path, ["PARIS", "Paris", "Rome", "rome", "ROME", "Oslo"])
    assert_vectors(loaded, [1, 2], [1, 2], [3, 4], [5, 6], [5, 6], None)
    wording.check(loaded.notes)


# Odd rows, and files that hold no vectors


def test_the_first_of_several_rows_counts_and_only_wanted_numbers_must_be_finite(tmp_path):
    path = written(tmp_path / "v", "de 1 2\nla 3 4\nde 5 6\nx nan 1\n")
    assert_vectors(load_vectors(path, ["de", "la"]), [1, 2], [3, 4])
    told = "v: the vector of 'x' has a number that is not finite (mend the row or delete it)"
    assert fault_of(path, "de", "x") == told
    binary = written(tmp_path / "v", binary_of({"la": [1, 2], "x": [1, float("nan")]}))
    assert fault_of(binary, "x") == told


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n<!DOCTYPE html>\n<html>",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:1 2 3\nsize 12 13\n",
        b"PK\x03\x04\x14\x00",
        b"\xba\x16\x4f\x2f\x0c\x00\x00\x00",
        gzip.compress(b"de 1 2", mtime=0),
        "de 1 2\n".encode("utf-16"),
        b"\x80\x04\x95",
        b"la ville de paris\nde la vie\n",
        b"la\t1\t2\nde\t2\t3\n",
        b"la 1 2 3\nde 1 0,5 3\n",
        b"la 1 2 3\nde 1 2\nun 1 2 3\n",
        b". . . 1 2\nde 3 4\nla 3 4\n",
        b"3 2\nla 1 2\nde 3 4\n",
        b"2 5\nla 1 2 3\nde 2 3 4\n",
        b"999999 999999\nla 1 2 3\n",
        binary_of(WORDS)[:-3],
        b"999999 999999\n" + binary_of(WORDS)[4:],
    ],
)  # fmt: skip
def test_what_is_no_file_of_vectors(tmp_path, data, wording: Wording):
    wording.check(fault_of(written(tmp_path / "v", data), "de", "la"))


def test_rows_of_words_with_spaces_have_a_remedy(tmp_path):
    """GloVe's 840B vectors have such words; the command keeps the other rows."""
    path = written(tmp_path / "v", ". . . 1 2 3\n" + text_of(WORDS))
    command = re.search(r"(awk '.*') keeps", fault_of(path, "de"))
    assert command is not None
    rows = subprocess.run([*shlex.split(command[1]), path], capture_output=True, check=True).stdout
    assert_vectors(load_vectors(written(tmp_path / "w", rows), ["de"]), WORDS["de"])


def test_files_that_cannot_be_read(tmp_path, wording: Wording):
    values = np.random.default_rng(1).normal(size=(2000, 20)).round(3)
    data = gzip.compress(
        text_of({f"w{i}": row for i, row in enumerate(values.tolist())}).encode(), mtime=0
    )
    for size in (2000, len(data) - 1000):  # at the beginning, or behind what is looked at first
        told = fault_of(written(tmp_path / "v.gz", data[:size]), "de")
        wording.check(told)
    plain = written(tmp_path / "w.gz", text_of(WORDS))
    wording.check(fault_of(plain, "de"))
    missing = fault_of(str(tmp_path / "v.g"), "de")
    wording.check(missing)
    with wording.raises(DataError):
        load_vectors(str(tmp_path), ["de"])

"""Files of word vectors told apart: text with any fault is never read as binary, other files are
named."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import random
import re
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from wording import Wording

from dynet_vdgi.errors import DataError
from dynet_vdgi.lexicon.vectors import Embeddings, load_vectors

LETTERS = "aebcdéñøжды中文हिन्дی0123456789.,-'"


def word_of(rng: random.Random) -> str:
    return "".join(rng.choices(LETTERS, k=rng.randint(1, 8)))


def vectors_of(rng: random.Random, n_rows: int, dim: int) -> dict[str, list[float]]:
    scale = 10 ** rng.uniform(-3, 1)
    return {
        word_of(rng): [float(np.float32(rng.gauss(0, scale))) for _ in range(dim)]
        for _ in range(n_rows)
    }


def text_of(rows: dict[str, list[float]], *, header: bool) -> str:
    dim = len(next(iter(rows.values())))
    lines = [
        " ".join([word, *(f"{value:.6f}" for value in values)]) for word, values in rows.items()
    ]
    return "".join(f"{line}\n" for line in [f"{len(rows)} {dim}"] * header + lines)


def binary_of(rows: dict[str, list[float]], end: bytes = b"") -> bytes:
    dim = len(next(iter(rows.values())))
    body = (
        word.encode() + b" " + np.array(values, "<f4").tobytes() + end
        for word, values in rows.items()
    )
    return f"{len(rows)} {dim}\n".encode() + b"".join(body)


def fault_of(path: Path, data: str | bytes, *words: str) -> str:
    """What the file with this content is refused with, without the folder."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(DataError) as caught:
        load_vectors(str(path), words or ("a",))
    return str(caught.value).replace(f"{path.parent}{os.sep}", "")


SMALL = vectors_of(random.Random(5), 6, 50)


# Binary or text


def test_two_hundred_binary_files_are_read_as_binary(tmp_path):
    rng, path = random.Random(7), tmp_path / "v.bin"
    for k in range(200):
        rows = vectors_of(rng, rng.randint(2, 40), rng.choice([2, 3, 4, 5, 10, 50, 100, 300]))
        path.write_bytes(binary_of(rows, end=b"\n" if k % 2 else b""))
        loaded = load_vectors(str(path), list(rows))
        assert loaded.has_vector.all()
        np.testing.assert_array_equal(loaded.values, np.array(list(rows.values()), np.float32))


@pytest.mark.parametrize(
    "values", [b"=@A?ab;>", b"\x00\x00\x80?\x00\x00\x00@", b"xyz=12;<", b"   =\n\n\n>"]
)
def test_binary_numbers_whose_bytes_happen_to_be_letters_are_read(tmp_path, values):
    path = tmp_path / "v.bin"
    path.write_bytes(b"2 2\nde " + values + b"la " + values)
    expected = np.frombuffer(values, "<f4")
    np.testing.assert_array_equal(
        load_vectors(str(path), ["de", "la"]).values, [expected, expected]
    )


def test_two_hundred_damaged_texts_are_refused_or_read_as_they_stand(tmp_path):
    """Every vector read is that of a row with the word, so no number comes from the bytes of
    digits."""
    rng, path, n_read = random.Random(11), tmp_path / "v.vec", 0
    for k in range(200):
        rows = vectors_of(
            rng, rng.randint(2, 8), rng.choice([1, 2, 4, 50]) if k % 2 else rng.choice([2, 5, 50])
        )
        data = bytearray(text_of(rows, header=k % 2 == 1).encode())
        first = data.index(b"\n") + 1 if k % 2 else 0
        for _ in range(rng.choice([1, 1, 2, 20])):  # in the first row more often than elsewhere
            place = rng.randrange(first, rng.choice([len(data), min(len(data), first + 40)]))
            new = rng.choice(
                [b"", b" ", b"\t", b",", b"\n", b"x", b"nan", b"\xe9", b"\x00", b"-", b"  ", b"7"]
            )
            data[place : place + rng.choice([0, 1, 1, 3])] = new
        path.write_bytes(data)
        with suppress(DataError):
            loaded = load_vectors(str(path), list(rows))
            n_read += 1
            assert_rows(bytes(data), list(rows), loaded)
    assert 10 < n_read < 190


def assert_rows(data: bytes, words: list[str], loaded: Embeddings) -> None:
    """Every vector is what some row of its word says."""
    lines = [line.decode(errors="replace").rstrip().split(" ") for line in data.split(b"\n")]
    for word, vector, is_there in zip(words, loaded.values, loaded.has_vector):
        numbers = [line[1:] for line in lines if line[0] in (word, word.lower()) and line[1:]]
        assert not is_there or any(
            np.array_equal(np.array(row, np.float32), vector) for row in numbers
        )


# Rows of text


def changed(number: int, change: Callable[[str], str], *, header: bool = True) -> str:
    """The small file with one line changed, counted from 1."""
    lines = text_of(SMALL, header=header).splitlines()
    lines[number - 1] = change(lines[number - 1])
    return "\n".join(lines) + "\n"


ROWS: dict[str, tuple[Callable[[str], str], str]] = {
    "decimal commas": (lambda row: row.replace(".", ","), "has a decimal comma (numbers have a point"),
    "one decimal comma": (lambda row: row.replace(".", ",").replace(",", ".", 3), "has a decimal comma ("),
    "two blanks after the word": (lambda row: row.replace(" ", "  ", 1), "several blanks in a row ("),
    "two blanks between numbers": (lambda row: row.replace(" ", "  ", 9), "several blanks in a row ("),
    "aligned": (lambda row: row.replace(" ", "    "), "several blanks in a row ("),
    "tabs": (lambda row: row.replace(" ", "\t"), "a tab between word and numbers ("),
    "a tab after the word": (lambda row: row.replace(" ", "\t", 1), "a tab between word and numbers ("),
    "a tab between numbers": (lambda row: row[::-1].replace(" ", "\t", 1)[::-1], "a tab between word and numbers ("),
    "a word with a blank": (lambda row: f"New {row}", "is no number (a word has no blanks: awk 'NF == 51'"),
    "a number with a blank": (lambda row: f"10 {row.replace(row.split()[0], '000', 1)}", "51 numbers, but"),
    "a number too few": (lambda row: row.rsplit(" ", 1)[0], "49 numbers, but"),
    "one number": (lambda row: " ".join(row.split()[:2]), "1 number, but"),
    "a number too many": (lambda row: f"{row} 1", "51 numbers, but"),
    "two rows in one line": (lambda row: f"{row} {row}", "is no number ("),
    "no numbers": (lambda row: row.split()[0], "no numbers after"),
    "commas for blanks": (lambda row: row.replace(" ", ","), "no blank between word and numbers (commas?"),
    "semicolons for blanks": (lambda row: row.replace(" ", ";"), "no blank between word and numbers (semicolons? "),
    "brackets": (lambda row: row.replace(" ", " [", 1) + "]", "is no number ("),
    "a hash": (lambda row: f"# {row}", "is no number ("),
    "n/a": (lambda row: row.rsplit(" ", 1)[0] + " n/a", "'n/a' is no number ("),
    "empty value": (lambda row: row.rsplit(" ", 1)[0] + " NULL", "'NULL' is no number ("),
    "hexadecimal": (lambda row: row.rsplit(" ", 1)[0] + " 0x1.8p3", "'0x1.8p3' is no number ("),
    "underscore": (lambda row: row.rsplit(" ", 1)[0] + " 1_000", "'1_000' is no number ("),
    "percent": (lambda row: row.replace(" ", "% "), "is no number ("),
    "a minus of print": (lambda row: row.rsplit(" ", 1)[0] + " −0.5", "'−0.5' is no number ("),
    "a no-break space": (lambda row: row.replace(" ", "\u00a0", 2), "48 numbers, but"),
    "a blank before": (lambda row: f" {row}", "a blank before the word ("),
}  # fmt: skip


@pytest.mark.parametrize("number", [2, 4])
@pytest.mark.parametrize("name", ROWS)
def test_an_odd_row_is_refused_with_its_line_with_or_without_a_header(tmp_path, name, number):
    change, told = ROWS[name]
    for header in (True, False):
        line = number if header else number - 1
        message = fault_of(tmp_path / "v.vec", changed(line, change, header=header), *SMALL)
        assert message.startswith(f"v.vec:{line}: ")
        assert told in message


def test_odd_rows_far_behind_the_beginning_are_refused_with_their_lines(tmp_path):
    """gensim would stretch a row of one number to a whole vector."""
    rows = {f"w{i}": [0.123456] * 50 for i in range(1000)}
    for header in (0, 1):
        lines = text_of(rows, header=bool(header)).splitlines()
        for change in ("w900 5", "w900", "", "w 900" + " 1" * 50, "w900" + " 1" * 49 + " 0,5"):
            odd = [*lines[: 900 + header], change, *lines[901 + header :]]
            assert fault_of(tmp_path / "v", "\n".join(odd)).startswith(f"v:{901 + header}: ")


def test_every_row_odd_in_the_same_way_is_refused_with_the_first_line(tmp_path):
    for change, told in ROWS.values():
        lines = text_of(SMALL, header=True).splitlines()
        message = fault_of(tmp_path / "v", "\n".join([lines[0], *map(change, lines[1:])]), *SMALL)
        assert re.match("v:[12]: ", message)
        assert told.partition("(")[0] in message or "a row, the rows have" in message


def test_numbers_that_are_not_finite_are_refused_where_they_are_wanted(tmp_path):
    for value in ("nan", "NaN", "inf", "-inf", "Infinity"):
        data = changed(2, lambda row, value=value: " ".join([row.split()[0], *[value] * 50]))
        message = fault_of(tmp_path / "v", data, *SMALL)
        told = f"v: the vector of {next(iter(SMALL))!r} has a number that is not finite ("
        assert message.startswith(told)
        assert load_vectors(str(tmp_path / "v"), list(SMALL)[1:]).has_vector.all()


def test_a_row_of_no_word_stands_beside_the_others(tmp_path):
    """fastText's vectors of a word that was a space; a blank before a word is still a fault."""
    for header in ("3 2\n", ""):
        (tmp_path / "v").write_text(f"{header}y 1 2\n 3 4\nla 5 6\n", encoding="utf-8")
        assert load_vectors(str(tmp_path / "v"), ["la", "y"]).values.tolist() == [[5, 6], [1, 2]]


def test_text_in_an_older_encoding_is_text(tmp_path):
    rows = "2 3\nété 1 2 3\nà 4 5 6\n"
    path = tmp_path / "v"
    path.write_bytes((rows + "la 1 2 3\n").replace("2 3", "3 3", 1).encode("latin-1"))
    assert load_vectors(str(path), ["la"]).values.tolist() == [[1, 2, 3]]
    assert fault_of(path, rows.replace(" 1", "  1").encode("latin-1")).startswith(
        "v:2: several blanks"
    )


# Headers

HEADERS = {
    "too few rows": (
        "3 50",
        "the header says 3 rows, the file has 6 (if it is whole, write '6 50' in its first line",
    ),
    "one too few": ("5 50", "the header says 5 rows, the file has 6 ("),
    "no rows": ("0 50", "the header says 0 rows, the file has 6 ("),
    "too many rows": ("60 50", "the header says 60 rows, the file has 6 ("),
    "one too many": ("7 50", "the header says 7 rows, the file has 6 ("),
    "very many": ("999999999999 50", "the header says 999,999,999,999 rows, the file has 6 ("),
    "smaller": ("6 40", "the header says 40 numbers a row, the rows have 50 ("),
    "larger": ("6 300", "the header says 300 numbers a row, the rows have 50 ("),
    "one": ("6 1", "the header says 1 number a row, the rows have 50 ("),
    "changed order": ("50 6", "the header says 6 numbers a row, the rows have 50 ("),
    "tab": ("6\t50", "a tab between word and numbers ("),
    "two blanks": ("6  50", "several blanks in a row ("),
    "comma": ("6,50", "no numbers after '6,50' ("),
    "words": ("rows dimensions", "'dimensions' is no number ("),
    "hash": ("# 6 50", "2 numbers, but most rows have 50 ("),
    "of floret": ("6 50 3 6 2 2166136261 <", "'<' is no number ("),
    "one number": ("6", "no numbers after '6' ("),
    "column names": ("word " + " ".join(f"d{i}" for i in range(50)), "'d0' is no number ("),
    "numbered columns": (
        "word " + " ".join(map(str, range(49))),
        "49 numbers, but most rows have 50 (",
    ),
    "a blank line": ("", "an empty line between rows ("),
    "title": ("Vectors of Welsh, 6 words", "'of' is no number ("),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_says_otherwise_is_refused(tmp_path, name):
    header, told = HEADERS[name]
    message = fault_of(tmp_path / "v.vec", changed(1, lambda _: header), *SMALL)
    assert message.startswith("v.vec:1: ")
    assert told in message


def test_empty_lines_at_the_end_are_no_rows(tmp_path):
    path = tmp_path / "v"
    path.write_text(text_of(SMALL, header=True) + "\n\n")
    assert load_vectors(str(path), list(SMALL)).has_vector.all()


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize(
    "header", ["5 50", "1 50", "7 50", "6 49", "6 51", "6 10", "6 500", "50 6", "12 25"]
)
def test_a_header_of_a_binary_file_that_says_otherwise_is_refused(
    tmp_path, header, end, wording: Wording
):
    data = binary_of(SMALL, end)
    message = fault_of(tmp_path / "v.bin", header.encode() + data[data.index(b"\n") :], *SMALL)
    wording.check(message)


# Other files


def zipped(member: str, content: bytes = b"de 1 2\n") -> bytes:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return buffer.getvalue()


def tarred(member: str) -> bytes:
    with tarfile.open(fileobj=(buffer := io.BytesIO()), mode="w") as archive:
        archive.add(__file__, member)
    return buffer.getvalue()


def saved_by_gensim(kind: str) -> bytes:
    from gensim.models import KeyedVectors, Word2Vec

    folder = Path(os.environ["VECTORS_FOLDER"])
    if kind == "kv":
        vectors = KeyedVectors(3)
        vectors.add_vectors(["de", "la"], np.ones((2, 3), np.float32))
        vectors.save(str(folder / "x.kv"))
        return (folder / "x.kv").read_bytes()
    Word2Vec([["de", "la"]], vector_size=3, min_count=1, seed=1, workers=1).save(
        str(folder / "x.model")
    )
    return (folder / "x.model").read_bytes()


def saved_by_numpy(save: Callable[[io.BytesIO], None]) -> bytes:
    save(buffer := io.BytesIO())
    return buffer.getvalue()


TEXT = text_of(SMALL, header=False).encode()
OTHERS: dict[str, tuple[Callable[[], bytes], str]] = {
    "glove.zip": (lambda: zipped("glove.6B.50d.txt", TEXT), "this is a zip archive, "),
    "empty.zip": (lambda: b"PK\x05\x06" + bytes(18), "this is a zip archive, "),
    "v.docx": (lambda: zipped("[Content_Types].xml"), "this is a Word or Excel file, "),
    "v.pt": (lambda: zipped("archive/data.pkl"), "this is a model of PyTorch, "),
    "old.pt": (lambda: b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "this is a model of PyTorch, "),
    "v.npz": (lambda: saved_by_numpy(lambda f: np.savez(f, v=np.ones(3))), "this is NumPy's format .npz, "),
    "v.npy": (lambda: saved_by_numpy(lambda f: np.save(f, np.ones(3))), "this is an array of NumPy (.npy), "),
    "v.kv": (lambda: saved_by_gensim("kv"), "this is a model in gensim's own format (a pickle), "),
    "v.model": (lambda: saved_by_gensim("model"), "this is a model in gensim's own format (a pickle), "),
    "v.pkl": (lambda: pickle.dumps({"de": [1.0, 2.0]}), "this is a pickle of Python, "),
    "protocol2.pkl": (lambda: pickle.dumps({"de": [1.0]}, protocol=2), "this is a pickle of Python, "),
    "protocol0.pkl": (lambda: pickle.dumps({"de": [1.0]}, protocol=0), "this is a pickle of Python, "),
    "v.7z": (lambda: b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(30), "this is a 7z archive, "),
    "v.rar": (lambda: b"Rar!\x1a\x07\x01\x00" + bytes(30), "this is a RAR archive, "),
    "v.txt.xz": (lambda: lzma.compress(TEXT), "this is an xz file, "),
    "v.txt.lzma": (lambda: lzma.compress(TEXT, lzma.FORMAT_ALONE), "this is an lzma file, "),
    "v.txt.bz2": (lambda: bz2.compress(TEXT), "this is a bzip2 file, "),
    "v.txt.zst": (lambda: b"\x28\xb5\x2f\xfd" + bytes(30), "this is a Zstandard file, "),
    "v.txt.lz4": (lambda: b"\x04\x22\x4d\x18" + bytes(30), "this is an lz4 file, "),
    "v.txt": (lambda: gzip.compress(TEXT), "this is gzip data without a name in .gz, "),
    "v.tgz": (lambda: gzip.compress(tarred("v.txt")), "this is gzip data without a name in .gz, "),
    "v.tar": (lambda: tarred("v.txt"), "this is a tar archive, "),
    "v.tar.gz": (lambda: gzip.compress(tarred("v.txt")), "this is a tar archive, "),
    "v.h5": (lambda: b"\x89HDF\r\n\x1a\n" + bytes(90), "this is an HDF5 file, "),
    "v.safetensors": (lambda: b"\x40" + bytes(7) + b'{"v":{"dtype":"F32"}}', "this is a safetensors file, "),
    "v.gguf": (lambda: b"GGUF\x03\x00\x00\x00", "this is a GGUF model, "),
    "v.magnitude": (lambda: b"SQLite format 3\x00" + bytes(90), "this is an SQLite database, "),
    "v.parquet": (lambda: b"PAR1\x15\x04", "this is a Parquet or Arrow table, "),
    "v.pdf": (lambda: b"%PDF-1.7\n", "this is a PDF file, "),
    "v.png": (lambda: b"\x89PNG\r\n\x1a\n", "this is a picture, "),
    "v.html": (lambda: b"<!DOCTYPE html>\n<html>\n", "this is a web page (HTML or XML), "),
    "v.xml": (lambda: b"<?xml version='1.0'?>\n", "this is a web page (HTML or XML), "),
    "v.json": (lambda: b'{"de": [1, 2, 3]}\n', "this is JSON, "),
    "list.json": (lambda: b'[["de", [1, 2, 3]]]\n', "this is JSON, "),
    "utf16.txt": (lambda: TEXT.decode().encode("utf-16"), "this is UTF-16 or UTF-32, "),
    "utf16le.txt": (lambda: b"de 1 2\n".decode().encode("utf-16-le"), "this is UTF-16 or UTF-32, "),
    "pointer.vec": (lambda: b"version https://git-lfs.github.com/spec/v1\n", "this is a pointer of Git LFS, "),
    "v.raw": (lambda: np.arange(9, dtype="<f4").tobytes(), "this is binary data, "),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_kind_is_named_with_what_to_do(tmp_path, monkeypatch, name):
    monkeypatch.setenv("VECTORS_FOLDER", str(tmp_path))
    build, told = OTHERS[name]
    message = fault_of(tmp_path / name, build())
    assert message.startswith(f"{name}: {told}")
    assert message.isprintable()
    assert re.search(r"\([^()]{9,}(\(.*\))?[^()]*\)$", message)


LISTS = {
    "counts": "y 90\nmerch 89\nparc 88\n",
    "counts of one word": "y 90\n",
    "large counts": "y 120394\nmerch 9\n",
    "numbers": "1 90\n2 89\n",
    "frequencies": "y 0.0301\nmerch 0.0004\n",
    "words and documents": "y 90112 100\nmerch 77 12\n",
    "count first": "90 y\n89 merch\n",
    "count first, aligned": "     90 y\n      9 merch\n",
    "tabs": "y\t90\nmerch\t89\n",
    "commas": "y,90\nmerch,89\n",
    "words only": "y\nmerch\n",
    "Brown clusters": "0110\ty\t90\n0111\tmerch\t89\n",
    "tags": "y DET\nmerch NOUN\n",
    "CoNLL-U": "1\ty\ty\tDET\t_\t_\t2\tdet\t_\t_\n",
    "vocabulary of SentencePiece": "<unk>\t0\n▁y\t-3.1\n",
    "vocabulary of BERT": "[PAD]\n[UNK]\ny\n",
    "merges": "#version: 0.2\ny n\n",
    "a text": "Gwelodd y bachgen gath ddu.\n",
    "a table with names": "word,count\ny,90\n",
    "settings": "[words]\nvectors = 'v.vec'\n",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_words_is_not_taken_for_vectors(tmp_path, name, wording: Wording):
    message = fault_of(tmp_path / "v", LISTS[name], "y", "merch")
    assert re.match("v:[12]: ", message)
    if "counts" in name or name in ("numbers", "words and documents"):
        wording.check(message)


def test_vectors_of_few_dimensions_are_vectors(tmp_path):
    path = tmp_path / "v"
    for dim in (2, 3, 4):
        rows = {"de": [0.5] * dim, "la": [-1.0] * dim}
        for header in (True, False):
            path.write_text(text_of(rows, header=header))
            assert load_vectors(str(path), ["la"]).values.tolist() == [[-1.0] * dim]

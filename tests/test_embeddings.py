"""Word vectors: every format read, odd rows and files, and vectors learnt from text."""

from __future__ import annotations

import gzip
import io
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.data import vector_rows
from dynet_vdgi.data.embeddings import Embeddings, load, train, usual_epochs, write
from dynet_vdgi.errors import DataError

ROOT = Path(__file__).parents[1]
WORDS = {"de": [0.5, -0.25, 3e-05], "la": [1.5, 2, -3], "été": [-0.125, 4, 7], "10\u00a0000": [9, 8, 7]}
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
        load(path, words)
    return str(caught.value).replace(os.path.dirname(path) + os.sep, "")


def assert_vectors(loaded: Embeddings, *expected: list[float] | None) -> None:
    """None where no vector should be found."""
    assert loaded.values.dtype == np.float32
    assert loaded.found.tolist() == [vector is not None for vector in expected]
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
    "word2vec, byte order mark": "\ufeff" + text_of(WORDS, header=True),
    "binary": binary_of(WORDS),
    "binary, with newlines": binary_of(WORDS, end=b"\n"),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_every_format_is_read(tmp_path: Path, form: str, packed: bool) -> None:
    data = FORMATS[form]
    data = data.encode() if isinstance(data, str) else data
    path = (
        written(tmp_path / "v.gz", gzip.compress(data, mtime=0)) if packed else written(tmp_path / "v", data)
    )
    loaded = load(path, ["été", "nix", "10\u00a0000", "de"])
    assert_vectors(loaded, WORDS["été"], None, WORDS["10\u00a0000"], WORDS["de"])
    assert loaded.dim == 3
    assert loaded.notes == (f"vectors: 3 of 4 words (75.0 %), 3 dimensions, {path}",)


def test_what_gensim_writes_is_read(tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(5)
    values = np.random.default_rng(1).normal(size=(40, 5)).astype(np.float32)
    words = [f"w{i}" for i in range(40)]
    vectors.add_vectors(words, values)
    for name, options in (("a.vec", {}), ("a.bin", {"binary": True}), ("a.txt", {"write_header": False})):
        vectors.save_word2vec_format(str(tmp_path / name), **options)
        np.testing.assert_array_equal(load(str(tmp_path / name), words[::-1]).values, values[::-1])


def test_binary_numbers_that_look_like_letters(tmp_path: Path) -> None:
    data = binary_of({"de": [0.3, -0.3, 0.3]})
    assert not vector_rows._CONTROL.search(data)
    assert_vectors(load(written(tmp_path / "v", data), ["de"]), [0.3, -0.3, 0.3])


@given(rows=st.integers(1, 30), dim=st.integers(2, 20), seed=st.integers(0, 1000), buffer=st.integers(8, 200))
def test_binary_rows_across_any_border(rows: int, dim: int, seed: int, buffer: int) -> None:
    values = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    data = binary_of({f"w{i}": list(row) for i, row in enumerate(values)}, end=b"\n").partition(b"\n")[2]
    layout = vector_rows._Layout(dim, True, rows)
    odd = vector_rows._Oddities()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_rows, "BUFFER", buffer)
        stream = io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]
        found = list(vector_rows._binary_rows(stream, layout, odd))
    assert [(n, word) for n, word, _ in found] == [(i + 1, b"w%d" % i) for i in range(rows)]
    assert b"".join(numbers for _, _, numbers in found) == values.tobytes()
    assert odd.count == 0


def fasttext_file(path: Path, **options: Any) -> Any:
    """A tiny model in fastText's own format; returns gensim's model."""
    from gensim.models import FastText
    from gensim.models.fasttext import save_facebook_model

    text = [["la", "ville", "de", "paris"], ["la", "vie", "de", "la", "ville"], ["une", "ville"]] * 3
    options = {"vector_size": 6, "min_count": 1, "bucket": 50, "epochs": 1, "workers": 1, **options}
    model = FastText(text, **options)
    save_facebook_model(model, str(path))
    return model


def test_fasttexts_own_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = fasttext_file(tmp_path / "any.name")
    loaded = load(str(tmp_path / "any.name"), ["ville", "Paris", "villes", "vie"])
    vectors = [model.wv[word] for word in ("ville", "paris", "villes", "vie")]
    np.testing.assert_allclose(loaded.values, vectors, rtol=1e-5, atol=1e-7)
    assert loaded.found.all()
    assert loaded.notes == (
        f"vectors: 4 of 4 words (100.0 %), 6 dimensions, {tmp_path / 'any.name'}",
        "  1 word by the lower-case form",
        "  1 word by character n-grams",
    )
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("options", [{"min_n": 5, "max_n": 6}, {"max_n": 0}], ids=["too short", "none"])
def test_words_without_ngrams_have_no_vector(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, int]
) -> None:
    fasttext_file(tmp_path / "a.bin", **options)
    loaded = load(str(tmp_path / "a.bin"), ["ville", "zz"])
    assert loaded.found.tolist() == [True, False]
    assert not loaded.values[1].any()
    assert not caplog.records
    assert "none of the 1 word wanted" in fault_of(str(tmp_path / "a.bin"), "zz")


def test_damaged_fasttext_models(tmp_path: Path) -> None:
    fasttext_file(tmp_path / "a.bin")
    data = (tmp_path / "a.bin").read_bytes()
    small = written(tmp_path / "b.bin", data[:900])
    assert fault_of(small, "ville").startswith("b.bin: the file is smaller than its header says (download it")
    assert fault_of(written(tmp_path / "b.bin", data[:30]), "ville").startswith("b.bin: the file was cut off")
    packed = written(tmp_path / "b.bin.gz", gzip.compress(data, mtime=0))
    assert fault_of(packed, "ville").endswith("are read from a plain file only (unpack it)")
    labels = data[:72] + struct.pack("<i", 2) + data[76:]
    assert "a fastText classifier" in fault_of(written(tmp_path / "b.bin", labels), "ville")
    version = data[:64] + struct.pack("<i", 3) + data[68:]  # too few words
    assert "b.bin: gensim cannot read it: " in fault_of(written(tmp_path / "b.bin", version), "ville")
    nan = data.replace(model_row(tmp_path / "a.bin"), np.full(6, np.nan, "<f4").tobytes())
    message = "b.bin: the vector of 'ville' has a number that is not finite"
    assert fault_of(written(tmp_path / "b.bin", nan), "ville") == message


def test_a_fasttext_word_that_is_not_utf8(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fasttext_file(tmp_path / "a.bin")
    data = (tmp_path / "a.bin").read_bytes().replace(b"vie\0", b"v\xe9e\0")
    assert load(written(tmp_path / "a.bin", data), ["vée", "ville"]).found.all()
    assert not caplog.records  # gensim says that it is an error


def model_row(path: Path) -> bytes:
    """The bytes of the row of `ville` in a model."""
    from gensim.models.fasttext import load_facebook_vectors

    vectors = load_facebook_vectors(str(path))
    return bytes(vectors.vectors_vocab[vectors.key_to_index["ville"]].tobytes())


# Words


def test_the_lower_case_form_stands_in(tmp_path: Path) -> None:
    path = written(tmp_path / "v", text_of({"paris": [1, 2], "Rome": [3, 4], "rome": [5, 6]}))
    loaded = load(path, ["PARIS", "Paris", "Rome", "rome", "ROME", "Oslo"])
    assert_vectors(loaded, [1, 2], [1, 2], [3, 4], [5, 6], [5, 6], None)
    assert loaded.notes == (
        f"vectors: 5 of 6 words (83.3 %), 2 dimensions, {path}",
        "  3 words by the lower-case form",
    )


def test_words_with_spaces_inside(tmp_path: Path) -> None:
    rows = {
        ". . .": [0.5, 0.25, 2],
        "10 000": [4, 5, 6],
        "de": [7, 8, 9],
        "a 3": [0.1, 0.2, 0.3],
        "la": [1, 2, 3],
    }
    assert_vectors(load(written(tmp_path / "v", text_of(rows)), list(rows)), *rows.values())
    assert_vectors(load(written(tmp_path / "w", text_of(rows, header=True)), list(rows)), *rows.values())


def test_odd_characters_in_words(tmp_path: Path) -> None:
    words = ["a\u0085b", "\u2028", "x\u3000", "\u00a0", "a\x0bb", "c\rd", "\U0001f600"]
    rows = {word: [float(i), 1.0] for i, word in enumerate(words)}
    assert_vectors(load(written(tmp_path / "v", text_of(rows)), words), *rows.values())


def test_no_words_no_vectors(tmp_path: Path) -> None:
    loaded = load(written(tmp_path / "v", text_of(WORDS)), [])
    assert loaded.values.shape == (0, 3)
    assert loaded.found.shape == (0,)
    assert loaded.notes[0].startswith("vectors: 0 of 0 words (0.0 %), 3 dimensions")


def test_a_word_asked_for_twice(tmp_path: Path) -> None:
    assert_vectors(load(written(tmp_path / "v", text_of(WORDS)), ["la", "la"]), WORDS["la"], WORDS["la"])


def test_none_of_the_words(tmp_path: Path) -> None:
    path = written(tmp_path / "v", text_of(WORDS))
    assert fault_of(path, "der", "die") == (
        "v: it has none of the 2 words wanted (vectors of another language, or with another letter case? "
        "It begins with 'de', 'la', 'été')"
    )


# Odd rows


def test_the_first_of_several_rows_counts(tmp_path: Path) -> None:
    text = "de 1 2\nla 3 4\nde 5 6\nx 1 2\nx 1 2\nla nan 7\nde 7 8\n"
    loaded = load(written(tmp_path / "v", text), ["de", "la"])
    assert_vectors(loaded, [1, 2], [3, 4])
    assert loaded.notes[1:] == ("  3 rows of a word that has one already passed over (first: 'de', line 3)",)


def test_short_and_long_rows_are_passed_over(tmp_path: Path) -> None:
    text = "de 0.1 0.2 0.3\nla 0.1 0.2\n\nun 0.1 0.2 0.3 0.4\nle\nil 0.4 0.5 0.6\n"
    for header in ("", "5 3\n"):
        loaded = load(written(tmp_path / "v", header + text), ["la", "un", "le", "il"])
        assert_vectors(loaded, None, None, None, [0.4, 0.5, 0.6])
        line = 3 if header else 2
        assert loaded.notes[1:] == (
            f"  3 rows without a word and 3 numbers passed over (first: line {line})",
        )


def test_the_first_row_does_not_decide_alone(tmp_path: Path) -> None:
    """GloVe's 840B vectors have words with spaces inside; a first row may also be cut off."""
    for first in ("a 7 0.1 0.2 0.3", ". . 0.1 0.2 0.3", "x 0.1 0.2"):
        loaded = load(written(tmp_path / "v", first + "\nde 1 2 3\nla 4 5 6\n"), ["la", "de"])
        assert_vectors(loaded, [4, 5, 6], [1, 2, 3])


def test_a_cut_off_last_row(tmp_path: Path) -> None:
    loaded = load(written(tmp_path / "v", "3 3\nde 1 2 3\nla 4 5 6\nun 7"), ["de", "un"])
    assert_vectors(loaded, [1, 2, 3], None)
    assert loaded.notes[1:] == ("  1 row without a word and 3 numbers passed over (first: line 4)",)
    loaded = load(written(tmp_path / "w", binary_of(WORDS)[:-3]), ["de", "10\u00a0000"])
    assert_vectors(loaded, WORDS["de"], None)
    assert loaded.notes[1:] == ("  1 row without a word and 3 numbers passed over (first: row 4)",)


def test_a_header_that_promises_more_or_less(tmp_path: Path) -> None:
    for promised, note in (
        (2000, "  the header promises 2,000 rows, there are 4: the file was cut off?"),
        (1, "  the header promises 1 row, there are 4"),
    ):
        for data in (text_of(WORDS, header=True).encode(), binary_of(WORDS)):
            changed = b"%d" % promised + data[1:]
            loaded = load(written(tmp_path / "v", changed), ["10\u00a0000"])
            assert_vectors(loaded, WORDS["10\u00a0000"])
            assert loaded.notes[1:] == (note,)


def test_rows_that_are_not_utf8(tmp_path: Path) -> None:
    data = text_of(WORDS).encode() + b"caf\xe9 1 2 3\n\xff\xfe 1 2 3\nfin 3 2 1\n"
    loaded = load(written(tmp_path / "v", data), ["fin", "café"])
    assert_vectors(loaded, [3, 2, 1], None)
    assert loaded.notes[1:] == ("  2 rows not in UTF-8 passed over (first: line 5)",)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e39", "0,5", "abc", ""])
def test_a_value_that_is_no_finite_number(tmp_path: Path, value: str) -> None:
    path = written(tmp_path / "v", f"la 1 2 3\nde 1 {value} 3\nx {value} 1 2\n")
    message = f"v:2: number 2 of 'de' is {value!r}, not a finite number (mend the row or delete it)"
    assert fault_of(path, "la", "de") == message
    assert_vectors(load(path, ["la"]), [1, 2, 3])  # rows that are not needed are not looked at


def test_a_binary_value_that_is_not_finite(tmp_path: Path) -> None:
    path = written(tmp_path / "v", binary_of({"la": [1, 2], "de": [1, float("nan")]}))
    assert fault_of(path, "de") == "v: row 2: number 2 of 'de' is 'nan', not a finite number"


# Files that hold no vectors


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "v: the file is empty (download it again, or fetch it: git lfs pull)"),
        (b" \n\n", "v: the file is empty (download it again, or fetch it: git lfs pull)"),
        (b"\n<!DOCTYPE html>\n<html>", "v: this is a web page, not a file of word vectors (download it"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1 2 3\nsize 12 13\n",
            "v: this is a Git LFS ",
        ),
        (
            b"PK\x03\x04\x14\x00",
            "v: this is a zip or Word file, not text (unpack it, or save its text as UTF-8)",
        ),
        (
            gzip.compress(b"de 1 2", mtime=0),
            "v: this is gzip data, not a file of word vectors (its name must end in .gz)",
        ),
        (
            "de 1 2\n".encode("utf-16"),
            "v: this is UTF-16 text, not a file of word vectors (save the file as ",
        ),
        (b"\x80\x04\x95", "v: this is a Python pickle, not a file of word vectors (pickles can run code; "),
        (
            b"la ville de paris\nde la vie\n",
            "v: no row of a word and its numbers, separated by spaces (expected",
        ),
        (b"la 1\nde 2\n", "v: no row of a word and its numbers, separated by spaces (expected vectors of "),
        (b"la\t1\t2\nde\t2\t3\n", "v: no row of a word and its numbers, separated by spaces (expected "),
        (
            b"2 5\nla 1 2 3\nde 2 3 4\n",
            "v:1: the header says 5 numbers a row, but the first rows have fewer (cut",
        ),
        (
            b"2 2\nla 0.1 0.2 0.3\nde 0.1 0.2 0.3\n",
            "v:2: no row is a word and 2 numbers, separated by spaces (",
        ),
        (b"2 300\n", "v:1: the header says 300 numbers a row, but the first rows have fewer ("),
        (
            b"2 300\nde \x00\x01",
            "v:1: no row is a word and 300 numbers, separated by spaces (cut off, or not ",
        ),
    ],
)
def test_what_is_no_file_of_vectors(tmp_path: Path, data: bytes, message: str) -> None:
    assert fault_of(written(tmp_path / "v", data), "de", "la").startswith(message)


class EndlessZeros(io.BytesIO):
    """A stream whose words have no end."""

    reads = 0

    def read(self, size: int | None = -1) -> bytes:
        self.reads += 1
        assert self.reads < 10
        return b"\x00" * (size or 0)


def test_binary_data_without_words_is_not_all_taken_into_memory() -> None:
    odd = vector_rows._Oddities()
    layout = vector_rows._Layout(300, True, 9)
    assert list(vector_rows._binary_rows(EndlessZeros(), layout, odd)) == []  # type: ignore[arg-type]
    assert (odd.count, odd.number) == (1, 1)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    data = gzip.compress(os.urandom(2000).hex(" ").encode(), mtime=0)
    cut = written(tmp_path / "v.gz", data[: len(data) // 2])
    assert fault_of(cut, "de").startswith("v.gz:1: corrupt gzip data: ")
    assert fault_of(cut, "de").endswith("(the file is damaged or was cut off)")
    plain = written(tmp_path / "w.gz", text_of(WORDS))
    assert fault_of(plain, "de").startswith("w.gz:1: corrupt gzip data: Not a gzipped file")
    missing = fault_of(str(tmp_path / "v.g"), "de")
    assert missing.startswith("v.g: no such file (did you mean ")
    with pytest.raises(DataError, match="this is a directory"):
        load(str(tmp_path), ["de"])


def test_rows_of_a_cut_off_gzip_file_are_not_used(tmp_path: Path) -> None:
    rows = "".join(f"w{i} 0.{i * 7919 % 100003} 0.{i * 104729 % 99991}\n" for i in range(80_000))
    assert len(rows) > vector_rows.BUFFER
    data = gzip.compress(rows.encode(), 1, mtime=0)
    cut = written(tmp_path / "v.gz", data[:-1000])
    fault = fault_of(cut, "w0")
    assert "corrupt gzip data: Compressed file ended before" in fault
    assert int(fault.split(":")[1]) > 10_000  # behind what is read first


# Learning

TEXT = [["la", "ville", "de", "paris"], ["la", "vie"], ["Paris", "de", "10 000"], ["10 000", "vie"]] * 3


def learnt(seed: int = 1, min_count: int = 1, text: list[list[str]] = TEXT) -> str:
    handle = io.StringIO()
    write(train(iter(text), dim=4, epochs=3, min_count=min_count, seed=seed), handle)
    return handle.getvalue()


def test_vectors_are_learnt_and_written(tmp_path: Path) -> None:
    lines = learnt().splitlines()
    assert lines[0] == "6 4"
    assert [line.split(" ")[0] for line in lines[1:]] == ["de", "la", "vie", "Paris", "paris", "ville"]
    vectors = train(TEXT, dim=4, epochs=3, min_count=1, seed=1)
    loaded = load(written(tmp_path / "a.vec", learnt()), ["ville", "de", "10 000"])
    assert loaded.found.tolist() == [True, True, False]  # other readers would stumble at the space
    np.testing.assert_allclose(loaded.values[:2], vectors[["ville", "de"]], rtol=1e-4)
    assert np.isfinite(vectors.vectors).all()
    assert len({row.tobytes() for row in vectors.vectors}) == 7


def test_the_number_of_words_written_comes_back() -> None:
    vectors = train(TEXT, dim=4, epochs=1, min_count=6, seed=1)
    handle = io.StringIO()
    assert sorted(vectors.index_to_key) == ["10 000", "de", "la", "vie"]
    assert write(vectors, handle) == 3
    assert len(handle.getvalue().splitlines()) == 4


def test_another_seed_gives_other_numbers() -> None:
    assert learnt(1) == learnt(1)
    assert learnt(1) != learnt(2)


def test_rare_words_are_left_out() -> None:
    assert {line.split(" ")[0] for line in learnt(min_count=4).splitlines()[1:]} == {"de", "la", "vie"}
    with pytest.raises(ValueError, match="no word occurs 7 times"):
        learnt(min_count=7)
    with pytest.raises(ValueError, match="no word occurs 1 times"):
        learnt(text=[])


def test_words_in_like_places_get_like_vectors() -> None:
    """Two sorts of words, each with words of its own around it; without n-grams in common."""
    rng = np.random.default_rng(1)
    first, second = ["aaa", "bbb", "ccc"], ["xxx", "yyy", "zzz"]
    text = [
        [str(rng.choice(sort)), frame, str(rng.choice(sort))]
        for sort, frame in ((first, "mmm"), (second, "nnn"))
        for _ in range(300)
    ]
    vectors = train(text, dim=10, epochs=40, min_count=1, seed=1)
    for sort, other in ((first, second), (second, first)):
        for word in sort:
            within = min(vectors.similarity(word, peer) for peer in sort)
            across = max(vectors.similarity(word, stranger) for stranger in other)
            assert within > across


def test_epochs_are_counted() -> None:
    epochs: list[None] = []
    train(TEXT, dim=4, epochs=3, min_count=1, seed=1, after_epoch=lambda: epochs.append(None))
    assert len(epochs) == 3


def test_short_texts_are_read_more_often() -> None:
    sizes = (0, 1, 61_040, 292_534, 600_000, 10**9)
    assert [usual_epochs(size) for size in sizes] == [50, 50, 49, 10, 5, 5]


LEARN = """
import sys
from dynet_vdgi.data import embeddings
text = [sentence.split() for sentence in ("la ville de paris", "la vie de la ville", "une vie")] * 5
embeddings.write(embeddings.train(text, dim=5, epochs=2, min_count=1, seed=3), sys.stdout)
"""


@pytest.mark.slow
def test_the_same_text_and_seed_give_the_same_bytes_in_every_process() -> None:
    outputs = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", LEARN]
        outputs.add(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)
    (output,) = outputs
    assert output.startswith(b"6 5\nla ")


def test_importing_needs_neither_gensim_nor_dynet() -> None:
    code = "import sys, dynet_vdgi.data.embeddings; print({'gensim', 'dynet'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
    assert result.stdout == b"set()\n"

"""`vdgi vectors`: what it writes, says and refuses."""

from __future__ import annotations

import gzip
import io
import re
import sys
from pathlib import Path

import pytest
import tiny
from shell import Vdgi, last_line, names_in

from dynet_vdgi.data import embeddings
from dynet_vdgi.data.embeddings import load

TEXT = "La ville de Paris .\n\nla vie de la ville\n" * 3
SMALL = ["--dim", "4", "--epochs", "2"]


@pytest.fixture
def text(folder: Path) -> Path:
    """A text of 30 words in the present folder."""
    Path("my.txt").write_text(TEXT, encoding="utf-8")
    return Path("my.txt")


def words_of(path: str) -> list[str]:
    data = Path(path).read_bytes()
    lines = (gzip.decompress(data) if path.endswith(".gz") else data).decode().splitlines()
    return [line.split(" ")[0] for line in lines[1:]]


def test_vectors_of_a_text(vdgi: Vdgi, text: Path) -> None:
    result = vdgi.good("vectors", text, "-o", "my.vec", *SMALL)
    assert result.out == ""
    lines = result.err.splitlines()
    assert lines[0] == "text: 6 sentences, 30 words, 6 different ones; 2 passes"
    assert re.fullmatch(r"vectors: 6 words, 4 dimensions, \d+\.\d s, my\.vec", lines[1])
    assert len(lines) == 2
    assert words_of("my.vec") == ["la", "de", "ville", ".", "paris", "vie"]
    assert load("my.vec", ["ville", "Vie"]).found.all()
    first = Path("my.vec").read_bytes()
    vdgi.good("vectors", text, "-o", "my.vec", *SMALL)  # overwrites
    assert Path("my.vec").read_bytes() == first
    vdgi.good("vectors", text, "-o", "my.vec", *SMALL, "--seed", "2")
    assert Path("my.vec").read_bytes() != first
    assert names_in(Path()) == ["my.txt", "my.vec"]


def test_options(vdgi: Vdgi, text: Path) -> None:
    quiet = vdgi.good("-q", "vectors", text, "-o", "a.vec.gz", *SMALL, "--keep-case", "--min-count", "4")
    assert (quiet.out, quiet.err) == ("", "")
    assert words_of("a.vec.gz") == ["de", "la", "ville"]
    vdgi.good("vectors", text, "-o", "b.vec", *SMALL, "--keep-case", "--min-count", "1")
    assert set(words_of("b.vec")) == {"La", "Paris", ".", "la", "de", "ville", "vie"}


def test_treebanks_patterns_and_standard_input(
    vdgi: Vdgi, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.write(Path("xx-a.conllu"), 4)
    Path("xx-b.conllu.gz").write_bytes(gzip.compress(tiny.treebank(4).encode(), mtime=0))
    result = vdgi.good("vectors", "xx-*", "-o", "a.vec", *SMALL)
    assert result.err.startswith("text: 8 sentences, ")
    assert not any(word.startswith("punct") for word in words_of("a.vec"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert vdgi.good("vectors", "-", "-o", "-", *SMALL).out.startswith("6 4\nla ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["my.txt"], "vdgi vectors: error: the following arguments are required: -o/--output"),
        (["my.txt", "-o", "my.txt"], "-o my.txt: this is an input, which would be lost"),
        (["my.txt", "-o", "a.vec", "--dim", "0"], "--dim 0: must be at least 1"),
        (["my.txt", "-o", "a.vec", "--dim", "9" * 20], f"--dim {'9' * 20}: must be at most 2500000"),
        (["my.txt", "-o", "a.vec", "--epochs", "0"], "--epochs 0: must be at least 1"),
        (["my.txt", "-o", "a.vec", "--min-count", "-1"], "--min-count -1: must be at least 1"),
        (["my.txt", "-o", "a.vec", "--seed", "-1"], "--seed -1: must be from 0 to 4294967295"),
        (
            ["my.txt", "-o", "a.vec", "--min-count", "10"],
            "--min-count 10: no word of the text occurs that often",
        ),
    ],
)
def test_wrong_use(vdgi: Vdgi, text: Path, arguments: list[str], message: str) -> None:
    status, out, err = vdgi("vectors", *arguments)
    assert (status, out) == (2, "")
    assert last_line(err).startswith(message)
    assert names_in(Path()) == ["my.txt"]
    assert text.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b" \n\n", "a.txt: there are no words to learn from"),
        ("a.conllu", tiny.block(1, ["PUNCT"], [0]).encode(), "a.conllu: there are no words to learn from"),
        ("a.txt.gz", gzip.compress(TEXT.encode(), mtime=0)[:-9], "a.txt.gz:"),
    ],
)
def test_faulty_texts(vdgi: Vdgi, folder: Path, name: str, data: bytes, message: str) -> None:
    Path(name).write_bytes(data)
    Path("old.vec").write_text("old", encoding="utf-8")
    status, out, err = vdgi("vectors", name, "-o", "old.vec")
    assert (status, out) == (3, "")
    assert last_line(err).startswith(message)
    assert Path("old.vec").read_text(encoding="utf-8") == "old"
    assert names_in(folder) == sorted([name, "old.vec"])


def test_an_interrupt_leaves_nothing(vdgi: Vdgi, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(embeddings, "train", interrupted)
    assert vdgi("-q", "vectors", text, "-o", "a.vec") == (130, "", "interrupted\n")
    assert names_in(Path()) == ["my.txt"]

"""Running text: plain or CoNLL-U, one sentence after the other."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dynet_vdgi.conllu.corpus import words_in as sentences

TREEBANK = """# text = The dog barks .
1\tThe\t_\tDET\t_\t_\t2\tdet\t_\t_
2\tdog\t_\tNOUN\t_\t_\t3\tdep\t_\t_
3\tbarks\t_\tVERB\t_\t_\t0\troot\t_\t_
4\t.\t_\tPUNCT\t_\t_\t3\tdep\t_\t_

1\t!\t_\tPUNCT\t_\t_\t0\troot\t_\t_

"""


def test_plain_text_is_a_sentence_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Él  come\tpan\n\n  \nfin\r\notra\rmás".encode())
    assert list(sentences([str(tmp_path / "a.txt")])) == [
        ["él", "come", "pan"],
        ["fin"],
        ["otra"],
        ["más"],
    ]
    assert next(sentences([str(tmp_path / "a.txt")], lowercase=False))[0] == "Él"


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz"])
def test_treebanks_give_their_words_without_punctuation(tmp_path: Path, name: str) -> None:
    content = TREEBANK.encode()
    (tmp_path / name).write_bytes(
        gzip.compress(content, mtime=0) if name.endswith(".gz") else content
    )
    assert list(sentences([str(tmp_path / name)] * 2)) == [["the", "dog", "barks"]] * 2

"""`vdgi convert` on one file, for tests of its formats."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from shell import Vdgi
from wording import Wording


class Made(NamedTuple):
    """Comments and words of the output, and what the command prints."""

    comments: list[str]
    words: list[list[str]]
    err: str

    @property
    def texts(self) -> list[str]:
        """The texts of the sentences."""
        return [
            line.removeprefix("text = ") for line in self.comments if line.startswith("text = ")
        ]


def put(name: str, content: str | bytes) -> None:
    """Writes a file into the present folder."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def converted(vdgi: Vdgi, name: str, content: str | bytes, *options: str) -> Made:
    """What the command makes of a file with this name and content: out.conllu."""
    put(name, content)
    err = vdgi.good("convert", name, *options, "-o", "out.conllu").err
    lines = Path("out.conllu").read_text(encoding="utf-8").split("\n")
    rows = [line.split("\t")[1:] for line in lines if line[:1].isdigit()]
    return Made([line[2:] for line in lines if line[:1] == "#"], rows, err)


def check_refusal(vdgi: Vdgi, name: str, content: str | bytes, wording: Wording) -> None:
    """The command refuses such a file with the message of the transcript, and writes nothing."""
    put(name, content)
    result = vdgi("convert", name, "-o", "out.conllu")
    assert result.status == 3
    wording.check(result.err)
    assert not Path("out.conllu").exists()

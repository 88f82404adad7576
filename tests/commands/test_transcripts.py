"""What the command prints, line by line: tests/transcripts/*.txt are played in a folder of small
files.

`$` begins a command, `>` a line of standard output, `!` one of standard error, `?` the exit status if it is
not 0. After `|` stands what a shell does with the output; a command of another program is one of a shell.
Times are written as N. A command that fails must leave all files as they were, and one that succeeds those
that it does not name. VDGI_REGENERATE=1 writes the transcripts anew; look at the difference then.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
import universal_toys
from shell import Vdgi

import dynet_vdgi
from dynet_vdgi.words.tagger.tagger import Tagger
from dynet_vdgi.words.tokeniser import tokeniser_file

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.txt"))
VARYING = [
    (r"(compiling .* \(once on this computer\)|learning to tokenise .*)\n", ""),  # if it takes long
    (re.escape(dynet_vdgi.__version__), "VERSION"),
    (r"\d+\.\d+( CPU seconds| s\b)", r"N\1"),
    (r"\(\d+ words/s\)", "(N words/s)"),
    (r"(HeadConf|TagConf)=0\.\d+(?=\s)", r"\1=0.N"),
    (r"sha256 [0-9a-f]{64}", "sha256 N"),
    (r"usage: vdgi .*", "usage: vdgi ..."),
]
"""What differs from run to run, or is tested as help."""

SMALL = "".join(
    f"{section}.{name} = {value}\n"
    for section, values in tiny.SMALL.items()
    for name, value in values.items()
)


@pytest.fixture(scope="session")
def things(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    """A folder of small files: texts, faulty ones, runs, a tagger and a tokeniser."""
    folder = tmp_path_factory.mktemp("things")
    gold = tiny.treebank(6)
    chain = tiny.block(0, ["DET", "NOUN", "VERB", "PUNCT"], [0, 1, 2, 3])
    texts = {
        "good": tiny.treebank(),
        "bare": tiny.treebank(heads=False),
        "gold": gold,
        "same": gold,
        # one root and two arcs wrong, the latter only turned
        "wrong": gold.replace(tiny.treebank(1), chain),
        "columns": tiny.treebank(4) + tiny.NINE_COLUMNS,
        "roots": tiny.treebank(1) + tiny.TWO_ROOTS,
        "empty": "",
        "own-tags": tiny.treebank(2, heads=False).replace("\tNOUN\t", "\tN\t"),
        "lower": re.sub(
            "\t[A-Z]+\t", lambda found: found[0].lower(), tiny.treebank(6, heads=False)
        ),
        "untagged": "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.conllu").write_text(text, encoding="utf-8")
    (folder / "good.conllu.gz").write_bytes(gzip.compress(tiny.treebank(4).encode(), mtime=0))
    (folder / "raw.txt").write_text("Dogs bark.\nCats sleep.\n", encoding="utf-8")
    (folder / "words.txt").write_text(
        "La ville de Paris .\n\nla vie de la ville\n" * 3, encoding="utf-8"
    )
    (folder / "small.toml").write_text('base = "fixed-lambda"\n' + SMALL, encoding="utf-8")
    (folder / "bad-rules.txt").write_text("ROOT VERB 1\nVERB NOUN\n", encoding="utf-8")
    (folder / "bad.vdgi").write_text("damaged", encoding="utf-8")
    shutil.copytree(model.parent, folder / "neural")
    quick = {"parser": {"log2_buckets": 10}, "teacher": {"iterations": 2}}
    dynet_vdgi.train(folder / "bare.conllu", "best", settings=quick, out=folder / "best")
    universal_toys.saved(folder / "toy.vdgi")
    Tagger().fit(folder / "good.conllu").save(folder / "my.tagger")
    tokeniser_file.train([str(folder / "good.conllu")], str(folder / "my.tokeniser"))
    return folder


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(
    path: Path, things: Path, tmp_path: Path, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(things, tmp_path / "here")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    expected = path.read_text(encoding="utf-8")
    lines = []
    for line in expected.splitlines():
        if line.startswith("$ "):
            lines += [line, *played(line[2:], vdgi, monkeypatch)]
        elif not line.startswith((">", "!", "?")):
            lines.append(line)
    found = "\n".join(lines) + "\n"
    if os.environ.get("VDGI_REGENERATE"):
        path.write_text(found, encoding="utf-8")
    assert found.splitlines() == expected.splitlines()


def played(line: str, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What is printed for a command line, and its status."""
    command, _, pipe = line.partition(" | ")
    words = shlex.split(command.partition(" < ")[0])
    status, err, before = 0, "", contents()
    if words[0] == "vdgi":
        source = Path(command.partition(" < ")[2] or os.devnull).read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source)))
        status, out, err = vdgi(*words[1:])
        after = contents()
        changed = {name for name, content in before.items() if after.get(name) != content}
        named = {word.removeprefix("./") for word in words} if not status else set()
        assert {
            name for name in changed if not named & {name, *map(str, Path(name).parents)}
        } == set(), line
        assert not status or after == before, line
    else:
        pipe, out = line, ""
    if pipe:
        done = subprocess.run(
            ["bash", "-c", pipe], input=out, capture_output=True, text=True, check=False
        )
        out, err = done.stdout, err + done.stderr
    for mark, text in ((">", out), ("!", err)):
        text = text.replace(f"{Path.cwd()}/", "")
        for pattern, written in VARYING:
            text = re.sub(pattern, written, text)
        yield from (
            f"{mark} {each}".rstrip() for each in text.removesuffix("\n").split("\n") if text
        )
    if status:
        yield f"? {status}"


def contents() -> dict[str, bytes]:
    """All files below the present folder."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}

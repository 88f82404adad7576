"""Nothing of the user's is lost in silence: outputs that are inputs, open files, pipes, full disks."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import tiny
from shell import ROOT, Vdgi, names_in
from wording import Wording

from dynet_vdgi.errors import UsageError
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.system import files


@pytest.fixture
def tree(folder: Path) -> Path:
    return tiny.write(folder / "gold.conllu")


@pytest.mark.parametrize(
    "command",
    [
        "parse MODEL - -o gold.conllu",
        "parse MODEL -o link.conllu",
    ],
)
def test_an_output_that_is_standard_input_is_refused(
    command: str, vdgi: Vdgi, model: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("link.conllu").symlink_to("gold.conllu")
    names, before = {"MODEL": str(model), "RUN": str(model.parent)}, tree.read_bytes()
    with open("gold.conllu", encoding="utf-8") as handle:
        monkeypatch.setattr("sys.stdin", handle)
        status, out, err = vdgi(*(names.get(word, word) for word in command.split()))
    assert (status, out, tree.read_bytes()) == (2, "", before)
    assert "this is <stdin>, which would be lost" in err or "standard input" in err


def test_standard_input_may_be_replaced_if_that_is_wanted_or_nothing_is_lost(
    vdgi: Vdgi, model: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, *options in (["gold.conllu", "--in-place"], ["/dev/null"]):
        with open(name, encoding="utf-8") as handle:
            monkeypatch.setattr("sys.stdin", handle)
            assert "lost" not in vdgi("parse", model, "-", "-o", name, *options).err


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "check gold.conllu",
        "draw gold.conllu",
    ],
)
@pytest.mark.parametrize("output", ["&-", "/dev/full"])
def test_a_result_that_cannot_come_out_is_told(
    command: str, output: str, tree: Path, wording: Wording
) -> None:
    line = f'exec "$@" >{output}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, "-m", "dynet_vdgi", *command.split()],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 2
    wording.check(done.stderr.decode())


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("output", ["&-", "/dev/full"])
def test_a_list_of_faults_that_cannot_come_out_is_told(
    output: str, unbuffered: str, tree: Path, wording: Wording
) -> None:
    """Whether Python buffers the output or not."""
    tree.write_text("x\n\n", encoding="utf-8")
    done = subprocess.run(
        [
            "sh",
            "-c",
            f'exec "$@" >{output}',
            "sh",
            sys.executable,
            "-m",
            "dynet_vdgi",
            "check",
            tree,
        ],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
        check=False,
    )
    assert done.returncode == 2
    wording.check(done.stderr.decode().splitlines()[-1])


def _fill(name: str) -> None:
    with files.atomic_writer(name) as handle:
        if name != "/dev/full":
            os.dup2(os.open("/dev/full", os.O_WRONLY), _raw(handle).fileno())
        handle.write("new\n" * 100_000)


def test_a_full_disk_is_told_with_the_name_of_the_output(tmp_path: Path, wording: Wording) -> None:
    for name in ("/dev/full", str(tmp_path / "a.txt")):
        with pytest.raises(UsageError) as caught:
            _fill(name)
        wording.check(caught.value)
    assert names_in(tmp_path) == []


def _raw(handle: object) -> io.FileIO:
    buffer = handle.buffer  # type: ignore[attr-defined]
    return buffer.raw  # type: ignore[no-any-return]


def test_what_is_open_already_is_written_where_it_stands(tmp_path: Path, wording: Wording) -> None:
    """By any name that means an open file: the file behind it is not replaced."""
    path, link, again = (tmp_path / name for name in ("a.txt", "link", "link to it"))
    path.write_text("before\n", encoding="utf-8")
    with open(path, "ab") as handle:
        number = handle.fileno()
        link.symlink_to(f"/dev/fd/{number}")
        again.symlink_to("link")
        names = [
            f"/dev/fd/{number}",
            f"/proc/self/fd/{number}",
            f"/dev/../dev/fd/{number}",
            link,
            again,
        ]
        names += [f"/proc/{os.getpid()}/fd/{number}"]
        for name in names:
            with files.atomic_writer(name) as text:
                text.write("new\n")
    assert path.read_text(encoding="utf-8") == "before\n" + len(names) * "new\n"
    wording.check(names_in(tmp_path))


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/stderr", "link.conllu"])
def test_an_output_that_is_a_standard_stream_is_added_to_its_file(
    name: str, model: Path, tree: Path
) -> None:
    Path("all.txt").write_text("before\n", encoding="utf-8")
    Path("link.conllu").symlink_to("/dev/stdout")
    with open("all.txt", "ab") as handle:
        subprocess.run(
            [sys.executable, "-m", "dynet_vdgi", "-q", "parse", model, tree, "-o", name],
            stdout=handle,
            stderr=handle,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=True,
        )
    lines = Path("all.txt").read_text(encoding="utf-8").splitlines()
    assert (lines[0], sum(line.startswith("1\t") for line in lines)) == ("before", 12)


ESCAPE = "\x1b]0;title\x07\x9b2J"


def test_no_escape_sequence_of_a_file_reaches_the_terminal(vdgi: Vdgi, folder: Path) -> None:
    text = (
        tiny.treebank(3)
        .replace("NOUN", f"NOUN{ESCAPE}")
        .replace("sent_id = 1", f"sent_id = {ESCAPE}")
    )
    Path("a.conllu").write_text(text.replace("det0", f"det{ESCAPE}"), encoding="utf-8")
    for command in (
        "check a.conllu",
        "draw a.conllu",
        "draw a.conllu -o a.svg",
        "evaluate a.conllu a.conllu --by tag",
    ):
        _, out, err = vdgi(*command.split())
        assert not {"\x1b", "\x07", "\x9b"} & {*out, *err}, command
    ElementTree.parse("a.svg")


def test_no_escape_sequence_of_a_name_reaches_the_terminal(vdgi: Vdgi, folder: Path) -> None:
    tiny.write(Path(f"n{ESCAPE}.conllu"))
    Path(f"r{ESCAPE}.txt").write_text(f"ROOT VERB 1 # {ESCAPE}\n", encoding="utf-8")
    for command in (
        f"check n{ESCAPE}.conllu",
        f"check n{ESCAPE}.conllu --rules r{ESCAPE}.txt",
        f"check n.conllu --model {ESCAPE}",
        f"rules show r{ESCAPE}.txt",
        f"rules explain n{ESCAPE}.conllu --rules r{ESCAPE}.txt --sentence 1",
        f"--{ESCAPE}",
        f"check --{ESCAPE}",
        f"check {ESCAPE} --tags {ESCAPE}",
    ):
        _, out, err = vdgi(*command.split())
        assert out + err
        assert not {"\x1b", "\x07", "\x9b"} & {*out, *err}, command


@pytest.mark.parametrize(
    "command",
    [
        "check a.conllu",
        "check b.conllu --rules a.txt",
        "train --train b.conllu --preset a.toml --out run",
        "check NAME",
    ],
)
def test_a_message_does_not_hold_a_word_of_a_megabyte(
    command: str, vdgi: Vdgi, folder: Path
) -> None:
    word = "x" * 1_000_000
    tiny.write(Path("b.conllu"))
    Path("a.conllu").write_text(
        f"1\t{word}\t_\t{word}\t_\t_\t0\t_\t_\t{word}\n\n", encoding="utf-8"
    )
    Path("a.txt").write_text(f"ROOT VERB {word}\n", encoding="utf-8")
    Path("a.toml").write_text(f'rules = "{"a b/" * 250_000}.txt"\n', encoding="utf-8")
    status, out, err = vdgi(*command.replace("NAME", word[:100_000]).split())
    assert max(map(len, (out + err).split("\n"))) < 5_000
    assert status in ((0,) if command == "check a.conllu" else (2, 4))


def test_a_row_of_a_log_that_is_damaged_is_left_out_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, wording: Wording
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"update": 1}\n' + "[" * 100_000 + '\n{"upd\n{"update": 2}\n{"upd', encoding="utf-8"
    )
    with caplog.at_level("WARNING", "dynet_vdgi"):
        assert RunLog(path).rows() == [{"update": 1}, {"update": 2}]
    wording.check([record.getMessage() for record in caplog.records])

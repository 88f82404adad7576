"""Opening, writing and finding files."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from wording import Wording

import dynet_vdgi as vdgi
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system.files import atomic_bytes_writer, atomic_writer, expand, lines_of, read_text

ROOT = Path(__file__).parents[2]


def written_to(path: Path | str, text: str = "new\n") -> None:
    with atomic_writer(path) as handle:
        handle.write(text)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Reading


def test_lines_end_with_newline_only_and_are_not_translated(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("a\r\nb\rc\n\u2028d\u0085e\n".encode())
    assert list(lines_of(path)) == ["a\r\n", "b\rc\n", "\u2028d\u0085e\n"]


def test_standard_input_is_utf8_whatever_the_locale() -> None:
    code = "from dynet_vdgi.system.files import read_text\nprint(ascii(read_text('-')))"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(
        [sys.executable, "-c", code],
        input="é\n".encode(),
        capture_output=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    assert result.stdout == b"'\\xe9\\n'\n"


def fault_of(path: Path | str) -> str:
    """The fault that reading the whole file line by line raises, without its folder."""
    with pytest.raises(DataError) as caught:
        read_text(path)
    folder = os.path.dirname(path)
    return str(caught.value).replace(f"{folder}/", "") if folder else str(caught.value)


def test_files_that_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    (tmp_path / "eu-ud-train.conllu").touch()
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    wording.check(fault_of("eu-train.conllu"))
    wording.check(fault_of(folder / "x"))
    wording.check(fault_of(tmp_path / "no" / "x"))
    wording.check(fault_of(folder))
    wording.check(fault_of("a\x00b"))
    wording.check(fault_of("x" * 300))


@pytest.mark.parametrize("before", [1, 100_000])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_the_first_undecodable_byte_is_found(
    before: int, name: str, tmp_path: Path, wording: Wording
) -> None:
    content = b"wort\n" * before + b"gr\xfcn\n" + b"wort\n" * 3000
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, 1, mtime=0) if name.endswith(".gz") else content)
    wording.check(fault_of(path))


@pytest.mark.parametrize("length", [8190, 8191, 8192, 20_000])
def test_a_character_cut_off_at_the_end(length: int, tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\n" * length + "€".encode()[:2])
    wording.check(fault_of(path))


def test_damaged_gz(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "a.gz"
    good = gzip.compress("".join(f"{i * i}\n" for i in range(50_000)).encode(), mtime=0)
    path.write_bytes(good[: len(good) // 2])
    wording.check(fault_of(path))
    path.write_bytes(b"plain text\n")
    wording.check(fault_of(path))
    path.write_bytes(good[:20] + bytes(byte ^ 0x5A for byte in good[20:]))
    wording.check(fault_of(path))


# Writing


def test_a_new_file_is_utf8_and_has_default_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    old = os.umask(0o027)
    try:
        written_to(path, "é\u2028\n")
    finally:
        os.umask(old)
    assert path.read_bytes() == "é\u2028\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names_in(tmp_path) == ["a.txt"]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for mode in (0o600, 0o664, 0o755):
        path.write_text("old\n")
        path.chmod(mode)
        written_to(path)
        assert path.read_text() == "new\n"
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("writer", [atomic_writer, atomic_bytes_writer])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize(
    "error", [DataError("x", 1, "wrong"), KeyboardInterrupt(), BrokenPipeError()]
)
def test_a_failing_block_changes_nothing(
    writer: Any, name: str, error: BaseException, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(b"old\n")

    def fail_on_the_way() -> None:
        with writer(path) as handle:
            handle.write("new\n" * 5000 if writer is atomic_writer else b"new\n" * 5000)
            assert path.read_bytes() == b"old\n"
            assert len(names_in(tmp_path)) == 2
            raise error

    with pytest.raises(type(error)):
        fail_on_the_way()
    assert path.read_bytes() == b"old\n"
    assert names_in(tmp_path) == [name]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_full_disk_changes_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / name
    path.write_bytes(b"old\n")
    monkeypatch.setattr(os, "fsync", full)
    with wording.raises(UsageError):
        written_to(path)
    assert path.read_bytes() == b"old\n"
    assert names_in(tmp_path) == [name]


def test_gz_is_deterministic(tmp_path: Path) -> None:
    one, other = tmp_path / "one.gz", tmp_path / "other.gz"
    written_to(one, "kites\n" * 100)
    written_to(other, "kites\n" * 100)
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes()[4:8] == b"\0\0\0\0"  # the time stamp
    assert gzip.decompress(one.read_bytes()) == b"kites\n" * 100


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "real" / "a.txt")
    for text in ("first\n", "second\n"):  # the first one goes through a dangling link
        written_to(link, text)
        assert link.is_symlink()
        assert (tmp_path / "real" / "a.txt").read_text() == text
    assert names_in(tmp_path / "real") == ["a.txt"]


def test_unwritable_targets_are_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target, reason in [
        (tmp_path / "no" / "a.txt", "the directory .* does not exist"),
        (tmp_path, "this is a directory"),
        (tmp_path / "file" / "a.txt", "Not a directory"),
        (tmp_path / ("x" * 300), "File name too long"),
        (tmp_path / "a\0b", ".*embedded null"),
    ]:
        with pytest.raises(UsageError, match=f"^cannot write .*: {reason}"), atomic_writer(target):
            pytest.fail("the block must not start")
    assert names_in(tmp_path) == ["file"]


def test_standard_output_gets_all_or_nothing(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    script = "import sys\nfrom dynet_vdgi.system.files import atomic_writer\nprint('before')\n"
    script += "with atomic_writer('-') as handle:\n    handle.write('é\\n')\n    sys.argv[1:] and sys.exit(3)\n"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for arguments, status, output in ([], 0, "before\né\n"), (["fail"], 3, "before\n"):
        command = [sys.executable, "-c", script, *arguments]
        assert subprocess.run(command, cwd=ROOT, env=environment).returncode == status
        assert capfdbinary.readouterr().out == output.encode()


def test_expand_sorts_within_patterns_and_keeps_the_order_of_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep/er").mkdir(parents=True)
    for name in (
        "b.conllu",
        "a.conllu",
        "c.txt",
        "[x].conllu",
        "deep/d.conllu",
        "deep/er/e.conllu",
    ):
        Path(name).touch()
    assert expand([]) == []
    assert expand(["c.txt", "?.conllu", "-"]) == ["c.txt", "a.conllu", "b.conllu", "-"]
    assert expand(["b.conllu", "*.conllu", "./a.conllu", "-", "-"]) == [
        "b.conllu",
        "[x].conllu",
        "a.conllu",
        "-",
    ]
    assert expand(["[x].conllu"]) == ["[x].conllu"]
    assert expand(["deep/**/*.conllu"]) == ["deep/d.conllu", "deep/er/e.conllu"]
    assert expand(["deep/*"]) == ["deep/d.conllu"]


@pytest.mark.parametrize(
    "pattern",
    [
        "eu-train.conllu",
        "sub/eu.txt",
        "zzz",
        "none/zzz",
        "eu-ud-*.conll",
        "sub",
        "su[b]",
        "",
        "a\0b",
    ],
)
def test_expand_names_what_is_missing(
    pattern: str, wording: Wording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    for name in ("eu-ud-train.conllu", "sub/eus.txt"):
        Path(name).touch()
    with pytest.raises(UsageError) as caught:
        expand([pattern])
    wording.check(caught.value)


def test_files_that_are_no_text_are_told_what_they_are(tmp_path: Path) -> None:
    text = b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n" * 20
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("word/document.xml", text)
    with tarfile.open(fileobj=tarred, mode="w") as tar:
        info = tarfile.TarInfo("a.conllu")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    cases = {
        "a.conllu.xz": (lzma.compress(text), "an xz file"),
        "a.conllu.bz2": (bz2.compress(text), "a bzip2 file"),
        "a.conllu.zst": (b"\x28\xb5\x2f\xfd\x04\x00" + text, "a Zstandard file"),
        "a.docx": (zipped.getvalue(), "a zip or Word file"),
        "a.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an old Word or Excel file"),
        "a.pdf": (b"%PDF-1.5\n%\xe2\xe3\n", "a PDF file"),
        "a.tar": (tarred.getvalue(), "a tar archive"),
        "a.tar.gz": (gzip.compress(tarred.getvalue()), "a tar archive"),
    }
    for name, (content, what) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"{name}: this is {what}, not text"):
            list(vdgi.read(path))

"""Temporary files of processes that were killed are removed by the next one that writes there; no
others are."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from shell import ROOT, names_in

from dynet_vdgi.system import files, leftovers, locks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is removed on this system")

WRITER = """
import sys, time
from dynet_vdgi.system import files
with files.atomic_writer(sys.argv[1]) as handle:
    handle.write("half")
    handle.flush()
    print("writes", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def no_folder_was_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_looked_through", set())


def write(path: Path) -> None:
    with files.atomic_writer(path) as handle:
        handle.write("text")


def writing(path: Path) -> subprocess.Popen[bytes]:
    """A process that writes a file and does not end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(
        [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, env=environment
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"writes\n"
    return running


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(
    tmp_path: Path,
) -> None:
    dead, living = writing(tmp_path / "a.txt"), writing(tmp_path / "b.txt")
    assert len(names_in(tmp_path)) == 2
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    (theirs,) = [name for name in names_in(tmp_path) if f"-{living.pid}-" in name]
    write(tmp_path / "c.txt")
    assert names_in(tmp_path) == [theirs, "c.txt"]
    living.send_signal(signal.SIGTERM)
    living.communicate()


def test_only_files_with_the_name_of_a_temporary_file_of_this_machine_are_removed(
    tmp_path: Path,
) -> None:
    with files.atomic_writer(tmp_path / "a.txt"):
        (own,) = names_in(tmp_path)
        dead = own.replace(str(os.getpid()), "999999999", 1)
        others = [
            dead.replace(".vdgi-999999999-", ".vdgi-999999999-far"),
            ".vdgi-notes.tmp",
            f"x{dead}",
        ]
        for name in (dead, *others):
            (tmp_path / name).touch()
    leftovers._looked_through.clear()
    write(tmp_path / "b.txt")
    assert names_in(tmp_path) == sorted([*others, "a.txt", "b.txt"])


def test_links_and_pipes_with_such_a_name_hold_nobody_up(tmp_path: Path) -> None:
    pipe, link = (
        tmp_path / leftovers.temporary_name(digit * 16).replace(str(os.getpid()), "999999999")
        for digit in "12"
    )
    os.mkfifo(pipe)
    (tmp_path / "kept").touch()
    link.symlink_to("kept")
    write(tmp_path / "a.txt")
    assert (tmp_path / "kept").exists()


def test_temporary_files_of_the_living_stay_whatever_their_number_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as seen from another container
    monkeypatch.setattr(leftovers, "_is_alive", lambda process: False)
    with files.atomic_writer(tmp_path / "a.txt") as handle:
        handle.write("text")
        before = names_in(tmp_path)
        leftovers._looked_through.clear()
        write(tmp_path / "b.txt")
        assert names_in(tmp_path) == [*before, "b.txt"]
    assert names_in(tmp_path) == ["a.txt", "b.txt"]


def test_nothing_is_removed_where_the_file_system_has_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine of the same name may be writing there: its process numbers say nothing here."""

    def flock(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    theirs = leftovers.temporary_name("0" * 16).replace(str(os.getpid()), "999999999")
    (tmp_path / theirs).write_text("half of a text", encoding="utf-8")
    write(tmp_path / "a.txt")
    assert names_in(tmp_path) == [theirs, "a.txt"]


def test_a_temporary_file_removed_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(descriptor: int, *, wait: bool) -> bool:
        if not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        return True

    removed: list[Path] = []
    monkeypatch.setattr(files, "take", take)
    write(tmp_path / "a.txt")
    assert removed
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "text"

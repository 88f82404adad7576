"""Closing the terminal, Ctrl-C and SIGTERM end the page's program at once, with its processes and
its journal whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from annotating import Client, written
from shell import ROOT

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no such signals")

LEARNING_FOR_EVER = """
import sys, time
sys.path[:0] = [{root!r}, {tests!r}]
from dynet_vdgi import cli
from dynet_vdgi.page.learn.arc_lessons import Lessons
from dynet_vdgi.page.learn.tag_lessons import TagLessons

def learn(self, *content):
    open(sys.argv[0] + ".learns", "w").close()
    time.sleep(600)

Lessons.learn = TagLessons.learn = learn  # in the processes that learn, too, which run this script again

if __name__ == "__main__":
    sys.exit(cli.main(["annotate", sys.argv[1], "--no-browser", "--annotator", "anna"]))
"""


def started(folder: Path, **options: object) -> tuple[subprocess.Popen[bytes], Client]:
    """The program, whose processes learn for ten minutes, while they learn."""
    script, path = folder / "program.py", folder / "a.conllu"
    script.write_text(
        LEARNING_FOR_EVER.format(root=str(ROOT), tests=str(ROOT / "tests")), encoding="utf-8"
    )
    if not path.exists():
        written(path)
    learns = Path(f"{script}.learns")
    learns.unlink(missing_ok=True)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    running = subprocess.Popen([sys.executable, script, path], **streams)  # type: ignore[call-overload]
    client = Client(running.stdout.readline().decode().strip())
    while not learns.exists():
        assert running.poll() is None
        time.sleep(0.01)
    return running, client


def processes_of(parent: int) -> list[int]:
    """The processes that a process has started, on Linux."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text(encoding="utf-8").rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
        except (OSError, IndexError, ValueError):  # it has ended
            continue
    return found


def is_running(process: int) -> bool:
    try:
        return (
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            != "Z"
        )
    except OSError:
        return False


def assert_ended(processes: list[int]) -> None:
    """Python's own tracker of processes ends a moment after the program."""
    end = time.monotonic() + 30
    while any(map(is_running, processes)):
        assert time.monotonic() < end
        time.sleep(0.01)


def assert_remembered(folder: Path) -> None:
    """The note `remember` is there when the page opens again."""
    again, client = started(folder)
    try:
        assert client.get("sentence/0")["note"] == "remember"
    finally:
        again.send_signal(signal.SIGHUP)
        again.communicate(timeout=30)


@pytest.mark.parametrize(
    ("number", "status"),
    [("SIGHUP", 129), ("SIGTERM", 143), ("SIGINT", 0)],
    ids=["SIGHUP", "SIGTERM", "SIGINT"],
)
def test_a_signal_ends_the_page_whatever_it_is_learning(
    number: str, status: int, tmp_path: Path
) -> None:
    running, client = started(tmp_path)
    client.change(0, "note", 0, "remember")
    helpers = processes_of(running.pid)
    assert len(helpers) >= 2 or sys.platform != "linux"
    running.send_signal(getattr(signal, number))
    _, errors = running.communicate(timeout=30)  # it learnt for ever
    assert running.returncode == status, errors
    assert b"Traceback" not in errors
    assert_ended(helpers)
    assert "# note = remember" in (tmp_path / "a.conllu").read_text(encoding="utf-8")
    assert_remembered(tmp_path)


def test_a_second_signal_ends_it_too(tmp_path: Path) -> None:
    running, _ = started(tmp_path)
    helpers = processes_of(running.pid)
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGHUP):
        running.send_signal(number)
    running.communicate(timeout=30)
    assert_ended(helpers)


def test_a_program_that_is_killed_leaves_no_process_and_no_message(tmp_path: Path) -> None:
    running, client = started(tmp_path)
    client.change(0, "note", 0, "remember")
    helpers = processes_of(running.pid)
    running.kill()
    _, errors = running.communicate(timeout=30)
    assert b"leaked" not in errors
    assert b"Traceback" not in errors
    assert_ended(helpers)
    assert_remembered(tmp_path)


def test_closing_the_terminal_ends_it(tmp_path: Path) -> None:
    """The system sends SIGHUP to the program of a terminal that is gone, and nothing can be written
    there."""
    pty = pytest.importorskip("pty", reason="this system has no terminals")
    master, slave = pty.openpty()
    running, client = started(
        tmp_path, stdin=slave, stderr=slave, preexec_fn=lambda: _take_terminal(slave)
    )
    os.close(slave)
    client.change(0, "note", 0, "remember")
    helpers = processes_of(running.pid)
    os.close(master)
    running.communicate(timeout=30)
    assert running.returncode == 129
    assert_ended(helpers)
    assert "# note = remember" in (tmp_path / "a.conllu").read_text(encoding="utf-8")


def _take_terminal(slave: int) -> None:
    """Makes the terminal that of this process, which leads a session of its own."""
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


def test_a_hangup_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As under nohup."""
    running, client = started(
        tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    running.send_signal(signal.SIGHUP)
    assert client.get("state")["file"] == "a.conllu"
    running.terminate()
    running.communicate(timeout=30)
    assert running.returncode == 143

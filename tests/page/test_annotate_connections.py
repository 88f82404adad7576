"""Idle and slow connections keep nobody out of the page, and use up no descriptors."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from annotating import Client, written
from shell import ROOT

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")
resource = pytest.importorskip("resource", reason="this system has no limits of descriptors")

SCRIPT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
sys.path[:0] = [{root!r}, {tests!r}]
import annotating
from dynet_vdgi.page.web import connections
connections.SECONDS = float(sys.argv[2])
annotating.main(sys.argv[3:])
"""


@contextmanager
def limited(
    folder: Path, descriptors: int, seconds: float = 30.0
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address of a page whose program may have so many descriptors and waits so long for a
    request."""
    script = SCRIPT.format(root=str(ROOT), tests=str(ROOT / "tests"))
    command = [
        sys.executable,
        "-c",
        script,
        str(descriptors),
        str(seconds),
        str(written(folder / "a.conllu")),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().decode().strip(), running
        finally:
            running.terminate()


def opened(address: str, stack: ExitStack, sent: bytes = b"") -> socket.socket:
    """A connection that has sent only this."""
    port = urlsplit(address).port
    assert port is not None
    found = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
    if sent:
        found.sendall(sent)
    return found


SLOW = b"POST /x/change HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n1"


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [b"", b"GET /", SLOW], ids=["idle", "half a header", "half a body"]
)
def test_more_connections_than_descriptors_lock_nobody_out(sent: bytes, tmp_path: Path) -> None:
    with limited(tmp_path, 1024) as (address, running), ExitStack() as stack:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        for number in range(1200):
            opened(address, stack, sent)
            if number % 300 == 299:
                assert Client(address).get("state")["file"] == "a.conllu"
        n_open = len([*Path(f"/proc/{running.pid}/fd").iterdir()]) if sys.platform == "linux" else 0
        assert n_open < 600
        running.terminate()
        _, errors = running.communicate()
    assert b"Traceback" not in errors
    assert b"Too many" not in errors


def test_few_descriptors_are_enough(tmp_path: Path) -> None:
    with limited(tmp_path, 64) as (address, running), ExitStack() as stack:
        for _ in range(100):
            opened(address, stack)
        assert Client(address).get("state")["file"] == "a.conllu"
        running.terminate()
        _, errors = running.communicate()
    assert b"Traceback" not in errors


@pytest.mark.parametrize(
    "sent", [b"", b"GET /", SLOW], ids=["idle", "half a header", "half a body"]
)
def test_a_request_that_does_not_arrive_ends_its_connection(sent: bytes, tmp_path: Path) -> None:
    with limited(tmp_path, 256, 0.5) as (address, _), ExitStack() as stack:
        slow = opened(address, stack, sent)
        with suppress(ConnectionResetError):
            assert slow.recv(100) == b""  # not after 20 seconds
        assert Client(address).get("state")["file"] == "a.conllu"


def test_bytes_that_drip_give_no_more_time(tmp_path: Path) -> None:
    with limited(tmp_path, 256, 0.5) as (address, _), ExitStack() as stack:
        slow = opened(address, stack, b"GET / HTTP/1.1\r\n")
        n_sent = 0
        with suppress(OSError):  # broken pipe or reset
            while n_sent < 1000:
                slow.sendall(b"a: b\r\n")
                n_sent += 1
                time.sleep(0.02)
        assert n_sent < 1000


def test_a_half_sent_request_does_not_keep_the_program_from_ending(tmp_path: Path) -> None:
    with limited(tmp_path, 256) as (address, running), ExitStack() as stack:
        opened(address, stack, SLOW)
        assert Client(address).get("state")["file"] == "a.conllu"
        running.terminate()
        assert running.wait(20) != 0

"""The page behind tunnels and proxies, who can read what, and how it is opened."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from annotating import ROWS, written
from shell import Vdgi

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")

from dynet_vdgi.annotation import serving
from dynet_vdgi.annotation.guard import Guard, Reach
from dynet_vdgi.annotation.journal import ENDING, Journal
from dynet_vdgi.annotation.own_file import OwnFile
from dynet_vdgi.errors import UsageError

PORT = 4000
TOKEN = "t" * 32


def asked(
    reach: Reach, host: str, path: str = f"/{TOKEN}/state", method: str = "GET", **headers: str
) -> tuple[int, str]:
    """Status of a request through the guard, and the body: the path that the app gets, or a reason."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["raw_path"].decode() == scope["path"]
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": scope["raw_path"]})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(b"host", host.encode())]
    named += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": named}
    asyncio.run(Guard(app, TOKEN, PORT, reach)(scope, receive, send))
    return sent[0]["status"], sent[1]["body"].decode()


# ------------------------------------------------------------------------------------------- names
def test_a_tunnel_to_another_port_is_refused_with_the_remedy_until_it_is_allowed() -> None:
    status, why = asked(Reach(), "localhost:8000")
    assert (status, "--allow-host localhost:8000" in why) == (421, True)
    assert asked(Reach(("localhost:8000",)), "localhost:8000")[0] == 200
    assert asked(Reach(("localhost:8000",)), "localhost:8001")[0] == 421
    assert asked(Reach(("localhost:8000",)), f"127.0.0.1:{PORT}")[0] == 200


def test_a_refusal_repeats_no_strange_host() -> None:
    assert "<b>" not in asked(Reach(), "<b>.example")[1]


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:8000", 200),
        ("https://localhost:8000", 200),
        ("http://localhost:8001", 403),
        ("http://evil.example", 403),
        ("null", 403),
    ],
)
@pytest.mark.parametrize("host", ["localhost:8000", f"127.0.0.1:{PORT}"])  # a proxy may write its own
def test_only_pages_of_allowed_hosts_may_change_something(host: str, origin: str, status: int) -> None:
    reach = Reach(("localhost:8000",))
    found = asked(reach, host, method="POST", origin=origin, content_type="application/json")
    assert found[0] == status
    assert asked(reach, host, method="POST", content_type="application/json")[0] == 403


def test_an_allowed_host_needs_the_token_too() -> None:
    reach = Reach(("a.example",), "/p")
    for path in ("/", "/p/", "/p/state", "/p", f"/p/{TOKEN[:-1]}x/state", f"/p/p/{TOKEN}/state", "/px/"):
        assert asked(reach, "a.example", path)[0] == 404, path


def test_a_prefix_may_be_there_or_be_removed_by_the_proxy() -> None:
    reach = Reach(("a.example",), "/user/anna")
    for path in (f"/user/anna/{TOKEN}/state", f"/{TOKEN}/state"):
        assert asked(reach, "a.example", path) == (200, f"/{TOKEN}/state")
    assert asked(Reach(), f"127.0.0.1:{PORT}", f"/user/anna/{TOKEN}/state")[0] == 404


@pytest.mark.parametrize("host", ["http://a.example", "a.example/x", "*", "", "a b", "a:port", "-a"])
def test_what_is_no_host_is_refused_at_the_start(host: str) -> None:
    with pytest.raises(UsageError, match="--allow-host"):
        serving.reach([host], "")


@pytest.mark.parametrize("prefix", ["annotate", "/", "/a/", "/a b", "/../a", "//a", "/ä"])
def test_what_is_no_prefix_is_refused_at_the_start(prefix: str) -> None:
    with pytest.raises(UsageError, match="--prefix"):
        serving.reach([], prefix)


def test_names_and_prefixes_are_taken_as_a_browser_sends_them() -> None:
    assert serving.reach(["LocalHost:8000", "[::1]:80"], "/hub/~a").hosts == ("localhost:8000", "[::1]:80")


def test_options_of_the_server_have_no_effect_on_an_export(vdgi: Vdgi, tmp_path: Path) -> None:
    path = written(tmp_path / "a.conllu", ROWS)
    for option in (("--allow-host", "a.example"), ("--prefix", "/p")):
        status, _, err = vdgi("annotate", path, "--export", tmp_path / "b.conllu", *option)
        assert (status, f"{option[0]} has no effect" in err) == (2, True)


# ------------------------------------------------------------------------------------------- who can read
def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("own", [0o600, 0o640, 0o664])
def test_file_and_journal_keep_the_mode_of_the_file(tmp_path: Path, own: int) -> None:
    path = written(tmp_path / "a.conllu", ROWS)
    path.chmod(own)
    journal = Journal(path.with_name(path.name + ENDING))
    assert mode(journal.path) == own
    journal.path.chmod(0o644)  # somebody wants it so
    journal.close()
    Journal(journal.path).close()
    assert mode(journal.path) == 0o644
    file = OwnFile(path)
    file.look()
    file.write(ROWS.encode(), file.digest)
    file.close()
    assert mode(path) == own

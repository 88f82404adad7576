"""The page behind tunnels and proxies, who can read what, and how it is opened."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from annotating import ROWS, written

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")

from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.store.journal import ENDING, Journal
from dynet_vdgi.page.store.own_file import OwnFile
from dynet_vdgi.page.web import server
from dynet_vdgi.page.web.guard import Guard, Reach

PORT = 4000
TOKEN = "t" * 32


def asked(
    reach: Reach,
    host: str,
    path: str = f"/{TOKEN}/state",
    method: str = "GET",
    query: str = "",
    body: bytes = b"{}",
    **headers: str,
) -> tuple[int, str]:
    """Status of a request through the guard, and the body: the path that the app gets, or a reason.

    The body comes in two parts, and no answer before it is read: closing a connection earlier
    resets it.
    """
    sent: list[Any] = []
    parts = [{"type": "http.request", "body": body[1:]}]
    parts.append({"type": "http.request", "body": body[:1], "more_body": True})

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["raw_path"].decode() == scope["path"]
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": scope["raw_path"]})

    async def receive() -> dict[str, Any]:
        return parts.pop()

    async def send(message: Any) -> None:
        assert not parts
        sent.append(message)

    named = [(b"host", host.encode())]
    named += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "headers": named,
    }
    asyncio.run(
        Guard(app, TOKEN, PORT, reach)({**scope, "query_string": query.encode()}, receive, send)
    )
    assert (b"x-frame-options", b"DENY") in sent[0]["headers"]
    return sent[0]["status"], sent[1]["body"].decode()


OWN = f"127.0.0.1:{PORT}"
PAGE = f"/{TOKEN}/state"
POST = {
    "method": "POST",
    "origin": f"http://{OWN}",
    "content_type": "application/json; charset=utf-8",
}
TUNNEL = Reach(("localhost:8000",))
PROXY = Reach(("a.example",), "/user/anna")

REQUESTS: list[tuple[int, Reach, str, dict[str, str]]] = [
    (200, Reach(), OWN, {}),
    (200, Reach(), f"localhost:{PORT}", {}),
    *((421, Reach(), host, {}) for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1:1")),
    *((421, Reach(), host, {}) for host in ("", "localhost", f"[::1]:{PORT}", "localhost:8000")),
    (200, TUNNEL, "localhost:8000", {}),
    (421, TUNNEL, "localhost:8001", {}),
    (200, TUNNEL, OWN, {}),
    *((404, Reach(), OWN, {"path": path}) for path in ("/", "/state", "/x/state", "//state", "/../state")),
    *((404, PROXY, "a.example", {"path": path}) for path in (
        "/", "/user/anna/", "/user/anna", "/user/anna/state", f"/user/anna/{TOKEN[:-1]}x/state",
        f"/user/anna/user/anna{PAGE}", "/user/annax/",
    )),
    (200, PROXY, "a.example", {}),
    (200, PROXY, "a.example", {"path": f"/user/anna{PAGE}"}),
    (404, Reach(), OWN, {"path": f"/user/anna{PAGE}"}),
    *((403, Reach(), OWN, {"origin": origin}) for origin in (
        "http://evil.example", "null", f"https://{OWN}", "http://127.0.0.1:1",
    )),
    *((403, Reach(), OWN, {"sec_fetch_site": site, "sec_fetch_mode": "no-cors"}) for site in (
        "cross-site", "same-site",
    )),
    (200, Reach(), OWN, {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}),
    (200, Reach(), OWN, POST),
    (403, Reach(), OWN, {**POST, "sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}),
    (403, Reach(), OWN, {"method": "POST", "content_type": "application/json"}),
    *((415, Reach(), OWN, {**POST, "content_type": kind}) for kind in ("text/plain", "multipart/x", "")),
    *((status, TUNNEL, host, {**POST, "origin": origin}) for host in ("localhost:8000", OWN)
      for origin, status in (
        ("http://localhost:8000", 200), ("https://localhost:8000", 200), ("http://localhost:8001", 403),
        ("http://evil.example", 403), ("null", 403),
    )),
]  # fmt: skip
"""Status, how the page may be reached, host, and what else is special; a proxy may write its own
host."""


def test_only_the_page_itself_may_ask_by_the_names_that_are_allowed() -> None:
    for status, reach, host, more in REQUESTS:
        found, body = asked(reach, host, **more)
        assert found == status, (host, more, body)
        if status == 200:
            assert body == PAGE
    assert "--allow-host localhost:8000" in asked(Reach(), "localhost:8000")[1]
    assert "<b>" not in asked(Reach(), "<b>.example")[1]
    assert asked(Reach(), OWN, body=b" " * 20_000, **POST)[0] == 413


def test_what_is_no_host_or_prefix_is_refused_at_the_start() -> None:
    for host in ("http://a.example", "a.example/x", "*", "", "a b", "a:port", "-a"):
        with pytest.raises(UsageError, match="--allow-host"):
            server.reach([host], "")
    for prefix in ("annotate", "/", "/a/", "/a b", "/../a", "//a", "/ä"):
        with pytest.raises(UsageError, match="--prefix"):
            server.reach([], prefix)
    assert server.reach(["LocalHost:8000", "[::1]:80"], "/hub/~a").hosts == (
        "localhost:8000",
        "[::1]:80",
    )


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

"""Requirements on every request, and headers of every answer: only this program's page may ask.

The address contains a random token, so that no other page or user of the computer knows it. `Host` must be
this server, so that the name of another site cannot be made to point here; `Origin`, if present, must be this
page. No other page may read or change anything. Nothing is loaded from anywhere else.

A tunnel or a proxy in front of the server has another name, which the user has to allow (`Reach`).
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 16_384
"""Maximal bytes of a request's body."""

MOST_DRAINED = 64 << 20
"""Bytes of a longer body that are read and dropped, so that the refusal arrives."""

LONGEST_QUERY = 1000

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


_SHOWABLE = re.compile(rb"[A-Za-z0-9.:\[\]-]{1,100}")
"""A host that a message may repeat."""


class Reach(NamedTuple):
    """How the page may be reached besides by 127.0.0.1 and its port."""

    hosts: tuple[str, ...] = ()  # as in the header `Host`: with the port, unless it is that of http or https
    prefix: str = ""  # a path that a proxy puts before the page's own; it may remove it from requests


class Guard:
    """Passes only this page's own requests to `app`; see the module."""

    def __init__(self, app: App, token: str, port: int, reach: Reach | None = None) -> None:
        reach = reach or Reach()
        self._app, self._begin = app, f"/{token}/".encode()
        self._prefix = reach.prefix.encode()
        self._own_hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}
        self._hosts = self._own_hosts | {host.encode() for host in reach.hosts}
        self._origins = {
            f"{scheme}://{host}".encode() for host in reach.hosts for scheme in ("http", "https")
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        scope = self._without_prefix(scope)
        status, why = self._fault(scope)
        # Before a refusal, too: closing a connection that has not been read to its end resets it, and the
        # answer may be lost.
        body, is_too_long = await _body(receive)
        if not status and is_too_long:
            status, why = 413, "the request is too long"
        if status:
            await _refuse(send_with_headers, status, why)
            return

        async def receive_body() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, receive_body, send_with_headers)

    def _without_prefix(self, scope: Scope) -> Scope:
        """The request without the path that a proxy puts before the page's, if it is there."""
        path = scope.get("raw_path", b"")
        if not self._prefix or not path.startswith(self._prefix + b"/"):
            return scope
        whole = scope["path"][len(self._prefix) :]
        return {**scope, "raw_path": path[len(self._prefix) :], "path": whole}

    def _fault(self, scope: Scope) -> tuple[int, str]:
        """Status and reason of a refusal; 0: no refusal."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        host = headers.get(b"host", [])
        if len(host) != 1 or host[0] not in self._hosts:
            named = host[0].decode() if len(host) == 1 and _SHOWABLE.fullmatch(host[0]) else "NAME:PORT"
            remedy = f"behind a tunnel or proxy, start vdgi annotate with --allow-host {named}"
            return 421, f"this server is 127.0.0.1 only; {remedy}"
        own = {b"http://" + host[0]} if host[0] in self._own_hosts else set()
        if any(origin not in own | self._origins for origin in headers.get(b"origin", [])):
            return 403, "another page may not ask"
        site = headers.get(b"sec-fetch-site", [b"none"])[0]
        is_navigation = headers.get(b"sec-fetch-mode", [b""])[0] == b"navigate" and scope["method"] == "GET"
        if site not in (b"none", b"same-origin") and not is_navigation:
            return 403, "another page may not ask"
        path = scope.get("raw_path", b"").partition(b"?")[0]
        if not hmac.compare_digest(path[: len(self._begin)], self._begin):
            return 404, "no such page; if the program was started again, open the address that it has printed"
        if len(scope.get("query_string", b"")) > LONGEST_QUERY:
            return 414, "the address is too long"
        if scope["method"] not in ("GET", "POST"):
            return 405, "GET or POST"
        if scope["method"] == "POST":
            if b"origin" not in headers:
                return 403, "no origin"
            kind = headers.get(b"content-type", [b""])[0].partition(b";")[0].strip()
            if kind != b"application/json":
                return 415, "JSON only"
        return 0, ""


async def _body(receive: Receive) -> tuple[bytes, bool]:
    """The body, and whether it exceeded the limit; then it is not kept."""
    body, size = b"", 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"", False
        part = message.get("body", b"")
        size += len(part)
        body = body + part if size <= MOST_BYTES else b""
        if size > MOST_DRAINED or not message.get("more_body", False):
            return body, size > MOST_BYTES


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"fault": why}).encode()})

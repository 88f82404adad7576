"""Requirements on every request, and headers of every answer: only this program's page may ask.

The address contains a random token, so that no other page or user of the computer knows it. `Host`
must be this server with its port, so that the name of another site cannot be made to point here
(Starlette's TrustedHostMiddleware takes any port); `Origin`, if present, must be this page. No
other page may read or change anything. Nothing is loaded from anywhere else.

A tunnel or a proxy in front of the server has another name, which the user has to allow (`Reach`).
"""

from __future__ import annotations

import hmac
import re
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 16_384
"""Maximal bytes of a request's body."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

_SHOWABLE = re.compile(r"[A-Za-z0-9.:\[\]-]{1,100}")
"""A host that a message may repeat."""


class Reach(NamedTuple):
    """How the page may be reached besides by 127.0.0.1 and its port."""

    # as in the header `Host`: with the port, unless it is that of http or https
    hosts: tuple[str, ...] = ()
    # a path that a proxy puts before the page's own; it may remove it from requests
    prefix: str = ""


class Guard:
    """Passes only this page's own requests to `app`; see the module."""

    def __init__(self, app: ASGIApp, token: str, port: int, reach: Reach | None = None) -> None:
        reach = reach or Reach()
        self._app, self._begin, self._prefix = app, f"/{token}/".encode(), reach.prefix
        self._own_hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._hosts = self._own_hosts.union(reach.hosts)
        self._origins = {
            f"{scheme}://{host}" for host in reach.hosts for scheme in ("http", "https")
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        path = scope.get("raw_path", b"")
        if self._prefix and path.startswith(f"{self._prefix}/".encode()):
            n = len(self._prefix)
            scope = {**scope, "raw_path": path[n:], "path": scope["path"][n:]}
        status, why = self._fault(scope)
        # Read to its end before a refusal, too: closing the connection earlier resets it, and the
        # answer may be lost.
        body, is_too_long = b"", False
        message: Message = {"more_body": True}
        while message.get("more_body", False):
            message = await receive()
            body += message.get("body", b"")
            if len(body) > MOST_BYTES:
                body, is_too_long = b"", True
        if not status and is_too_long:
            status, why = 413, "the request is too long"
        if status:
            refusal = JSONResponse({"fault": why}, status, {"connection": "close"})
            await refusal(scope, receive, send_with_headers)
            return

        async def receive_body() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, receive_body, send_with_headers)

    def _fault(self, scope: Scope) -> tuple[int, str]:
        """Status and reason of a refusal; 0: no refusal."""
        headers, method = Headers(scope=scope), scope["method"]
        host, *others = headers.getlist("host") or [""]
        if others or host not in self._hosts:
            named = host if not others and _SHOWABLE.fullmatch(host) else "NAME:PORT"
            remedy = f"behind a tunnel or proxy, start vdgi annotate with --allow-host {named}"
            return 421, f"this server is 127.0.0.1 only; {remedy}"
        own_origins = {f"http://{host}"} if host in self._own_hosts else set()
        site = headers.get("sec-fetch-site", "none")
        is_navigation = headers.get("sec-fetch-mode") == "navigate" and method == "GET"
        is_embedded = site not in ("none", "same-origin") and not is_navigation
        if is_embedded or any(
            origin not in own_origins | self._origins for origin in headers.getlist("origin")
        ):
            return 403, "another page may not ask"
        path = scope.get("raw_path", b"").partition(b"?")[0]
        if not hmac.compare_digest(path[: len(self._begin)], self._begin):
            return (
                404,
                "no such page; if the program was started again, "
                "open the address that it has printed",
            )
        if method == "POST" and "origin" not in headers:
            return 403, "no origin"
        kind = headers.get("content-type", "").partition(";")[0].strip()
        if method == "POST" and kind != "application/json":
            return 415, "JSON only"
        return 0, ""

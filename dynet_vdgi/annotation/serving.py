"""A page on 127.0.0.1: the socket, the guard before it, its files, and the tab that shows it.

A page on 127.0.0.1: the socket, the guard before it, its files, and a browser that shows it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import re
import secrets
import socket
import stat
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, NamedTuple, TypeVar

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.names import how_to_install

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

except ImportError:
    raise UsageError(f"the page needs Starlette and uvicorn: {how_to_install('annotate')}") from None

logger = logging.getLogger("dynet_vdgi")
T = TypeVar("T")

ADDRESS = "127.0.0.1"
PAGE = Path(__file__).with_name("page")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

TEXT_BROWSERS = ("www-browser", "links", "links2", "elinks", "lynx", "w3m")
"""These browsers would share the terminal with this program, and cannot show the page."""

_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::[0-9]{1,5})?")
_PREFIX = re.compile(r"(?:/[\w.~@+-]+)+")


def reach(hosts: Sequence[str], prefix: str) -> Reach:
    """How the page may be reached besides 127.0.0.1. Raises: UsageError, a host or prefix is malformed."""
    for host in hosts:
        if not _HOST.fullmatch(host.lower()):
            hint = "a name as in the browser's address, with its port if there is one: localhost:8000"
            raise UsageError(f"--allow-host {host!r}: {hint}")
    if prefix and not (_PREFIX.fullmatch(prefix) and prefix.isascii() and "/." not in prefix):
        raise UsageError(f"--prefix {prefix!r}: a path such as /annotate, without a / at its end")
    return Reach(tuple(host.lower() for host in hosts), prefix)


def listening(port: int, wish: int = 0) -> socket.socket:
    """A socket on 127.0.0.1; port 0: `wish` if it is free, or any. Raises: UsageError, the port is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((ADDRESS, port or wish))
    except OSError as error:
        found.close()
        if wish and not port:
            return listening(0)
        message = f"cannot listen on port {port}: {error.strerror} (--port 0 takes a free one)"
        raise UsageError(message) from None
    return found


class Page:
    """The requests of a page; the methods named in GETS and POSTS answer what goes by their names."""

    FIRST = "index.html"  # the file that the address without a name shows
    GETS: tuple[str, ...] = ()  # such as `state`, or `sentence/{number}`
    POSTS: tuple[str, ...] = ()

    @contextlib.asynccontextmanager
    async def running(self, app: Starlette) -> Any:
        """What happens while the page is served."""
        yield

    def app(self, token: str) -> Starlette:
        """All paths begin with the token."""
        routes = [
            Route(f"/{token}/{path}", getattr(self, path.partition("/")[0]), methods=[method])
            for method, paths in (("GET", self.GETS), ("POST", self.POSTS))
            for path in paths
        ]
        routes += [Route(f"/{token}/{{name}}", self._file), Route(f"/{token}/", self._file)]
        return Starlette(routes=routes, lifespan=self.running, exception_handlers={VdgiError: refused})

    async def _file(self, request: Request) -> Response:
        name = request.path_params.get("name", self.FIRST)
        known = {path.name: path for path in PAGE.iterdir() if path.suffix in KINDS}
        if name not in known:
            return JSONResponse({"fault": "no such page"}, 404)
        return Response(known[name].read_bytes(), media_type=KINDS[known[name].suffix])


async def refused(request: Request, error: Exception) -> Response:
    """The answer where something was not possible; errors may have a `status` of HTTP, and more to say."""
    more: dict[str, Any] = getattr(error, "more", {})
    return JSONResponse({"fault": str(error), **more}, getattr(error, "status", 500))


async def order_of(request: Request, kind: type[T]) -> T | None:
    """What the body of a request asks for, as a Struct; None: it is none."""
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def in_path(request: Request) -> int:
    """The number in an address; 404 if it is none."""
    if (number := _number(request.path_params["number"])) is None:
        raise HTTPException(404)
    return number


def asked(request: Request, name: str) -> int | None:
    """A number of the query; None: there is none."""
    return _number(request.query_params.get(name, ""))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def serve(
    page: Page,
    listener: socket.socket,
    announce: Callable[[str], None],
    reached: Reach | None,
    tab: Tab,
) -> None:
    """Serves a page until the program is interrupted; calls `announce` with the address when it is there.

    `tab` is where the page was the last time.
    """
    reached = reached or Reach()
    port = listener.getsockname()[1]
    token = tab.token_at(port)
    tab.keep(port, token)
    app = Guard(page.app(token), token, port, reached)
    config = uvicorn.Config(app, log_level="critical", access_log=False, server_header=False, ws="none")
    config.lifespan = "on"
    server = uvicorn.Server(config)

    async def run() -> None:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            announce(f"http://{ADDRESS}:{port}{reached.prefix}/{token}/")
            for host in reached.hosts:
                logger.info("from elsewhere: http://%s%s/%s/ (or https)", host, reached.prefix, token)
        await serving

    try:
        asyncio.run(run())
    except KeyboardInterrupt:  # uvicorn raises it again after its end
        pass
    finally:
        tab.keep(port)


# ------------------------------------------------------------------------------------------- the browser
@contextlib.contextmanager
def announcing(opens_browser: bool) -> Iterator[Callable[[str], None]]:
    """A function that prints an address and, if wanted, opens it in a browser.

    Every user of the computer can read the command line of a browser. So it is given the name of a file,
    which only this user can read and which leads on to the address. The file is there as long as the block
    lasts.
    """
    with contextlib.ExitStack() as stack:

        def announce(address: str) -> None:
            print(address, flush=True)
            logger.info("the page is there; end with Ctrl-C")
            if opens_browser:
                folder = stack.enter_context(TemporaryDirectory(prefix="vdgi-", ignore_cleanup_errors=True))
                redirect = Path(folder, "open.html")
                _write_redirect(redirect, address)
                # A browser may run as long as this program, and looking for one takes time, too.
                Thread(target=_open, args=(redirect.as_uri(),), daemon=True).start()

        yield announce


def _write_redirect(path: Path, address: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as handle:
        there = escape(address)
        handle.write(
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Annotate</title>\n'
            f'<meta name="referrer" content="no-referrer">\n'
            f'<meta http-equiv="refresh" content="0; url={there}">\n'
            f'</head><body><p><a href="{there}">The page</a></p></body></html>\n'
        )


def _open(address: str) -> None:
    """Opens an address unless the only browser shows text."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        logger.info("no browser is found: open the address in one")
        return
    name = Path(getattr(browser, "name", "")).name
    if name in TEXT_BROWSERS:
        logger.info("%s shows text only: open the address in another browser", name)
        return
    browser.open(address)


# ----------------------------------------------------------------------------------------------------
# Requirements on every request, and headers of every answer: only this program's page may ask.
#
# The address contains a random token, so that no other page or user of the computer knows it. `Host` must
# be this server with its port, so that the name of another site cannot be made to point here (Starlette's
# TrustedHostMiddleware takes any port); `Origin`, if present, must be this page. No other page may read or
# change anything. Nothing is loaded from anywhere else.
#
# A tunnel or a proxy in front of the server has another name, which the user has to allow (`Reach`).


MOST_BYTES = 16_384
"""Maximal bytes of a request's body."""

MOST_DRAINED = 64 << 20
"""Bytes of a longer body that are read and dropped, so that the refusal arrives."""

LONGEST_QUERY = 1000

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
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

    hosts: tuple[str, ...] = ()  # as in the header `Host`: with the port, unless it is that of http or https
    prefix: str = ""  # a path that a proxy puts before the page's own; it may remove it from requests


class Guard:
    """Passes only this page's own requests to `app`; see the module."""

    def __init__(self, app: ASGIApp, token: str, port: int, reach: Reach | None = None) -> None:
        reach = reach or Reach()
        self._app, self._begin, self._prefix = app, f"/{token}/".encode(), reach.prefix
        self._own_hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._hosts = self._own_hosts.union(reach.hosts)
        self._origins = {f"{scheme}://{host}" for host in reach.hosts for scheme in ("http", "https")}

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
        # Before a refusal, too: closing a connection that has not been read to its end resets it, and the
        # answer may be lost.
        body, is_too_long = await _body(receive)
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
        own = {f"http://{host}"} if host in self._own_hosts else set()
        site = headers.get("sec-fetch-site", "none")
        is_navigation = headers.get("sec-fetch-mode") == "navigate" and method == "GET"
        is_embedded = site not in ("none", "same-origin") and not is_navigation
        if is_embedded or any(origin not in own | self._origins for origin in headers.getlist("origin")):
            return 403, "another page may not ask"
        path = scope.get("raw_path", b"").partition(b"?")[0]
        if not hmac.compare_digest(path[: len(self._begin)], self._begin):
            return 404, "no such page; if the program was started again, open the address that it has printed"
        if len(scope.get("query_string", b"")) > LONGEST_QUERY:
            return 414, "the address is too long"
        if method not in ("GET", "POST"):
            return 405, "GET or POST"
        if method == "POST" and "origin" not in headers:
            return 403, "no origin"
        kind = headers.get("content-type", "").partition(";")[0].strip()
        if method == "POST" and kind != "application/json":
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


# ----------------------------------------------------------------------------------------------------
# Where the page of a file was the last time, so that a tab that is still open finds the program again.
#
# Beside `my.conllu` is `my.conllu.address`: the port, so that the next start takes it again, and as long as
# the program runs, the token of the address. So after a crash the tab goes on. After an orderly end the
# token is a new one, because meanwhile another user of the computer may have listened on the port and heard
# the old one. Nobody but its owner may read the file, and one that others could have read or written is not
# believed.


ENDING = ".address"

_CONTENT = re.compile(r"([0-9]{1,5}) ([A-Za-z0-9_-]{32})?\n")


class Tab(NamedTuple):
    """The last port of a file's page, 0 if it is not known, and its token, "" after an orderly end."""

    path: Path
    port: int = 0
    token: str = ""

    @classmethod
    def of(cls, annotated: str | Path, *, is_new: bool = False) -> Tab:
        """The last address of a file's page; if its journal is new, an open tab shows another text."""
        path = Path(annotated).with_name(Path(annotated).name + ENDING)
        with suppress(OSError, ValueError):
            if found := _CONTENT.fullmatch(_private_text(path)):
                return cls(path, int(found[1]) % 65536, "" if is_new else found[2] or "")
        return cls(path)

    def token_at(self, port: int) -> str:
        """The token of a page at this port: that of the last one, if that was there, or a new one."""
        return self.token if self.token and self.port == port else secrets.token_urlsafe(24)

    def keep(self, port: int, token: str = "") -> None:
        """Notes the address for the next start, where that is possible."""
        new = self.path.with_name(f".{secrets.token_hex(8)}{ENDING}")
        with suppress(OSError):
            try:
                descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with open(descriptor, "w", encoding="ascii") as handle:
                    handle.write(f"{port} {token}\n")
                os.replace(new, self.path)
            except OSError:
                new.unlink(missing_ok=True)
                raise


def _private_text(path: Path) -> str:
    """The content of a file of this user that others cannot read. Raises: OSError; ValueError, it is none."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), encoding="ascii") as handle:
        found = os.fstat(handle.fileno())
        is_mine = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
        if not stat.S_ISREG(found.st_mode) or not is_mine:
            raise ValueError
        return handle.read(100)

"""A page on 127.0.0.1: the socket, the guard before it, its files, and a browser that shows it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, TypeVar

import msgspec

from dynet_vdgi.annotation.tabs import Tab
from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.extras import how_to_install

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from dynet_vdgi.annotation.guard import Guard, Reach
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

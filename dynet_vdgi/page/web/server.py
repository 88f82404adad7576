"""The annotation page as a server on 127.0.0.1: the guard before it, its requests and answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.page.web.guard import Guard, Reach
from dynet_vdgi.system.optional_packages import how_to_install

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.convertors import Convertor, register_url_convertor
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from dynet_vdgi.page.web.connections import QUEUE, Connection, most_connections
except ImportError:
    raise UsageError(
        f"the page needs Starlette and uvicorn: {how_to_install('annotate')}"
    ) from None

logger = logging.getLogger("dynet_vdgi")

T = TypeVar("T")

ADDRESS = "127.0.0.1"

PATIENCE = 2  # seconds for requests under way when the program ends

PAGE = Path(__file__).parents[1] / "static"

KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

SCREENS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
"""Variables of the environment that say that a browser can be shown."""

_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::[0-9]{1,5})?")

_PREFIX = re.compile(r"(?:/[\w.~@+-]+)+")


def reach(hosts: Sequence[str], prefix: str) -> Reach:
    """How the page may be reached besides 127.0.0.1. Raises: UsageError, a host or prefix is
    malformed."""
    for host in hosts:
        if not _HOST.fullmatch(host.lower()):
            hint = (
                "a name as in the browser's address, with its port if there is one: localhost:8000"
            )
            raise UsageError(f"--allow-host {host!r}: {hint}")
    if prefix and not (_PREFIX.fullmatch(prefix) and prefix.isascii() and "/." not in prefix):
        raise UsageError(f"--prefix {prefix!r}: a path such as /annotate, without a / at its end")
    return Reach(tuple(host.lower() for host in hosts), prefix)


def listening_socket(port: int) -> socket.socket:
    """A socket on 127.0.0.1; port 0: any free one. Raises: UsageError, the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
    except OSError as error:
        listener.close()
        message = f"cannot listen on port {port}: {error.strerror} (--port 0 takes a free one)"
        raise UsageError(message) from None
    return listener


class NumberConvertor(Convertor[int]):
    """A number of an address; Starlette's own takes thousands of digits, which Python then refuses
    to read."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", NumberConvertor())


class Page:
    """The requests of a page; the methods named in GETS and POSTS answer what goes
    by their names."""

    FIRST = "index.html"  # the file that the address without a name shows
    GETS: tuple[str, ...] = ()  # such as `state`, or `sentence/{number:number}`
    POSTS: tuple[str, ...] = ()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What happens while the page is served, and ends with it in any case."""
        yield

    def app(self, token: str) -> Starlette:
        """All paths begin with the token."""
        routes = []
        for method, paths in (("GET", self.GETS), ("POST", self.POSTS)):
            for path in paths:
                answer = getattr(self, path.partition("/")[0])
                routes.append(Route(f"/{token}/{path}", answer, methods=[method]))
        routes += [Route(f"/{token}/{{name}}", self._file), Route(f"/{token}/", self._file)]
        return Starlette(routes=routes, exception_handlers={VdgiError: refusal})

    async def _file(self, request: Request) -> Response:
        name = request.path_params.get("name", self.FIRST)
        files = {path.name: path for path in PAGE.iterdir() if path.suffix in KINDS}
        if name not in files:
            return JSONResponse({"fault": "no such page"}, 404)
        return Response(files[name].read_bytes(), media_type=KINDS[files[name].suffix])


async def refusal(request: Request, error: Exception) -> Response:
    """The answer where something was not possible; errors may have a `status` of HTTP, and more to
    say."""
    more: dict[str, Any] = getattr(error, "more", {})
    return JSONResponse({"fault": str(error), **more}, getattr(error, "status", 500))


async def order_of(request: Request, kind: type[T]) -> T | None:
    """What the body of a request asks for, as a Struct; None: it is none."""
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def number_asked(request: Request, name: str) -> int | None:
    """A number of the query; None: there is none."""
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def serve(
    page: Page, listener: socket.socket, announce: Callable[[str], None], reached: Reach | None
) -> None:
    """Serves a page until the program is interrupted; calls `announce` with the address when it is
    there."""
    reached = reached or Reach()
    port, token = listener.getsockname()[1], secrets.token_urlsafe(24)
    app = Guard(page.app(token), token, port, reached)
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, ws="none"
    )
    config.lifespan = "off"
    config.http = Connection
    # which are accepted at once, before any is closed
    config.backlog = max(1, most_connections() // 4)
    config.timeout_graceful_shutdown = PATIENCE
    server = uvicorn.Server(config)

    async def run() -> None:
        async with page.running():
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            while not server.started and not serving.done():
                await asyncio.sleep(0.01)
            if server.started and not server.should_exit:
                listener.listen(QUEUE)
                announce(f"http://{ADDRESS}:{port}{reached.prefix}/{token}/")
                for host in reached.hosts:
                    logger.info(
                        "from elsewhere: http://%s%s/%s/ (or https)", host, reached.prefix, token
                    )
            await serving

    # uvicorn raises it again after its end
    with contextlib.suppress(KeyboardInterrupt), _ending_by_hangup(server):
        asyncio.run(run())


@contextlib.contextmanager
def _ending_by_hangup(server: uvicorn.Server) -> Iterator[None]:
    """A block in which the end of the terminal ends the server in order, as uvicorn itself does
    with Ctrl-C.

    Afterwards the signal has the effect that it had before the block; a signal that is ignored
    (nohup) stays ignored.
    """
    number = getattr(signal, "SIGHUP", None)
    is_main = threading.current_thread() is threading.main_thread()
    if number is None or not is_main or signal.getsignal(number) == signal.SIG_IGN:
        yield
        return
    received: list[int] = []

    def end(number: int, frame: Any) -> None:
        received.append(number)
        server.should_exit = True

    before = signal.signal(number, end)
    try:
        yield
    finally:
        signal.signal(number, before)
        if received:
            signal.raise_signal(number)


@contextlib.contextmanager
def announcing(opens_browser: bool) -> Iterator[Callable[[str], None]]:
    """A function that prints an address and, if wanted, opens it in a browser.

    Every user of the computer can read the command line of a browser. So it is given the name of a
    file, which only this user can read and which leads on to the address. The file is there as long
    as the block lasts.
    """
    with contextlib.ExitStack() as stack:

        def announce(address: str) -> None:
            print(address, flush=True)
            logger.info("the page is there; end with Ctrl-C")
            # Where there is no screen, a browser that shows text would share the terminal with this
            # program.
            if opens_browser and (
                sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in SCREENS)
            ):
                folder = stack.enter_context(
                    TemporaryDirectory(prefix="vdgi-", ignore_cleanup_errors=True)
                )
                page = Path(folder, "open.html")
                there = escape(address)
                page.touch(0o600)
                page.write_text(
                    '<!DOCTYPE html>\n<html lang="en"><head><meta '
                    'charset="utf-8"><title>Annotate</title>\n'
                    f'<meta name="referrer" content="no-referrer">\n'
                    f'<meta http-equiv="refresh" content="0; url={there}">\n'
                    f'</head><body><p><a href="{there}">The page</a></p></body></html>\n',
                    encoding="utf-8",
                )
                # A browser may run as long as this program, and looking for one takes time, too.
                Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()

        yield announce

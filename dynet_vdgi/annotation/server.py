"""The annotation page as a server on 127.0.0.1: the guard before it, its requests and answers."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import re
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dynet_vdgi.annotation.live import ORDERS, Live
from dynet_vdgi.annotation.marked import ChangeError, MarkedSentence, label_fault
from dynet_vdgi.annotation.session import StaleError
from dynet_vdgi.annotation.shown import (
    Choices,
    found,
    hits_of,
    offered,
    offered_relations,
    put_guesses,
    seen_of,
    shown_sentence,
    translation_key,
)
from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.names import how_to_install

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.convertors import Convertor, register_url_convertor
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from dynet_vdgi.annotation.connections import QUEUE, Connection, most_connections
except ImportError:
    raise UsageError(f"the page needs Starlette and uvicorn: {how_to_install('annotate')}") from None

logger = logging.getLogger("dynet_vdgi")
T = TypeVar("T")

ADDRESS = "127.0.0.1"
PATIENCE = 2  # seconds for requests under way when the program ends
PAGE = Path(__file__).with_name("page")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

SCREENS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
"""Variables of the environment that say that a browser can be shown."""

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


def listening(port: int) -> socket.socket:
    """A socket on 127.0.0.1; port 0: any free one. Raises: UsageError, the port is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((ADDRESS, port))
    except OSError as error:
        found.close()
        message = f"cannot listen on port {port}: {error.strerror} (--port 0 takes a free one)"
        raise UsageError(message) from None
    return found


class NumberConvertor(Convertor[int]):
    """A number of an address; Starlette's own takes thousands of digits, which Python then refuses to read."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", NumberConvertor())


class Page:
    """The requests of a page; the methods named in GETS and POSTS answer what goes by their names."""

    FIRST = "index.html"  # the file that the address without a name shows
    GETS: tuple[str, ...] = ()  # such as `state`, or `sentence/{number:number}`
    POSTS: tuple[str, ...] = ()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What happens while the page is served, and ends with it in any case."""
        yield

    def app(self, token: str) -> Starlette:
        """All paths begin with the token."""
        routes = [
            Route(f"/{token}/{path}", getattr(self, path.partition("/")[0]), methods=[method])
            for method, paths in (("GET", self.GETS), ("POST", self.POSTS))
            for path in paths
        ]
        routes += [Route(f"/{token}/{{name}}", self._file), Route(f"/{token}/", self._file)]
        return Starlette(routes=routes, exception_handlers={VdgiError: refused})

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


def asked(request: Request, name: str) -> int | None:
    """A number of the query; None: there is none."""
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def serve(page: Page, listener: socket.socket, announce: Callable[[str], None], reached: Reach | None) -> None:
    """Serves a page until the program is interrupted; calls `announce` with the address when it is there."""
    reached = reached or Reach()
    port, token = listener.getsockname()[1], secrets.token_urlsafe(24)
    app = Guard(page.app(token), token, port, reached)
    config = uvicorn.Config(app, log_level="critical", access_log=False, server_header=False, ws="none")
    config.lifespan = "off"
    config.http = Connection
    config.backlog = max(1, most_connections() // 4)  # which are accepted at once, before any is closed
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
                    logger.info("from elsewhere: http://%s%s/%s/ (or https)", host, reached.prefix, token)
            await serving

    with contextlib.suppress(KeyboardInterrupt), _hung_up(server):  # uvicorn raises it again after its end
        asyncio.run(run())


@contextlib.contextmanager
def _hung_up(server: uvicorn.Server) -> Iterator[None]:
    """A block in which the end of the terminal ends the server in order, as uvicorn itself does with Ctrl-C.

    Afterwards the signal has the effect that it had before the block; a signal that is ignored (nohup) stays ignored.
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
            # Where there is no screen, a browser that shows text would share the terminal with this program.
            if opens_browser and (sys.platform in ("darwin", "win32") or any(map(os.environ.get, SCREENS))):
                folder = stack.enter_context(TemporaryDirectory(prefix="vdgi-", ignore_cleanup_errors=True))
                page = Path(folder, "open.html")
                there = escape(address)
                page.touch(0o600)
                page.write_text(
                    f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Annotate</title>\n'
                    f'<meta name="referrer" content="no-referrer">\n'
                    f'<meta http-equiv="refresh" content="0; url={there}">\n'
                    f'</head><body><p><a href="{there}">The page</a></p></body></html>\n',
                    encoding="utf-8",
                )
                # A browser may run as long as this program, and looking for one takes time, too.
                Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()

        yield announce


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
        # Read to its end before a refusal, too: closing the connection earlier resets it, and the answer may be lost.
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
        own = {f"http://{host}"} if host in self._own_hosts else set()
        site = headers.get("sec-fetch-site", "none")
        is_navigation = headers.get("sec-fetch-mode") == "navigate" and method == "GET"
        is_embedded = site not in ("none", "same-origin") and not is_navigation
        if is_embedded or any(origin not in own | self._origins for origin in headers.getlist("origin")):
            return 403, "another page may not ask"
        path = scope.get("raw_path", b"").partition(b"?")[0]
        if not hmac.compare_digest(path[: len(self._begin)], self._begin):
            return 404, "no such page; if the program was started again, open the address that it has printed"
        if method == "POST" and "origin" not in headers:
            return 403, "no origin"
        kind = headers.get("content-type", "").partition(";")[0].strip()
        if method == "POST" and kind != "application/json":
            return 415, "JSON only"
        return 0, ""


# ----------------------------------------------------------------------------------------------------
# The page's requests and their answers, JSON both ways; the server listens only on 127.0.0.1.


class UnknownRelationError(ChangeError):
    """A relation that nobody has used in the file; it is stored if sent again with `anyway`."""

    more: ClassVar = {"unknown": True}


class ChangeOrder(Struct):
    """A change that the page asks for, of a sentence as it has seen it."""

    sentence: int
    edits: int
    version: int
    what: str
    word: int = 0
    value: int | str | bool | list[int | str | bool] = 0
    anyway: bool = False
    query: str = ""  # of words that are to be changed, and the number with which the page has seen them
    seen: int = 0


class SessionPage(Page):
    """The requests about a session; sentences go by their ids."""

    GETS = (
        "state",
        "next",
        "find",
        *(f"{name}/{{number:number}}" for name in ("sentence", "guess", "relations", "values")),
    )
    POSTS = ("change", "undo", "redo")

    def __init__(self, live: Live) -> None:
        self._live, self._session, self._text = live, live.session, live.session.text

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._live.start()
        try:
            yield
        finally:
            await self._live.stop()

    async def state(self, request: Request) -> Response:
        """Progress, learning, faults, and the version of the sentence that the page shows."""
        session, text, live = self._session, self._text, self._live
        session.is_changed_by_others()
        number = asked(request, "shown")
        marked = text.by_id.get(-1 if number is None else number)
        if marked is not None:
            live.touch(marked.id)
        place, word = session.place
        last = text.by_id.get(place)
        content = {
            "file": session.path.name,
            "annotator": session.annotator,
            "order": live.order,
            "learning": live.learning,
            "progress": text.progress(),
            "place": {"sentence": place, "word": word, "done": last is not None and last.is_done},
            "tagger": live.tagger,
            "fault": session.fault or live.unwritten,
            "versions": None if marked is None else [marked.edits, marked.version],
            "unlisted": text.relations.unlisted(),
        }
        return JSONResponse(content)

    async def next(self, request: Request) -> Response:
        """The id of the next sentence, null if all are done; or of the one with a `number` in the file."""
        number = asked(request, "number")
        if number is not None:
            if number >= len(self._text.sentences):
                raise ChangeError("there is no such sentence")
            return JSONResponse({"next": self._text.sentences[number].id})
        order = request.query_params.get("order", ORDERS[0])
        if order not in ORDERS:
            raise ChangeError("no such order")
        return JSONResponse({"next": self._live.next_one(asked(request, "after"), order)})

    async def find(self, request: Request) -> Response:
        """The sentences of a kind, see `shown`."""
        kind, query = request.query_params.get("kind", "words"), request.query_params.get("q", "")
        return JSONResponse(await asyncio.to_thread(found, self._text, kind, query))

    async def sentence(self, request: Request) -> Response:
        return await self._with_choices(await self._live.show(request.path_params["number"]))

    async def guess(self, request: Request) -> Response:
        """A sentence, after it was parsed again around a new head if that takes only a moment."""
        return await self._with_choices(await self._live.parsed(request.path_params["number"]))

    async def _with_choices(self, marked: MarkedSentence) -> Response:
        choices = await self._live.choices(marked)
        put_guesses(self._text, marked, choices)
        return self._shown(marked.id, choices)

    async def values(self, request: Request) -> Response:
        """The XPOS, FEATS, lemmas or splits to offer for a word, the likeliest first."""
        marked, word = self._word(request)
        what = request.query_params.get("what", "")
        if what == "split":
            form, sentences = marked.forms[word - 1], tuple(self._text.sentences)
            return JSONResponse({"values": await asyncio.to_thread(self._text.splits.offered, form, sentences)})
        choices = await self._live.choices(marked, waits=False)
        return JSONResponse({"values": offered(marked, word, what, self._text.analogies, choices)})

    async def relations(self, request: Request) -> Response:
        """The relations to offer for a word, the likeliest first."""
        marked, word = self._word(request)
        choices = await self._live.choices(marked)
        return JSONResponse({"relations": offered_relations(marked, word, self._text.relations, choices)})

    def _word(self, request: Request) -> tuple[MarkedSentence, int]:
        """The sentence and the word that are asked about. Raises: ChangeError, there is none."""
        marked, word = self._text.of_id(request.path_params["number"]), asked(request, "word") or 0
        if not 1 <= word <= len(marked):
            raise ChangeError(f"there is no word {word}")
        return marked, word

    async def change(self, request: Request) -> Response:
        """Makes one change; the answer comes when the change is on the disk."""
        order = await order_of(request, ChangeOrder)
        if order is None:
            raise ChangeError("this is no change")
        value = order.value
        is_relation = order.what == "label" and isinstance(value, str) and not label_fault(value)
        if is_relation and not order.anyway and (fault := self._text.relations.fault(str(value))):
            raise UnknownRelationError(fault)
        seen = order.edits, order.version
        if not order.query:
            now = self._live.change(order.sentence, seen, order.what, order.word, value)
            return await self._after_change(now[0], {"moved_to": now} if len(now) > 1 else {})
        hits = await asyncio.to_thread(hits_of, self._text, "columns", order.query)
        if not hits or seen_of(hits) != order.seen:
            raise StaleError("Other words are found by now. Please look at them, and ask once more.")
        words = [(marked.id, word) for marked, word, _ in hits]
        now = self._live.change(order.sentence, seen, order.what, 0, value, words)
        return await self._after_change(now[0] if now else order.sentence, {"changed": len(now)})

    async def undo(self, request: Request) -> Response:
        return await self._back("undo")

    async def redo(self, request: Request) -> Response:
        return await self._back("redo")

    async def _back(self, what: str) -> Response:
        """The sentence after an undo or redo, with the change that `went`."""
        number = self._live.back(what)
        step = (self._text.redo if what == "undo" else self._text.undo)[-1]
        return await self._after_change(number, {"went": {"what": step.what, "word": step.word}})

    async def _after_change(self, number: int, more: Mapping[str, Any]) -> Response:
        """The sentence, or the first of those that a change leaves, and `more`; nothing is waited for."""
        marked = self._text.of_id(number)
        put_guesses(self._text, marked)
        return self._shown(number, await self._live.choices(marked, waits=False), more)

    def _shown(self, number: int, choices: Choices | None, more: Mapping[str, Any] | None = None) -> Response:
        marked = self._text.of_id(number)
        place = self._text.number(marked)
        content = shown_sentence(place, marked, choices, self._text.relations.project)
        content["translation_key"] = translation_key(self._text, place)
        return JSONResponse({**content, **(more or {})})

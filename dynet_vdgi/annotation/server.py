"""The page's requests and their answers, JSON both ways; the server listens only on 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from dynet_vdgi.annotation import changes
from dynet_vdgi.annotation.changes import ChangeError
from dynet_vdgi.annotation.guard import Guard
from dynet_vdgi.annotation.live import ORDERS, Live
from dynet_vdgi.annotation.marked import MarkedSentence
from dynet_vdgi.annotation.relations import tags_of
from dynet_vdgi.annotation.session import StaleError
from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.extras import how_to_install

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
except ImportError:
    raise UsageError(f"the page needs Starlette and uvicorn: {how_to_install('annotate')}") from None

ADDRESS = "127.0.0.1"
MOST_FOUND = 50
PAGE = Path(__file__).with_name("page")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def listening(port: int) -> socket.socket:
    """A socket on 127.0.0.1; port 0: any free port. Raises: UsageError, the port is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((ADDRESS, port))
    except OSError as error:
        found.close()
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror} (--port 0 takes a free one)"
        ) from None
    return found


def serve(live: Live, listener: socket.socket, announce: Callable[[str], None]) -> None:
    """Serves the page until the program is interrupted; calls `announce` with the address when ready."""
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    app = Guard(_app(live, token), token, port)
    config = uvicorn.Config(app, log_level="critical", access_log=False, server_header=False, ws="none")
    config.lifespan = "on"
    server = uvicorn.Server(config)

    async def run() -> None:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            announce(f"http://{ADDRESS}:{port}/{token}/")
        await serving

    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again after its end
        asyncio.run(run())


def _app(live: Live, token: str) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        live.start()
        yield
        await live.stop()

    answers = _Answers(live)
    routes = [
        Route(f"/{token}/state", answers.state),
        Route(f"/{token}/next", answers.next),
        Route(f"/{token}/find", answers.find),
        Route(f"/{token}/sentence/{{number}}", answers.sentence),
        Route(f"/{token}/guess/{{number}}", answers.guess),
        Route(f"/{token}/relations/{{number}}", answers.relations),
        Route(f"/{token}/change", answers.change, methods=["POST"]),
        Route(f"/{token}/undo", answers.undo, methods=["POST"]),
        Route(f"/{token}/redo", answers.redo, methods=["POST"]),
        Route(f"/{token}/{{name}}", _asset),
        Route(f"/{token}/", _asset),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={VdgiError: _refused})


async def _asset(request: Request) -> Response:
    """A file of the page."""
    name = request.path_params.get("name", "index.html")
    known = {path.name: path for path in PAGE.iterdir() if path.suffix in KINDS}
    if name not in known:
        return JSONResponse({"fault": "no such page"}, 404)
    return Response(known[name].read_bytes(), media_type=KINDS[known[name].suffix])


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, UnknownRelationError):
        return JSONResponse({"fault": str(error), "unknown": True}, 400)
    status = 409 if isinstance(error, StaleError) else 400 if isinstance(error, ChangeError) else 500
    return JSONResponse({"fault": str(error)}, status)


class UnknownRelationError(ChangeError):
    """A relation that nobody has used in the file; it is stored if sent again with `anyway`."""


class _Answers:
    """The requests about a session; sentences are numbered from 0."""

    def __init__(self, live: Live) -> None:
        self._live, self._session = live, live.session

    async def state(self, request: Request) -> Response:
        """Progress, learning, faults, and the version of the sentence that the page shows."""
        session = self._session
        session.is_changed_by_others()
        shown = _number(request, "shown")
        versions = None
        if shown is not None and 0 <= shown < len(session.sentences):
            self._live.touch(shown)
            marked = session.sentences[shown]
            versions = [marked.edits, marked.version]
        content = {
            "id": self._live.id,
            "file": session.path.name,
            "annotator": session.annotator,
            "order": self._live.order,
            "learning": self._live.learning,
            "progress": session.progress(),
            "fault": session.fault or self._live.unwritten,
            "versions": versions,
        }
        return JSONResponse(content)

    async def next(self, request: Request) -> Response:
        """The number of the next sentence, null if all are done."""
        order = request.query_params.get("order", ORDERS[0])
        after = _number(request, "after")
        if order not in ORDERS:
            raise ChangeError("no such order")
        return JSONResponse({"next": self._live.next_one(-1 if after is None else after, order)})

    async def find(self, request: Request) -> Response:
        """The sentences that contain a text in their words or comments, at most `MOST_FOUND`."""
        wanted = request.query_params.get("text", "").casefold()
        found: list[dict[str, Any]] = []
        for number, marked in enumerate(self._session.sentences):
            text = " ".join(marked.sentence.forms)
            if wanted in text.casefold() or any(wanted in line.casefold() for line in _comments(marked)):
                if len(found) == MOST_FOUND:
                    return JSONResponse({"found": found, "more": True})
                found.append({"number": number, "text": text[:120], "done": marked.is_done})
        return JSONResponse({"found": found, "more": False})

    async def sentence(self, request: Request) -> Response:
        number = self._in_path(request)
        return JSONResponse(shown_sentence(number, await self._live.show(number)))

    async def guess(self, request: Request) -> Response:
        """A sentence, after it was parsed again around a new head if that takes only a moment."""
        number = self._in_path(request)
        return JSONResponse(shown_sentence(number, await self._live.parsed(number)))

    async def relations(self, request: Request) -> Response:
        """The relations to offer for a word, the likeliest first."""
        marked = self._session.sentences[self._in_path(request)]
        word = _number(request, "word") or 0
        if not 1 <= word <= len(marked.arcs):
            raise ChangeError(f"there is no word {word}")
        tags = tags_of(marked, word, marked.arcs[word - 1].head)
        return JSONResponse({"relations": self._session.relations.offered(*tags)})

    async def change(self, request: Request) -> Response:
        """Makes one change; the answer comes when the change is on the disk."""
        try:
            order = json.loads(await request.body())
            whole = [order["sentence"], order["edits"], order["version"], order.get("word", 0)]
            what, value, anyway = order["what"], order.get("value", 0), order.get("anyway", False)
            if any(type(number) is not int for number in whole):  # true, 1.5, Infinity
                raise ValueError
            if type(what) is not str or type(value) not in (int, str) or type(anyway) is not bool:
                raise ValueError
            number, edits, version, word = whole
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ChangeError("this is no change") from None
        number = self._place(number)
        fault = self._session.relations.fault(str(value)) if what == "label" and not anyway else ""
        if fault and not changes.label_fault(str(value)):
            raise UnknownRelationError(fault)
        await self._live.change(number, (edits, version), what, word, value)
        return JSONResponse(shown_sentence(number, self._session.sentences[number]))

    async def undo(self, request: Request) -> Response:
        return self._back("undo")

    async def redo(self, request: Request) -> Response:
        return self._back("redo")

    def _back(self, what: str) -> Response:
        number = self._live.back(what)
        return JSONResponse(shown_sentence(number, self._session.sentences[number]))

    def _in_path(self, request: Request) -> int:
        """The sentence that an address refers to."""
        text = request.path_params["number"]
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise HTTPException(404)
        return self._place(int(text))

    def _place(self, number: int) -> int:
        if not 0 <= number < len(self._session.sentences):
            raise ChangeError("there is no such sentence")
        return number


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _comments(marked: MarkedSentence) -> list[str]:
    source = marked.sentence.source
    return [line for line in source.lines if line.startswith("#")] if source else []


def shown_sentence(number: int, marked: MarkedSentence) -> dict[str, Any]:
    """A sentence for the page; an arc is [head, relation, head confirmed, relation confirmed]."""
    sentence = marked.sentence
    nothing = ("_",) * len(sentence)
    sure = marked.sure or (None,) * len(sentence)
    words = zip(
        sentence.forms,
        sentence.tags,
        sentence.feats or nothing,
        sentence.lemmas or nothing,
        marked.arcs,
        (None if s is None else round(s, 3) for s in sure),
    )
    return {
        "number": number,
        "edits": marked.edits,
        "version": marked.version,
        "done": marked.is_done,
        "comments": _comments(marked),
        "words": [
            {
                "form": form,
                "tag": tag,
                "feats": feats,
                "lemma": lemma,
                "head": arc.head,
                "label": arc.label,
                "head_by": arc.head_by,
                "label_by": arc.label_by,
                "sure": probability,
            }
            for form, tag, feats, lemma, arc, probability in words
        ],
        "punctuation": [p for p, tag in enumerate(sentence.tags, 1) if tag == "PUNCT"],
    }

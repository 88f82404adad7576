"""The page's requests and their answers, JSON both ways; the server listens only on 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dynet_vdgi.annotation import serving
from dynet_vdgi.annotation.finding import found
from dynet_vdgi.annotation.guard import Reach
from dynet_vdgi.annotation.live import ORDERS, Live
from dynet_vdgi.annotation.marked import ChangeError, MarkedSentence, label_fault
from dynet_vdgi.annotation.relations import tags_of
from dynet_vdgi.annotation.session import StaleError
from dynet_vdgi.annotation.shown import Choices, likely_relations, offered_xpos, shown_sentence
from dynet_vdgi.annotation.tabs import Tab
from dynet_vdgi.annotation.tokens import MOST_PARTS
from dynet_vdgi.annotation.validator import Validator
from dynet_vdgi.errors import VdgiError


def serve(
    live: Live, listener: socket.socket, announce: Callable[[str], None], reach: Reach | None = None
) -> None:
    """Serves the page until the program is interrupted; calls `announce` with the address when ready."""
    tab = Tab.of(live.session.path, is_new=live.session.journal.is_new)
    serving.serve(lambda token: _app(live, token), listener, announce, reach, tab)


def _app(live: Live, token: str) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        live.start()
        yield
        await live.stop()

    answers = _PageAnswers(live)
    routes = [
        Route(f"/{token}/state", answers.state),
        Route(f"/{token}/next", answers.next),
        Route(f"/{token}/find", answers.find),
        Route(f"/{token}/sentence/{{number}}", answers.sentence),
        Route(f"/{token}/guess/{{number}}", answers.guess),
        Route(f"/{token}/relations/{{number}}", answers.relations),
        Route(f"/{token}/xpos/{{number}}", answers.xpos),
        Route(f"/{token}/change", answers.change, methods=["POST"]),
        Route(f"/{token}/undo", answers.undo, methods=["POST"]),
        Route(f"/{token}/redo", answers.redo, methods=["POST"]),
        *serving.files(token, "index.html"),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={VdgiError: _refused})


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, UnknownRelationError):
        return JSONResponse({"fault": str(error), "unknown": True}, 400)
    status = 400 if isinstance(error, ChangeError) else serving.status_of(error)
    return JSONResponse({"fault": str(error)}, 409 if isinstance(error, StaleError) else status)


class UnknownRelationError(ChangeError):
    """A relation that nobody has used in the file; it is stored if sent again with `anyway`."""


class _PageAnswers:
    """The requests about a session; sentences go by their ids."""

    def __init__(self, live: Live) -> None:
        self._live, self._session, self._text = live, live.session, live.session.text
        self._validator = Validator(self._text)
        self._has_validator = self._validator.is_installed

    async def state(self, request: Request) -> Response:
        """Progress, learning, faults, and the version of the sentence that the page shows."""
        session, text = self._session, self._text
        session.is_changed_by_others()
        marked = self._text.by_id.get(-1 if (number := _number(request, "shown")) is None else number)
        if marked is not None:
            self._live.touch(marked.id)
        place, word = session.place
        last = self._text.by_id.get(place)
        content = {
            "id": self._live.id,
            "file": session.path.name,
            "annotator": session.annotator,
            "order": self._live.order,
            "learning": self._live.learning,
            "progress": text.progress(),
            "place": {"sentence": place, "word": word, "done": last is not None and last.is_done},
            "tagger": self._live.tagger,
            "validator": self._has_validator,
            "fault": session.fault or self._live.unwritten,
            "versions": None if marked is None else [marked.edits, marked.version],
        }
        labels = self._text.relations.listed()
        if request.query_params.get("labels", "") != labels["key"]:
            content["labels"] = labels
        return JSONResponse(content)

    async def next(self, request: Request) -> Response:
        """The id of the next sentence, null if all are done; or of the one with a `number` in the file."""
        number = _number(request, "number")
        if number is not None:
            if number >= len(self._text.sentences):
                raise ChangeError("there is no such sentence")
            return JSONResponse({"next": self._text.sentences[number].id})
        order = request.query_params.get("order", ORDERS[0])
        if order not in ORDERS:
            raise ChangeError("no such order")
        return JSONResponse({"next": self._live.next_one(_number(request, "after"), order)})

    async def find(self, request: Request) -> Response:
        """The sentences of a kind, see `finding` and `validator`."""
        kind, query = request.query_params.get("kind", "words"), request.query_params.get("q", "")
        if kind == "official":
            return JSONResponse(await asyncio.to_thread(self._validator.found, query))
        return JSONResponse(await asyncio.to_thread(found, self._text, kind, query))

    async def sentence(self, request: Request) -> Response:
        return await self._with_choices(await self._live.show(_in_path(request)))

    async def guess(self, request: Request) -> Response:
        """A sentence, after it was parsed again around a new head if that takes only a moment."""
        return await self._with_choices(await self._live.parsed(_in_path(request)))

    async def _with_choices(self, marked: MarkedSentence) -> Response:
        choices = await self._live.choices(marked)
        if choices is not None:
            marked.put_xpos(choices.xpos)
        return self._shown(marked.id, choices)

    async def xpos(self, request: Request) -> Response:
        """The XPOS to offer for a word, the likeliest first."""
        marked, word = self._word(request)
        choices = await self._live.choices(marked)
        return JSONResponse({"xpos": offered_xpos(self._text.sentences, marked, word, choices)})

    def _word(self, request: Request) -> tuple[MarkedSentence, int]:
        """The sentence and the word that are asked about. Raises: ChangeError, there is none."""
        marked = self._text.of_id(_in_path(request))
        word = _number(request, "word") or 0
        if not 1 <= word <= len(marked):
            raise ChangeError(f"there is no word {word}")
        return marked, word

    async def relations(self, request: Request) -> Response:
        """The relations to offer for a word, the likeliest first."""
        marked, word = self._word(request)
        known = self._text.relations
        likely = likely_relations(marked, word, known, await self._live.choices(marked))
        offered = [*(relation for relation, _ in likely), *known.offered(*tags_of(marked, word))]
        return JSONResponse({"relations": list(dict.fromkeys(offered))})

    async def change(self, request: Request) -> Response:
        """Makes one change; the answer comes when the change is on the disk."""
        try:
            order = json.loads(await request.body())
            whole = [order["sentence"], order["edits"], order["version"], order.get("word", 0)]
            what, value, anyway = order["what"], order.get("value", 0), order.get("anyway", False)
            if any(type(number) is not int for number in whole):  # true, 1.5, Infinity
                raise ValueError
            parts = value if type(value) is list and len(value) <= MOST_PARTS else [value]
            if any(type(part) not in (int, str, bool) for part in parts):
                raise ValueError
            if type(what) is not str or type(anyway) is not bool:
                raise ValueError
            number, edits, version, word = whole
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ChangeError("this is no change") from None
        fault = "" if anyway or what != "label" or label_fault(value) else self._text.relations.fault(value)
        if fault:
            raise UnknownRelationError(fault)
        now = self._live.change(number, (edits, version), what, word, value)
        return await self._after_change(now[0], {"moved_to": now} if len(now) > 1 else None)

    async def undo(self, request: Request) -> Response:
        return await self._back("undo")

    async def redo(self, request: Request) -> Response:
        return await self._back("redo")

    async def _back(self, what: str) -> Response:
        """The sentence after an undo or redo, with the change that `went`."""
        number = self._live.back(what)
        step = (self._text.redo if what == "undo" else self._text.undo)[-1]
        return await self._after_change(number, {"went": {"what": step.what, "word": step.word}})

    async def _after_change(self, number: int, more: Mapping[str, Any] | None = None) -> Response:
        """The sentence, or the first of those that a change leaves, and `more`; nothing is waited for."""
        choices = await self._live.choices(self._text.of_id(number), waits=False)
        return self._shown(number, choices, more)

    def _shown(self, number: int, choices: Choices | None, more: Mapping[str, Any] | None = None) -> Response:
        marked = self._text.of_id(number)
        content = shown_sentence(self._text.number(marked), marked, self._text.relations, choices)
        return JSONResponse({**content, **(more or {})})


def _in_path(request: Request) -> int:
    """The id of a sentence in an address."""
    if (number := serving.number_in(request.path_params["number"])) is None:
        raise HTTPException(404)
    return number


def _number(request: Request, name: str) -> int | None:
    return serving.number_in(request.query_params.get(name, ""))

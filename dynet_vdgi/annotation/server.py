"""The page's requests and their answers, JSON both ways; the server listens only on 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dynet_vdgi.annotation import serving
from dynet_vdgi.annotation.live import ORDERS, Live
from dynet_vdgi.annotation.marked import ChangeError, MarkedSentence, label_fault
from dynet_vdgi.annotation.relations import tags_of
from dynet_vdgi.annotation.serving import asked
from dynet_vdgi.annotation.shown import Choices, found, likely_relations, offered_xpos, shown_sentence


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


class SessionPage(serving.Page):
    """The requests about a session; sentences go by their ids."""

    GETS = (
        "state",
        "next",
        "find",
        *(f"{name}/{{number:int}}" for name in ("sentence", "guess", "relations", "xpos")),
    )
    POSTS = ("change", "undo", "redo")

    def __init__(self, live: Live) -> None:
        self._live, self._session, self._text = live, live.session, live.session.text

    @contextlib.asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        self._live.start()
        yield
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
        if choices is not None:
            marked.put_xpos(choices.xpos)
        return self._shown(marked.id, choices)

    async def xpos(self, request: Request) -> Response:
        """The XPOS to offer for a word, the likeliest first."""
        marked, word = self._word(request)
        choices = await self._live.choices(marked)
        return JSONResponse({"xpos": offered_xpos(self._text.sentences, marked, word, choices)})

    async def relations(self, request: Request) -> Response:
        """The relations to offer for a word, the likeliest first."""
        marked, word = self._word(request)
        known = self._text.relations
        likely = likely_relations(marked, word, known, await self._live.choices(marked))
        offered = [*(relation for relation, _ in likely), *known.offered(*tags_of(marked, word))]
        return JSONResponse({"relations": list(dict.fromkeys(offered))})

    def _word(self, request: Request) -> tuple[MarkedSentence, int]:
        """The sentence and the word that are asked about. Raises: ChangeError, there is none."""
        marked, word = self._text.of_id(request.path_params["number"]), asked(request, "word") or 0
        if not 1 <= word <= len(marked):
            raise ChangeError(f"there is no word {word}")
        return marked, word

    async def change(self, request: Request) -> Response:
        """Makes one change; the answer comes when the change is on the disk."""
        order = await serving.order_of(request, ChangeOrder)
        if order is None:
            raise ChangeError("this is no change")
        value = order.value
        is_relation = order.what == "label" and isinstance(value, str) and not label_fault(value)
        if is_relation and not order.anyway and (fault := self._text.relations.fault(str(value))):
            raise UnknownRelationError(fault)
        seen = order.edits, order.version
        now = self._live.change(order.sentence, seen, order.what, order.word, value)
        return await self._after_change(now[0], {"moved_to": now} if len(now) > 1 else {})

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
        choices = await self._live.choices(self._text.of_id(number), waits=False)
        return self._shown(number, choices, more)

    def _shown(self, number: int, choices: Choices | None, more: Mapping[str, Any] | None = None) -> Response:
        marked = self._text.of_id(number)
        content = shown_sentence(self._text.number(marked), marked, self._text.relations, choices)
        return JSONResponse({**content, **(more or {})})

"""The page's requests and their answers, JSON both ways; the server listens only on 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dynet_vdgi.page.learn.live import Live
from dynet_vdgi.page.learn.next_sentence import ORDERS
from dynet_vdgi.page.store.session import StaleError
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_state import ChangeError, label_fault
from dynet_vdgi.page.web.offers import Choices, offered_relations, offered_values, put_guesses
from dynet_vdgi.page.web.search import checksum_of, hits_of, search
from dynet_vdgi.page.web.server import Page, number_asked, order_of
from dynet_vdgi.page.web.shown import shown_sentence, translation_key


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
    # of words that are to be changed, and the number with which the page has seen them
    query: str = ""
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
        number = number_asked(request, "shown")
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
            "unlisted": text.relations.unlisted_relations(),
        }
        return JSONResponse(content)

    async def next(self, request: Request) -> Response:
        """The id of the next sentence, null if all are done; or of the one with a `number` in the
        file."""
        number = number_asked(request, "number")
        if number is not None:
            if number >= len(self._text.sentences):
                raise ChangeError("there is no such sentence")
            return JSONResponse({"next": self._text.sentences[number].id})
        order = request.query_params.get("order", ORDERS[0])
        if order not in ORDERS:
            raise ChangeError("no such order")
        return JSONResponse({"next": self._live.next_one(number_asked(request, "after"), order)})

    async def find(self, request: Request) -> Response:
        """The sentences of a kind, see `search`."""
        kind, query = request.query_params.get("kind", "words"), request.query_params.get("q", "")
        return JSONResponse(await asyncio.to_thread(search, self._text, kind, query))

    async def sentence(self, request: Request) -> Response:
        return await self._answer_with_choices(await self._live.show(request.path_params["number"]))

    async def guess(self, request: Request) -> Response:
        """A sentence, after it was parsed again around a new head if that takes only a moment."""
        return await self._answer_with_choices(
            await self._live.parsed_sentence(request.path_params["number"])
        )

    async def _answer_with_choices(self, marked: MarkedSentence) -> Response:
        choices = await self._live.choices(marked)
        put_guesses(self._text, marked, choices)
        return self._sentence_answer(marked.id, choices)

    async def values(self, request: Request) -> Response:
        """The XPOS, FEATS, lemmas or splits to offer for a word, the likeliest first."""
        marked, word = self._word(request)
        what = request.query_params.get("what", "")
        if what == "split":
            form, sentences = marked.forms[word - 1], tuple(self._text.sentences)
            return JSONResponse(
                {
                    "values": await asyncio.to_thread(
                        self._text.splits.offered_splits, form, sentences
                    )
                }
            )
        choices = await self._live.choices(marked, waits=False)
        return JSONResponse(
            {"values": offered_values(marked, word, what, self._text.analogies, choices)}
        )

    async def relations(self, request: Request) -> Response:
        """The relations to offer for a word, the likeliest first."""
        marked, word = self._word(request)
        choices = await self._live.choices(marked)
        return JSONResponse(
            {"relations": offered_relations(marked, word, self._text.relations, choices)}
        )

    def _word(self, request: Request) -> tuple[MarkedSentence, int]:
        """The sentence and the word that are asked about. Raises: ChangeError, there is none."""
        marked, word = (
            self._text.of_id(request.path_params["number"]),
            number_asked(request, "word") or 0,
        )
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
            return await self._answer_after_change(
                now[0], {"moved_to": now} if len(now) > 1 else {}
            )
        hits = await asyncio.to_thread(hits_of, self._text, "columns", order.query)
        if not hits or checksum_of(hits) != order.seen:
            raise StaleError(
                "Other words are found by now. Please look at them, and ask once more."
            )
        words = [(marked.id, word) for marked, word, _ in hits]
        now = self._live.change(order.sentence, seen, order.what, 0, value, words)
        return await self._answer_after_change(
            now[0] if now else order.sentence, {"changed": len(now)}
        )

    async def undo(self, request: Request) -> Response:
        return await self._back("undo")

    async def redo(self, request: Request) -> Response:
        return await self._back("redo")

    async def _back(self, what: str) -> Response:
        """The sentence after an undo or redo, with the change that `went`."""
        number = self._live.back(what)
        step = (self._text.redo if what == "undo" else self._text.undo)[-1]
        return await self._answer_after_change(
            number, {"went": {"what": step.what, "word": step.word}}
        )

    async def _answer_after_change(self, number: int, more: Mapping[str, Any]) -> Response:
        """The sentence, or the first sentence that a change leaves, and `more`; nothing is waited
        for."""
        marked = self._text.of_id(number)
        put_guesses(self._text, marked)
        return self._sentence_answer(number, await self._live.choices(marked, waits=False), more)

    def _sentence_answer(
        self, number: int, choices: Choices | None, more: Mapping[str, Any] | None = None
    ) -> Response:
        marked = self._text.of_id(number)
        place = self._text.number(marked)
        content = shown_sentence(place, marked, choices, self._text.relations.project)
        content["translation_key"] = translation_key(self._text, place)
        return JSONResponse({**content, **(more or {})})

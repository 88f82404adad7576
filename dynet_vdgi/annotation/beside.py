"""The page on which somebody decides between two annotations; its requests and answers, JSON both ways."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dynet_vdgi.annotation import serving
from dynet_vdgi.annotation.adjudication import Adjudication, DecisionError, items
from dynet_vdgi.annotation.serving import Reach, Tab
from dynet_vdgi.data.sentence import sent_id_of
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.evaluation.agreement import ROOT
from dynet_vdgi.evaluation.raw_scores import Side

WRITE_EVERY = 1.0

logger = logging.getLogger("dynet_vdgi")


def serve(
    work: Adjudication, listener: socket.socket, announce: Callable[[str], None], reach: Reach | None = None
) -> None:
    """Serves the page until the program is interrupted; calls `announce` with the address when ready."""
    tab = Tab.of(work.path, is_new=work.journal.is_new)
    serving.serve(DecisionPage(work), listener, announce, reach, tab)


class StaleDecisionError(DecisionError):
    """Somebody has decided since the page last saw the sentence, for instance in another tab."""

    status = 409


class DecisionOrder(Struct):
    """A side that the page takes for some differences of a part, as it has seen it; None: none."""

    part: int
    version: int
    keys: list[str]
    side: Literal[0, 1] | None


class DecisionPage(serving.Page):
    """The requests; parts with differences are numbered from 0."""

    FIRST = "beside.html"
    GETS = ("state", "next", "part/{number}")
    POSTS = ("decide", "undo")

    def __init__(self, work: Adjudication) -> None:
        self._work, self._id = work, secrets.token_hex(4)

    @contextlib.asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        writing = asyncio.create_task(self._write_on())
        yield
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing

    async def _write_on(self) -> None:
        while True:
            await asyncio.sleep(WRITE_EVERY)
            try:
                self._work.save()
            except VdgiError as error:
                logger.warning("%s", error)

    async def state(self, request: Request) -> Response:
        work = self._work
        names = [work.two.one.path, work.two.other.path, str(work.path)]
        content = {"id": self._id, "files": names, "name": work.name, "fault": work.fault}
        return JSONResponse({**content, **work.counts()})

    async def next(self, request: Request) -> Response:
        """The number of the next part with something to decide, null if there is none."""
        after = serving.asked(request, "after")
        return JSONResponse({"next": self._work.next_open(-1 if after is None else after)})

    async def part(self, request: Request) -> Response:
        return self._shown(serving.in_path(request))

    async def decide(self, request: Request) -> Response:
        """Takes a side for some differences; the answer comes when that is on the disk."""
        order = await serving.order_of(request, DecisionOrder)
        if order is None:
            raise DecisionError("this is no decision")
        if self._work.part(order.part).version != order.version:
            raise StaleDecisionError("this sentence was decided elsewhere meanwhile; here it is as it is now")
        self._work.decide(order.part, order.keys, order.side)
        return self._shown(order.part)

    async def undo(self, request: Request) -> Response:
        return self._shown(self._work.undo())

    def _shown(self, number: int) -> Response:
        part = self._work.part(number)
        sides = list(zip(part.sides, part.numbers))
        blocks = [side.blocks[numbers[0]] for side, numbers in sides]
        content = {
            "number": number,
            "version": part.version,
            "places": [f"{block.path}:{block.line}" for block in blocks],
            "sent_id": sent_id_of(blocks[0].lines) or sent_id_of(blocks[1].lines) or "",
            "trees": [_words(side, numbers) for side, numbers in sides],
            "items": items(part),
            "fault": part.tree_fault(),
        }
        return JSONResponse(content)


def _words(side: Side, sentences: range) -> list[dict[str, Any]]:
    """The words of some sentences, with heads as places among all of them, 0: ROOT, -1: none."""
    words = side.words_in(sentences)
    return [
        {
            "form": side.columns[word][1],
            "tag": side.columns[word][3],
            "head": side.heads[word] - words.start + 1 if side.heads[word] >= 0 else side.heads[word] - ROOT,
            "label": side.columns[word][7],
        }
        for word in words
    ]

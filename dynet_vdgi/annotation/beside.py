"""The page on which somebody decides between two annotations; its requests and answers, JSON both ways."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dynet_vdgi.annotation import serving
from dynet_vdgi.annotation.adjudication import Adjudication, DecisionError, Differing, items
from dynet_vdgi.annotation.guard import Reach
from dynet_vdgi.annotation.tabs import Tab
from dynet_vdgi.data.sentence import sent_id_of
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.evaluation.raw_scores import Side
from dynet_vdgi.evaluation.two_files import ROOT

WRITE_EVERY = 1.0

logger = logging.getLogger("dynet_vdgi")


def serve(
    work: Adjudication, listener: socket.socket, announce: Callable[[str], None], reach: Reach | None = None
) -> None:
    """Serves the page until the program is interrupted; calls `announce` with the address when ready."""
    tab = Tab.of(work.path, is_new=work.journal.is_new)
    serving.serve(lambda token: _app(work, token), listener, announce, reach, tab)


def _app(work: Adjudication, token: str) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        writing = asyncio.create_task(_write_on(work))
        yield
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing

    answers = _DecisionAnswers(work)
    routes = [
        Route(f"/{token}/state", answers.state),
        Route(f"/{token}/next", answers.next),
        Route(f"/{token}/part/{{number}}", answers.part),
        Route(f"/{token}/decide", answers.decide, methods=["POST"]),
        Route(f"/{token}/undo", answers.undo, methods=["POST"]),
        *serving.files(token, "beside.html"),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={VdgiError: _refused})


async def _write_on(work: Adjudication) -> None:
    while True:
        await asyncio.sleep(WRITE_EVERY)
        try:
            work.save()
        except VdgiError as error:
            logger.warning("%s", error)


async def _refused(request: Request, error: Exception) -> Response:
    status = 400 if isinstance(error, DecisionError) else serving.status_of(error)
    return JSONResponse({"fault": str(error)}, 409 if isinstance(error, StaleDecisionError) else status)


class StaleDecisionError(DecisionError):
    """Somebody has decided since the page last saw the sentence, for instance in another tab."""


class _DecisionAnswers:
    """The requests; parts with differences are numbered from 0."""

    def __init__(self, work: Adjudication) -> None:
        self._work, self._id = work, secrets.token_hex(4)

    async def state(self, request: Request) -> Response:
        work = self._work
        names = [work.two.one.path, work.two.other.path, str(work.path)]
        content = {"id": self._id, "files": names, "name": work.name, "fault": work.fault}
        return JSONResponse({**content, **work.counts()})

    async def next(self, request: Request) -> Response:
        """The number of the next part with something to decide, null if there is none."""
        after = serving.number_in(request.query_params.get("after", ""))
        return JSONResponse({"next": self._work.next_open(-1 if after is None else after)})

    async def part(self, request: Request) -> Response:
        if (number := serving.number_in(request.path_params["number"])) is None:
            raise HTTPException(404)
        return self._shown(number)

    async def decide(self, request: Request) -> Response:
        """Takes a side for some differences; the answer comes when that is on the disk."""
        try:
            order = json.loads(await request.body())
            number, version, keys, side = (order[name] for name in ("part", "version", "keys", "side"))
            if type(number) is not int or type(version) is not int or side not in (0, 1, None):
                raise ValueError
            if type(side) is bool or type(keys) is not list or not all(type(key) is str for key in keys):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise DecisionError("this is no decision") from None
        if 0 <= number < len(self._work.parts) and self._work.parts[number].version != version:
            raise StaleDecisionError("this sentence was decided elsewhere meanwhile; here it is as it is now")
        self._part(number)
        self._work.decide(number, keys, side)
        return self._shown(number)

    async def undo(self, request: Request) -> Response:
        return self._shown(self._work.undo())

    def _part(self, number: int) -> Differing:
        if not 0 <= number < len(self._work.parts):
            raise DecisionError("there is no such sentence")
        return self._work.parts[number]

    def _shown(self, number: int) -> Response:
        part = self._part(number)
        two = part.two
        sides = ((two.one, part.stretch.ones), (two.other, part.stretch.others))
        blocks = [side.blocks[numbers[0]] for side, numbers in sides]
        content = {
            "number": number,
            "version": part.version,
            "places": [f"{block.path}:{block.line}" for block in blocks],
            "sent_id": sent_id_of(blocks[0].lines) or sent_id_of(blocks[1].lines) or "",
            "trees": [_words(side, numbers) for side, numbers in sides],
            "items": [
                {
                    **item._asdict(),
                    "side": part.choices[item.key].side if item.key in part.choices else None,
                    "by": part.choices[item.key].by if item.key in part.choices else "",
                }
                for item in items(part)
            ],
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

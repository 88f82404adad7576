"""The page on which somebody decides between two annotations: its requests and their answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.evaluation.raw_scores import Side
from dynet_vdgi.evaluation.two_files import ROOT
from dynet_vdgi.page.adjudication.decisions import Adjudication
from dynet_vdgi.page.adjudication.differing import TOKENS, DecisionError, Differing
from dynet_vdgi.page.web import server


def items(part: Differing) -> list[dict[str, Any]]:
    """What there is to decide, in the order of the text, as the page shows it.

    `word` is a place in the sentence, 0: the whole of it.
    """

    items = []
    for key in part.keys:
        place, _, column = key.rpartition(":")
        if key == TOKENS:
            form, values = "", []
            for side, numbers in zip(part.sides, part.numbers):
                values.append(_text_of(side, numbers))
        else:
            two = part.differences[key]
            form, values = part.sides[0].columns[two.pair.one][1], [two.one, two.other]
            if column == "head":
                values = [_head_of(side, word) for side, word in zip(part.sides, two.pair)]
        choice = part.choices.get(key)
        item = {
            "key": key,
            "column": column,
            "word": int(place or 0),
            "form": form,
            "values": values,
        }
        items.append({**item, "side": choice and choice.side, "by": choice.by if choice else ""})
    return items


def _text_of(side: Side, numbers: Sequence[int]) -> str:
    """The words of a side's sentences with these numbers."""
    sentences = []
    for number in numbers:
        words = side.words_in(range(number, number + 1))
        sentences.append(" ".join(side.columns[word][1] for word in words))
    return " · ".join(sentences)


def _head_of(side: Side, word: int) -> str:
    """The head of a word as the page shows it: number and form."""
    place = side.heads[word]
    if place < 0:
        return "ROOT" if place == ROOT else "_"
    return f"{side.columns[word][6]} {side.columns[place][1]}"


WRITE_EVERY = 1.0

logger = logging.getLogger("dynet_vdgi")


class StaleDecisionError(DecisionError):
    """Somebody has decided since the page last saw the sentence, for instance in another tab."""

    status = 409


class DecisionOrder(Struct):
    """A side that the page takes for some differences of a part, as it has seen it; None: none."""

    part: int
    version: int
    keys: list[str]
    side: Literal[0, 1] | None


class DecisionPage(server.Page):
    """The requests; parts with differences are numbered from 0."""

    FIRST = "beside.html"
    GETS = ("state", "next", "part/{number:number}")
    POSTS = ("decide", "undo")

    def __init__(self, work: Adjudication) -> None:
        self._work = work

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        writing = asyncio.create_task(self._write_on())
        try:
            yield
        finally:
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
        content = {"files": names, "name": work.name, "fault": work.fault}
        content |= {"more": work.remark_on_not_compared()}
        return JSONResponse({**content, **work.counts()})

    async def next(self, request: Request) -> Response:
        """The number of the next part with something to decide, null if there is none."""
        after = server.number_asked(request, "after")
        return JSONResponse({"next": self._work.next_open(-1 if after is None else after)})

    async def part(self, request: Request) -> Response:
        return self._part_answer(request.path_params["number"])

    async def decide(self, request: Request) -> Response:
        """Takes a side for some differences; the answer comes when that is on the disk."""
        order = await server.order_of(request, DecisionOrder)
        if order is None:
            raise DecisionError("this is no decision")
        if self._work.part(order.part).version != order.version:
            raise StaleDecisionError(
                "this sentence was decided elsewhere meanwhile; here it is as it is now"
            )
        self._work.decide(order.part, order.keys, order.side)
        return self._part_answer(order.part)

    async def undo(self, request: Request) -> Response:
        return self._part_answer(self._work.undo())

    def _part_answer(self, number: int) -> Response:
        part = self._work.part(number)
        sides = list(zip(part.sides, part.numbers))
        blocks = [side.blocks[numbers[0]] for side, numbers in sides]
        trees = []  # of all words of both sides, with heads as places among them, 0: ROOT, -1: none
        for side, numbers in sides:
            words, tree = side.words_in(numbers), []
            for word in words:
                head, columns = side.heads[word], side.columns[word]
                number_of_head = head - words.start + 1 if head >= 0 else head - ROOT
                tree.append(
                    {
                        "form": columns[1],
                        "tag": columns[3],
                        "head": number_of_head,
                        "label": columns[7],
                    }
                )
            trees.append(tree)
        content = {
            "number": number,
            "version": part.version,
            "places": [f"{block.path}:{block.line}" for block in blocks],
            "sent_id": part.sent_id,
            "trees": trees,
            "items": items(part),
            "fault": part.tree_fault(),
            "waits": part.is_waiting_for_heads,
        }
        return JSONResponse(content)

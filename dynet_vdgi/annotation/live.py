"""Events while the page is open: changes, guesses of single sentences, learning, writing the file.

Everything runs on one event loop and is quick, because `helpers` and threads do the long work.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Sequence
from itertools import chain
from typing import Any

from dynet_vdgi.annotation.helpers import HelperError, Helpers, Lesson, Told
from dynet_vdgi.annotation.marked import MarkedSentence
from dynet_vdgi.annotation.session import Session
from dynet_vdgi.errors import VdgiError

EVERY = 10
ORDERS = ("choose", "document")

WAIT_FOR_GUESS = 0.3
"""Seconds that a page waits for the guess of one sentence before it shows the present tree."""

WRITE_EVERY = 1.0
OPEN_FOR = 10.0
"""Seconds that a sentence counts as open in a page after the page's last request about it."""

AT_ONCE = 25
"""Guesses that are adopted between two requests of the page."""

logger = logging.getLogger("dynet_vdgi")


class Live:
    """A session with learning around it; without `helpers` there is no learning.

    The parser learns again after `every` sentences; `order` is the order of the next sentences.
    """

    def __init__(
        self, session: Session, helpers: Helpers | None = None, every: int = EVERY, order: str = ORDERS[0]
    ) -> None:
        self.session, self.order = session, order
        self.id = secrets.token_hex(4)  # so that a page notices a new start
        self.learning: dict[str, Any] = {"state": "off" if helpers is None else "starting", "lessons": 0}
        self._helpers, self._every = helpers, every
        self.unwritten = ""  # why the last attempt to write the file failed
        self._queue: Sequence[int] = ()
        self._passed: dict[int, None] = {}  # sentences that were left unfinished, the latest at the end
        self._open: dict[int, float] = {}
        self._parsed: dict[int, tuple[int, int]] = {}  # sentence: lesson, edits of its exact parse
        self._corrected: dict[int, int] = {}  # sentence to be parsed again: word with a new head
        self._parsing: dict[int, asyncio.Task[None]] = {}
        self._done_before = len(session.finished)
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    # --------------------------------------------------------------------------------------- life
    def start(self) -> None:
        """Starts learning and writing."""
        self._tasks = [asyncio.create_task(self._write_on())]
        if self._helpers is not None:
            self._tasks.append(asyncio.create_task(self._learn_on(self._helpers)))

    async def stop(self) -> None:
        """Stops both; `Session.close` writes the file."""
        tasks = [*self._tasks, *self._parsing.values()]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._helpers is not None:
            self._helpers.stop()

    async def _write_on(self) -> None:
        while True:
            await asyncio.sleep(WRITE_EVERY)
            if self.session.is_unsaved and not self.session.fault:
                try:
                    await asyncio.to_thread(self.session.save)
                    self.unwritten = ""
                except VdgiError as error:
                    if str(error) != self.unwritten:
                        logger.warning("%s", error)
                    self.unwritten = str(error)

    async def _learn_on(self, helpers: Helpers) -> None:
        try:
            bare = [marked.bare for marked in self.session.sentences]
            if not await asyncio.to_thread(helpers.read, bare):
                self.learning = {"state": "nothing", "lessons": 0}
                return
            while True:
                self._wake.clear()
                self._done_before = len(self.session.finished)
                self.learning["state"] = "learning"
                told = [
                    Told(k, one.heads or (), one.deprels, marked.is_done)
                    for k, marked in enumerate(self.session.sentences)
                    if marked.is_touched
                    for one in [marked.confirmed()]
                ]
                await self._take_over(await asyncio.to_thread(helpers.learn, told), len(told))
                if not self._is_due():
                    await self._wake.wait()
        except HelperError as error:
            logger.warning("learning has stopped: %s", error)
            self.learning |= {"state": "failed", "why": str(error)}

    def _is_due(self) -> bool:
        return len(self.session.finished) - self._done_before >= self._every

    async def _take_over(self, lesson: Lesson, n_trees: int) -> None:
        """Adopts the guesses, a few at a time, but not for sentences that somebody views or has edited."""
        self._queue = lesson.next_ones
        lessons = self.learning["lessons"] + 1
        self.learning["lessons"] = lessons
        seen = {k: self.session.sentences[k].edits for k in lesson.guesses}
        for number, (k, guess) in enumerate(lesson.guesses.items()):
            marked = self.session.sentences[k]
            is_open = time.monotonic() - self._open.get(k, -OPEN_FOR) < OPEN_FOR
            is_kept = marked.is_done or (marked.is_touched and marked.is_held) or (is_open and marked.sure)
            if marked.edits == seen[k] and not is_kept:
                self.session.put(k, marked.version, guess)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        for k in self._corrected:  # sentences that got new heads before there was a parser
            self._parse(k)
        self.learning = {
            "state": "ready",
            "lessons": lessons,
            "trees": n_trees,
            "seconds": round(lesson.seconds, 1),
        }

    # --------------------------------------------------------------------------------------- requests
    async def show(self, index: int) -> MarkedSentence:
        """A sentence to show, with the best guess that is ready within a moment.

        A tree that somebody has edited stays as it is, however often it is viewed.
        """
        self._open[index] = time.monotonic()
        marked = self.session.sentences[index]
        is_new = self._parsed.get(index) != (self.learning["lessons"], marked.edits)
        if is_new and not marked.is_held:
            self._parse(index)
        return await self.parsed(index)

    async def change(self, index: int, seen: tuple[int, int], what: str, word: int, value: Any) -> None:
        """See `Session.change`; the change is on the disk on return.

        After a new head the rest of the sentence is parsed again, and `parsed` waits for this.
        """
        self.session.change(index, seen, what, word, value)
        self._changed(index)
        if what == "head":
            self._corrected[index] = word
            self._parse(index)

    def _changed(self, index: int) -> None:
        self._open[index] = time.monotonic()
        if self._is_due():
            self._wake.set()

    def back(self, what: str) -> int:
        """Undoes or redoes a change; returns the number of its sentence."""
        index = self.session.undo() if what == "undo" else self.session.redo()
        self._corrected.pop(index, None)
        self._changed(index)
        return index

    async def parsed(self, index: int) -> MarkedSentence:
        """The sentence, after the running parse if that ends in a moment."""
        if index in self._parsing:
            await asyncio.wait([self._parsing[index]], timeout=WAIT_FOR_GUESS)
        return self.session.sentences[index]

    def _parse(self, index: int) -> None:
        """Starts to parse a sentence around its confirmed arcs, unless a parse of it is running."""
        if self._helpers is not None and self.learning["lessons"] and index not in self._parsing:
            self._parsing[index] = asyncio.create_task(self._parse_on(self._helpers, index))

    async def _parse_on(self, helpers: Helpers, index: int) -> None:
        """Parses until the sentence has not changed meanwhile; an undo ends it, too."""
        marked = self.session.sentences[index]
        try:
            while len(marked.bare) and not marked.is_done:
                now = self.learning["lessons"], marked.edits
                corrected = self._corrected.get(index, 0)
                if corrected:  # numbered without punctuation
                    corrected = 1 + sum(position < corrected for position in marked.positions)
                bare, shown = marked.confirmed(), marked.shown()
                guess = await asyncio.to_thread(helpers.guess, bare, shown, corrected)
                if guess is None:
                    return
                if marked.edits == now[1]:
                    self.session.put(index, marked.version, guess)
                    self._parsed[index] = now
                    self._corrected.pop(index, None)
                    return
                if marked.is_held and index not in self._corrected:
                    return
        except HelperError as error:
            logger.debug("sentence %d is not parsed: %s", index + 1, error)
        finally:
            del self._parsing[index]

    def touch(self, index: int) -> None:
        """Records that a page still shows a sentence."""
        self._open[index] = time.monotonic()

    def next_one(self, after: int, order: str) -> int | None:
        """The next unfinished sentence; None: all are done.

        In the order `choose`, a sentence left unfinished comes again after all others.
        """
        sentences = self.session.sentences
        rest = chain(range(after + 1, len(sentences)), range(after))
        if order == "choose":
            if 0 <= after < len(sentences):
                self._passed.pop(after, None)
                self._passed[after] = None
            new = (k for k in chain(self._queue, rest) if k not in self._passed)
            rest = chain(new, self._passed)
        return next((k for k in rest if k != after and not sentences[k].is_done), None)

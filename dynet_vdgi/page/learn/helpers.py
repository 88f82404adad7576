"""One process learns to parse and to tag, and one answers about single sentences with the models that it sends,
so that the page's program never waits long. Both end with the program that started them, whatever ends it.

Each is a pool of one process. A model goes from the one to the other directly, through a pipe: the page's
program, which would have to read all of it, only knows how many there have been, and asks for the newest.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.page.learn.arc_lessons import Course, Lessons
from dynet_vdgi.page.learn.tag_lessons import TagLessons
from dynet_vdgi.system.signals import end_with_parent

NICENESS = 10

PATIENCE = 2.0
"""Seconds that a process has to heed a signal to end."""


class HelperError(VdgiError):
    """A process failed or ended unexpectedly; only learning stops."""


class Helpers:
    """The processes; calls wait, and may come from several threads. `tagger` is a tagger's file.

    All calls raise HelperError, and give None as long as nothing has been learnt that they need.
    """

    def __init__(self, course: Course | None = None, tagger: str | None = None) -> None:
        self.has_tagger = tagger is not None  # to begin with
        self._n_models: Counter[str] = Counter()  # that have been learnt, by kind
        self._processes: set[BaseProcess] = set()
        models, source = multiprocessing.Pipe(duplex=False)
        self._learner = self._started(_begin_to_learn, source, course, tagger)
        self._answerer = self._started(_begin_to_answer, models)
        source.close()
        models.close()

    def _started(self, begin: Callable[..., None], *things: Any) -> ProcessPoolExecutor:
        """A pool of one process, which is there on return."""
        others = {*multiprocessing.active_children()}
        pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), begin, things)
        pool.submit(os.getpid)  # a pool starts its process with the first task
        self._processes |= {*multiprocessing.active_children()} - others
        return pool

    def learn(self, kind: str, *content: Any) -> Any:
        """The lesson of the kind `parser` or `tagger`, see `arc_lessons.Lessons` and `tag_lessons.TagLessons`."""
        lesson, is_model = _result(self._learner, _learn, kind, content)
        self._n_models[kind] += is_model
        return lesson

    def answer(self, kind: str, what: str, *content: Any) -> Any:
        """What the newest model of a kind gives when its method `what` is called."""
        return _result(self._answerer, _answer, kind, self._n_models[kind], what, content)

    def stop(self) -> None:
        """Ends both processes at once, whatever they do."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(PATIENCE)
            process.kill()  # if it does not heed the signal
        for pool in (self._learner, self._answerer):
            pool.shutdown(wait=False, cancel_futures=True)


def _result(pool: ProcessPoolExecutor, work: Callable[..., Any], *content: Any) -> Any:
    """What a process of a pool makes of something. Raises: HelperError."""
    try:
        return pool.submit(work, *content).result()
    except (BrokenExecutor, RuntimeError):  # a pool that was shut down raises the latter
        raise HelperError("the process that learns has ended") from None


class _Learning:
    """What the learning process has: what it has learnt so far, by kind, and where models go."""

    def __init__(self, source: Connection, course: Course | None, tagger: str | None) -> None:
        self.source, self.course, self.tagger = source, course, tagger
        self.lessons: dict[str, Any] = {}

    def of_kind(self, kind: str) -> Any:
        if kind not in self.lessons:
            self.lessons[kind] = Lessons(self.course) if kind == "parser" else TagLessons(self.tagger)
        return self.lessons[kind]


class _Newest:
    """The newest model of each kind in the answering process; a thread takes them from the pipe."""

    def __init__(self, models: Connection) -> None:
        self._models = models
        self._by_kind: dict[str, Any] = {}
        self._n_models: Counter[str] = Counter()
        self._arrival = threading.Condition()
        self._is_over = False
        threading.Thread(target=self._take_on, daemon=True).start()

    def _take_on(self) -> None:
        while True:
            try:
                kind, model = self._models.recv()
            except (EOFError, OSError):  # the learning process has ended
                break
            except Exception:  # there would be no newest model any more
                os._exit(1)
            with self._arrival:
                self._by_kind[kind] = model
                self._n_models[kind] += 1
                self._arrival.notify_all()
        with self._arrival:
            self._is_over = True
            self._arrival.notify_all()

    def of_kind(self, kind: str, n_models: int) -> Any:
        """The newest model, not before this many have come; None: there is none."""
        with self._arrival:
            self._arrival.wait_for(lambda: self._is_over or self._n_models[kind] >= n_models)
            return self._by_kind.get(kind)


_learning: _Learning | None = None
_newest: _Newest | None = None


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started this one
    logging.getLogger("dynet_vdgi").setLevel(logging.ERROR)
    end_with_parent()  # otherwise the end would be noticed only after learning


def _begin_to_learn(source: Connection, course: Course | None, tagger: str | None) -> None:
    global _learning
    _begin()
    with suppress(OSError):
        os.nice(NICENESS)
    _learning = _Learning(source, course, tagger)


def _begin_to_answer(models: Connection) -> None:
    global _newest
    _begin()
    _newest = _Newest(models)


def _learn(kind: str, content: tuple[Any, ...]) -> tuple[Any, bool]:
    """A lesson, and whether there is a new model, which the other process then gets."""
    assert _learning is not None
    try:
        lesson, model = _learning.of_kind(kind).learn(*content) or (None, None)
    except Exception as error:  # the page reports it
        raise HelperError(f"{type(error).__name__}: {error}") from None
    if model is not None:
        with suppress(OSError):  # the other process has ended, which the page reports
            _learning.source.send((kind, model))
    return lesson, model is not None


def _answer(kind: str, n_models: int, what: str, content: tuple[Any, ...]) -> Any:
    assert _newest is not None
    model = _newest.of_kind(kind, n_models)
    if model is None:
        return None
    try:
        return getattr(model, what)(*content)
    except Exception as error:  # the page does without it
        raise HelperError(f"{type(error).__name__}: {error}") from None

"""One process learns to parse and to tag, and one answers about single sentences with the models
that it sends, so that the page's program never waits long. Both end with the program that
started them, whatever ends it.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.page.learn.arc_lessons import Course, Lessons
from dynet_vdgi.page.learn.tag_lessons import TagLessons
from dynet_vdgi.system.signals import end_with_parent

NICENESS = 10


class HelperError(VdgiError):
    """A process failed or ended unexpectedly; only learning stops."""


class _Helper:
    """A process that answers questions one after the other."""

    def __init__(self, serve: Any, *things: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._mine, of_process = Pipe()
        self._process = context.Process(target=serve, args=(of_process, *things), daemon=True)
        self._process.start()
        of_process.close()
        self._guard = threading.Lock()

    def ask(self, *question: Any) -> Any:
        """Waits for the answer and returns it. Raises: HelperError."""
        with self._guard:
            try:
                self._mine.send(question)
                answer = self._mine.recv()
            except (EOFError, OSError):
                raise HelperError("the process that learns has ended") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stop(self) -> None:
        self._process.terminate()
        self._process.join(2)
        self._process.kill()  # if it does not heed the signal
        self._mine.close()


class Helpers:
    """The processes; calls wait, and may come from several threads. `tagger` is a tagger's file.

    All calls raise HelperError, and give None as long as nothing has been learnt that they need.
    """

    def __init__(self, course: Course | None = None, tagger: str | None = None) -> None:
        source, models = Pipe()
        self.has_tagger = tagger is not None  # to begin with
        self._learner = _Helper(_serve_lessons, source, course, tagger)
        self._answerer = _Helper(_serve_answers, models)
        source.close()
        models.close()

    def learn(self, kind: str, *content: Any) -> Any:
        """The lesson of the kind `parser` or `tagger`, see `arc_lessons.Lessons` and
        `tag_lessons.TagLessons`."""
        return self._learner.ask(kind, *content)

    def answer(self, kind: str, what: str, *content: Any) -> Any:
        """What the newest model of a kind gives when its method `what` is called."""
        return self._answerer.ask(kind, what, *content)

    def stop(self) -> None:
        self._learner.stop()
        self._answerer.stop()


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started this one
    logging.getLogger("dynet_vdgi").setLevel(logging.ERROR)
    end_with_parent()  # otherwise the end would be noticed only after learning


def _serve_lessons(
    questions: Connection, models: Connection, course: Course | None, tagger: str | None
) -> None:
    """Answers each question by the lesson that `learn` makes of it,
    and forwards the model learnt."""
    _begin()
    with suppress(OSError):
        os.nice(NICENESS)
    lessons: dict[str, Any] = {}
    with suppress(EOFError, OSError):  # the asking program has ended
        while True:
            kind, *content = questions.recv()
            try:
                if kind not in lessons:
                    lessons[kind] = Lessons(course) if kind == "parser" else TagLessons(tagger)
                answer, model = lessons[kind].learn(*content) or (None, None)
                if model is not None:
                    with suppress(OSError):  # the other process has ended, which the page reports
                        models.send((kind, model))
            except Exception as error:  # the page reports it
                answer = HelperError(f"{type(error).__name__}: {error}")
            questions.send(answer)


def _serve_answers(questions: Connection, models: Connection) -> None:
    """Answers questions about single sentences with the newest available models."""
    _begin()
    newest: dict[str, Any] = {}
    sources = [questions, models]
    with suppress(EOFError, OSError):  # the asking program has ended
        while True:
            ready = wait(sources)
            if models in ready:
                try:
                    kind, model = models.recv()
                    newest[kind] = model
                except (EOFError, OSError):  # the learning process has ended
                    sources.remove(models)
            if questions not in ready:
                continue
            kind, what, *content = questions.recv()
            try:
                answer: Any = getattr(newest[kind], what)(*content) if kind in newest else None
            except Exception as error:  # the page does without it
                answer = HelperError(f"{type(error).__name__}: {error}")
            questions.send(answer)

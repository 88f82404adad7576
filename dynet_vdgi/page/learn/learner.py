"""Lessons in one process, and in another one answers about single sentences by the newest models,
so that the page's program is free all the time.

In time:

    the lessons' process      the page's program                   the answers' process
    --------------------      ------------------                   --------------------
                      <----   learn("parser", ...)
    takes a minute            answer("parser", ...)       ---->    None: there is no model yet
    lesson, model 1   ---->   passes the model on         ---->    parser = model 1
                              returns the lesson
                      <----   learn("parser", ...)
    takes seconds             answer("parser", ...)       ---->    by model 1
    lesson, model 2   ---->   passes the model on         ---->    parser = model 2
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dynet_vdgi.page.learn.arc_lessons import Course, Lessons
from dynet_vdgi.page.learn.remote import LearningError, Remote
from dynet_vdgi.page.learn.tag_lessons import TagLessons

NICENESS = 10


class Learner:
    """Calls wait, and may come from several threads. `tagger` is a tagger's file.

    They raise LearningError, and give None as long as nothing has been learnt that they need.
    """

    def __init__(self, course: Course | None = None, tagger: str | None = None) -> None:
        self.has_tagger = tagger is not None  # to begin with
        self._newest_models: dict[str, bytes] = {}  # pickled; a new process begins with them
        self._lessons = Remote(_AllLessons, course, tagger)
        self._answers = Remote(_Answers, self._newest_models)

    def learn(self, kind: str, *content: Any) -> Any:
        """The lesson of the kind `parser` or `tagger`, see `arc_lessons.Lessons` and
        `tag_lessons.TagLessons`."""
        lesson, model = self._lessons.call("learn", kind, *content)
        if model is not None:
            self._newest_models[kind] = model
            with suppress(LearningError):  # the next answer will say so
                self._answers.call("take", kind, model)
        return lesson

    def answer(self, kind: str, method: str, *content: Any) -> Any:
        """What a method of the newest model of a kind returns."""
        return self._answers.call("answer", kind, method, *content)

    def stop(self) -> None:
        self._lessons.stop()
        self._answers.stop()


class _AllLessons:
    """The lessons of both kinds."""

    def __init__(self, course: Course | None, tagger: str | None) -> None:
        with suppress(OSError):
            os.nice(NICENESS)
        self._course, self._tagger = course, tagger
        self._by_kind: dict[str, Any] = {}

    def learn(self, kind: str, *content: Any) -> tuple[Any, bytes | None]:
        """A lesson, and its model."""
        if kind not in self._by_kind:
            is_parser = kind == "parser"
            self._by_kind[kind] = Lessons(self._course) if is_parser else TagLessons(self._tagger)
        lesson, model = self._by_kind[kind].learn(*content) or (None, None)
        return lesson, None if model is None else pickle.dumps(model)


class _Answers:
    """The newest models, by kind."""

    def __init__(self, models: Mapping[str, bytes]) -> None:
        self._models = {kind: pickle.loads(model) for kind, model in models.items()}

    def take(self, kind: str, model: bytes) -> None:
        self._models[kind] = pickle.loads(model)

    def answer(self, kind: str, method: str, *content: Any) -> Any:
        return getattr(self._models[kind], method)(*content) if kind in self._models else None

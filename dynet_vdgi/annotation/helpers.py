"""Learning and parsing in processes of their own, so that the page's program never waits for them.

One process learns to parse, one learns to tag from the first time that this is needed, and one answers
about single sentences with the models that the others send it. All end with the program that started them,
whatever ends it.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING, Any

from dynet_vdgi.annotation.marked import Guess
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system.progress import end_with_parent

if TYPE_CHECKING:
    from dynet_vdgi.annotation.loop import Course, Lesson, ToldTree
    from dynet_vdgi.annotation.tag_lessons import TagLesson
    from dynet_vdgi.tagging.tagger import WordChoices

NICENESS = 10

News = Mapping[int, Sentence | None]
"""Sentences that are new or others than before, by id; None: this one is no more."""


class HelperError(VdgiError):
    """A process failed or ended unexpectedly; only learning stops."""


class _Helper:
    """A process that answers questions one after the other."""

    def __init__(self, serve: Any, *things: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._mine, its = Pipe()
        self._process = context.Process(target=serve, args=(its, *things), daemon=True)
        self._process.start()
        its.close()
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
        self._process.join(5)
        self._mine.close()


class Helpers:
    """The processes; calls wait, and may come from several threads. `tagger` is a tagger's file.

    All calls raise HelperError, and give None as long as nothing has been learnt that they need.
    """

    def __init__(self, course: Course | None = None, tagger: str | None = None) -> None:
        source, models = Pipe()
        self._tagger_source, taggers = Pipe()
        self._learner = _Helper(_serve_lessons, source, _parser_lessons, course)
        self._parser = _Helper(_serve_answers, models, taggers)
        self._tagger_file = tagger
        self._tagger: _Helper | None = None
        for end in (source, models, taggers):
            end.close()

    @property
    def has_tagger(self) -> bool:
        """Whether there is a tagger to begin with."""
        return self._tagger_file is not None

    def learn(self, told: Sequence[ToldTree], news: News) -> Lesson | None:
        """Learns from the text and the confirmed arcs, and parses the rest; None: there is no text."""
        lesson: Lesson | None = self._learner.ask(list(told), dict(news))
        return lesson

    def tag(self, news: News, own: Sequence[int]) -> TagLesson | None:
        """Learns to tag, see `TagLessons`."""
        if self._tagger is None:
            path = self._tagger_file
            self._tagger = _Helper(_serve_lessons, self._tagger_source, _tagger_lessons, path)
        lesson: TagLesson | None = self._tagger.ask(dict(news), list(own))
        return lesson

    def guess(self, sentence: Sentence, shown: Sequence[int], corrected: int) -> Guess | None:
        """A tree of one sentence, see `loop.Learnt.guess`."""
        guess: Guess | None = self._parser.ask("guess", sentence, tuple(shown), corrected)
        return guess

    def choices(self, sentence: Sentence) -> list[WordChoices] | None:
        """What the words of a sentence may be, see `Tagger.choices`."""
        found: list[WordChoices] | None = self._parser.ask("choices", sentence)
        return found

    def likely(self, tree: Sentence) -> list[list[tuple[str, float]]] | None:
        """The likely relations of a tree's words."""
        found: list[list[tuple[str, float]]] | None = self._parser.ask("likely", tree)
        return found

    def stop(self) -> None:
        for helper in (self._learner, self._parser, self._tagger):
            if helper is not None:
                helper.stop()
        self._tagger_source.close()


# ------------------------------------------------------------------------------------------- inside
def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started this one
    logging.getLogger("dynet_vdgi").setLevel(logging.ERROR)
    end_with_parent()  # otherwise the end would be noticed only after learning


def _parser_lessons(course: Course | None) -> Any:
    from dynet_vdgi.annotation.loop import Lessons

    return Lessons(course)


def _tagger_lessons(path: str | None) -> Any:
    from dynet_vdgi.annotation.tag_lessons import TagLessons

    return TagLessons(path)


def _serve_lessons(
    questions: Connection, results: Connection, begin: Callable[[Any], Any], setting: Any
) -> None:
    """Answers each question by the lesson that `learn` makes of it, and forwards the model learnt."""
    _begin()
    with suppress(OSError):
        os.nice(NICENESS)
    lessons: Any = None
    with suppress(EOFError, OSError):  # the asking program has ended
        while True:
            question = questions.recv()
            try:
                lessons = lessons or begin(setting)
                answer, model = lessons.learn(*question) or (None, None)
                if model is not None:
                    with suppress(OSError):  # the other process has ended, which the page reports
                        results.send(model)
            except Exception as error:  # the page reports it
                answer = HelperError(f"{type(error).__name__}: {error}")
            questions.send(answer)


def _serve_answers(questions: Connection, models: Connection, taggers: Connection) -> None:
    """Answers questions about single sentences with the newest available models."""
    _begin()
    newest: dict[Connection, Any] = {models: None, taggers: None}
    sources = [questions, models, taggers]
    with suppress(EOFError, OSError):  # the asking program has ended
        while True:
            ready = wait(sources)
            for source in newest:
                try:
                    if source in ready:
                        newest[source] = source.recv()
                except (EOFError, OSError):  # the learning process has ended
                    sources.remove(source)
            if questions not in ready:
                continue
            what, *content = questions.recv()
            model = newest[taggers if what == "choices" else models]
            try:
                answer: Any = getattr(model, what)(*content) if model else None
            except Exception as error:  # the page does without it
                answer = HelperError(f"{type(error).__name__}: {error}")
            questions.send(answer)

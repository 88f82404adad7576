"""Learning and parsing in processes of their own, so that the page's program never waits for them.

One process learns, the other parses single sentences with the model that the first sends it. Both end with
the program that started them, whatever ends it.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from dynet_vdgi.annotation.marked import Guess
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system.ending import end_with_parent

if TYPE_CHECKING:
    from dynet_vdgi.annotation.loop import Course, Learnt

NICENESS = 10
AHEAD = 50
"""Number of sentences that are chosen in advance."""


class HelperError(VdgiError):
    """A process failed or ended unexpectedly; only learning stops."""


class Told(NamedTuple):
    """The confirmed parts of a sentence, for learning."""

    number: int
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    is_done: bool


class Lesson(NamedTuple):
    """The results of learning."""

    guesses: dict[int, Guess]  # of sentences that are not done
    next_ones: list[int]
    seconds: float


class _Helper:
    """A process that answers questions one after the other."""

    def __init__(self, serve: Any, *ends: Connection) -> None:
        context = multiprocessing.get_context("spawn")
        self._mine, its = Pipe()
        self._process = context.Process(target=serve, args=(its, *ends), daemon=True)
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
            raise HelperError(f"{type(answer).__name__}: {answer}")
        return answer

    def stop(self) -> None:
        self._process.terminate()
        self._process.join(5)
        self._mine.close()


class Helpers:
    """Both processes; calls wait, and may come from several threads."""

    def __init__(self, course: Course | None = None) -> None:
        self._course = course
        source, drain = Pipe()
        self._learner = _Helper(_serve_learning, source)
        self._parser = _Helper(_serve_parsing, drain)
        source.close()
        drain.close()

    def read(self, sentences: Sequence[Sentence]) -> bool:
        """Reads the text; returns whether there is anything to learn from. Raises: HelperError."""
        return bool(self._learner.ask("read", (list(sentences), self._course)))

    def learn(self, told: Sequence[Told]) -> Lesson:
        """Learns from the text and the confirmed arcs, and parses the rest. Raises: HelperError."""
        lesson: Lesson = self._learner.ask("learn", list(told))
        return lesson

    def guess(self, sentence: Sentence, shown: Sequence[int], corrected: int) -> Guess | None:
        """A tree of one sentence, see `loop.Learnt.guess`; None: nothing has been learnt yet.

        Raises:
            HelperError: the process has failed.
        """
        guess: Guess | None = self._parser.ask(sentence, tuple(shown), corrected)
        return guess

    def stop(self) -> None:
        self._learner.stop()
        self._parser.stop()


# ------------------------------------------------------------------------------------------- inside
def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started this one
    logging.getLogger("dynet_vdgi").setLevel(logging.ERROR)
    end_with_parent()  # otherwise the end would be noticed only after learning


def _serve_learning(questions: Connection, models: Connection) -> None:
    """Answers `Helpers.read` and `Helpers.learn`, and forwards each model."""
    _begin()
    with suppress(OSError):
        os.nice(NICENESS)
    with suppress(EOFError, OSError):  # the asking program has ended
        _learn_on(questions, models)


def _learn_on(questions: Connection, models: Connection) -> None:
    learner = None
    while True:
        what, content = questions.recv()
        try:
            if what == "read":
                learner = _Lessons(*content)
                answer: Any = learner.can_learn
            else:
                assert learner is not None
                answer, learnt = learner.learn(content)
                with suppress(OSError):  # the other process has ended, which the page reports
                    models.send(learnt)
        except Exception as error:  # the page reports it
            answer = HelperError(f"{type(error).__name__}: {error}")
        questions.send(answer)


class _Lessons:
    """The text, and the knowledge about it."""

    def __init__(self, sentences: list[Sentence], course: Course | None) -> None:
        from dynet_vdgi.annotation import loop

        self._sentences = sentences
        self._knowledge = loop.knowledge_of(sentences, course)
        self.can_learn = self._knowledge is not None

    def learn(self, told: Sequence[Told]) -> tuple[Lesson, Learnt]:
        """Guesses for the unfinished sentences, and the model that made them."""
        from dataclasses import replace

        from dynet_vdgi.annotation import loop

        assert self._knowledge is not None
        start = time.perf_counter()
        trees = {
            one.number: replace(self._sentences[one.number], heads=one.heads, deprels=one.labels)
            for one in told
        }
        learnt = loop.learn(self._knowledge, list(trees.values()))
        done = {one.number for one in told if one.is_done}
        open_ones = [k for k, s in enumerate(self._sentences) if k not in done and len(s)]
        found = learnt.guesses([trees.get(k, self._sentences[k]) for k in open_ones])
        guesses = dict(zip(open_ones, found))
        nothing = Guess((), (), ())
        everything = [guesses.get(k, nothing) for k in range(len(self._sentences))]
        flags = [k not in guesses for k in range(len(self._sentences))]
        chosen = loop.next_ones(self._sentences, flags, everything, AHEAD)
        return Lesson(guesses, chosen, time.perf_counter() - start), learnt


def _serve_parsing(questions: Connection, models: Connection) -> None:
    """Answers `Helpers.guess` with the newest available model."""
    _begin()
    with suppress(EOFError, OSError):  # the asking program has ended
        _parse_on(questions, models)


def _parse_on(questions: Connection, models: Connection) -> None:
    learnt: Learnt | None = None
    sources = [questions, models]
    while True:
        ready = wait(sources)
        try:
            if models in ready:
                learnt = models.recv()
        except (EOFError, OSError):  # the learning process has ended
            sources = [questions]
        if questions not in ready:
            continue
        sentence, shown, corrected = questions.recv()
        try:
            answer: Any = learnt.guess(sentence, shown, corrected) if learnt else None
        except Exception as error:  # the page does without it
            answer = HelperError(f"{type(error).__name__}: {error}")
        questions.send(answer)

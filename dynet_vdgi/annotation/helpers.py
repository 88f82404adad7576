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
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from dynet_vdgi.annotation.marked import Guess
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system.ending import end_with_parent

if TYPE_CHECKING:
    from dynet_vdgi.annotation.loop import Course, Knowledge, Learnt
    from dynet_vdgi.annotation.tag_lessons import TagLesson, TagLessons
    from dynet_vdgi.tagging.tagger import WordChoices

NICENESS = 10
MOST_NEW = 0.05
"""Share of the words that may be new or others before the knowledge of the text is gathered again."""

AHEAD = 50
"""Number of sentences that are chosen in advance."""


class HelperError(VdgiError):
    """A process failed or ended unexpectedly; only learning stops."""


class ToldTree(NamedTuple):
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
            raise HelperError(f"{type(answer).__name__}: {answer}")
        return answer

    def stop(self) -> None:
        self._process.terminate()
        self._process.join(5)
        self._mine.close()


class Helpers:
    """The processes; calls wait, and may come from several threads. `tagger` is a tagger's file."""

    def __init__(self, course: Course | None = None, tagger: str | None = None) -> None:
        source, drain = Pipe()
        self._tagger_source, tagger_drain = Pipe()
        self._learner = _Helper(_serve_learning, source, course)
        self._parser = _Helper(_serve_parsing, drain, tagger_drain)
        self._tagger_file = tagger
        self._tagger: _Helper | None = None
        source.close()
        drain.close()
        tagger_drain.close()

    @property
    def has_tagger(self) -> bool:
        """Whether there is a tagger to begin with."""
        return self._tagger_file is not None

    def learn(self, told: Sequence[ToldTree], news: Mapping[int, Sentence | None]) -> Lesson | None:
        """Learns from the text and the confirmed arcs, and parses the rest; None: there is no text.

        `news` are sentences that are new or others than before, by id; None: this one is no more.

        Raises: HelperError.
        """
        lesson: Lesson | None = self._learner.ask(list(told), dict(news))
        return lesson

    def guess(self, sentence: Sentence, shown: Sequence[int], corrected: int) -> Guess | None:
        """A tree of one sentence, see `loop.Learnt.guess`; None: nothing has been learnt yet.

        Raises:
            HelperError: the process has failed.
        """
        guess: Guess | None = self._parser.ask("guess", (sentence, tuple(shown), corrected))
        return guess

    def tag(self, news: Mapping[int, Sentence | None], own: Sequence[int]) -> TagLesson | None:
        """Learns to tag, see `TagLessons`; None: there is nothing to learn from. Raises: HelperError."""
        if self._tagger is None:
            self._tagger = _Helper(_serve_tagging, self._tagger_source, self._tagger_file)
        lesson: TagLesson | None = self._tagger.ask(dict(news), list(own), AHEAD)
        return lesson

    def choices(self, sentence: Sentence) -> list[WordChoices] | None:
        """What the words of a sentence may be, see `Tagger.choices`; None: there is no tagger yet.

        Raises: HelperError.
        """
        found: list[WordChoices] | None = self._parser.ask("choices", (sentence,))
        return found

    def likely(self, tree: Sentence) -> list[list[tuple[str, float]]] | None:
        """The likely relations of a tree's words; None: nothing has been learnt yet. Raises: HelperError."""
        found: list[list[tuple[str, float]]] | None = self._parser.ask("likely", (tree,))
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


def _serve_learning(questions: Connection, models: Connection, course: Course | None) -> None:
    """Answers `Helpers.learn`, and forwards each model."""
    _serve_lessons(questions, models, lambda: _Lessons(course))


def _serve_tagging(questions: Connection, taggers: Connection, path: str | None) -> None:
    """Answers `Helpers.tag`, and forwards each tagger."""

    def begin() -> TagLessons:
        from dynet_vdgi.annotation.tag_lessons import TagLessons

        return TagLessons(path)

    _serve_lessons(questions, taggers, begin)


def _serve_lessons(
    questions: Connection, results: Connection, begin: Callable[[], _Lessons | TagLessons]
) -> None:
    """Answers each question by the lesson that `learn` makes of it, and forwards what was learnt."""
    _begin()
    with suppress(OSError):
        os.nice(NICENESS)
    lessons: Any = None
    with suppress(EOFError, OSError):  # the asking program has ended
        while True:
            question = questions.recv()
            try:
                lessons = lessons or begin()
                found = lessons.learn(*question)
                if found is not None:
                    with suppress(OSError):  # the other process has ended, which the page reports
                        results.send(found[1])
                answer: Any = found and found[0]
            except Exception as error:  # the page reports it
                answer = HelperError(f"{type(error).__name__}: {error}")
            questions.send(answer)


class _Lessons:
    """The text, and the knowledge about it, which is gathered again when enough of the text is another."""

    def __init__(self, course: Course | None) -> None:
        self._course = course
        self._sentences: dict[int, Sentence] = {}
        self._knowledge: Knowledge | None = None
        self._n_new = 0  # words since then

    def _hear(self, news: Mapping[int, Sentence | None]) -> None:
        from dynet_vdgi.annotation import loop

        for k, sentence in news.items():
            if sentence is None:
                self._sentences.pop(k, None)
            else:
                self._sentences[k] = sentence
                self._n_new += len(sentence)
        n_words = sum(map(len, self._sentences.values()))
        if self._knowledge is None or self._n_new > MOST_NEW * n_words:
            self._knowledge = loop.knowledge_of(list(self._sentences.values()), self._course)
            self._n_new = 0

    def learn(
        self, told: Sequence[ToldTree], news: Mapping[int, Sentence | None]
    ) -> tuple[Lesson, Learnt] | None:
        """Guesses for the unfinished sentences, and the model that made them."""
        from dataclasses import replace

        from dynet_vdgi.annotation import loop

        start = time.perf_counter()
        self._hear(news)
        if self._knowledge is None:
            return None
        trees = {
            one.number: replace(self._sentences[one.number], heads=one.heads, deprels=one.labels)
            for one in told
        }
        learnt = loop.learn(self._knowledge, list(trees.values()))
        done = {one.number for one in told if one.is_done}
        open_ones = [k for k, s in self._sentences.items() if k not in done and len(s)]
        found = learnt.guesses([trees.get(k, self._sentences[k]) for k in open_ones])
        guesses = dict(zip(open_ones, found))
        nothing = Guess((), (), ())
        ids = list(self._sentences)
        everything = [guesses.get(k, nothing) for k in ids]
        flags = [k not in guesses for k in ids]
        chosen = loop.next_ones([self._sentences[k] for k in ids], flags, everything, AHEAD)
        return Lesson(guesses, [ids[k] for k in chosen], time.perf_counter() - start), learnt


def _serve_parsing(questions: Connection, models: Connection, taggers: Connection) -> None:
    """Answers `Helpers.guess` and `Helpers.choices` with the newest available models."""
    _begin()
    with suppress(EOFError, OSError):  # the asking program has ended
        _parse_on(questions, models, taggers)


def _parse_on(questions: Connection, models: Connection, taggers: Connection) -> None:
    newest: dict[Connection, Any] = {models: None, taggers: None}
    sources = [questions, models, taggers]
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
        what, content = questions.recv()
        source = taggers if what == "choices" else models
        try:
            answer: Any = getattr(newest[source], what)(*content) if newest[source] else None
        except Exception as error:  # the page does without it
            answer = HelperError(f"{type(error).__name__}: {error}")
        questions.send(answer)

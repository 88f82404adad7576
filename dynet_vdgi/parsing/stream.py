"""Parsing of long streams: sentences in, each with its trees out, in order and in bounded memory.

Sentences are parsed a window at a time, since many at once are several times faster than one by one. With
several jobs, windows go to worker processes, each with its own parser; a few windows are under way at a time.
"""

from __future__ import annotations

import signal
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.parsing.parser import Parse, Parser, Sampling, load

Result = tuple[list[list[Parse]], "Counter[str]"]

WINDOW = 16_384
"""Words that are parsed together; large enough that the sorting by length inside leaves full batches."""


def windows(sentences: Iterable[Sentence], n_words: int = WINDOW) -> Iterator[list[Sentence]]:
    """Consecutive sentences, each list ending with the sentence that brings it to `n_words`."""
    window: list[Sentence] = []
    size = 0
    for sentence in sentences:
        window.append(sentence)
        size += len(sentence)
        if size >= n_words:
            yield window
            window, size = [], 0
    if window:
        yield window


class Stream:
    """Parses streams with a model file, in this process or in `jobs` others; a context manager.

    Raises:
        ModelError: the model file cannot be used.
    """

    def __init__(self, model: str, jobs: int = 1, sampling: Sampling | None = None) -> None:
        self._parser = load(model)  # also with several jobs, so that a bad model file is found out here
        self._sampling = sampling
        self.unknown_tags: Counter[str] = Counter()
        """Tags the model has never seen, with how many words had them so far."""
        self._pool: ProcessPoolExecutor | None = None
        self._under_way = 2 * jobs
        if jobs > 1:
            # Spawned, not forked: a copy of a process with threads (progress bar, BLAS) may hang.
            self._pool = ProcessPoolExecutor(
                jobs, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(model, sampling)
            )

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def parse(self, sentences: Iterable[Sentence]) -> Iterator[tuple[Sentence, list[Parse]]]:
        """Each sentence with its trees, best first: one, or as many as the sampling asks for.

        Raises:
            VdgiError: a worker process died.
        """
        pending: deque[tuple[list[Sentence], Future[Result]]] = deque()
        for number, window in enumerate(windows(sentences)):
            if self._pool is None:
                yield from self._finished(window, _parse_window(self._parser, window, number, self._sampling))
                continue
            # Workers need forms and tags only; the lines of the file stay here.
            bare = [Sentence(sentence.forms, sentence.tags) for sentence in window]
            pending.append((window, self._pool.submit(_work, bare, number)))
            if len(pending) >= self._under_way:
                yield from self._finished(pending[0][0], _result(pending.popleft()[1]))
        while pending:
            yield from self._finished(pending[0][0], _result(pending.popleft()[1]))

    def _finished(self, window: list[Sentence], result: Result) -> Iterator[tuple[Sentence, list[Parse]]]:
        parses, unknown = result
        self.unknown_tags.update(unknown)
        yield from zip(window, parses)


def _result(future: Future[Result]) -> Result:
    try:
        return future.result()
    except BrokenProcessPool:
        raise VdgiError("a worker process died (killed, or out of memory?); try fewer --jobs") from None


def _parse_window(parser: Parser, window: list[Sentence], number: int, sampling: Sampling | None) -> Result:
    if sampling is None:
        parses = [[parse] for parse in parser.parse_all(window)]
    else:
        parses = parser.sample_all(window, sampling, number)
    unknown, parser.unknown_tags = parser.unknown_tags, Counter()
    return parses, unknown


_worker: tuple[Parser, Sampling | None] | None = None


def _start_worker(model: str, sampling: Sampling | None) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops its workers
    _worker = (load(model), sampling)


def _work(window: list[Sentence], number: int) -> Result:
    assert _worker is not None
    parser, sampling = _worker
    return _parse_window(parser, window, number, sampling)

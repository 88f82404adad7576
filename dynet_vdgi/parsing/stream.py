"""Parsing of long streams: sentences in, each with its heads out, in order and in bounded memory.

Sentences are parsed a window at a time, since many at once are several times faster than one by one. With
several jobs, windows go to worker processes, each with its own parser; a few windows are under way at a time.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.parsing.parser import Parser, load

Heads = tuple[int, ...]

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

    def __init__(self, model: str, jobs: int = 1) -> None:
        self._parser = load(model)  # also with several jobs, so that a bad model file is found out here
        self.unknown_tags: Counter[str] = Counter()
        """Tags the model has never seen, with how many words had them so far."""
        self._pool: ProcessPoolExecutor | None = None
        self._under_way = 2 * jobs
        if jobs > 1:
            # Spawned, not forked: a copy of a process with threads (progress bar, BLAS) may hang.
            self._pool = ProcessPoolExecutor(
                jobs, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(model,)
            )

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def parse(self, sentences: Iterable[Sentence]) -> Iterator[tuple[Sentence, Heads]]:
        """Each sentence with its heads, in order."""
        if self._pool is None:
            for window in windows(sentences):
                trees, unknown = _parse_window(self._parser, window)
                self.unknown_tags.update(unknown)
                yield from zip(window, trees)
            return
        pending: deque[tuple[list[Sentence], Future[tuple[list[Heads], Counter[str]]]]] = deque()
        for window in windows(sentences):
            # Workers need forms and tags only; the lines of the file stay here.
            bare = [Sentence(sentence.forms, sentence.tags) for sentence in window]
            pending.append((window, self._pool.submit(_work, bare)))
            if len(pending) >= self._under_way:
                yield from self._finished(*pending.popleft())
        while pending:
            yield from self._finished(*pending.popleft())

    def _finished(
        self, window: list[Sentence], result: Future[tuple[list[Heads], Counter[str]]]
    ) -> Iterator[tuple[Sentence, Heads]]:
        trees, unknown = result.result()
        self.unknown_tags.update(unknown)
        yield from zip(window, trees)


def _parse_window(parser: Parser, window: list[Sentence]) -> tuple[list[Heads], Counter[str]]:
    trees = parser.parse_all(window)
    unknown, parser.unknown_tags = parser.unknown_tags, Counter()
    return trees, unknown


_worker: Parser | None = None


def _start_worker(model: str) -> None:
    global _worker
    _worker = load(model)


def _work(window: list[Sentence]) -> tuple[list[Heads], Counter[str]]:
    assert _worker is not None
    return _parse_window(_worker, window)

"""Parsing of long CoNLL-U streams: blocks of lines in, the text with heads out, in order, in bounded memory.

Sentences are parsed a window at a time, since many at once are several times faster than one by one. With
several jobs, windows go to worker processes, which check, parse and render them; this process only cuts the
file into blocks and writes. A few windows are under way at a time.
"""

from __future__ import annotations

import signal
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context

from dynet_vdgi.data.conllu import Block, render, sentence_of, with_notes
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, VdgiError
from dynet_vdgi.parsing.parser import Parse, Parser, Sampling, load

WINDOW = 16_384
"""Lines that are parsed together; enough that the sorting by length inside leaves full batches."""


@dataclass(frozen=True)
class Parsed:
    """A window of sentences, parsed: their text with heads, and what they were."""

    text: str
    n_sentences: int
    n_words: int
    unknown_tags: Counter[str]
    fault: DataError | None  # of the sentence after these; the window ends there


def windows(blocks: Iterable[Block], n_lines: int = WINDOW) -> Iterator[list[Block]]:
    """Consecutive blocks, each list ending with the block that brings it to `n_lines`."""
    window: list[Block] = []
    size = 0
    for block in blocks:
        window.append(block)
        size += len(block.lines)
        if size >= n_lines:
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

    def parse(self, blocks: Iterable[Block]) -> Iterator[Parsed]:
        """The windows of a stream in order. A sampling that asks for several trees gives a block for each.

        Raises:
            DataError: a sentence is malformed; what came before it has been given back.
            VdgiError: a worker process died.
        """
        try:
            for parsed in self._parsed(blocks):
                self.unknown_tags.update(parsed.unknown_tags)
                yield parsed
                if parsed.fault is not None:
                    raise parsed.fault
        except BrokenProcessPool:
            raise VdgiError("a worker process died (killed, or out of memory?); try fewer --jobs") from None

    def _parsed(self, blocks: Iterable[Block]) -> Iterator[Parsed]:
        pending: deque[Future[Parsed]] = deque()
        for number, window in enumerate(windows(blocks)):
            if self._pool is None:
                yield _parse_window(self._parser, window, number, self._sampling)
                continue
            pending.append(self._pool.submit(_work, window, number))
            if len(pending) >= self._under_way:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _parse_window(parser: Parser, window: list[Block], number: int, sampling: Sampling | None) -> Parsed:
    sentences: list[Sentence] = []
    fault = None
    try:
        for block in window:
            sentences.append(sentence_of(block))
    except DataError as error:
        fault = error
    if sampling is None:
        parts = [render(s, parse.heads) for s, parse in zip(sentences, parser.parse_all(sentences))]
    else:
        parts = [
            _rendered(sentence, parse, rank, len(parses), n_best=sampling.n_best > 0)
            for sentence, parses in zip(sentences, parser.sample_all(sentences, sampling, number))
            for rank, parse in enumerate(parses, 1)
        ]
    unknown, parser.unknown_tags = parser.unknown_tags, Counter()
    return Parsed("".join(parts), len(sentences), sum(map(len, sentences)), unknown, fault)


def _rendered(sentence: Sentence, parse: Parse, rank: int, n_trees: int, n_best: bool) -> str:
    """The sentence's block with this tree and its probabilities."""
    assert parse.head_probs is not None
    comments = [f"# tree = {rank} of {n_trees}", f"# tree_prob = {parse.tree_prob:.3f}"] if n_best else []
    misc = [f"HeadProb={probability:.2f}" for probability in parse.head_probs]
    return render(with_notes(sentence, comments, misc), parse.heads)


_worker: tuple[Parser, Sampling | None] | None = None


def _start_worker(model: str, sampling: Sampling | None) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops its workers
    _worker = (load(model), sampling)


def _work(window: list[Block], number: int) -> Parsed:
    assert _worker is not None
    parser, sampling = _worker
    return _parse_window(parser, window, number, sampling)

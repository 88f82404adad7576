"""CoNLL-U files with the trees of a parser (files in general are `system.files`): in order,
in bounded memory, every other byte as it was.

A file is parsed a window at a time. With several jobs, windows go to worker processes, which check,
parse and render them; this process only cuts the file and writes. A few windows are under way at a
time.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from dynet_vdgi.conllu import guess_marks
from dynet_vdgi.conllu.blocks import Block, windows
from dynet_vdgi.conllu.extra_columns import has_header, header
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.conllu.writing import render, root_and_dep, with_notes
from dynet_vdgi.errors import DataError
from dynet_vdgi.parser.block_reading import Beginning, BlockReader, ReadBlock
from dynet_vdgi.parser.given_heads import conflict_in
from dynet_vdgi.parser.parser import PLAIN, How, Parse, Parser, check
from dynet_vdgi.parser.steps import Steps
from dynet_vdgi.rule_tables.tag_warnings import (
    TO_A_MODEL,
    check_known,
    tell_uninformative,
    tell_unsuited,
    uninformative,
)
from dynet_vdgi.system import files, progress
from dynet_vdgi.system.messages import count
from dynet_vdgi.system.workers import processes

logger = logging.getLogger("dynet_vdgi")


class ReadWindow(NamedTuple):
    """Sentences that are parsed together."""

    blocks: list[Block]
    read: list[ReadBlock]  # what the first ones say, if they have been read before


KEPT = "put _ into one of them, or leave out --keep-heads"


@dataclass(frozen=True)
class ParsedWindow:
    """A parsed window of sentences: their text with heads, and reports about them."""

    content: bytes  # UTF-8
    n_sentences: int
    n_words: int
    unknown_tags: Counter[str]
    fault: DataError | None  # of the sentence after these; the window ends there
    repairs: tuple[DataError, ...] = ()  # of these sentences, one for each kind and file
    n_unlabelled: int = 0  # sentences that lack universal tags
    # sentences left unchanged, because no tree contains their heads
    unfilled: tuple[DataError, ...] = ()
    faulty: tuple[DataError, ...] = ()  # faults of sentences that were copied
    # their sum over the words that have one, and the number of these
    marginals: tuple[float, int] = (0.0, 0)
    tags: Counter[str] = field(default_factory=Counter)  # words by tag


@dataclass
class Totals:
    """Counts of all windows of a text."""

    n_sentences: int = 0
    n_words: int = 0
    n_unlabelled: int = 0
    n_unfilled: int = 0
    n_faulty: int = 0
    unknown_tags: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    marginals: list[float] = field(default_factory=list)  # a sum for each window
    n_marginals: int = 0

    def add(self, parsed: ParsedWindow) -> None:
        """Counts a window."""
        self.n_sentences += parsed.n_sentences
        self.n_words += parsed.n_words
        self.n_unlabelled += parsed.n_unlabelled
        self.n_unfilled += len(parsed.unfilled)
        self.n_faulty += len(parsed.faulty)
        self.unknown_tags.update(parsed.unknown_tags)
        self.tags.update(parsed.tags)
        self.marginals.append(parsed.marginals[0])
        self.n_marginals += parsed.marginals[1]


@dataclass(frozen=True)
class FileParser:
    """How files are parsed: with which trees, with relations or `root` and `dep`, and in how many
    processes.

    skips_faulty: faulty sentences are copied as they are, and their faults logged; without it a
    fault ends all.

    Raises: UsageError, the model cannot make such trees.
    """

    parser: Parser
    how: How = PLAIN
    relations: bool = True
    jobs: int = 1
    skips_faulty: bool = False

    def __post_init__(self) -> None:
        check(self.parser, self.how)

    def parse(self, names: Sequence[str], output: str, steps: Steps | None = None) -> Totals:
        """Parses files one after the other into one output, after the steps that they need.

        Memory does not grow with the size of CoNLL-U files; raw text is read whole.

        Raises:
            DataError: an input is malformed, or the model knows none of its tags; the output is
            then as it was. So it is if faulty sentences are skipped, and all are faulty.
            VdgiError: a worker process died twice.
        """
        start, steps, totals = time.perf_counter(), steps or Steps(), Totals()
        if self.skips_faulty:
            steps.skips_faulty = "partial" if self.how.keep_heads else "ignored"
        first_fault: DataError | None = None
        with files.atomic_writer(output) as handle, progress.Bar("sentences") as bar:
            given = with_header_lines(steps.blocks(names))
            for parsed in self.parsed_windows(given, partial(steps.accuracy, names)):
                first_fault = first_fault or next(iter(parsed.faulty), None)
                if not totals.n_words and parsed.unknown_tags.total() == parsed.n_words:
                    tags = self.parser.model.vocabulary.tags
                    where = ", ".join(map(files.shown, names))
                    check_known(parsed.unknown_tags, tags, where, TO_A_MODEL)
                handle.buffer.write(parsed.content)
                totals.add(parsed)
                bar.update(parsed.n_sentences)
            if first_fault is not None and not totals.n_sentences:
                raise first_fault
        elapsed = max(time.perf_counter() - start, 1e-9)
        amount = f"{count(totals.n_sentences, 'sentence')}, {count(totals.n_words, 'word')}"
        logger.info("%s parsed in %.1f s (%.0f words/s)", amount, elapsed, totals.n_words / elapsed)
        informative = self.parser.engine.informative_tags
        tell_uninformative(totals.tags, informative)
        if not uninformative(totals.tags, informative):
            self._tell_how_good(totals, steps, names)
        return totals

    def parsed_windows(
        self, given: Iterable[Block], tag_accuracy: Callable[[int], float] = lambda _: 1.0
    ) -> Iterator[ParsedWindow]:
        """The parsed windows of a text in order.

        tag_accuracy: the share of right tags among this number of first words; for confidence.

        Raises:
            DataError: a sentence is malformed; the sentences before it have been yielded.
            VdgiError: a worker process died twice.
        """
        parser, how, beginning, blocks = self.parser, self.how, Beginning(), iter(given)
        if self._depends_on_text:
            beginning = Beginning.of(blocks, self._reader)
            parser, how = self._adapt(beginning, tag_accuracy)
        named: set[tuple[str, str]] = set()
        every_window = windows(beginning.with_rest(blocks), parser.engine.windows_at_once)
        with closing(self._in_order(parser, how, with_read(every_window, beginning.read))) as parts:
            for parsed in parts:
                for error in (*parsed.faulty, *parsed.unfilled):
                    logger.error("%s", error)
                for repair in parsed.repairs:
                    if (repair.path, repair.message) not in named:
                        named.add((repair.path, repair.message))
                        logger.warning("%s", repair)
                yield parsed
                if parsed.fault is not None:
                    raise parsed.fault

    @property
    def _reader(self) -> BlockReader:
        return reader_for(self.parser, self.how, self.skips_faulty)

    @property
    def _depends_on_text(self) -> bool:
        """If the beginning of a text has to be seen before the text is parsed."""
        parser = self.parser
        return parser.needs_text or parser.labeller.verb_order is None or self.how.confidence

    def _adapt(
        self, beginning: Beginning, tag_accuracy: Callable[[int], float]
    ) -> tuple[Parser, How]:
        """The parser for the text with this beginning, which is measured, and how it is parsed.

        Without confidences, if its tags say next to nothing.
        """
        first = beginning.sentences
        seen = Counter(tag for s in first for tag in s.upos or s.tags)
        parser = self.parser.adapted(first, tag_accuracy=tag_accuracy(seen.total()))
        measures = parser.engine.measures
        if self.parser.needs_text and measures is not None and beginning.fault is None:
            measures.tell()
            tell_unsuited(seen)

        how = self.how
        if how.confidence and uninformative(seen, parser.engine.informative_tags):
            how = replace(how, confidence=False)
            logger.warning("HeadConf= is not written, because the tags say next to nothing")
        return parser, how

    def _in_order(
        self, parser: Parser, how: How, parts: Iterator[ReadWindow]
    ) -> Generator[ParsedWindow]:
        """The parsed windows, of which a few are under way at a time."""
        work = how, self.relations, self.skips_faulty
        if self.jobs <= 1:
            for blocks, read in parts:
                yield parse_window(parser, how, self.relations, blocks, self.skips_faulty, read)
            return
        pending: deque[Any] = deque()
        fault = None
        with processes(self.jobs, _start_worker, parser) as begin:
            try:
                for window in parts:
                    pending.append(begin(_work, *work, window))
                    if len(pending) >= 2 * self.jobs:
                        yield pending.popleft().result()
            except DataError as error:  # of the file; a fault of a sentence under way comes first
                fault = error
            while pending:
                yield pending.popleft().result()
        if fault is not None:
            raise fault

    def _tell_how_good(self, totals: Totals, steps: Steps, names: Sequence[str]) -> None:
        """Logs the share of heads that is expected to be right, if the model says, and HeadConf=
        was wanted."""
        right_tags = steps.accuracy(names, totals.n_words)
        expectation = self.parser.engine.expectation
        if totals.n_marginals and expectation is not None:
            marginal = math.fsum(totals.marginals) / totals.n_marginals
            expected = expectation(marginal, totals.n_marginals, right_tags)
            split = " of correctly split words" if any(map(steps.is_raw, names)) else ""
            share, low, high = (
                f"{100 * each:.0f}" for each in (expected.share, *expected.interval)
            )
            where = f"between {low} and {high} for 9 of 10 languages"
            tags = f"; of the tags {100 * right_tags:.0f} %, by the tagger's own estimate"
            more = tags if right_tags < 1 else expectation.advice(expected)
            logger.info("about %s %% of the heads%s are right (%s)%s", share, split, where, more)
        elif self.how.confidence and right_tags < 1:
            message = (
                "HeadConf= is lowered, because %.0f %% of the tags are right, "
                "by the tagger's own estimate"
            )
            logger.info(message, 100 * right_tags)


def reader_for(parser: Parser, how: How, skips_faulty: bool) -> BlockReader:
    """What reads the blocks that the parser is to parse."""
    return BlockReader(parser.model.settings.data.tags, how.keep_heads, skips_faulty)


def with_read(every: Iterable[list[Block]], read: Sequence[ReadBlock]) -> Iterator[ReadWindow]:
    """The windows of a text, with what has been read of it already, from its beginning on."""
    rest = deque(read)
    for blocks in every:
        yield ReadWindow(blocks, [rest.popleft() for _ in range(min(len(rest), len(blocks)))])


def parse_window(
    parser: Parser,
    how: How,
    relations: bool,
    blocks: Sequence[Block],
    skips_faulty: bool = False,
    read: Sequence[ReadBlock] = (),
) -> ParsedWindow:
    """The parsed sentences of a window, up to the first malformed one; `skips_faulty`: such ones
    are copied.

    `read`: what its first blocks say, where they have been read before.
    """
    reader = reader_for(parser, how, skips_faulty)
    sentences: list[Sentence] = []
    unfilled: dict[int, DataError] = {}  # by their places
    faulty: dict[int, DataError] = {}
    repairs: list[DataError] = []
    fault = None
    rest = (reader.read(block) for block in blocks[len(read) :])
    for place, (sentence, error, of_block) in enumerate(chain(read, rest)):
        repairs += of_block
        if error is not None and not reader.may_skip(error):
            fault = error
            break
        if error is not None:
            faulty[place] = error
            continue
        assert sentence is not None
        if how.keep_heads and (reason := conflict_in(sentence, parser.protocol.removed_tags)):
            message = f"left as it is, since its heads cannot be kept: {reason}"
            unfilled[place] = DataError(blocks[place].path, blocks[place].line, message, KEPT)
        else:
            sentences.append(sentence)
    parses, unknown_tags = parser.counted(sentences, how, relations=relations)
    parts = [with_tree(sentence, parse, how) for sentence, parse in zip(sentences, parses)]
    for place in sorted((*unfilled, *faulty)):  # from the first one on
        parts.insert(place, "\n".join((*blocks[place].lines, "", "")))
    sure = [p for parse in parses for p in parse.marginals]
    first = {(repair.path, repair.message): repair for repair in reversed(repairs)}
    return ParsedWindow(
        content="".join(parts).encode(errors="surrogateescape"),  # as it was read
        n_sentences=len(sentences),
        n_words=sum(len(sentence) for sentence in sentences),
        unknown_tags=unknown_tags,
        fault=fault,
        repairs=tuple([r for r in repairs if first[r.path, r.message] is r]),
        n_unlabelled=sum(parse.relations is None for parse in parses) if relations else 0,
        unfilled=tuple(unfilled.values()),
        faulty=tuple(faulty.values()),
        marginals=(math.fsum(sure), len(sure)),
        tags=Counter(tag for sentence in sentences for tag in sentence.tags),
    )


def with_header_lines(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of several files, with the comment that names all columns where another file has
    others."""
    before: tuple[str, ...] = ()
    for block in blocks:
        if block.extra != before:
            before = block.extra
            if not has_header(block.lines):
                block = block._replace(line=block.line - 1, lines=[header(before), *block.lines])
        yield block


def with_tree(sentence: Sentence, parse: Parse, how: How) -> str:
    """The sentence's block with its tree and confidences; kept heads keep their relations.

    Without relations these are `root` and `dep`. Notes about earlier heads are dropped.
    """
    deprels = parse.relations or root_and_dep(parse.heads)
    if how.keep_heads and sentence.heads and sentence.deprels:
        given = zip(sentence.heads, sentence.deprels, deprels)
        deprels = tuple([old if head != FREE and old != "_" else new for head, old, new in given])
    sentence = guess_marks.without_stale_notes(sentence, parse.heads, deprels)
    if parse.confidence is not None:
        notes = ["" if sure is None else f"HeadConf={sure:.4f}" for sure in parse.confidence]
        sentence = with_notes(sentence, (), notes)
    block = render(sentence, parse.heads, deprels)
    return block if how.keep_heads else guess_marks.with_renewed_comment(block)


_worker: Parser | None = None


def _start_worker(parser: Parser) -> None:
    global _worker
    _worker = parser


def _work(how: How, relations: bool, skips_faulty: bool, window: ReadWindow) -> ParsedWindow:
    assert _worker is not None
    return parse_window(_worker, how, relations, window.blocks, skips_faulty, window.read)

"""Parsing of long CoNLL-U streams: blocks of lines in, the text with heads out, in order, in bounded memory.

Sentences are parsed a window at a time, because many at once are several times faster than one by one. With
several jobs, or on a cluster, windows go to worker processes, which check, parse and render them; this
process only cuts the file into blocks and writes. A few windows are under way at a time.
"""

from __future__ import annotations

import logging
import math
import pickle
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from dynet_vdgi._version import __version__
from dynet_vdgi.compiled import background
from dynet_vdgi.data import columns
from dynet_vdgi.data.columns import is_worth_it
from dynet_vdgi.data.conllu import Heads, sentence_of
from dynet_vdgi.data.conllu_blocks import Block, Passage
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError, VdgiError
from dynet_vdgi.grammar.tag_warnings import tell_unsuited
from dynet_vdgi.labels.label_table import LabelTable
from dynet_vdgi.parsing.engines import universal
from dynet_vdgi.parsing.expectation import ExpectedShare
from dynet_vdgi.parsing.labellers import labeller_of
from dynet_vdgi.parsing.parser import GREEDY, How, Parse, Parser, Sampling, load
from dynet_vdgi.parsing.quick import QuickParser
from dynet_vdgi.parsing.relations import Relations, tags_of
from dynet_vdgi.parsing.rendering import one_of_several, with_tree
from dynet_vdgi.runs.model_file import ModelFile

if TYPE_CHECKING:
    from typing import Protocol

    from dynet_vdgi.universal.stored import Measures

    class Underway(Protocol):
        """Windows that are being parsed elsewhere."""

        def result(self) -> list[Parsed]:
            """The windows, once they are parsed."""


WINDOW = 16_384
"""Lines that are parsed together; enough to leave full batches after sorting by length."""

WORTH_READYING = 500_000
"""Characters of the first window for which kernels are compiled at once, not after seconds as Python."""

PARCEL = 1_500_000
"""Characters that are sent to a cluster at once, in whole windows. Dask's client and scheduler keep copies of
the last thousand messages that have fewer than a million bytes."""

Window = list[Block] | Passage
"""Sentences that are parsed together."""

Numbered = tuple[int, Window]
"""A window and its place among those of the stream."""

T = TypeVar("T")

logger = logging.getLogger("dynet_vdgi")


class Wanted(NamedTuple):
    """The trees of a sentence that are requested."""

    how: How
    sampling: Sampling | None  # instead of that tree
    verb_order: int | None = None  # of the text, for relations; None: not known
    measures: Measures | None = None  # of the text, for a universal parser without a text of its own


KEPT = "put _ into one of them, or leave out --keep-heads"


@dataclass(frozen=True)
class Parsed:
    """A parsed window of sentences: their text with heads, and reports about them."""

    content: bytes  # UTF-8
    n_sentences: int
    n_words: int
    unknown_tags: Counter[str]
    fault: DataError | None  # of the sentence after these; the window ends there
    repairs: tuple[DataError, ...] = ()  # of these sentences, one for each kind and file
    n_unlabelled: int = 0  # sentences that lack universal tags
    unfilled: tuple[DataError, ...] = ()  # sentences left unchanged, because no tree contains their heads
    marginals: tuple[float, int] = (0.0, 0)  # their sum over the words that have one, and the number of these

    @property
    def text(self) -> str:
        return self.content.decode()


class _LabellingParser:
    """A parser, and its labeller if there is one."""

    def __init__(self, parser: Parser, labels: LabelTable | None) -> None:
        self.parser = parser
        self.labels = labels
        self.labeller = None if labels is None else labeller_of(parser.model, parser.engine, labels)
        self._n_chars = 0  # characters that could have been parsed quickly
        self._measured: tuple[str, _LabellingParser] | None = None  # for the text parsed last

    def __getstate__(self) -> dict[str, object]:
        """The state without the parts that cannot be sent between workers of a cluster."""
        return {name: value for name, value in vars(self).items() if name != "_quick"} | {"_measured": None}

    def for_text(self, measures: Measures | None) -> _LabellingParser:
        """This parser for a text with these measures; None: it needs none."""
        if measures is None:
            return self
        last = self._measured
        if last is None or last[0] != measures.key:
            last = measures.key, _LabellingParser(self.parser.with_measures(measures), self.labels)
            self._measured = last
        return last[1]

    def quick_for(self, wanted: Wanted, n_chars: int) -> QuickParser | None:
        """The quick parser, if this many characters make it worth compiling, which takes seconds."""
        if wanted.sampling is not None or not QuickParser.can(self.parser, wanted.how):
            return None
        self._n_chars += n_chars
        if background.is_compiling(columns.__name__, begin=self._begins_at(self._n_chars)):
            return None
        return self._quick if is_worth_it(self._n_chars) else None

    def foresees(self, wanted: Wanted, n_chars: int) -> None:
        """Begins to compile the quick parser in another process, if it pays for a text that begins so."""
        if wanted.sampling is None and QuickParser.can(self.parser, wanted.how) and self._begins_at(n_chars):
            background.is_compiling(columns.__name__, begin=True)

    @staticmethod
    def _begins_at(n_chars: int) -> bool:
        return n_chars >= columns.WORTH_COMPILING_BESIDE and not columns.is_ready()

    @cached_property
    def _quick(self) -> QuickParser:
        return QuickParser(self.parser, self.labeller)


def _all_right(n_words: int) -> float:
    """The share of right tags, if nobody says otherwise."""
    return 1.0


def windows(items: Iterable[Block | Passage], n_lines: int = WINDOW) -> Iterator[Window]:
    """Passages unchanged; lists of consecutive blocks, each ending with the block that reaches `n_lines`."""
    for kind, group in groupby(items, key=type):
        if kind is Passage:
            yield from cast("Iterator[Passage]", group)
        else:
            yield from _grouped(cast("Iterator[Block]", group), lambda block: len(block.lines), n_lines)


def _grouped(items: Iterable[T], size: Callable[[T], int], least: int) -> Iterator[list[T]]:
    """Lists of consecutive items, each ending with the item that brings the sum of sizes to `least`.

    If the source of the items raises a `DataError`, the items before it are yielded first.
    """
    group: list[T] = []
    total, fault = 0, None
    try:
        for item in items:
            group.append(item)
            total += size(item)
            if total >= least:
                yield group
                group, total = [], 0
    except DataError as error:
        fault = error
    if group:
        yield group
    if fault is not None:
        raise fault


def _n_chars(numbered: Numbered) -> int:
    window = numbered[1]
    if isinstance(window, Passage):
        return len(window.text)
    return sum(len(line) for block in window for line in block.lines)


def _blocks_of(window: Window) -> Iterable[Block]:
    return window.blocks() if isinstance(window, Passage) else window


class Stream:
    """Parses streams with a model file, here, in `jobs` processes or on a cluster; a context manager.

    The workers of a cluster receive the model and the text, and need no files. Relations come from the
    model's labeller over the table `labels`; without a table they are `root` and `dep`.

    Raises: ModelError, the model file cannot be used; UsageError, the model cannot make such trees, or no
    cluster can be reached at the scheduler's address.
    """

    def __init__(
        self,
        model: str,
        jobs: int = 1,
        sampling: Sampling | None = None,
        scheduler: str | None = None,
        how: How = GREEDY,
        labels: LabelTable | None = None,
    ) -> None:
        self._parser = load(model)  # also with several jobs, so that a bad model file is found out here
        self._parser.check(how, sampling)
        self._engine = _LabellingParser(self._parser, labels)
        self._wanted = Wanted(how, sampling)
        self.n_unlabelled = 0
        """Sentences that got no relations because they lack universal tags."""
        self.n_unfilled = 0
        """Sentences left unchanged, because no projective tree contains the heads to be kept."""
        self.unknown_tags: Counter[str] = Counter()
        """Tags the model has never seen, with the number of words that had them so far."""
        self._marginals = 0.0, 0  # of the text parsed last, as in `Parsed`
        self._n_words = 0
        self._tag_accuracy: Callable[[int], float] = _all_right
        self._resources = ExitStack()
        self._is_cluster = scheduler is not None
        self._submit: Callable[[list[Numbered]], Underway] | None = None
        self._parcel = 0  # every window on its own
        self._under_way: Callable[[], int] = lambda: 2 * jobs
        if scheduler is not None:
            from dynet_vdgi.system.dask_cluster import connected

            client = self._resources.enter_context(connected(scheduler))
            # Not scattered: a function's result is computed again if the workers that held it have died.
            engine = client.submit(
                _received, __version__, pickle.dumps((replace(self._parser.model, steps={}), labels))
            )
            executor = client.get_executor(pure=False)
            self._submit = lambda parcel: executor.submit(_parse_parcel, engine, self._wanted, parcel)
            self._parcel = PARCEL
            self._under_way = lambda: 2 * max(1, sum(client.nthreads().values()))  # workers come and go
        elif jobs > 1:
            # Imported here, because they are slow and most runs need neither.
            from dynet_vdgi.parsing.worker_pool import WorkerPool

            self._parser.make_ready()  # now: processes started after this find the code on disk
            pool = WorkerPool(jobs, _start_worker, (model, labels))
            self._submit = lambda parcel: pool.submit(_work, self._wanted, parcel)
            self._resources.callback(pool.close)

    @property
    def draws_trees(self) -> bool:
        return self._parser.draws_trees

    @property
    def is_exact(self) -> bool:
        """If --exact changes nothing."""
        return self._parser.engine.is_exact

    @property
    def has_confidence(self) -> bool:
        """If heads get confidences."""
        return self._wanted.how.confidence

    @property
    def model(self) -> ModelFile:
        """The model file that it parses with."""
        return self._parser.model

    @property
    def languages(self) -> tuple[str, ...]:
        """Labels of the languages that the model was trained on; none if its file names none."""
        return tuple(self._parser.model.provenance.languages)

    @property
    def expected(self) -> ExpectedShare | None:
        """The expected share of right heads of the text parsed last.

        None: confidence was not requested, or the model does not say.
        """
        (total, n_words), engine = self._marginals, universal(self._parser.engine)
        if not n_words or engine is None or engine.expectation is None:
            return None
        return engine.expectation(total / n_words, n_words, self._tag_accuracy(self._n_words))

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        self._resources.close()

    def parse(
        self, items: Iterable[Block | Passage], tag_accuracy: Callable[[int], float] = _all_right
    ) -> Iterator[Parsed]:
        """The windows of a stream in order. A sampling of several trees gives a block for each.

        tag_accuracy: the share of right tags among this number of first words; for confidence.

        Raises:
            DataError: a sentence is malformed; the sentences before it have been yielded.
            VdgiError: a worker process died, or the cluster failed.
        """
        told: set[tuple[str, str]] = set()
        self._marginals, self._n_words, self._tag_accuracy = (0.0, 0), 0, tag_accuracy
        self._wanted = self._wanted._replace(verb_order=None, measures=None)
        for parsed in self._parsed(items):
            self.n_unlabelled += parsed.n_unlabelled
            self.n_unfilled += len(parsed.unfilled)
            for error in parsed.unfilled:
                logger.error("%s", error)
            self.unknown_tags.update(parsed.unknown_tags)
            total, n_words = self._marginals
            self._marginals = total + parsed.marginals[0], n_words + parsed.marginals[1]
            self._n_words += parsed.n_words
            for repair in parsed.repairs:
                if (repair.path, repair.message) not in told:
                    told.add((repair.path, repair.message))
                    logger.warning("%s", repair)
            yield parsed
            if parsed.fault is not None:
                raise parsed.fault

    def _parsed(self, items: Iterable[Block | Passage]) -> Iterator[Parsed]:
        if self._wanted.sampling is not None:  # samples depend on the windows
            items = chain.from_iterable(_blocks_of(x if isinstance(x, Passage) else [x]) for x in items)
        numbered = enumerate(self._looked_at(self._foreseen(windows(items))))
        if self._submit is None:
            for number, window in numbered:
                if number == 0 and isinstance(window, Passage) and len(window.text) >= WORTH_READYING:
                    self._parser.make_ready()
                yield _parse_window(self._engine, self._wanted, window, number)
            return
        pending: deque[Underway] = deque()
        fault = None
        try:
            for parcel in _grouped(numbered, _n_chars, self._parcel):
                with self._explaining():
                    pending.append(self._submit(parcel))
                    is_full = len(pending) >= self._under_way()
                if is_full:
                    yield from self._result(pending)
        except DataError as error:  # of the file; a fault of a sentence under way comes first
            fault = error
        while pending:
            yield from self._result(pending)
        if fault is not None:
            raise fault

    def _foreseen(self, stream: Iterable[Window]) -> Iterator[Window]:
        """The windows; if the first one is full, the quick parser for the others begins to be compiled."""
        for number, window in enumerate(stream):
            if number == 0 and isinstance(window, Passage) and self._submit is None:
                self._engine.foresees(self._wanted, len(window.content))
            yield window

    def _looked_at(self, stream: Iterable[Window]) -> Iterator[Window]:
        """The windows; the first one shows the text's verb order for labels, if the model lacks it.

        A universal parser without a text of its own measures the first windows.
        """
        if self._parser.measures_text:
            stream = self._measured(iter(stream))
        for window in stream:
            if self._engine.labeller is not None and self._wanted.verb_order is None:
                found = self._engine.labeller.verb_order_in(
                    tags_of(block.lines) for block in _blocks_of(window)
                )
                self._wanted = self._wanted._replace(verb_order=found)
            yield window

    def _measured(self, stream: Iterator[Window]) -> Iterator[Window]:
        """The windows, once their beginning has been measured."""
        from dynet_vdgi.universal.stored import beginning

        held: list[Window] = []
        seen: Counter[str] = Counter()
        fault: DataError | None = None

        def sentences() -> Iterator[Sentence]:
            nonlocal fault
            try:
                for window in stream:
                    held.append(window)
                    for block in _blocks_of(window):
                        sentence = sentence_of(block, "ignored", tags, _ignore, columns={"xpos", "feats"})
                        seen.update(sentence.upos or sentence.tags)
                        yield sentence
            except DataError as error:
                fault = error

        tags = self._parser.model.settings.data.tags
        measures = self._parser.measures_of(beginning(sentences()))
        measures = replace(measures, tag_accuracy=self._tag_accuracy(seen.total()))
        settled = self._parser.with_measures(measures).measures if self._wanted.how.confidence else measures
        assert settled is not None
        self._wanted = self._wanted._replace(measures=replace(settled, sample=()))
        if fault is None:
            measures.tell()
            tell_unsuited(seen)
        yield from held
        yield from stream
        if fault is not None:  # of the file, or of a sentence of a window, which then raises it itself
            raise fault

    def _result(self, pending: deque[Underway]) -> list[Parsed]:
        with self._explaining():
            return pending.popleft().result()

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except VdgiError:
            raise
        except Exception as error:
            if not self._is_cluster:
                raise
            from dynet_vdgi.system.dask_cluster import lost_or_failed

            raise lost_or_failed(error) from error


def _ignore(fault: DataError) -> None:
    """What to do about a repair that is reported later."""


def _parse_parcel(engine: _LabellingParser, wanted: Wanted, parcel: list[Numbered]) -> list[Parsed]:
    return [_parse_window(engine, wanted, window, number) for number, window in parcel]


def _parse_window(engine: _LabellingParser, wanted: Wanted, window: Window, number: int) -> Parsed:
    engine = engine.for_text(wanted.measures)
    if isinstance(window, Passage) and (quick := engine.quick_for(wanted, len(window.content))):
        found = quick.parse(window.content, wanted.how, wanted.verb_order)
        if found is not None:
            return Parsed(*found, fault=None)
    return _parse_blocks(engine, wanted, _blocks_of(window), number)


def _parse_blocks(engine: _LabellingParser, wanted: Wanted, window: Iterable[Block], number: int) -> Parsed:
    """Sentence by sentence."""
    parser = copy(engine.parser)  # threads of a cluster's worker share it
    parser.unknown_tags = Counter()
    how, sampling = wanted.how, wanted.sampling
    sentences, unfilled, repairs, fault = _read(parser, how, _columns_for(engine, wanted), window)
    if sampling is None:
        trees = [[parse] for parse in parser.parse_all(sentences, how)]
    else:
        trees = parser.sample_all(sentences, sampling, number)
    flat = [(sentence, parse) for sentence, parses in zip(sentences, trees) for parse in parses]
    relations = _relations(engine, wanted, flat)
    if sampling is None:
        parts = [with_tree(*pair, how, deprels) for pair, deprels in zip(flat, relations)]
        for place, (_, block) in unfilled.items():  # from the first one on
            parts.insert(place, "\n".join((*block.lines, "", "")))
    else:
        places = ((rank, len(parses)) for parses in trees for rank in range(1, len(parses) + 1))
        n_best = sampling.n_best > 0
        parts = [
            one_of_several(*pair, place if n_best else None, deprels)
            for pair, place, deprels in zip(flat, places, relations)
        ]
    sure = [p for _, parse in flat for p in parse.marginals]
    n_unlabelled = relations.count(None) if engine.labeller is not None else 0
    return Parsed(
        "".join(parts).encode(),
        len(sentences),
        sum(map(len, sentences)),
        parser.unknown_tags,
        fault,
        _each_once(repairs),
        n_unlabelled,
        tuple(error for error, _ in unfilled.values()),
        (math.fsum(sure), len(sure)),
    )


Unfilled = dict[int, tuple[DataError, Block]]
"""Blocks whose heads no projective tree contains, by their places in a window, in order."""


def _read(
    parser: Parser, how: How, columns: set[str], window: Iterable[Block]
) -> tuple[list[Sentence], Unfilled, list[DataError], DataError | None]:
    """The sentences to parse, the unparsable blocks, the repairs, and the fault of the next sentence."""
    heads: Heads = "partial" if how.keep_heads else "ignored"  # they are replaced, sound or not
    tags = parser.model.settings.data.tags
    sentences: list[Sentence] = []
    unfilled: Unfilled = {}
    repairs: list[DataError] = []
    try:
        for place, block in enumerate(window):
            sentence = sentence_of(block, heads, tags, repairs.append, columns=columns)
            if how.keep_heads and (reason := parser.conflict(sentence)):
                message = f"left as it is, since its heads cannot be kept: {reason}"
                unfilled[place] = DataError(block.path, block.line, message, KEPT), block
            else:
                sentences.append(sentence)
    except DataError as error:
        return sentences, unfilled, repairs, error
    return sentences, unfilled, repairs, None


def _columns_for(engine: _LabellingParser, wanted: Wanted) -> set[str]:
    """The columns of sentences, besides forms and tags, that are read."""
    columns: set[str] = set()
    if not (engine.parser.is_lean and wanted.how == GREEDY and wanted.sampling is None):
        columns.update(("xpos", "feats"))
    if engine.labeller is not None:
        columns.update(engine.labeller.columns)
    if wanted.how.keep_heads:
        columns.add("deprels")
    return columns


def _relations(
    engine: _LabellingParser, wanted: Wanted, parsed: Sequence[tuple[Sentence, Parse]]
) -> Sequence[Relations | None]:
    if engine.labeller is None:
        return [None] * len(parsed)
    sentences, heads = [sentence for sentence, _ in parsed], [parse.heads for _, parse in parsed]
    return engine.labeller.relations(sentences, heads, wanted.verb_order)


def _each_once(repairs: Sequence[DataError]) -> tuple[DataError, ...]:
    """The first repair of each kind in each file."""
    first: dict[tuple[str, str], DataError] = {}
    for repair in repairs:
        first.setdefault((repair.path, repair.message), repair)
    return tuple(first.values())


_worker: _LabellingParser | None = None


def _start_worker(model: str, labels: LabelTable | None) -> None:
    global _worker
    background.is_allowed = False
    _worker = _LabellingParser(load(model), labels)


def _work(wanted: Wanted, parcel: list[Numbered]) -> list[Parsed]:
    assert _worker is not None
    return _parse_parcel(_worker, wanted, parcel)


def _received(version: str, pickled: bytes) -> _LabellingParser:
    """The parser of a pickled model and table of labels, on a worker of a cluster."""
    if version != __version__:
        raise UsageError(f"the cluster's workers have dynet_vdgi {__version__}, not {version} as here")
    model, labels = pickle.loads(pickled)
    return _LabellingParser(Parser(model), labels)

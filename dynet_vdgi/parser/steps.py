"""The steps before parsing: raw text is split into words, words without UPOS are tagged.

A step is skipped where it is done: CoNLL-U has its words, and words with UPOS keep what they have.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dynet_vdgi.conllu.blocks import Block, blocks, blocks_in, ignore, windows
from dynet_vdgi.conllu.faults import is_other_format
from dynet_vdgi.conllu.reading import KNOWN, HeadPolicy, decoded_sentence_of, sentence_of
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.models.archive import opened
from dynet_vdgi.models.run_folder import model_path
from dynet_vdgi.system import files
from dynet_vdgi.system.files import AnyPath, shown

if TYPE_CHECKING:
    from dynet_vdgi.models.model_file import ModelFile
    from dynet_vdgi.words.tagger.tagger import Tagger
    from dynet_vdgi.words.tokeniser.tokeniser import Tokeniser

_UNTAGGED = re.compile(r"[0-9]+\t[^\t]*\t[^\t]*\t_\t")
"""The beginning of a word without UPOS."""

_TAGGED = re.compile(r"[0-9]+\t[^\t]*\t[^\t]*\t(?!_\t)")

_TAG_CONFIDENCE = re.compile(r"[\t|]TagConf=([01](?:\.[0-9]+)?)")

LOAD = "load(MODEL, tokeniser=FILE, tagger=FILE), or train with them"

MEMORY = "<memory>"

NO_TAGGER = "raw text has no tags: name a tagger with --tagger; vdgi tag train makes one"

NO_RAW_TEXT = "--tokeniser has no effect: every input is CoNLL-U, as its name says"

NO_LINES = "--lines has no effect: no input is raw text, or there is no tokeniser for it"

OF_A_LIST = 0.75
"""UPOS accuracy of a tagger that has learnt from a list of words alone, about
(docs/results/raw-text.md)."""

NO_RETAG = "--retag needs a tagger: name one with --tagger; vdgi tag train makes one"


class StepFile(NamedTuple):
    """A file of a tokeniser or a tagger."""

    path: str
    content: bytes | None = None  # if it is inside a model, which `path` names


@dataclass
class Steps:
    """What is done to inputs before they are parsed, and how good their tags are then.

    `files`: those of the steps, by name (`archive.STEPS`). `reads_text`: standard input and files
    of other names than .txt and .conllu are raw text, too. `tagged`: the number of words tagged in
    each input. `noted`: for each input, the number of words in windows with TagConf=, and of wrong
    tags, by that. `notes`: tagged words get TagConf= in MISC. `lines`: each line of raw text is a
    sentence. `skips_faulty`: faulty sentences are handed on as they are, for a parser that copies
    them; by what `heads` must hold, see `reading.read`.
    """

    files: Mapping[str, StepFile] = field(default_factory=dict)
    reads_text: bool = False
    retag: bool = False
    tagged: dict[str, int] = field(default_factory=dict)
    noted: dict[str, tuple[int, float]] = field(default_factory=dict)
    notes: bool = False
    lines: bool = False
    skips_faulty: HeadPolicy | None = None

    @classmethod
    def of(
        cls,
        path: AnyPath,
        model: ModelFile,
        replacements: Mapping[str, str | None],
        *,
        retag: bool = False,
        notes: bool = False,
        lines: bool = False,
    ) -> Steps:
        """The steps of a model at a path; `replacements` names files to use instead, or None."""
        inside = {
            name: StepFile(f"{path}: {name}.zip", content) for name, content in model.steps.items()
        }
        others = {
            name: step_file(name, file) for name, file in replacements.items() if file is not None
        }
        steps = cls(inside | others, "tokeniser" in others, retag, notes=notes, lines=lines)
        for name in others:
            getattr(steps, name)  # so that a bad file is found out here
        return steps

    @cached_property
    def tokeniser(self) -> Tokeniser | None:
        """Raises: ModelError, its file is damaged or missing."""
        from dynet_vdgi.words.tokeniser import tokeniser_file

        return tokeniser_file.load(*self.files["tokeniser"]) if "tokeniser" in self.files else None

    @cached_property
    def tagger(self) -> Tagger | None:
        """Raises: ModelError, its file is damaged or missing."""
        from dynet_vdgi.words.tagger.tagger import Tagger

        return Tagger.load(*self.files["tagger"]) if "tagger" in self.files else None

    @property
    def n_tagged(self) -> int:
        """The number of words tagged so far."""
        return sum(self.tagged.values())

    def accuracy(self, names: Iterable[AnyPath], n_words: int) -> float:
        """The expected share of right tags of the first `n_words` words of inputs; given tags are
        right."""
        n_guessed, n_wrong = 0, 0.0
        for name in map(shown, names):
            n_noted, wrong = self.noted.get(name, (0, 0.0))
            n_guessed, n_wrong = n_guessed + n_noted, n_wrong + wrong
            if n_tagged := self.tagged.get(name):
                assert self.tagger is not None
                accuracy = self.tagger.accuracy
                n_guessed += n_tagged
                n_wrong += n_tagged * (1 - (OF_A_LIST if accuracy is None else accuracy))
        # More words may have been read than these, because windows are read as a whole.
        return 1 - n_wrong / max(1, n_guessed, n_words)

    def is_raw(self, name: AnyPath) -> bool:
        """Whether an input is raw text, judged by its name; without a tokeniser none is."""
        if "tokeniser" not in self.files:
            return False
        from dynet_vdgi.conllu import raw_text

        return raw_text.is_named(name) or (self.reads_text and not files.is_conllu(name))

    def check(self, names: Sequence[AnyPath]) -> None:
        """Raises: UsageError, a step is missing, or would have no effect; DataError, an input is no
        text."""
        raw = [name for name in names if self.is_raw(name)]
        if self.reads_text and not raw:
            raise UsageError(NO_RAW_TEXT)
        if self.lines and not raw:
            raise UsageError(NO_LINES)
        if "tagger" not in self.files and raw:
            if os.path.isfile(raw[0]):
                # raises, if it is no text at all, such as a Word file
                next(files.lines_of(raw[0]), "")
            raise UsageError(f"{shown(raw[0])}: {NO_TAGGER}")
        if "tagger" not in self.files and self.retag:
            raise UsageError(NO_RETAG)

    def blocks(self, names: Iterable[AnyPath]) -> Iterator[Block]:
        """The sentences of inputs, tokenised and tagged where they were not.

        Raises: DataError, an input is malformed, not UTF-8, or has no sentences.
        """
        for is_missing, group in groupby(self._tokenised(names), self._lack_tags):
            sentences = chain.from_iterable(group)
            yield from self._tagged(sentences) if is_missing else sentences

    def _tokenised(self, names: Iterable[AnyPath]) -> Iterator[list[Block]]:
        n_sentences, every = 0, list(names)
        for number, name in enumerate(every, 1):
            self.tagged[shown(name)] = 0
            if not self.is_raw(name):
                for window in windows(blocks(name, undecoded=self.skips_faulty is not None)):
                    self._note(window)
                    yield window
                continue
            assert self.tokeniser is not None
            is_followed = number < len(every)
            read = self.tokeniser.read(
                name, n_sentences + 1, lines=self.lines, is_followed=is_followed
            )
            for document, text in read:
                n_sentences += len(document.sentences)
                if document.sentences:
                    yield blocks_in(text, shown(name))

    def _note(self, window: list[Block]) -> None:
        """Counts the words of a window that was tagged by a tagger, and their expected errors."""
        lines = [line for block in window for line in block.lines]
        if self.retag or not any("TagConf=" in line for line in lines):
            return
        wrong = sum(
            1 - float(match[1]) for line in lines for match in _TAG_CONFIDENCE.finditer(line)
        )
        n_words, before = self.noted.get(window[0].path, (0, 0.0))
        self.noted[window[0].path] = (
            n_words + sum(map(bool, map(_TAGGED.match, lines))),
            before + wrong,
        )

    def _lack_tags(self, window: list[Block]) -> bool:
        if "tagger" not in self.files:
            return False
        return self.retag or any(_UNTAGGED.match(line) for block in window for line in block.lines)

    def _tagged(self, untagged: Iterable[Block]) -> Iterator[Block]:
        assert self.tagger is not None
        faulty: dict[int, list[Block]] = {}  # by the number of sound sentences before them
        n_sound = 0

        def sound() -> Iterator[Sentence]:
            nonlocal n_sound
            for block in untagged:
                if self.skips_faulty is None:
                    yield sentence_of(block, "ignored", KNOWN, ignore)
                    continue
                try:
                    sentence = decoded_sentence_of(block, self.skips_faulty, KNOWN, ignore)
                except DataError as fault:
                    if is_other_format(fault.message):
                        raise
                    faulty.setdefault(n_sound, []).append(block)
                    continue
                n_sound += 1
                yield sentence

        for number, tagged in enumerate(self.tagger.stream(sound(), retag=self.retag)):
            yield from faulty.pop(number, ())
            source = (tagged.noted if self.notes else tagged.sentence).source
            assert source is not None
            self.tagged[source.path] += len(tagged.sentence) - tagged.n_given
            yield Block(
                source.path, source.line, list(source.lines), tagged.sentence.soft, source.extra
            )
        yield from faulty.pop(n_sound, ())

    def filled(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Sentences in memory; those with words without UPOS are tagged."""
        for is_missing, group in groupby(sentences, lambda each: "_" in (each.upos or each.tags)):
            if is_missing and self.tagger is not None:
                for sentence, _, n_given in self.tagger.stream(group):
                    self.tagged[MEMORY] = self.tagged.get(MEMORY, 0) + len(sentence) - n_given
                    yield sentence
            else:
                yield from group

    def sentences_of(self, text: str, *, lines: bool = False) -> list[Sentence]:
        """The sentences of raw text, tagged; `lines`: its lines.

        Raises: UsageError, there is no tokeniser or no tagger; DataError, the text is white space.
        """
        from dynet_vdgi.conllu import raw_writing

        if self.tokeniser is None or self.tagger is None:
            what = "tagger" if self.tokeniser else "tokeniser"
            raise UsageError(
                f"raw text needs a tokeniser and a tagger, and the model has no {what}: {LOAD}"
            )
        document = self.tokeniser.tokenise(text, lines=lines)
        if not document.sentences:
            raise DataError(MEMORY, None, "no text", "there is nothing but white space")
        untagged = blocks_in(raw_writing.conllu_of(document), MEMORY)
        return self.tagger.predict(
            sentence_of(block, "ignored", KNOWN, ignore) for block in untagged
        )


def step_file(name: str, path: AnyPath) -> StepFile:
    """The file of a step, or the one inside a model or the model of a run's folder.

    Raises: ModelError, the folder has no model, or the model is damaged.
    """
    file = model_path(os.fspath(path))
    if file.is_file() and zipfile.is_zipfile(file):
        with opened(file) as archive:
            if f"{name}.zip" in archive.names:
                return StepFile(f"{file}: {name}.zip", archive.read(f"{name}.zip"))
    return StepFile(str(file))


def description(path: AnyPath) -> list[tuple[str, str]] | None:
    """What the file of a tokeniser or a tagger is, as pairs of name and text; None: it is something
    else.

    Raises: ModelError, the file is missing or damaged.
    """
    from dynet_vdgi.words.tagger import tagger_file
    from dynet_vdgi.words.tokeniser import tokeniser_file

    with opened(os.fspath(path)) as archive:
        if not archive.step:
            return None
        describe = (
            tagger_file.describe if archive.step == tagger_file.KIND else tokeniser_file.describe
        )
        return describe(archive)


def loaded(name: str, path: AnyPath) -> Any:
    """The tokeniser or the tagger of a file, or of a model or a run that has one.

    Raises: ModelError, the file is damaged, missing, or of another kind.
    """
    return getattr(Steps({name: step_file(name, path)}), name)


def contents(paths: Mapping[str, AnyPath | None]) -> dict[str, bytes]:
    """The content of the files of steps, for a model file.

    Raises: ModelError, a file is damaged, missing, or of another kind.
    """
    by_step = {}
    for name, path in paths.items():
        if path is None:
            continue
        file = step_file(name, path)
        loaded(name, path)  # refused if it cannot be used
        by_step[name] = Path(file.path).read_bytes() if file.content is None else file.content
    return by_step

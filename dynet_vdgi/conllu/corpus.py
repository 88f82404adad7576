"""A corpus: sentences that can be passed over again and again, from a file or from memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.faults import fault_of_text, fault_of_value
from dynet_vdgi.conllu.raw_text import check_raw
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.files import AnyPath, check_named, check_path, is_conllu, lines_of, shown
from dynet_vdgi.system.messages import count, of_these

Sentences = AnyPath | Iterable[Sentence]
"""Sentences: a file of them, as a path, or an iterable of `Sentence` objects, such as `read`
gives."""

_NUMBERS = {"words": 2, "lemmas": 3, "tags": 4, "xpos": 5, "feats": 6}


class Corpus:
    """An iterable of sentences that reads its file each time, in bounded memory.

    `path` may end in `.gz`, or be `-` for standard input, which can be read only once.

    Raises: UsageError, `heads` or `tags` is none of the values that `read` names.
    """

    def __init__(
        self, path: AnyPath, *, heads: reading.HeadPolicy = "optional", tags: str = "upos"
    ) -> None:
        for name, value, values in (
            ("heads", heads, get_args(reading.HeadPolicy)),
            ("tags", tags, (*reading.TAG_COLUMNS, reading.KNOWN)),
        ):
            if value not in values:
                raise UsageError(f"no {name} {value!r}{of_these(str(value), values)}")
        self.path, self.heads, self.tags = path, heads, tags

    def __iter__(self) -> Iterator[Sentence]:
        """Raises: DataError for the first fault of the file; names file and line."""
        return reading.read(self.path, heads=self.heads, tags=self.tags)

    def __repr__(self) -> str:
        return f"Corpus({shown(self.path)!r})"


def read(path: AnyPath, *, heads: reading.HeadPolicy = "optional", tags: str = "upos") -> Corpus:
    """The sentences of a CoNLL-U file; nothing is read until they are asked for.

    Args:
        path: the file; `.gz` is decompressed, `-` is standard input.
        heads: what column 7 must hold: "optional", "partial", "required", "unchecked" or "ignored",
            see `reading.read`.
        tags: the column of the sentences' tags, "upos" or "xpos"; "known": UPOS, which may be `_`.

    Raises: UsageError, another value of `heads` or `tags`, or no path.
    """
    check_path("path", path)
    check_named(path, "file")
    return Corpus(path if path == "-" else Path(path), heads=heads, tags=tags)


def sentences_of(
    given: Sentences, *, heads: reading.HeadPolicy = "optional", tags: str = "upos"
) -> Iterable[Sentence]:
    """The sentences of a file, read with `heads` and `tags`, if a path is given; else the given
    sentences.

    Raises: UsageError, the argument is neither, or yields something that is not a sentence; says
    what to do.
    """
    if isinstance(given, (str, os.PathLike)):
        return read(given, heads=heads, tags=tags)
    return in_memory(given)


def in_memory(given: Iterable[Sentence]) -> Iterable[Sentence]:
    """The sentences, one after the other.

    Raises: UsageError, as `sentences_of`; also for a path.
    """
    if isinstance(given, Corpus):
        return given
    if isinstance(given, (str, os.PathLike)) or not isinstance(given, Iterable):
        raise unfit(given, "sentences are")
    return map(_sentence, given)


def _sentence(item: Any) -> Sentence:
    if not isinstance(item, Sentence):
        raise unfit(item, "a Sentence is")
    columns = item.forms, item.tags, item.upos, item.lemmas, item.xpos, item.feats
    try:
        "".join(chain.from_iterable(columns)).encode()
    except (TypeError, UnicodeEncodeError):
        for word, value in chain.from_iterable(enumerate(column, 1) for column in columns):
            if fault := fault_of_text(value):
                raise UsageError(f"word {word} of {item.forms!r:.60}: {fault}") from None
    return item


def up_to_an_error(sentences: Iterable[Sentence], failed: list[Exception]) -> Iterator[Sentence]:
    """The sentences; an error of their iterator ends them and goes into the list."""
    try:
        yield from sentences
    except Exception as error:
        failed.append(error)


def unfit(given: Any, wanted: str) -> UsageError:
    """The error for a caller who gave something other than sentences."""
    kind = type(given).__name__
    if isinstance(given, Sentence):
        return UsageError(f"one Sentence where {wanted} expected: put it into a list")
    if isinstance(given, (str, os.PathLike)):
        path = os.fspath(given)
        return UsageError(f"a {kind} where {wanted} expected: read a file with read({path!r})")
    remedy = "convert it with from_conllu()" if kind == "TokenList" else "read() gives some"
    return UsageError(
        f"{'an' if kind[:1] in 'aeiouAEIOU' else 'a'} {kind} where {wanted} expected: {remedy}"
    )


def words_in(names: Sequence[str], *, lowercase: bool = True) -> Iterator[list[str]]:
    """Words of each sentence of text files, in their order, for learning word vectors and word
    clusters.

    Files whose name ends in .conllu (or .conllu.gz) are read as CoNLL-U, without the words tagged
    PUNCT; others as plain text, one sentence a line, words separated by spaces. Empty lines are
    skipped.

    Raises: DataError, a file cannot be read, is malformed, or CoNLL-U under another name.
    """
    for name in names:
        for words in _of_treebank(name) if is_conllu(name) else _of_text(name):
            if words:
                yield [word.lower() for word in words] if lowercase else words


def _of_treebank(name: str) -> Iterator[list[str]]:
    for sentence in reading.read(name, heads="ignored", tags=reading.KNOWN):
        yield [form for form, tag in zip(sentence.forms, sentence.tags) if tag != "PUNCT"]


def _of_text(name: str) -> Iterator[list[str]]:
    is_begun = False
    for number, line in enumerate(lines_of(name), 1):
        if not is_begun:
            check_raw(line, shown(name), number)
            is_begun = line[0] != "#"
        # line ends of old Macintosh files, as the authors' text has
        for sentence in line.split("\r"):
            yield sentence.split()


def of_columns(**columns: Iterable[str]) -> Sentence:
    """A sentence of these columns: words, tags, feats, lemmas, xpos; an empty one is not known.

    In the last three, "" stands for nothing known, as "_" does.

    Raises: UsageError, there is no word, a column has another length, is a text or no list, or has
    an entry that is no text, or that no file can hold.
    """
    entries: dict[str, tuple[str, ...]] = {}
    for name, column in columns.items():
        if isinstance(column, str) or not isinstance(column, Iterable):
            raise UsageError(f"{name}={column!r}: a list is expected, with an entry for each word")
        entries[name] = tuple(
            ["_" if entry == "" and name not in ("words", "tags") else entry for entry in column]
        )
        for word, entry in enumerate(entries[name], 1):
            if fault := fault_of_text(entry) or fault_of_value(_NUMBERS[name], entry):
                raise UsageError(f"{name}: {fault} (word {word})")
    words, tags = entries.pop("words"), entries.pop("tags")
    if len(words) != len(tags) or not words:
        numbers = f"{count(len(words), 'word')}, {count(len(tags), 'tag')}"
        raise UsageError(f"a sentence needs at least one word, and a tag for each: {numbers}")
    feats, lemmas, xpos = (entries[name] for name in ("feats", "lemmas", "xpos"))
    return Sentence(words, tags, feats=feats, lemmas=lemmas, xpos=xpos)

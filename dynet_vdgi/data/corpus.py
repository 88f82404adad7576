"""Sentences of a file or of memory, those of a treebank under a protocol, and their vocabulary."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import msgspec

from dynet_vdgi.data import conllu
from dynet_vdgi.data.conllu_blocks import fault_of_text, fault_of_value
from dynet_vdgi.data.files import AnyPath, check_named, check_path, is_conllu, lines_of, shown
from dynet_vdgi.data.punctuation import is_projective, without_punctuation
from dynet_vdgi.data.raw_text import check_raw
from dynet_vdgi.data.sentence import STANDARD, Protocol, Sentence, protocol_of
from dynet_vdgi.errors import ConfigError, DataError, ModelError, UsageError, check_kind
from dynet_vdgi.system.names import count, limit, of_these, to_raise

Sentences = AnyPath | Iterable[Sentence]
"""Sentences: a file of them, as a path, or an iterable of `Sentence` objects, such as `read` gives."""


class Corpus:
    """An iterable of sentences that reads its file each time, in bounded memory.

    `path` may end in `.gz`, or be `-` for standard input, which can be read only once.

    Raises: UsageError, `heads` or `tags` is none of the values that `read` names.
    """

    def __init__(self, path: AnyPath, *, heads: conllu.Heads = "optional", tags: str = "upos") -> None:
        for name, value, values in (
            ("heads", heads, get_args(conllu.Heads)),
            ("tags", tags, (*conllu.TAG_COLUMNS, conllu.KNOWN)),
        ):
            if value not in values:
                raise UsageError(f"no {name} {value!r}{of_these(str(value), values)}")
        self.path, self.heads, self.tags = path, heads, tags

    def __iter__(self) -> Iterator[Sentence]:
        """Raises: DataError for the first fault of the file; names file and line."""
        return conllu.read(self.path, heads=self.heads, tags=self.tags)

    def __repr__(self) -> str:
        return f"Corpus({shown(self.path)!r})"


def read(path: AnyPath, *, heads: conllu.Heads = "optional", tags: str = "upos") -> Corpus:
    """The sentences of a CoNLL-U file; nothing is read until they are asked for.

    Args:
        path: the file; `.gz` is decompressed, `-` is standard input.
        heads: what column 7 must hold: "optional", "partial", "required", "unchecked" or "ignored", see `conllu.read`.
        tags: the column of the sentences' tags, "upos" or "xpos"; "known": UPOS, which may be `_`.

    Raises: UsageError, another value of `heads` or `tags`, or no path.
    """
    check_path("path", path)
    check_named(path, "file")
    return Corpus(path if path == "-" else Path(path), heads=heads, tags=tags)


def sentences_of(given: Sentences, *, heads: conllu.Heads = "optional", tags: str = "upos") -> Iterable[Sentence]:
    """The sentences of a file, read with `heads` and `tags`, if a path is given; else the given sentences.

    Raises: UsageError, the argument is neither, or yields something that is not a sentence; says what to do.
    """
    if isinstance(given, (str, os.PathLike)):
        return read(given, heads=heads, tags=tags)
    return in_memory(given)


def in_memory(given: Iterable[Sentence]) -> Iterable[Sentence]:
    """The sentences, one after the other. Raises: UsageError, as `sentences_of`; also for a path."""
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


def unfit(found: Any, wanted: str) -> UsageError:
    """The error for a caller who gave something other than sentences."""
    kind = type(found).__name__
    if isinstance(found, Sentence):
        return UsageError(f"one Sentence where {wanted} expected: put it into a list")
    if isinstance(found, (str, os.PathLike)):
        path = os.fspath(found)
        return UsageError(f"a {kind} where {wanted} expected: read a file with read({path!r})")
    remedy = "convert it with from_conllu()" if kind == "TokenList" else "read() gives some"
    return UsageError(f"{'an' if kind[:1] in 'aeiouAEIOU' else 'a'} {kind} where {wanted} expected: {remedy}")


def words_in(names: Sequence[str], *, lowercase: bool = True) -> Iterator[list[str]]:
    """Words of each sentence of text files, in their order, for learning word vectors and word clusters.

    Files whose name ends in .conllu (or .conllu.gz) are read as CoNLL-U, without the words tagged PUNCT;
    others as plain text, one sentence a line, words separated by spaces. Empty lines are skipped.

    Raises: DataError, a file cannot be read, is malformed, or CoNLL-U under another name.
    """
    for name in names:
        for words in _of_treebank(name) if is_conllu(name) else _of_text(name):
            if words:
                yield [word.lower() for word in words] if lowercase else words


def _of_treebank(name: str) -> Iterator[list[str]]:
    for sentence in conllu.read(name, heads="ignored", tags=conllu.KNOWN):
        yield [form for form, tag in zip(sentence.forms, sentence.tags) if tag != "PUNCT"]


def _of_text(name: str) -> Iterator[list[str]]:
    is_begun = False
    for number, line in enumerate(lines_of(name), 1):
        if not is_begun:
            check_raw(line, shown(name), number)
            is_begun = line[0] != "#"
        for sentence in line.split("\r"):  # line ends of old Macintosh files, as the authors' text has
            yield sentence.split()


_NUMBERS = {"words": 2, "lemmas": 3, "tags": 4, "xpos": 5, "feats": 6}


def of_columns(**columns: Iterable[str]) -> Sentence:
    """A sentence of these columns: words, tags, feats, lemmas, xpos; an empty one is not known.

    In the last three, "" stands for nothing known, as "_" does.

    Raises: UsageError, there is no word, a column has another length, is a text or no list, or has an entry
    that is no text, or that no file can hold.
    """
    known: dict[str, tuple[str, ...]] = {}
    for name, column in columns.items():
        if isinstance(column, str) or not isinstance(column, Iterable):
            raise UsageError(f"{name}={column!r}: a list is expected, with an entry for each word")
        known[name] = tuple(["_" if entry == "" and name not in ("words", "tags") else entry for entry in column])
        for word, entry in enumerate(known[name], 1):
            if fault := fault_of_text(entry) or fault_of_value(_NUMBERS[name], entry):
                raise UsageError(f"{name}: {fault} (word {word})")
    words, tags = known.pop("words"), known.pop("tags")
    if len(words) != len(tags) or not words:
        numbers = f"{count(len(words), 'word')}, {count(len(tags), 'tag')}"
        raise UsageError(f"a sentence needs at least one word, and a tag for each: {numbers}")
    feats, lemmas, xpos = (known[name] for name in ("feats", "lemmas", "xpos"))
    return Sentence(words, tags, feats=feats, lemmas=lemmas, xpos=xpos)


# ----------------------------------------------------------------------------------------------------
# The sentences of a treebank that pass a protocol and length limits, with counts of those dropped.
SHORTEST = 2
"""Words of the shortest sentence that is learnt from, because shorter ones have one derivation."""


@dataclass(frozen=True)
class Dropped:
    """The losses to one filter: whole sentences with their words, or (sentences = 0) single words.

    >>> print(Dropped("punctuation", 0, 3340))
    punctuation: 3,340 words
    """

    reason: str
    sentences: int
    words: int

    def __str__(self) -> str:
        sentences = count(self.sentences, "sentence") + ", " if self.sentences else ""
        return f"{self.reason}: {sentences}{count(self.words, 'word')}"


_UNTESTED = "kept without the projectivity test (no trees)"


class Filter:
    """Streams sentences through a protocol and length limits, and counts the losses.

    Length is counted after the protocol's removal. Counts cover the sentences consumed so far: the input
    equals the kept plus the sum of `dropped`, in sentences and in words.
    """

    def __init__(self, protocol: Protocol, max_len: int | None = None, min_len: int = 1) -> None:
        if min_len < 1 or (max_len is not None and max_len < min_len):
            longest = "any" if max_len is None else str(max_len)
            raise ConfigError(f"no sentence has {min_len} to {longest} words (need 1 <= min_len <= max_len)")
        self.protocol, self.max_len, self.min_len = protocol, max_len, min_len
        self._too_short = f"shorter than {count(min_len, 'word')}"
        self._too_long = "" if max_len is None else f"longer than {count(max_len, 'word')}"
        reasons = ("punctuation", "punctuation only", "not projective", self._too_short, self._too_long)
        self._counts = {reason: [0, 0] for reason in (*reasons, _UNTESTED)}  # sentences, words

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences that pass, each after the protocol's removals; lazily, in order."""
        tests_projectivity = self.protocol.projective_only
        for original in sentences:
            sentence, _ = without_punctuation(original, self.protocol.removed_tags)
            n_words = len(sentence)
            n_removed = len(original) - n_words
            if n_removed and not n_words:
                self._count("punctuation only", 1, n_removed)
                continue
            self._count("punctuation", 0, n_removed)
            if tests_projectivity and sentence.heads is not None and not is_projective(sentence.heads):
                self._count("not projective", 1, n_words)
            elif n_words < self.min_len:
                self._count(self._too_short, 1, n_words)
            elif self.max_len is not None and n_words > self.max_len:
                self._count(self._too_long, 1, n_words)
            else:
                if tests_projectivity and sentence.heads is None:
                    self._count(_UNTESTED, 1, n_words)
                yield sentence

    @property
    def dropped(self) -> list[Dropped]:
        """One entry per filter that dropped anything, in the order in which they are applied."""
        found = [Dropped(reason, *counts) for reason, counts in self._counts.items() if any(counts)]
        return [item for item in found if item.reason != _UNTESTED]

    @property
    def notes(self) -> list[str]:
        """Requests of the protocol that could not be carried out."""
        untested = Dropped(_UNTESTED, *self._counts[_UNTESTED])
        return [str(untested)] if untested.sentences else []

    def _count(self, reason: str, sentences: int, words: int) -> None:
        self._counts[reason] = [n + more for n, more in zip(self._counts[reason], (sentences, words))]


def with_few_tags(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences, one after the other.

    Raises: DataError, there are too many different tags: learning needs memory for each pair of them.
    """
    tags, most = set[str](), limit("tags")
    for sentence in sentences:
        tags.update(sentence.tags)
        if len(tags) > most:
            source = sentence.source
            hint = f"are these words in the column of tags? {to_raise('tags')}"
            message = f"there are more than {most} different tags, such as {', '.join(sorted(tags)[:3])}"
            path, line = (source.path, source.line) if source else ("<memory>", None)
            raise DataError(path, line, message, hint)
        yield sentence


@dataclass(frozen=True)
class Prepared:
    """Sentences after the filters. `dropped` and `notes` are printable, one line each."""

    sentences: list[Sentence]
    dropped: list[Dropped]
    notes: list[str]

    @property
    def n_words(self) -> int:
        return sum(map(len, self.sentences))


def prepare(
    sentences: Sentences, protocol: str | Protocol = STANDARD, max_len: int | None = None, min_len: int = 1
) -> Prepared:
    """The sentences after a protocol's removals, "standard" without punctuation, with counts of the losses.

    Teachers and learners take such sentences. Trees keep their form: the children of a removed word depend on
    its nearest remaining ancestor. Sentences are dropped if their remaining words are more or fewer than the
    limits, or if they hold nothing but punctuation.

    Raises: ConfigError, no such protocol, or no sentence can have such a length; UsageError, an argument is
    of another kind.
    """
    for name, length in (("min_len", min_len), ("max_len", min_len if max_len is None else max_len)):
        check_kind(name, length, Integral, "a number of words")
    keep = Filter(protocol_of(protocol), max_len, min_len)
    kept = list(keep(sentences_of(sentences)))
    return Prepared(kept, keep.dropped, keep.notes)


# ----------------------------------------------------------------------------------------------------
# Sentences that are given twice, such as those of a text whose trees were corrected in another file.
T = TypeVar("T")


def superseded(groups: Sequence[Sequence[T]], words_of: Callable[[T], Hashable]) -> list[list[T]]:
    """The sentences of each group that do not come again, with the same words, in a later group.

    Each sentence of a later group takes the place of one, so a sentence that occurs more often in a text than
    among its corrected trees keeps its other occurrences; within a group all stay.

    >>> superseded([["Yes", "Yes", "No"], ["Yes", "Perhaps"]], str.lower)
    [['Yes', 'No'], ['Yes', 'Perhaps']]
    """
    kept: list[list[T]] = []
    later: Counter[Hashable] = Counter()
    for group in reversed(groups):
        keys = [words_of(sentence) for sentence in group]
        left, rest = Counter(later), []
        for sentence, key in zip(group, keys):
            if left[key]:
                left[key] -= 1
            else:
                rest.append(sentence)
        kept.insert(0, rest)
        later |= Counter(keys)
    return kept


# ----------------------------------------------------------------------------------------------------
# Tags and words as integers.
#
# Tag and word ids start at 1; 0 is the unknown tag or word. The decoder can generate only known tags.


UNKNOWN = 0


@dataclass(frozen=True)
class Encoded:
    """One sentence as ids: tags (n,), words (n,) (all 0 in an unlexicalised vocabulary)."""

    tags: tuple[int, ...]
    words: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.tags)


@dataclass(frozen=True)
class Vocabulary:
    """`tags[i]` has id i + 1, `words[i]` has id i + 1; `words` is empty in unlexicalised models.

    `classes` holds a class for every word id from 0 on, for the decoder's softmax; it is empty if no word
    clusters were given.
    """

    tags: tuple[str, ...]
    words: tuple[str, ...] = ()
    lowercase: bool = True
    classes: tuple[Annotated[int, msgspec.Meta(ge=0)], ...] = ()

    @cached_property
    def _tag_ids(self) -> dict[str, int]:
        return {tag: i for i, tag in enumerate(self.tags, 1)}

    @cached_property
    def _word_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words, 1)}

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> Encoded:
        """Ids of one sentence; tags and words that the vocabulary lacks become UNKNOWN."""
        if len(words) != len(tags):
            raise ValueError(f"{len(words)} words but {len(tags)} tags")
        tag_ids = tuple([self._tag_ids.get(tag, UNKNOWN) for tag in tags])
        forms = [word.lower() for word in words] if self.lowercase else words
        return Encoded(tag_ids, tuple([self._word_ids.get(form, UNKNOWN) for form in forms]))

    def to_json(self) -> dict[str, Any]:
        """The JSON that `from_json` reads."""
        own = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}

    @classmethod
    def from_json(cls, content: bytes | str) -> Vocabulary:
        """The vocabulary from the JSON of `to_json`.

        Raises: ModelError, it is damaged: a field is of another type, a tag or word occurs twice, or there is
        not a class for each word.
        """
        try:
            stored = msgspec.json.decode(content, type=cls)
        except msgspec.MsgspecError as error:
            raise ModelError(f"the model file is damaged: vocabulary: {error}") from None
        for name, entries in (("tags", stored.tags), ("words", stored.words)):
            if len(set(entries)) < len(entries):
                raise ModelError(f"the model file is damaged: vocabulary: one of the {name} is there twice")
        if stored.classes and len(stored.classes) != len(stored.words) + 1:
            found = f"{len(stored.classes)} classes for {len(stored.words)} words"
            raise ModelError(f"the model file is damaged: vocabulary: {found}")
        return stored


def build_vocabulary(
    sentences: Iterable[Sentence], *, lexicalised: bool, min_freq: int = 2, lowercase: bool = True
) -> Vocabulary:
    """All tags, sorted; if lexicalised, the words seen at least `min_freq` times, most frequent first."""
    tags: set[str] = set()
    words: Counter[str] = Counter()
    for sentence in sentences:
        tags.update(sentence.tags)
        if lexicalised:
            words.update(form.lower() if lowercase else form for form in sentence.forms)
    kept = sorted((word for word, times in words.items() if times >= min_freq), key=lambda word: (-words[word], word))
    return Vocabulary(tuple(sorted(tags)), tuple(kept), lowercase)

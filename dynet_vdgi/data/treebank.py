"""The sentences of a treebank that pass a protocol and length limits, with counts of those dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral

from dynet_vdgi.data.corpus import Sentences, sentences_of
from dynet_vdgi.data.protocols import STANDARD, Protocol, protocol_of
from dynet_vdgi.data.punctuation import is_projective, without_punctuation
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ConfigError, DataError, check_kind
from dynet_vdgi.system.limits import limit, to_raise
from dynet_vdgi.system.names import count

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
        self._counts = {reason: [0, 0] for reason in reasons}  # sentences, words
        self._untested = [0, 0]

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences that pass, each after the protocol's removals; lazily, in order."""
        for original in sentences:
            sentence, _ = without_punctuation(original, self.protocol.removed_tags)
            n_removed = len(original) - len(sentence)
            if n_removed and not len(sentence):
                self._count("punctuation only", 1, n_removed)
                continue
            self._count("punctuation", 0, n_removed)
            if reason := self._fault(sentence):
                self._count(reason, 1, len(sentence))
                continue
            if self.protocol.projective_only and sentence.heads is None:
                self._untested = [n + more for n, more in zip(self._untested, (1, len(sentence)))]
            yield sentence

    @property
    def dropped(self) -> list[Dropped]:
        """One entry per filter that dropped anything, in the order in which they are applied."""
        return [Dropped(reason, *counts) for reason, counts in self._counts.items() if any(counts)]

    @property
    def notes(self) -> list[str]:
        """Requests of the protocol that could not be carried out."""
        if not any(self._untested):
            return []
        return [str(Dropped("kept without the projectivity test (no trees)", *self._untested))]

    def _fault(self, sentence: Sentence) -> str:
        if self.protocol.projective_only and sentence.heads is not None and not is_projective(sentence.heads):
            return "not projective"
        if len(sentence) < self.min_len:
            return self._too_short
        return self._too_long if self.max_len is not None and len(sentence) > self.max_len else ""

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

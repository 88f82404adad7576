"""The sentences of a treebank that pass a protocol and length limits, with counts of those
dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral

from dynet_vdgi.conllu.corpus import Sentences, sentences_of
from dynet_vdgi.conllu.protocols import STANDARD, Protocol, protocol_of
from dynet_vdgi.conllu.punctuation import is_projective, without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError, DataError, check_kind
from dynet_vdgi.system.limits import limit, to_raise
from dynet_vdgi.system.messages import count

SHORTEST = 2
"""Words of the shortest sentence that is learnt from, because shorter ones have one derivation."""

_UNTESTED = "kept without the projectivity test (no trees)"


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

    Length is counted after the protocol's removal. Counts cover the sentences consumed so far: the
    input equals the kept plus the sum of `dropped`, in sentences and in words.
    """

    def __init__(self, protocol: Protocol, max_len: int | None = None, min_len: int = 1) -> None:
        if min_len < 1 or (max_len is not None and max_len < min_len):
            longest = "any" if max_len is None else str(max_len)
            raise ConfigError(
                f"no sentence has {min_len} to {longest} words (need 1 <= min_len <= max_len)"
            )
        self.protocol, self.max_len, self.min_len = protocol, max_len, min_len
        self._too_short = f"shorter than {count(min_len, 'word')}"
        self._too_long = "" if max_len is None else f"longer than {count(max_len, 'word')}"
        reasons = (
            "punctuation",
            "punctuation only",
            "not projective",
            self._too_short,
            self._too_long,
        )
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
            if (
                tests_projectivity
                and sentence.heads is not None
                and not is_projective(sentence.heads)
            ):
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
        losses = [
            Dropped(reason, *counts) for reason, counts in self._counts.items() if any(counts)
        ]
        return [item for item in losses if item.reason != _UNTESTED]

    @property
    def notes(self) -> list[str]:
        """Requests of the protocol that could not be carried out."""
        untested = Dropped(_UNTESTED, *self._counts[_UNTESTED])
        return [str(untested)] if untested.sentences else []

    def _count(self, reason: str, sentences: int, words: int) -> None:
        n_sentences, n_words = self._counts[reason]
        self._counts[reason] = [n_sentences + sentences, n_words + words]


def with_few_tags(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences, one after the other.

    Raises: DataError, there are too many different tags: learning needs memory for each pair of
    them.
    """
    tags, most = set[str](), limit("tags")
    for sentence in sentences:
        tags.update(sentence.tags)
        if len(tags) > most:
            source = sentence.source
            hint = f"are these words in the column of tags? {to_raise('tags')}"
            message = (
                f"there are more than {most} different tags, such as {', '.join(sorted(tags)[:3])}"
            )
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
    sentences: Sentences,
    protocol: str | Protocol = STANDARD,
    max_len: int | None = None,
    min_len: int = 1,
) -> Prepared:
    """The sentences after a protocol's removals, "standard" without punctuation, with counts of the
    losses.

    Teachers and learners take such sentences. Trees keep their form: the children of a removed word
    depend on its nearest remaining ancestor. Sentences are dropped if their remaining words are
    more or fewer than the limits, or if they hold nothing but punctuation.

    Raises: ConfigError, no such protocol, or no sentence can have such a length; UsageError, an
    argument is of another kind.
    """
    check_kind("min_len", min_len, Integral, "a number of words")
    if max_len is not None:
        check_kind("max_len", max_len, Integral, "a number of words")
    keep = Filter(protocol_of(protocol), max_len, min_len)
    remaining = list(keep(sentences_of(sentences)))
    return Prepared(remaining, keep.dropped, keep.notes)

"""What programs guess about the words of a sentence, and how it is shown where nobody has said
anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dynet_vdgi.conllu.punctuation import is_mark
from dynet_vdgi.conllu.soft_tags import SoftTags
from dynet_vdgi.page.text.sentence_state import (
    GUESSED_COLUMNS,
    NO_VALUE,
    MarkedColumns,
    is_missing,
    is_undescribed,
)


class Guess(NamedTuple):
    """A parser's output for the words of a sentence that are not punctuation."""

    heads: tuple[int, ...]
    labels: tuple[str, ...]
    sure: tuple[float, ...]  # probabilities of the heads


class TagGuess(NamedTuple):
    """A tagger's output for the words of a sentence; lemmas, XPOS and FEATS may be empty."""

    tags: tuple[str, ...]
    chances: tuple[float, ...]  # probabilities of these tags
    lemmas: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    feats: tuple[str, ...] = ()
    soft: SoftTags | None = None  # for the parser

    @classmethod
    def of_words(cls, words: Iterable[tuple[Any, ...]]) -> TagGuess:
        """The guess with these `words`."""
        tags, chances, lemmas, xpos, feats = zip(*words)
        return cls(tags, chances, lemmas, xpos, feats)

    @classmethod
    def of_marks(cls, forms: Iterable[str]) -> TagGuess:
        """The guess before there is a tagger: marks are PUNCT, and nothing is known of words."""
        tags = tuple(["PUNCT" if is_mark(form) else NO_VALUE for form in forms])
        return cls(tags, tuple([float(tag != NO_VALUE) for tag in tags]))

    @property
    def words(self) -> list[tuple[Any, ...]]:
        """For each word, what the tagger says of it, in the order of the columns."""
        return list(zip(*(column or (NO_VALUE,) * len(self.tags) for column in self[:5])))


NO_TAGS = TagGuess((), ())

Recalled = Mapping[int, tuple[str, Mapping[str, str]]]
"""By word id, a tag and other columns by name that were given to other words of the text, shown in
place of the tagger's guess."""

ColumnGuesses = Mapping[tuple[Any, ...], tuple[str, str, str]]
"""XPOS, FEATS and lemma ("": none) of words, by what they are about: the word's place from 0, its
tag as shown, and its own XPOS and FEATS."""


def columns_with_guesses(
    columns: Sequence[MarkedColumns],
    wids: Sequence[int],
    guess: TagGuess,
    recalled: Recalled,
    column_guesses: ColumnGuesses,
) -> tuple[MarkedColumns, ...]:
    """The columns of words with ids `wids`, filled by guesses where nobody has said anything.

    A tag is guessed for words whose UPOS is not the file's; where nobody has said anything of a
    word, what is recalled of others comes before the tagger's guess.
    """
    filled = list(columns)
    for k, (word, (tag, _, lemma, xpos, feats)) in enumerate(zip(columns, guess.words)):
        values: Mapping[str, str] = {"lemma": lemma, "xpos": xpos, "feats": feats}
        if is_undescribed(word):
            tag, values = recalled.get(wids[k], (tag, values))
        is_from_file = word.upos == tag != NO_VALUE and not word.tag_by
        # else its tag is the file's, or another one
        if word.upos in (NO_VALUE, tag) and not is_from_file:
            new = {name: value for name, value in values.items() if is_missing(word, name)}
            filled[k] = word._replace(upos=tag, **new)
    for (k, *about), guessed_values in column_guesses.items():
        word = columns[k]
        if about == [filled[k].upos, word.xpos, word.feats]:
            new = {}
            for name, value in zip(GUESSED_COLUMNS, guessed_values):
                if value and is_missing(word, name):
                    new[name] = value
            filled[k] = filled[k]._replace(**new)
    return tuple(filled)

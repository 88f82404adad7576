"""A sentence as the checks see it, and the problems they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class UdProblem(NamedTuple):
    """What is wrong with a word; word 0: with the sentence, or with a line that is no word's."""

    word: int  # for an empty node the word before it, for a multiword token its first word
    level: int
    rule: str  # a name for counting
    text: str  # what is wrong, with the remedy where it is plain
    row: int = 0  # of its line in the sentence, from 0


@dataclass
class WordLines:
    """The lines of one sentence, cut into columns; words are numbered from 1.

    `heads` has -1 where HEAD is no number of the sentence.
    """

    lines: Sequence[str]
    words: list[list[str]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # of the words, in `lines`
    ranges: list[tuple[int, int, int]] = field(default_factory=list)  # first and last word, row
    empty: dict[str, int] = field(default_factory=dict)  # row by ID
    heads: list[int] = field(default_factory=list)
    found: list[UdProblem] = field(default_factory=list)

    def say(self, word: int, level: int, rule: str, text: str, row: int | None = None) -> None:
        """Adds a problem, by default in the word's own line."""
        if row is None:
            row = self.rows[word - 1] if word else 0
        self.found.append(UdProblem(word, level, rule, text, row))

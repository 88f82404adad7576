"""A stretch of text with its differences, the sides that somebody has taken, and the lines that
follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from dynet_vdgi.conllu.tree_faults import FREE, cycle
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.evaluation.two_files import COLUMNS, Stretch, TwoFiles, TwoValues
from dynet_vdgi.page.adjudication.joining import joined_sentence
from dynet_vdgi.page.text.sentence_state import MARKS

TOKENS = "tokens"

DIFFERS = "Differs="

MARK_OF = dict(zip(("head", "deprel", "upos", "feats", "lemma", "xpos"), MARKS))
"""Who decided, by column."""


class DecisionError(VdgiError):
    """A decision that cannot be made."""

    status = 400


class Decision(NamedTuple):
    """A side, and who took it."""

    side: Literal[0, 1]
    by: str


Choices = Mapping[str, Decision | None]
"""Decisions by key; None: a difference is open again."""


class Differing:
    """A stretch of the text with differences; `choices` by key: TOKENS, or `3:head` for its third
    word."""

    def __init__(self, two: TwoFiles, stretch: Stretch) -> None:
        self.sides, self.numbers = (two.one, two.other), (stretch.ones, stretch.others)
        self.same_words = stretch.same_words
        self._two, self._stretch = two, stretch
        self.differences: dict[str, TwoValues] = {}
        if stretch.same_words:
            first = two.one.words_in(stretch.ones).start
            for each in chain.from_iterable(map(two.compared, stretch.pairs)):
                if not each.is_same:
                    self.differences[f"{each.pair.one - first + 1}:{each.column}"] = each
        # in the order of the text
        self.keys = list(self.differences) if stretch.same_words else [TOKENS]
        self.choices: dict[str, Decision] = {}
        # what is not compared, and different; known when there are `lines`
        self.differing: set[str] = set()
        self.version = 0

    @property
    def sent_id(self) -> str:
        """The name of its first sentence; "" without one."""
        return self._two.sent_id(self._stretch)

    @property
    def open(self) -> list[str]:
        return [key for key in self.keys if key not in self.choices]

    def lines(self) -> list[str]:
        """The lines of the result, each sentence ended by an empty line.

        `differing` has then the names of what both files have differently besides the compared
        columns.
        """
        if not self.same_words:
            side = self.choices[TOKENS].side if TOKENS in self.choices else 0
            blocks = [self.sides[side].blocks[number].lines for number in self.numbers[side]]
            mark = [] if TOKENS in self.choices else [f"# differs = {TOKENS}"]
            lines = []
            for block in blocks:
                lines += [*mark, *block, ""]
            return lines
        one = self.sides[0].blocks[self.numbers[0][0]].lines
        other = self.sides[1].blocks[self.numbers[1][0]].lines
        lines, self.differing = joined_sentence(one, other)
        if self.keys:  # not so in most of a long text
            values = {line.partition("\t")[0]: line.split("\t") for line in other}
            waits = self.is_waiting_for_heads
            lines = [self._decided_line(line, values, waits) for line in lines]
        return [*lines, ""]

    def _decided_line(self, line: str, others: Mapping[str, Sequence[str]], waits: bool) -> str:
        """A line with what was decided of its word, and marks; `others`: the other side's columns,
        by ID.

        Of heads nothing counts as decided while they wait.
        """
        columns = line.split("\t")
        differing = [column for column in COLUMNS if f"{columns[0]}:{column}" in self.differences]
        if not differing:
            return line
        misc = [
            entry
            for entry in columns[9].split("|")
            if entry != "_" and not entry.startswith(DIFFERS)
        ]
        undecided = []
        for column in differing:
            choice = self.choices.get(f"{columns[0]}:{column}")
            misc = [entry for entry in misc if not entry.startswith(MARK_OF[column])]
            if choice is None or (column == "head" and waits):
                undecided.append(column)
                continue
            misc.append(MARK_OF[column] + choice.by)
            if choice.side:
                columns[COLUMNS[column]] = others[columns[0]][COLUMNS[column]]
        misc += [DIFFERS + ",".join(undecided)] if undecided else []
        columns[9] = "|".join(misc) or "_"
        return "\t".join(columns)

    def tree_fault(self) -> str:
        """Why the chosen heads are no tree; "" if they are, or no head is decided."""
        decided = [key for key in self.choices if key.endswith(":head")]
        if not decided:
            return ""
        other = {key: self.differences[key].other for key in decided if self.choices[key].side}
        return _tree_fault({**self._heads(0), **other}.values())

    @property
    def has_tree(self) -> bool:
        """Whether either side's heads are a tree, or part of one: taking them all mends every
        fault."""
        return any(not _tree_fault(self._heads(side).values()) for side in (0, 1))

    @property
    def is_waiting_for_heads(self) -> bool:
        """Whether decided heads wait for others, because together they are no tree and could be
        one."""
        return bool(self.tree_fault()) and self.has_tree

    def _heads(self, side: int) -> dict[str, str]:
        """HEAD of each word of a side's only sentence, by key."""
        rows = [
            self.sides[side].columns[word] for word in self.sides[side].words_in(self.numbers[side])
        ]
        return {f"{row[0]}:head": row[6] for row in rows}


def _tree_fault(texts: Iterable[str]) -> str:
    """Why values of HEAD are no tree, nor part of one; "" if they are."""
    heads = [FREE if text == "_" else int(text) for text in texts]
    if heads.count(0) > 1:
        return (
            f"words {', '.join(str(w) for w, head in enumerate(heads, 1) if head == 0)} are roots"
        )
    if circle := cycle(heads):
        if len(circle) == 1:
            return f"word {circle[0]} is its own head"
        return f"words {', '.join(map(str, circle))} form a circle of heads"
    return "no word is the root" if not heads.count(0) and FREE not in heads else ""

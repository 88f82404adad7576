"""Sentences of a CoNLL-U file with a person's statements about their arcs.

In the file, `HeadBy=NAME` in MISC says who confirmed a head, `LabelBy=NAME` who confirmed a relation; arcs
without these are guesses. All other columns and lines are written as they were read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dynet_vdgi.annotation import mending
from dynet_vdgi.annotation.mending import UNSET
from dynet_vdgi.data import conllu
from dynet_vdgi.data.conllu_faults import NUMBER
from dynet_vdgi.data.files import AnyPath, atomic_writer
from dynet_vdgi.data.punctuation import heads_without, without_punctuation
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError

HEAD_BY, LABEL_BY = "HeadBy=", "LabelBy="
NO_LABEL = "_"


class MarkedArc(NamedTuple):
    """A word's head, UNSET if it has none, its relation, and who confirmed each; "": a guess."""

    head: int = UNSET
    label: str = NO_LABEL
    head_by: str = ""
    label_by: str = ""


class Guess(NamedTuple):
    """A parser's output for the words of a sentence that are not punctuation."""

    heads: tuple[int, ...]
    labels: tuple[str, ...]
    sure: tuple[float, ...]  # probabilities of the heads


@dataclass(eq=False)
class MarkedSentence:
    """One sentence; `edits` counts a person's changes, `version` these and changed guesses."""

    sentence: Sentence  # as in the file; its heads are ignored
    bare: Sentence  # without punctuation, heads and relations
    positions: tuple[int, ...]  # of the words of `bare`
    arcs: tuple[MarkedArc, ...]
    sure: tuple[float | None, ...] = ()  # probability of each head; None for punctuation, () before a parse
    edits: int = 0
    version: int = 0
    had_marks: bool = False  # in the file
    moved: frozenset[int] = field(default=frozenset())  # words whose head a person changed
    renamed: frozenset[int] = field(default=frozenset())  # words whose relation a person changed

    @classmethod
    def of(cls, sentence: Sentence, arcs: Sequence[MarkedArc]) -> MarkedSentence:
        """The initial state of a sentence."""
        plain = replace(sentence, heads=None, deprels=(), source=None)
        bare, positions = without_punctuation(plain)
        marked = cls(sentence, bare, positions, tuple(arcs))
        marked.had_marks = marked.is_touched
        return marked

    @property
    def heads(self) -> tuple[int, ...]:
        return tuple([arc.head for arc in self.arcs])

    @property
    def fixed(self) -> tuple[bool, ...]:
        """For each word, whether its head is confirmed."""
        return tuple([bool(arc.head_by) for arc in self.arcs])

    @property
    def is_done(self) -> bool:
        """True if all words but punctuation are confirmed."""
        return all(self.arcs[p - 1].head_by and self.arcs[p - 1].label_by for p in self.positions)

    @property
    def is_touched(self) -> bool:
        """True if anything is confirmed."""
        return any(arc.head_by or arc.label_by for arc in self.arcs)

    @property
    def is_held(self) -> bool:
        """True if somebody has worked on the whole tree: then only setting a head causes a new parse."""
        return (self.edits > 0 or self.is_touched) and UNSET not in self.heads

    @property
    def fingerprint(self) -> int:
        """A number that identifies the words."""
        return zlib.crc32("\n".join(self.sentence.forms).encode())

    def confirmed(self) -> Sentence:
        """The words without punctuation; unconfirmed heads are UNSET and relations "_"."""
        whole = heads_without(self.heads, self.positions)
        arcs = [self.arcs[p - 1] for p in self.positions]
        heads = tuple([h if arc.head_by else UNSET for h, arc in zip(whole, arcs)])
        labels = tuple([arc.label if arc.label_by else NO_LABEL for arc in arcs])
        return replace(self.bare, heads=heads, deprels=labels)

    def shown(self) -> tuple[int, ...]:
        """The present heads of the words that are not punctuation."""
        return heads_without(self.heads, self.positions)

    def put(self, guess: Guess) -> None:
        """Adopts a guess for everything that is not confirmed."""
        fixed = self.fixed
        heads = mending.with_punctuation(guess.heads, self.positions, self.heads, fixed, self.sentence.forms)
        labels = ["punct"] * len(heads)
        sure: list[float | None] = [None] * len(heads)
        for place, label, probability in zip(self.positions, guess.labels, guess.sure):
            labels[place - 1], sure[place - 1] = label, probability
        arcs = tuple(
            [arc._replace(head=h, label=arc.label if arc.label_by else _fitting(label, h))
             for arc, h, label in zip(self.arcs, heads, labels)]
        )  # fmt: skip
        self.version += arcs != self.arcs
        self.arcs, self.sure = arcs, tuple(sure)


def _fitting(label: str, head: int) -> str:
    """The label, or another if needed so that `root` is the relation of the root and of it alone."""
    if head == 0:
        return "root"
    return "dep" if label == "root" else label


# ------------------------------------------------------------------------------------------- reading
def read_marked(path: AnyPath) -> list[MarkedSentence]:
    """The sentences of a file, with the file's heads, relations and marks.

    Raises:
        DataError: the file is malformed, or marked heads form a circle.
    """
    found = []
    for sentence in conllu.read(path, on_repair=lambda repair: None):
        marked = MarkedSentence.of(sentence, [_arc(sentence, k) for k in range(len(sentence))])
        if sentence.heads is None or UNSET in sentence.heads:  # otherwise they are a tree
            _check(marked, sentence)
            if not marked.positions:  # no guess will give it a tree
                marked.put(Guess((), (), ()))
        found.append(marked)
    return found


def _arc(sentence: Sentence, k: int) -> MarkedArc:
    assert sentence.source is not None
    row = sentence.source.rows[k]
    columns = sentence.source.lines[row].split("\t")
    marks = {HEAD_BY: "", LABEL_BY: ""}
    for part in columns[9].split("|"):
        for key in marks:
            if part.startswith(key):
                marks[key] = part[len(key) :]
    if columns[6] == "_":
        return MarkedArc()
    if not NUMBER.fullmatch(columns[6]) or int(columns[6]) > len(sentence):
        line = sentence.source.line + row
        raise DataError(sentence.source.path, line, f"HEAD {columns[6][:20]!r} is no word of the sentence")
    return MarkedArc(int(columns[6]), columns[7], marks[HEAD_BY], marks[LABEL_BY])


def _check(marked: MarkedSentence, sentence: Sentence) -> None:
    """Drops unconfirmed heads. Raises: DataError, the confirmed ones cannot be in one tree."""
    assert sentence.source is not None
    marked.arcs = tuple([arc if arc.head_by else MarkedArc() for arc in marked.arcs])
    try:
        mending.mended(marked.heads, marked.fixed)
    except (ValueError, mending.CircleError) as error:
        raise DataError(sentence.source.path, sentence.source.line, str(error)) from None


# ------------------------------------------------------------------------------------------- writing
def block(marked: MarkedSentence, arcs: Sequence[MarkedArc], *, marks: bool = True) -> str:
    """The sentence as CoNLL-U with these arcs; unchanged if none is or was confirmed.

    Without `marks`, an unfinished sentence has no tree.
    """
    source = marked.sentence.source
    assert source is not None
    lines = list(source.lines)
    if marks and not marked.had_marks and not any(arc.head_by or arc.label_by for arc in arcs):
        return "\n".join(lines) + "\n\n"
    shown = marks or marked.is_done
    for row, arc in zip(source.rows, arcs):
        columns = lines[row].split("\t")
        columns[6] = str(arc.head) if shown and arc.head != UNSET else "_"
        columns[7] = arc.label if shown and arc.head != UNSET else "_"
        columns[9] = _misc(columns[9], arc if marks else MarkedArc())
        lines[row] = "\t".join(columns)
    return "\n".join(lines) + "\n\n"


def _misc(column: str, arc: MarkedArc) -> str:
    """The column with the marks of an arc, and without other marks of this kind."""
    parts = [] if column == "_" else column.split("|")
    parts = [part for part in parts if not part.startswith((HEAD_BY, LABEL_BY))]
    if arc.head_by:
        parts.append(HEAD_BY + arc.head_by)
    if arc.label_by:
        parts.append(LABEL_BY + arc.label_by)
    return "|".join(parts) or "_"


def write_marked(sentences: Iterable[MarkedSentence], path: AnyPath, *, marks: bool = True) -> None:
    """Writes a file atomically, with marks or without. Raises: UsageError, it cannot be written."""
    with atomic_writer(path) as handle:
        handle.writelines(block(marked, marked.arcs, marks=marks) for marked in sentences)

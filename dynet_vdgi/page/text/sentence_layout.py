"""A sentence whose words can be split, joined and moved.

What refers to a word's place (HEAD, DEPS, multiword tokens, empty nodes) refers to the word itself;
`block` numbers everything again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dynet_vdgi.page.text.sentence_state import NO_VALUE

ID, FORM, LEMMA, HEAD, DEPREL, DEPS, MISC = 0, 1, 2, 6, 7, 8, 9
"""Places of the columns in a line."""

ROOT = 0

TEXT = re.compile(r"#\s*text\s*=\s?(.*)")


@dataclass(eq=False)
class Word:
    """A syntactic word; `head` is a word, ROOT, or None for none."""

    wid: int
    columns: list[str]
    head: Word | int | None = None

    @property
    def form(self) -> str:
        return self.columns[FORM]


@dataclass(eq=False)
class Range:
    """A multiword token."""

    first: Word
    last: Word
    columns: list[str]


@dataclass(eq=False)
class Empty:
    """An empty node after a word, or before all words."""

    after: Word | None
    columns: list[str]


Node = Word | Empty | int
"""What DEPS can refer to; ROOT is an int."""


@dataclass(eq=False)
class SentenceLayout:
    """A sentence: its comments, words, multiword tokens and empty nodes."""

    comments: list[str]
    words: list[Word]
    ranges: list[Range] = field(default_factory=list)
    empties: list[Empty] = field(default_factory=list)
    deps: dict[Word | Empty, list[tuple[Node, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, block: str, wids: Sequence[int]) -> SentenceLayout:
        """The layout of the sound block of a sentence whose words have these numbers."""
        lines = block.rstrip("\n").split("\n")
        layout = cls([line for line in lines if line.startswith("#")], [])
        nodes: dict[str, Node] = {"0": ROOT}
        numbers, spans = iter(wids), []
        for line in lines[len(layout.comments) :]:
            columns = line.split("\t")
            if "-" in columns[ID]:
                spans.append(columns)
            elif "." in columns[ID]:
                nodes[columns[ID]] = empty = Empty(
                    layout.words[-1] if layout.words else None, columns
                )
                layout.empties.append(empty)
            else:
                nodes[columns[ID]] = word = Word(next(numbers), columns)
                layout.words.append(word)
        for columns in spans:
            first, last = (layout.words[int(place) - 1] for place in columns[ID].split("-"))
            layout.ranges.append(Range(first, last, columns))
        for word in layout.words:
            head = nodes.get(word.columns[HEAD])
            word.head = None if isinstance(head, Empty) else head
        with_deps: list[Word | Empty] = [*layout.words, *layout.empties]
        for node in with_deps:
            parts = [part.partition(":") for part in node.columns[DEPS].split("|")]
            if all(number in nodes for number, _, _ in parts):  # otherwise it is no list of heads
                layout.deps[node] = [(nodes[number], label) for number, _, label in parts]
        return layout

    def block(self) -> str:
        """The lines of the sentence, numbered, and an empty line."""
        names: dict[Node, str] = {
            ROOT: "0",
            **{word: str(k) for k, word in enumerate(self.words, 1)},
        }
        after: dict[Word | None, list[Empty]] = {}
        for empty in self.empties:
            after.setdefault(empty.after, []).append(empty)
            names[empty] = f"{names[empty.after or ROOT]}.{len(after[empty.after])}"
        starts = {span.first: span for span in self.ranges}
        lines = [*self.comments, *(self._line(empty, names) for empty in after.get(None, ()))]
        for word in self.words:
            if word in starts:
                ends = f"{names[word]}-{names[starts[word].last]}"
                lines.append("\t".join([ends, *starts[word].columns[1:]]))
            word.columns[HEAD] = NO_VALUE if word.head is None else names.get(word.head, NO_VALUE)
            lines += [self._line(node, names) for node in (word, *after.get(word, ()))]
        return "\n".join(lines) + "\n\n"

    def _line(self, node: Word | Empty, names: dict[Node, str]) -> str:
        columns = [names[node], *node.columns[1:]]
        if node in self.deps:
            pairs = [(names[to], label) for to, label in self.deps[node] if to in names]
            pairs.sort(key=lambda pair: ([int(n) for n in pair[0].split(".")], pair[1]))
            columns[DEPS] = "|".join(f"{number}:{label}" for number, label in pairs) or NO_VALUE
        return "\t".join(columns)

    def range_of(self, word: Word) -> Range | None:
        """The multiword token that a word is in."""
        place = self.words.index
        inside = (s for s in self.ranges if place(s.first) <= place(word) <= place(s.last))
        return next(inside, None)

    def tokens(self) -> Iterator[Word | Range]:
        """Words and multiword tokens as they stand in the text."""
        starts, current = {span.first: span for span in self.ranges}, None
        for word in self.words:
            if word in starts:
                yield (current := starts[word])
            elif current is None:
                yield word
            if current is not None and current.last is word:
                current = None

    def text(self) -> str:
        """The text that the tokens make up: forms, with a blank after each that has no
        SpaceAfter=No."""
        pieces = []
        for token in self.tokens():
            pieces.append(
                token.columns[FORM] + (" " if has_space_after(token.columns[MISC]) else "")
            )
        return "".join(pieces).rstrip(" ")

    def set_text(self, text: str) -> None:
        """Replaces the comment `# text`, if there is one."""
        self.comments = [f"# text = {text}" if TEXT.fullmatch(c) else c for c in self.comments]


def has_space_after(misc: str) -> bool:
    """Whether a token is followed by a space in the text."""
    return "SpaceAfter=No" not in misc.split("|")

"""The lines of a sentence taken apart, so that words can be split, joined and moved without counting.

What refers to a word's place (HEAD, DEPS, multiword tokens, empty nodes, CopyOf in MISC) refers to the word
itself here; `lines` numbers everything again. DEPS that refer to a word that is gone lose that part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

NOTHING = "_"
ROOT = 0

_ID, _FORM, _HEAD, _DEPS, _MISC = 0, 1, 6, 8, 9
_TEXT = re.compile(r"#\s*text\s*=\s?(.*)")
_COPY = "CopyOf="


@dataclass(eq=False)
class Word:
    """A syntactic word; `head` is a word, ROOT, or None for none."""

    wid: int
    columns: list[str]
    head: Word | int | None = None

    @property
    def form(self) -> str:
        return self.columns[_FORM]


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
    copies: dict[Word | Empty, Node] = field(default_factory=dict)  # CopyOf in MISC

    @classmethod
    def of(cls, block: str, wids: Sequence[int]) -> SentenceLayout:
        """The layout of the sound block of a sentence whose words have these numbers."""
        lines = block.rstrip("\n").split("\n")
        layout = cls([line for line in lines if line.startswith("#")], [])
        nodes: dict[str, Node] = {"0": ROOT}
        numbers, spans = iter(wids), []
        for line in lines[len(layout.comments) :]:
            columns = line.split("\t")
            if "-" in columns[_ID]:
                spans.append(columns)
            elif "." in columns[_ID]:
                nodes[columns[_ID]] = empty = Empty(layout.words[-1] if layout.words else None, columns)
                layout.empties.append(empty)
            else:
                nodes[columns[_ID]] = word = Word(next(numbers), columns)
                layout.words.append(word)
        for columns in spans:
            first, last = (layout.words[int(place) - 1] for place in columns[_ID].split("-"))
            layout.ranges.append(Range(first, last, columns))
        for word in layout.words:
            head = nodes.get(word.columns[_HEAD])
            word.head = None if isinstance(head, Empty) else head
        its: list[Word | Empty] = [*layout.words, *layout.empties]
        for node in its:
            parts = [part.partition(":") for part in node.columns[_DEPS].split("|")]
            if all(number in nodes for number, _, _ in parts):  # otherwise it is no list of heads
                layout.deps[node] = [(nodes[number], label) for number, _, label in parts]
            for part in node.columns[_MISC].split("|"):
                if part.startswith(_COPY) and (copied := nodes.get(part[len(_COPY) :])) is not None:
                    layout.copies[node] = copied
        return layout

    # --------------------------------------------------------------------------------------- writing
    def block(self) -> str:
        """The lines of the sentence, numbered, and an empty line."""
        names: dict[Node, str] = {ROOT: "0", **{word: str(k) for k, word in enumerate(self.words, 1)}}
        after: dict[Word | None, list[Empty]] = {}
        for empty in self.empties:
            after.setdefault(empty.after, []).append(empty)
            names[empty] = f"{names[empty.after or ROOT]}.{len(after[empty.after])}"
        starts = {span.first: span for span in self.ranges}
        found = [*self.comments, *(self._line(empty, names) for empty in after.get(None, ()))]
        for word in self.words:
            if word in starts:
                ends = f"{names[word]}-{names[starts[word].last]}"
                found.append("\t".join([ends, *starts[word].columns[1:]]))
            word.columns[_HEAD] = NOTHING if word.head is None else names.get(word.head, NOTHING)
            found += [self._line(node, names) for node in (word, *after.get(word, ()))]
        return "\n".join(found) + "\n\n"

    def _line(self, node: Word | Empty, names: dict[Node, str]) -> str:
        columns = [names[node], *node.columns[1:]]
        if node in self.deps:
            known = [(names[to], label) for to, label in self.deps[node] if to in names]
            known.sort(key=lambda pair: ([int(n) for n in pair[0].split(".")], pair[1]))
            columns[_DEPS] = "|".join(f"{number}:{label}" for number, label in known) or NOTHING
        if node in self.copies:
            name = names.get(self.copies[node])
            parts = [p for p in columns[_MISC].split("|") if not p.startswith(_COPY)]
            columns[_MISC] = "|".join([*parts, *([_COPY + name] if name else [])]) or NOTHING
        return "\t".join(columns)

    # --------------------------------------------------------------------------------------- the text
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
        """The text that the tokens make up: forms, with a blank after each that has no SpaceAfter=No."""
        pieces = []
        for token in self.tokens():
            pieces.append(token.columns[_FORM] + (" " if has_space_after(token.columns[_MISC]) else ""))
        return "".join(pieces).rstrip(" ")

    def set_text(self, text: str) -> None:
        """Replaces the comment `# text`, if there is one."""
        self.comments = [f"# text = {text}" if _TEXT.fullmatch(c) else c for c in self.comments]


# ------------------------------------------------------------------------------------------- MISC
def has_space_after(misc: str) -> bool:
    """Whether a token is followed by a space in the text."""
    return "SpaceAfter=No" not in misc.split("|")


def with_space(misc: str, is_there: bool) -> str:
    """MISC that says so.

    >>> with_space("A=b|SpaceAfter=No", True), with_space("_", False)
    ('A=b', 'SpaceAfter=No')
    """
    parts = [p for p in misc.split("|") if p != NOTHING and not p.startswith(("SpaceAfter=", "SpacesAfter="))]
    kept = [p for p in misc.split("|") if p.startswith("SpacesAfter=")] if is_there else ["SpaceAfter=No"]
    return "|".join([*parts, *kept]) or NOTHING

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
    def of(cls, lines: Sequence[str], wids: Sequence[int]) -> SentenceLayout:
        """The layout of the sound lines of a sentence whose words have these numbers."""
        layout = cls([line for line in lines if line.startswith("#")], [])
        nodes: dict[str, Node] = {"0": ROOT}
        spans: list[tuple[str, list[str]]] = []
        numbers = iter(wids)
        for line in lines:
            if line.startswith("#"):
                continue
            columns = line.split("\t")
            if "-" in columns[_ID]:
                spans.append((columns[_ID], columns))
            elif "." in columns[_ID]:
                empty = Empty(layout.words[-1] if layout.words else None, columns)
                layout.empties.append(empty)
                nodes[columns[_ID]] = empty
            else:
                word = Word(next(numbers), columns)
                layout.words.append(word)
                nodes[columns[_ID]] = word
        for span, columns in spans:
            first, last = map(int, span.split("-"))
            layout.ranges.append(Range(layout.words[first - 1], layout.words[last - 1], columns))
        for word in layout.words:
            head = word.columns[_HEAD]
            found = None if head == NOTHING else nodes.get(head)
            word.head = None if isinstance(found, Empty) else found
        its: list[Word | Empty] = [*layout.words, *layout.empties]
        for node in its:
            layout._read_references(node, nodes)
        return layout

    def _read_references(self, node: Word | Empty, nodes: dict[str, Node]) -> None:
        if node.columns[_DEPS] != NOTHING:
            parts = [part.partition(":") for part in node.columns[_DEPS].split("|")]
            if all(number in nodes for number, _, _ in parts):  # otherwise it is no list of heads
                self.deps[node] = [(nodes[number], label) for number, _, label in parts]
        for part in node.columns[_MISC].split("|"):
            if part.startswith("CopyOf=") and (number := part[len("CopyOf=") :]) in nodes:
                self.copies[node] = nodes[number]

    # --------------------------------------------------------------------------------------- writing
    def lines(self) -> list[str]:
        """The lines of the sentence, numbered."""
        place = {word: k for k, word in enumerate(self.words, 1)}
        names: dict[Node, str] = {ROOT: "0", **{word: str(k) for word, k in place.items()}}
        count: dict[int, int] = {}
        for empty in self.empties:
            after = place.get(empty.after, 0) if empty.after else 0
            count[after] = count.get(after, 0) + 1
            names[empty] = f"{after}.{count[after]}"
        starts = {span.first: span for span in self.ranges}
        found = list(self.comments)
        found += [self._line(empty, names) for empty in self.empties if empty.after is None]
        for word in self.words:
            if word in starts:
                ends = f"{names[word]}-{names[starts[word].last]}"
                found.append("\t".join([ends, *starts[word].columns[1:]]))
            head = NOTHING if word.head is None else names.get(word.head, NOTHING)
            word.columns[_HEAD] = head
            found.append(self._line(word, names))
            found += [self._line(empty, names) for empty in self.empties if empty.after is word]
        return found

    def _line(self, node: Word | Empty, names: dict[Node, str]) -> str:
        columns = [names[node], *node.columns[1:]]
        if node in self.deps:
            known = [(names[to], label) for to, label in self.deps[node] if to in names]
            known.sort(key=lambda pair: ([int(n) for n in pair[0].split(".")], pair[1]))
            columns[_DEPS] = "|".join(f"{number}:{label}" for number, label in known) or NOTHING
        if node in self.copies:
            name = names.get(self.copies[node])
            parts = [p for p in columns[_MISC].split("|") if not p.startswith("CopyOf=")]
            parts += [f"CopyOf={name}"] if name else []
            columns[_MISC] = "|".join(parts) or NOTHING
        return "\t".join(columns)

    @property
    def wids(self) -> list[int]:
        return [word.wid for word in self.words]

    # --------------------------------------------------------------------------------------- the text
    def _ranges(self) -> dict[Word, Range]:
        """The multiword token of each word that is in one."""
        starts = {span.first: span for span in self.ranges}
        found, current = {}, None
        for word in self.words:
            current = starts.get(word, current)
            if current is not None:
                found[word] = current
                current = None if current.last is word else current
        return found

    def range_of(self, word: Word) -> Range | None:
        """The multiword token that a word is in."""
        return self._ranges().get(word)

    def tokens(self) -> Iterator[Word | Range]:
        """Words and multiword tokens as they stand in the text."""
        spans = self._ranges()
        for word in self.words:
            span = spans.get(word)
            if span is None:
                yield word
            elif span.first is word:
                yield span

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

"""Tables as plain text and as Markdown, from rows of cells: the one writer of the program's and the
pages' tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

GAP = "  "
"""Between the columns of an aligned table."""

_SPECIAL = re.compile(r"[\\`*|]|\](?=\()|<(?=[A-Za-z/!?])")


def columns(text: str) -> int:
    """The width of the text in terminal columns.

    >>> columns("Jahr"), columns("日本"), columns("e\N{COMBINING ACUTE ACCENT}")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(times * column_count(character) for character, times in Counter(text).items())


def column_count(character: str) -> int:
    """0 for marks that stand on the letter before, 2 for wide letters such as Chinese ones,
    otherwise 1."""
    from wcwidth import wcwidth  # late: takes a twentieth of a second

    return max(wcwidth(character), 0)


def padded(text: str, width: int) -> str:
    """The text, followed by spaces up to `width` columns."""
    return text + " " * (width - columns(text))


def aligned(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """The rows as lines of aligned columns: the first `left` of them flush left, the others flush
    right.

    >>> print(aligned([["DDA", "<=10", "all"], ["ours", "71.0", "9.5"]]))
    DDA   <=10  all
    ours  71.0  9.5
    """
    widths = [max(map(columns, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [padded(cell, width) for cell, width in zip(row[:left], widths)]
        cells += [
            " " * (width - columns(cell)) + cell for cell, width in zip(row[left:], widths[left:])
        ]
        lines.append(GAP.join(cells).rstrip())
    return "\n".join(lines)


@dataclass(frozen=True)
class TextTable:
    """Rows of cells below a heading; the first `left` columns are text, the others are numbers."""

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()
    left: int = 1

    def text(self) -> str:
        """Aligned columns, without title and notes."""
        return aligned([self.heading, *self.rows], left=self.left)

    def markdown(self, *, escaped: bool = True) -> str:
        """A Markdown table, without title and notes; not `escaped`: the cells are Markdown already.

        >>> print(TextTable(["DDA", "all"], [["a|b", "9.5"]]).markdown())
        | DDA | all |
        | --- | ---: |
        | a\\|b | 9.5 |
        """
        sides = ["---"] * self.left + ["---:"] * (len(self.heading) - self.left)
        lines = [
            [_SPECIAL.sub(r"\\\g<0>", cell) if escaped else cell for cell in row]
            for row in self.rows
        ]
        head = [_SPECIAL.sub(r"\\\g<0>", cell) if escaped else cell for cell in self.heading]
        return "\n".join(f"| {' | '.join(line)} |" for line in (head, sides, *lines))

    def turned(self) -> TextTable:
        """Columns as lines: the first column becomes the heading."""
        head, *rows = zip(self.heading, *self.rows)
        return TextTable(head, rows, self.title, self.notes, self.left)

"""Cases that are data: text tables in tests/tables.

A table of lines has columns with tabs between them, in which `\\t`, `\\n` and `\\u00a0` are written as in
Python. A table of paragraphs has one case each: the first line says what holds, and every other line
begins with a mark and a blank, whose meaning the test gives. Lines that begin with `;` are comments.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

TABLES = Path(__file__).parent / "tables"


class Case(NamedTuple):
    """A paragraph: what holds, and pairs of a mark and the rest of its line."""

    title: str
    lines: list[tuple[str, str]]

    def of(self, mark: str) -> list[str]:
        """The lines with this mark."""
        return [text for each, text in self.lines if each == mark]

    def pairs(self, first: str, second: str) -> list[tuple[str, str]]:
        """Each line with the first mark and the one below it, which must have the second.

        Raises: AssertionError, one of them stands alone.
        """
        assert self.of(first), self.title
        both = [(mark, text) for mark, text in self.lines if mark in (first, second)]
        assert [mark for mark, _ in both] == [first, second] * (len(both) // 2), self.title
        return [(one[1], other[1]) for one, other in zip(both[::2], both[1::2])]


def text_of(name: str) -> str:
    """A table without its comments."""
    text = (TABLES / name).read_text(encoding="utf-8")
    return re.sub(r"^;.*\n", "", text, flags=re.MULTILINE)


def paragraphs(name: str) -> list[Case]:
    """The cases of a table of paragraphs."""
    cases = []
    for paragraph in text_of(name).strip("\n").split("\n\n"):
        title, *lines = paragraph.strip("\n").split("\n")
        cases.append(Case(title, [(line[:1], line[2:]) for line in lines]))
    assert len({case.title for case in cases}) == len(cases), name
    return cases


def rows(name: str) -> list[list[str]]:
    """The lines of a table of columns, which all have as many."""
    table = [
        [re.sub(r"\\(?:u[0-9a-f]{4}|[tn])", unescaped, cell) for cell in line.split("\t")]
        for line in text_of(name).splitlines()
        if line
    ]
    assert len({len(row) for row in table}) == 1, name
    return table


def unescaped(escape: re.Match[str]) -> str:
    """The character of an escape."""
    return escape[0].encode("ascii").decode("unicode_escape")

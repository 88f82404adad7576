"""Columns after MISC, as CoNLL-U Plus has them: named by a comment, kept as they are, read by
nothing here.

The comment `# global.columns = ID FORM ... MISC NAME ...` stands above a file's first sentence and
holds for those below. Only files whose first ten columns are those of CoNLL-U are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")

HEADER = re.compile(r"#\s*global\.columns\s*=(.*)")

NAMELESS = "?"
"""Name of a column in a text of the program's own that lacks the comment."""


def extra_in(
    lines: Iterable[str], before: tuple[str, ...], *, are_named: bool = True
) -> tuple[str, ...]:
    """The names of the columns after MISC that a sentence's lines have, if `before` are those of
    the sentence above.

    Without `are_named`, lines may have such columns though no comment names them.
    """
    extra = before
    for line in lines:
        if line[0] != "#":
            n_extra = line.count("\t") - 9
            if are_named or len(extra) == n_extra:
                return extra
            return (NAMELESS,) * max(n_extra, 0)
        if "global.columns" in line and (comment := HEADER.match(line)):
            names = tuple(comment[1].split())
            if names[:10] == COLUMNS:
                extra = names[10:]
    return extra


def header(extra: Sequence[str]) -> str:
    """The comment that names all columns; `extra` are those after MISC."""
    names = [f"EXTRA:{k}" if name == NAMELESS else name for k, name in enumerate(extra, 11)]
    return f"# global.columns = {' '.join((*COLUMNS, *names))}"


def has_header(lines: Iterable[str]) -> bool:
    """Whether a sentence's lines have the comment."""
    return any(line[:1] == "#" and HEADER.match(line) for line in lines)


def with_headers(texts: Iterable[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """Blocks of lines with the comment where other columns begin; each comes with its names after
    MISC."""
    before: tuple[str, ...] = ()
    for text, names in texts:
        extra = tuple(names)
        if extra == before or has_header(text.split("\n")):
            yield text
        elif NAMELESS in extra and len(extra) == len(before):
            extra = before
            yield text
        else:
            yield f"{header(extra)}\n{text}"
        before = extra


def without_extra(line: str) -> str:
    """The line with its ten first columns only; a comment as it is."""
    return line if line[:1] == "#" else "\t".join(line.split("\t", 10)[:10])

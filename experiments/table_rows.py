"""Counts the rows of tables in docs/results: those that figures.py writes from rows of runs, and
those typed by hand.

    python experiments/table_rows.py

A row is written if its table stands between `<!-- figure NAME -->` and `<!-- end -->`. Names the
places of the others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from result_rows import RESULTS

_MARK = re.compile(r"<!-- (figure [\w.-]+|end) -->")


def table_rows(text: str) -> Iterator[tuple[int, bool]]:
    """The number of the line of each row, and whether it is written; headings are no rows.

    >>> list(table_rows("| a |\\n|---|\\n| 1 |"))
    [(3, False)]
    >>> list(table_rows("<!-- figure x -->\\n| a |\\n| --- |\\n| <b> |\\n<!-- end -->"))
    [(4, True)]
    """
    is_written, n_lines = False, 0
    for number, line in enumerate(text.split("\n"), 1):
        marks = [mark[1] != "end" for mark in _MARK.finditer(line)]
        if not line.startswith("|"):
            n_lines = 0
            is_written = marks[-1] if marks else is_written
            continue
        n_lines += 1
        if n_lines > 2:
            yield number, is_written


def by_hand() -> tuple[int, list[str]]:
    """How many rows are written, and the places of the others."""
    n_written, places = 0, []
    for path in sorted(RESULTS.glob("*.md")):
        for number, is_written in table_rows(path.read_text(encoding="utf-8")):
            if is_written:
                n_written += 1
            else:
                places.append(f"docs/results/{path.name}:{number}")
    return n_written, places


def main() -> int:
    n_written, places = by_hand()
    total = n_written + len(places)
    print(f"rows of docs/results: written from rows {n_written} of {total}, by hand {len(places)}")
    print("\n".join(places), end="\n" if places else "")
    return bool(places)


if __name__ == "__main__":
    sys.exit(main())

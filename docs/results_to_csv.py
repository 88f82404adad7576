"""Writes the tables of docs/results/*.md as CSV, one file per page, one cell per line.

    python docs/results_to_csv.py

Columns: number of the table on its page, section, paragraph above the table, row, column, part, text, mean,
best, sd. A cell such as `64.3 / 61.5` or `64.3/61.5` becomes two lines, parts 1 and 2; the column or the
caption gives their meaning. `mean`, `best` and `sd` are filled in for cells such as `57.6`, `55.4 (55.6)`,
`58.2 (58.7) ± 0.5`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

PAGES = Path(__file__).parent / "results"
TABLES = PAGES / "tables"
COLUMNS = ("table", "section", "caption", "row", "column", "part", "text", "mean", "best", "sd")

_NUMBER = r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)"
_FIGURE = re.compile(rf"({_NUMBER})(?: \(({_NUMBER})\))?(?: ± ({_NUMBER}))?(?: n=\d+)?")
Line = dict[str, str]


def lines(text: str) -> Iterator[Line]:
    """The cells of all tables of a page."""
    section = caption = ""
    number, is_new = 0, True
    heading: list[str] = []
    for line in text.split("\n"):
        if line.startswith("|"):
            cells = [_plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
            if not heading:
                heading, number = cells, number + 1
            elif not all(re.fullmatch(":?-+:?", cell) for cell in cells):
                for cell in _row(heading, cells):
                    yield {"table": str(number), "section": section, "caption": caption, **cell}
            continue
        heading = []
        if line.startswith("#"):
            section, caption = _plain(line.lstrip("#")), ""
            is_new = True
        elif not line.strip():
            is_new = True
        elif not line.startswith(("```", "<!--")):
            caption = _plain(line) if is_new else f"{caption} {_plain(line)}"
            is_new = False


def _row(heading: list[str], cells: list[str]) -> Iterator[Line]:
    """One line for each figure; text cells before the first figure, or the first dash, name the row."""
    n_names = next((k for k, cell in enumerate(cells) if k and (_figures(cell) or cell in ("-", "–"))), len(cells))
    n_names = max(n_names, 1)
    name = " · ".join(cell for cell in cells[:n_names] if cell)
    for column, cell in zip(heading[n_names:], cells[n_names:]):
        figures = _figures(cell)
        parts = figures or [cell]
        for part, text in enumerate(parts, 1):
            match = _FIGURE.fullmatch(text)
            mean, best, sd = (found or "" for found in match.groups()) if match else ("", "", "")
            if "(std)" in name:  # the paper's notation
                best, sd = "", best
            numbers = {"mean": mean, "best": best, "sd": sd}
            place = {"row": name, "column": column, "part": str(part) if len(parts) > 1 else ""}
            if text:
                yield {**place, "text": text, **{k: v.replace(",", "") for k, v in numbers.items()}}


def _figures(cell: str) -> list[str]:
    parts = re.split(" / |/", cell)
    return parts if all(_FIGURE.fullmatch(part) for part in parts) else []


def _plain(cell: str) -> str:
    """The text without Markdown and emphasis of rows."""
    cell = cell.replace("&nbsp;", "").replace("\\|", "|")
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"\*\*|`", "", cell)).strip()


def table(page: Path) -> str:
    """The CSV file of a page."""
    handle = io.StringIO()
    writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines(page.read_text(encoding="utf-8")))
    return handle.getvalue()


def tables() -> dict[Path, str]:
    """Path and content of every CSV file."""
    pages = [page for page in sorted(PAGES.glob("*.md")) if page.stem != "index"]
    return {TABLES / f"{page.stem}.csv": table(page) for page in pages}


if __name__ == "__main__":
    TABLES.mkdir(exist_ok=True)
    for path, content in tables().items():
        path.write_text(content, encoding="utf-8")

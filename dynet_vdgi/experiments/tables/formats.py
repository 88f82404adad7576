"""Tables as Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from dynet_vdgi.experiments.tables.sheets import Entry, Gap, Sheet
from dynet_vdgi.system import text_tables

HEADER = ("table", "system", "treebank", "length", "mean", "best", "std", "n", "source")

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "≤": r"$\le$",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "[": "{[}",
    "±": r"$\pm$",
    "–": "--",
    "†": r"$^\dagger$",
    "\n": " ",
}


def text(entry: Entry, decimals: int = 1) -> str:
    """A figure for people.

    >>> from dynet_vdgi.experiments.tables.sheets import Measured
    >>> text(Measured(54.26, 55.0, 0.86, n=3, wanted=5))
    '54.3 (55.0) ± 0.9 n=3'
    >>> text(Measured(1.5, low=-0.5, high=3.54)), text(Gap(""))
    ('+1.5 [-0.5, +3.5]', '–')
    """
    if isinstance(entry, Gap) or math.isnan(entry.mean):
        return "–"
    if entry.low is not None and entry.high is not None:
        return f"{entry.mean:+.{decimals}f} [{entry.low:+.{decimals}f}, {entry.high:+.{decimals}f}]"
    shown = f"{entry.mean:.{decimals}f}"
    shown += "" if entry.best is None else f" ({entry.best:.{decimals}f})"
    shown += "" if entry.std is None else f" ± {entry.std:.{decimals}f}"
    return shown + (f" n={entry.n}" if entry.is_short else "")


def _lines(sheet: Sheet) -> list[list[str]]:
    """Cells of the header and all rows."""
    one_length = len({length for _, length in sheet.columns}) == 1
    head = ["", *(name if one_length else f"{name} {length}" for name, length in sheet.columns)]
    rows = [
        [row.label + (" †" if row.mark else ""), *(text(entry, sheet.decimals) for entry in row.entries)]
        for row in sheet.rows
    ]
    return [head, *rows]


def markdown(sheets: Sequence[Sheet]) -> str:
    """Tables below one another, each with its title and notes."""
    return "\n\n".join(map(_markdown, sheets)) + "\n"


def _markdown(sheet: Sheet) -> str:
    head, *rows = _lines(sheet)
    # Spaces at the start of a cell are lost in Markdown.
    rows = [[row[0].replace("  ", "&nbsp;&nbsp;"), *row[1:]] for row in rows]
    table = text_tables.markdown([head, *rows])
    return "\n".join([f"{sheet.title}", "", table, *(f"\n{note}" for note in sheet.notes)])


def latex(sheets: Sequence[Sheet]) -> str:
    """A `table` environment for each; needs no package."""
    return "\n".join(map(_latex, sheets))


def escaped(content: str) -> str:
    r"""The text as LaTeX shows it.

    >>> escaped("50 % of L_Q")
    '50 \\% of L\\_Q'
    """
    return "".join(_LATEX.get(character, character) for character in content.replace("<=", "≤"))


def _latex(sheet: Sheet) -> str:
    head, *rows = _lines(sheet)

    def line(cells: Sequence[str]) -> str:
        indent = r"\quad " if cells[0].startswith(" ") else ""
        return indent + " & ".join(escaped(value.strip()) for value in cells) + r" \\"

    caption = " ".join(escaped(part) for part in (sheet.title + ".", *sheet.notes))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering\small",
            r"\begin{tabular}{l" + "r" * len(sheet.columns) + "}",
            r"\hline",
            line(head),
            r"\hline",
            *map(line, rows),
            r"\hline",
            r"\end{tabular}",
            rf"\caption{{{caption}}}",
            r"\end{table}",
            "",
        ]
    )


def long_csv(sheets: Sequence[Sheet]) -> str:
    """All figures, one per line; a gap has n = 0 and its reason as source."""
    buffer = io.StringIO()
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow(HEADER)
    for sheet in sheets:
        for row in sheet.rows:
            for (name, length), entry in zip(sheet.columns, row.entries):
                *numbers, source = _values(entry, row.source)
                named = map(_as_text, (sheet.name, row.label.strip(), name, length))
                rows.writerow([*named, *numbers, _as_text(source)])
    return buffer.getvalue()


def _as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula and executes.

    >>> _as_text("=1+1"), _as_text("best")
    ("'=1+1", 'best')
    """
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def _values(entry: Entry, source: str) -> list[str]:
    """Mean, best, std, n, source."""
    if isinstance(entry, Gap) or math.isnan(entry.mean):
        reason = entry.reason if isinstance(entry, Gap) else "nothing to score"
        return ["", "", "", "0", f"gap: {reason}"]
    if entry.low is not None and entry.high is not None:
        source += f"; 95 % interval {entry.low:.3f} to {entry.high:.3f}"
    numbers = ("" if value is None else f"{value:.3f}" for value in (entry.mean, entry.best, entry.std))
    return [*numbers, "" if entry.n is None else str(entry.n), source]


def show(sheets: Sequence[Sheet], form: str) -> str:
    """The tables as markdown, latex or csv."""
    return {"markdown": markdown, "latex": latex, "csv": long_csv}[form](sheets)

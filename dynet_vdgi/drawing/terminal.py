"""Trees of sentences drawn in a terminal, one word a line.

Lines branch: from a head one line goes to all its dependents on one side, each of which has an
arrowhead, so that a deep or long sentence needs few columns. If two lines cross, the horizontal one
is interrupted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, zip_longest
from typing import NamedTuple

from dynet_vdgi.drawing.layout import (
    CONFIDENCE,
    DOUBTFUL,
    MISSED,
    PLAIN,
    RIGHT,
    SURE,
    UNSURE,
    WRONG,
    Arc,
    DrawnTree,
    clean,
)
from dynet_vdgi.drawing.layout import levels as levels_of
from dynet_vdgi.system.text_tables import column_count, columns, padded

MIN_WIDTH = 40

_TIPS = {PLAIN: "<", RIGHT: "<", WRONG: "x", MISSED: "o", SURE: "<", UNSURE: "?", DOUBTFUL: "!"}

_COLOURS = {RIGHT: "32", WRONG: "31", MISSED: "36", UNSURE: "36", DOUBTFUL: "31"}  # of ECMA-48

_LEGEND = "< right, x wrong, o and the gold head"

_LEGEND_SURE = f"? {CONFIDENCE[UNSURE]} sure, ! {CONFIDENCE[DOUBTFUL]}, others more"

_ROOT = "root"

_UP, _DOWNWARD, _LEFT, _RIGHTWARD = 1, 2, 4, 8

# by the sum of the sides where a line leaves the cell; a line end is a line
_GLYPHS = " │││─┘┐┤─└┌├─┴┬┼"


def text(tree: DrawnTree, width: int = 80, *, colour: bool = False) -> str:
    """The drawing, in lines no wider than `width` columns (at least 40), without a final line end.

    With gold heads, the arrowhead of a wrong arc is `x`, and `o12` says that the gold head is word
    12. A legend and the note follow. Arcs too deep for the width are written: `<12`, or `x12` if
    wrong. Multiword tokens stand on a line before their first word, empty nodes after their word,
    faults of the tree at the end. `colour` adds terminals' escape sequences. Relations stand behind
    the tags. The arrowhead of a head that is less sure is `?` or `!`.

    Raises: ValueError if lengths differ, a head is outside the sentence or the word itself, or for
    `width`.
    """
    if width < MIN_WIDTH:
        raise ValueError(f"width {width}: at least {MIN_WIDTH} columns are needed")
    arcs = tree.arcs()
    lines = _drawing(arcs, _rows(tree), width, colour)
    if tree.gold is not None:
        lines += [_LEGEND, *textwrap.wrap(tree.note_on(arcs), width)]
    elif any(arc.kind in (UNSURE, DOUBTFUL) for arc in arcs):
        lines.append(_LEGEND_SURE)
    lines += [line for fault in tree.faults for line in textwrap.wrap(clean(fault), width)]
    return "\n".join(line.rstrip() for line in lines)


class _Row(NamedTuple):
    """What stands before the arcs of a word, a multiword token or an empty node; `word` 0: not a
    word."""

    number: str
    form: str
    tag: str = ""
    word: int = 0


def _rows(tree: DrawnTree) -> list[_Row]:
    """The rows of a drawing, in the order of CoNLL-U."""
    starts = {token.first: token for token in tree.tokens}
    relations = tree.relations or [""] * len(tree.forms)
    rows: list[_Row] = []
    for word in range(len(tree.forms) + 1):
        if word in starts:
            rows.append(_Row(starts[word].number, clean(starts[word].form)))
        if word:
            tag = f"{tree.tags[word - 1]} {relations[word - 1]}".rstrip()
            rows.append(_Row(str(word), clean(tree.forms[word - 1]), clean(tag), word))
        for node in tree.empty:
            if node.after == word:
                rows.append(_Row(node.number, clean(node.form), clean(node.tag.strip("_"))))
    return rows


class _Branch(NamedTuple):
    """The arcs from one head to one side."""

    head: int
    arcs: list[Arc]

    @property
    def words(self) -> list[int]:
        return [self.head, *(arc.dependent for arc in self.arcs)]


def _branches(arcs: Iterable[Arc]) -> list[_Branch]:
    """All arcs but those to the root and missed ones, which are written."""
    branches: dict[tuple[int, bool], _Branch] = {}
    for arc in arcs:
        if arc.head and arc.kind != MISSED:
            key = (arc.head, arc.dependent > arc.head)
            branches.setdefault(key, _Branch(arc.head, [])).arcs.append(arc)
    return list(branches.values())


class _Canvas:
    """A grid of characters that records which lines meet in a cell."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self._links = [[0] * n_columns for _ in range(n_rows)]
        self._kinds = [[PLAIN] * n_columns for _ in range(n_rows)]
        self._marks: dict[tuple[int, int], str] = {}
        self._joints: set[tuple[int, int]] = set()

    def vertical(self, column: int, top: int, bottom: int) -> None:
        for row in range(top, bottom + 1):
            self._links[row][column] |= _UP * (row > top) | _DOWNWARD * (row < bottom)

    def horizontal(self, row: int, left: int, right: int, kind: str) -> None:
        for column in range(left, right + 1):
            is_crossing = self._links[row][column] & _UP and self._links[row][column] & _DOWNWARD
            self._links[row][column] |= _LEFT * (column > left) | _RIGHTWARD * (column < right)
            if not is_crossing:
                self._kinds[row][column] = kind

    def joint(self, row: int, column: int) -> None:
        """Marks lines that cross here as connected."""
        self._joints.add((row, column))

    def mark(self, row: int, column: int, character: str, kind: str) -> None:
        self._marks[row, column] = character
        self._kinds[row][column] = kind

    def line(self, row: int, colour: bool) -> str:
        characters = [self._character(row, column) for column in range(len(self._links[row]))]
        if not colour:
            return "".join(characters)
        parts = []
        for kind, cells in groupby(zip(self._kinds[row], characters), key=lambda cell: cell[0]):
            run = "".join(character for _, character in cells)
            parts.append(
                f"\x1b[{_COLOURS[kind]}m{run}\x1b[0m" if kind in _COLOURS and run.strip() else run
            )
        return "".join(parts)

    def _character(self, row: int, column: int) -> str:
        if mark := self._marks.get((row, column)):
            return mark
        glyph = _GLYPHS[self._links[row][column]]
        return "│" if glyph == "┼" and (row, column) not in self._joints else glyph


def _drawing(arcs: list[Arc], rows: Sequence[_Row], width: int, colour: bool) -> list[str]:
    """Words one below the other, with numbers and tags;
    to the right lines, then the written arcs."""
    digits = max(len(row.number) for row in rows)
    tag_limit = width // 5
    # room for the numbers of two heads
    form_limit = min(width // 2, width - tag_limit - 3 * digits - 8)
    labels = [(_pieces(row.form, form_limit), _pieces(row.tag, tag_limit)) for row in rows]
    form_width = max(_widest(pieces) for pieces, _ in labels)
    tag_width = max(_widest(pieces) for _, pieces in labels)
    room = width - digits - form_width - tag_width - 3

    branches = _branches(arcs)
    levels = levels_of(
        [(min(branch.words), max(branch.words)) for branch in branches], may_touch=False
    )
    n_levels = min(max(levels, default=-1) + 1, room // 2)
    notes = _notes(arcs, branches, levels, n_levels)
    while n_levels and 2 * n_levels + 1 + _longest(notes.values()) > room:
        n_levels -= 1
        notes = _notes(arcs, branches, levels, n_levels)

    n_lines = [max(len(of_form), len(of_tag)) for of_form, of_tag in labels]
    starts = list(accumulate(n_lines, initial=0))  # of each row's first line, and the end
    places = [start for start, row in zip(starts, rows) if row.word]
    canvas = _lines_beside(branches, levels, n_levels, [*places, starts[-1]])
    lines = []
    for row, start, (form_pieces, tag_pieces) in zip(rows, starts, labels):
        for k, (form, tag) in enumerate(zip_longest(form_pieces, tag_pieces, fillvalue="")):
            number, note = (row.number, notes.get(row.word, "")) if k == 0 else ("", "")
            line = f"{number:>{digits}} {padded(form, form_width)} {padded(tag, tag_width)} "
            lines.append(line + canvas.line(start + k, colour) + note)
    return lines


def _widest(pieces: Iterable[str]) -> int:
    """The columns of the widest piece."""
    return max(columns(piece) for piece in pieces)


def _longest(notes: Iterable[str]) -> int:
    """The letters of the longest note; 0 without any."""
    return max((len(note) for note in notes), default=0)


def _lines_beside(
    branches: Sequence[_Branch], levels: Sequence[int], n_levels: int, rows: Sequence[int]
) -> _Canvas:
    """The lines of branches below `n_levels`; an arrowhead stands just before the line that it
    belongs to."""
    canvas = _Canvas(rows[-1], 2 * n_levels + 1)
    drawn = sorted((pair for pair in zip(levels, branches) if pair[0] < n_levels), reverse=True)
    for level, branch in drawn:
        places = [rows[word - 1] for word in branch.words]
        canvas.vertical(2 * level + 1, min(places), max(places))
    # the outermost first, so that pieces of lines look like their targets
    for level, branch in drawn:
        column = 2 * level + 1
        canvas.horizontal(rows[branch.head - 1], 0, column, PLAIN)
        canvas.joint(rows[branch.head - 1], column)
        for arc in branch.arcs:
            row = rows[arc.dependent - 1]
            canvas.horizontal(row, 0, column, arc.kind)
            canvas.joint(row, column)
            canvas.mark(row, column - 1, _TIPS[arc.kind], arc.kind)
    return canvas


def _notes(
    arcs: Sequence[Arc], branches: Sequence[_Branch], levels: Sequence[int], n_levels: int
) -> dict[int, str]:
    """Text beside words in place of lines: the root, gold heads, heads at levels without room."""
    written = [arc for arc in arcs if not arc.head or arc.kind == MISSED]
    for level, branch in zip(levels, branches):
        if level >= n_levels:
            written += branch.arcs
    notes: dict[int, str] = {}
    for arc in sorted(written, key=lambda arc: (arc.dependent, arc.kind == MISSED)):
        note = f"{_TIPS[arc.kind]}{arc.head or _ROOT}"
        notes[arc.dependent] = f"{notes[arc.dependent]} {note}" if arc.dependent in notes else note
    return notes


def _pieces(label: str, limit: int) -> list[str]:
    """The label cut so that no piece is wider than `limit` columns."""
    pieces, width = [""], 0
    for character in label:
        more = column_count(character)
        if width + more > limit:
            pieces.append("")
            width = 0
        pieces[-1] += character
        width += more
    return pieces

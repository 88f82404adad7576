"""Positions in the picture of a tree: words on lines, arcs over them, also from line to line.

Units are pixels, with x to the right and y downwards. The drawing itself, as SVG, is in `pictures`.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dynet_vdgi.drawing import arcs as _arcs
from dynet_vdgi.drawing.arcs import CONFIDENCE, DOUBTFUL, MEANING, MISSED, RIGHT, UNSURE, WRONG, Arc
from dynet_vdgi.system.text_tables import column_count

FORM_SIZE, TAG_SIZE, NOTE_SIZE, RELATION_SIZE = 15, 11, 12, 10
TIP_LENGTH = 7  # of an arrowhead; the line ends at its back

_MARGIN, _GAP = 14, 14  # around a tree, between words
_FIRST_LEVEL, _LEVEL = 24, 17  # height of the lowest arcs over the words; of each level over the one below
_CORNER, _SLOT = 7, 9  # radius of an arc's corners, space between its ends at one word
_BELOW = 38  # from the ends of the arcs to the lower edge of the tags
_ROOT_LEVEL = -1  # of root arcs, which stand upright


class DrawnTree(NamedTuple):
    """The contents of a drawing: a tree, a caption above it and, if there are gold heads, a note below it.

    `relations` are written over the arcs; empty: none. `sure` is as in `arcs.arcs_of`.
    """

    forms: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]
    gold: Sequence[int] | None = None
    caption: str = ""
    note: str | None = None  # None: the number of right heads and of all heads
    relations: Sequence[str] = ()
    sure: Sequence[float | None] | None = None

    def note_on(self, arcs: Sequence[Arc]) -> str:
        """The note, or its default."""
        n_right = sum(arc.kind == RIGHT for arc in arcs)
        return f"{n_right} of {len(self.forms)} heads right" if self.note is None else self.note


PathStep = tuple[str, tuple[float, ...]]  # a command of an SVG path with absolute coordinates: M, L or Q


class Label(NamedTuple):
    """A piece of text; y is that of its base line."""

    x: float
    y: float
    text: str
    role: str  # form, tag or note
    size: int
    anchor: str = "middle"
    kind: str = "ink"  # the colour


class Line(NamedTuple):
    """An arc, or a sample of one in the legend."""

    arc: Arc | None  # None for a sample
    kind: str
    path: list[PathStep]
    tip: tuple[float, float]  # the point that the arrow points to


@dataclass
class Picture:
    """One tree as shapes to draw, with y downwards from its upper edge."""

    width: float
    height: float
    title: str
    description: str
    labels: list[Label] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


class _Place(NamedTuple):
    """The position of a word."""

    row: int
    x: float  # its middle
    cell: float  # its width


class _WordLine(NamedTuple):
    """A line of words."""

    top: float
    base: float  # where arcs end above its words
    heights: dict[int, float]  # y of each level that occurs in the line


def lay_out(tree: DrawnTree, width: float) -> Picture:
    """The picture of a tree, at most `width` wide unless a single word or the caption is wider.

    Raises: ValueError if lengths differ, or a head is outside the sentence or the word itself.
    """
    arcs = _arcs.arcs_of(tree.forms, tree.tags, tree.heads, tree.gold, tree.sure)
    forms, tags = [_arcs.clean(form) for form in tree.forms], [_arcs.clean(tag) for tag in tree.tags]
    relations = [_arcs.clean(relation) for relation in tree.relations] or [""] * len(forms)
    places = _places(forms, tags, relations, width)
    levels = _levels(arcs)
    right_edge = max((place.x + place.cell / 2 for place in places), default=0) + _MARGIN
    picture = Picture(right_edge, 0, *_in_words(arcs, forms, relations, tree.gold is not None))
    top = float(_MARGIN)
    if tree.caption:
        caption = _arcs.clean(tree.caption)
        picture.labels.append(Label(_MARGIN, top + NOTE_SIZE, caption, "note", NOTE_SIZE, "start", "muted"))
        picture.width = max(picture.width, 2 * _MARGIN + _text_width(caption, NOTE_SIZE))
        top += NOTE_SIZE + _GAP
    rows = _rows(arcs, levels, places, top)
    for form, tag, place in zip(forms, tags, places):
        base = rows[place.row].base
        picture.labels.append(Label(place.x, base + FORM_SIZE + 3, form, "form", FORM_SIZE))
        picture.labels.append(Label(place.x, base + _BELOW - 4, tag, "tag", TAG_SIZE, kind="muted"))
    for arc, level, ends in zip(arcs, levels, _ends(arcs, places)):
        row = rows[places[arc.dependent - 1].row]
        tip = (ends[1], row.base)
        if arc.head:
            path = _path(arc, level, ends, places, rows, right_edge)
            relation = relations[arc.dependent - 1] if arc.kind != MISSED else ""
            if relation:
                (_, (*_, x, y)), (_, (end, _)) = path[-4], path[-3]  # the last horizontal piece
                label = Label((x + end) / 2, y - 3, relation, "relation", RELATION_SIZE, kind=arc.kind)
                picture.labels.append(label)
        else:
            y = row.top + TAG_SIZE
            picture.labels.append(Label(ends[1], y, "root", "note", TAG_SIZE, kind=arc.kind))
            path = [("M", (ends[1], y + 3)), ("L", (ends[1], row.base - TIP_LENGTH))]
        picture.lines.append(Line(arc, arc.kind, path, tip))
    picture.height = (rows[-1].base + _BELOW if rows else top) + _MARGIN
    if tree.gold is not None:
        _add_legend(picture, MEANING, tree.note_on(arcs))
    elif tree.sure is not None:
        _add_legend(picture, CONFIDENCE, "")
    return picture


def _places(
    forms: Sequence[str], tags: Sequence[str], relations: Sequence[str], width: float
) -> list[_Place]:
    """Fills lines of at most `width` pixels with words."""
    places, row, x = [], 0, float(_MARGIN)
    for form, tag, relation in zip(forms, tags, relations):
        below = max(_text_width(form, FORM_SIZE), _text_width(tag, TAG_SIZE))
        cell = max(below, _text_width("root", TAG_SIZE), _text_width(relation, RELATION_SIZE))
        if x > _MARGIN and x + cell + _MARGIN > width:
            row, x = row + 1, float(_MARGIN)
        places.append(_Place(row, x + cell / 2, cell))
        x += cell + _GAP
    return places


def _text_width(label: str, size: float) -> float:
    """The approximate width in fonts without serifs, rather too large than too small."""
    return size * sum(times * _letter_width(character) for character, times in Counter(label).items())


def _letter_width(character: str) -> float:
    n_columns = column_count(character)
    if n_columns != 1:
        return n_columns * 0.52
    if character in "iljtfrI.,:;'’|!()[]- ":
        return 0.42
    return 0.76 if character in "mwMW@%—…" or unicodedata.category(character) == "Lu" else 0.62


def _levels(arcs: Sequence[Arc]) -> list[int]:
    spans = [_span(arc) for arc in arcs if arc.head]
    found = iter(_arcs.levels(spans, may_touch=True))
    return [next(found) if arc.head else _ROOT_LEVEL for arc in arcs]


def _span(arc: Arc) -> tuple[int, int]:
    other = arc.head or arc.dependent
    return min(other, arc.dependent), max(other, arc.dependent)


def _rows(
    arcs: Sequence[Arc], levels: Sequence[int], places: Sequence[_Place], top: float
) -> list[_WordLine]:
    """The rows below `top`, each high enough for its levels and root arcs."""
    n_rows = places[-1].row + 1 if places else 0
    used: list[set[int]] = [set() for _ in range(n_rows)]
    for arc, level in zip(arcs, levels):
        first, last = (places[word - 1].row for word in _span(arc))
        for row in range(first, last + 1):
            used[row].add(level)
    rows = []
    for its_levels in used:
        ranks = {level: rank for rank, level in enumerate(sorted(its_levels - {_ROOT_LEVEL}))}
        room = _FIRST_LEVEL + _LEVEL * (len(ranks) - 1) if ranks else TIP_LENGTH
        base = top + room + (TAG_SIZE + _CORNER) * (_ROOT_LEVEL in its_levels)
        heights = {level: base - _FIRST_LEVEL - _LEVEL * rank for level, rank in ranks.items()}
        rows.append(_WordLine(top, base, heights))
        top = base + _BELOW + _GAP
    return rows


def _ends(arcs: Sequence[Arc], places: Sequence[_Place]) -> list[tuple[float, float]]:
    """The x of each arc at its head and at its dependent (twice the same for a root arc)."""
    at: list[list[int]] = [[] for _ in places]  # arcs of each word
    for k, arc in enumerate(arcs):
        for word in {arc.head or arc.dependent, arc.dependent}:
            at[word - 1].append(k)
    x: dict[tuple[int, int], float] = {}
    for word, (ours, place) in enumerate(zip(at, places), 1):
        order = _arcs.in_order([_span(arcs[k]) for k in ours], word)
        slot = min(_SLOT, place.cell / max(len(ours), 1))
        for number, which in enumerate(order):
            x[ours[which], word] = place.x + (number - (len(ours) - 1) / 2) * slot
    return [(x[k, arc.head or arc.dependent], x[k, arc.dependent]) for k, arc in enumerate(arcs)]


def _path(
    arc: Arc,
    level: int,
    ends: tuple[float, float],
    places: Sequence[_Place],
    rows: Sequence[_WordLine],
    right_edge: float,
) -> list[PathStep]:
    """The line of an arc from its head to its dependent, through the rows between them."""
    start, end = ends
    step = 1 if arc.head < arc.dependent else -1
    first, last = places[arc.head - 1].row, places[arc.dependent - 1].row
    heights = [row.heights.get(level, 0) for row in rows]
    if first == last:
        corner = step * min(_CORNER, abs(end - start) / 2)
        rise = _rise(start, rows[first].base, heights[first], corner)
        return rise + _fall(end, rows[first].base, heights[first], corner)
    out, back = (right_edge - 2, 2.0) if step > 0 else (2.0, right_edge - 2)
    path = _rise(start, rows[first].base, heights[first], step * _CORNER)
    path.append(("L", (out, heights[first])))
    for between in range(first + step, last, step):
        path += [("M", (back, heights[between])), ("L", (out, heights[between]))]
    path.append(("M", (back, heights[last])))
    return path + _fall(end, rows[last].base, heights[last], step * _CORNER)


def _rise(x: float, base: float, height: float, corner: float) -> list[PathStep]:
    return [
        ("M", (x, base)),
        ("L", (x, height + abs(corner))),
        ("Q", (x, height, x + corner, height)),
    ]


def _fall(x: float, base: float, height: float, corner: float) -> list[PathStep]:
    return [
        ("L", (x - corner, height)),
        ("Q", (x, height, x, height + abs(corner))),
        ("L", (x, base - TIP_LENGTH)),
    ]


def _add_legend(picture: Picture, meanings: Mapping[str, str], note: str) -> None:
    x, y = float(_MARGIN), picture.height + NOTE_SIZE - 4
    for kind, meaning in meanings.items():
        picture.lines.append(Line(None, kind, [("M", (x, y - 4)), ("L", (x + 26, y - 4))], (x, y)))
        picture.labels.append(Label(x + 32, y, meaning, "note", NOTE_SIZE, "start"))
        x += 32 + _text_width(meaning, NOTE_SIZE) + _GAP
    if note:
        picture.labels.append(Label(x, y, note, "note", NOTE_SIZE, "start"))
    picture.width = max(picture.width, x + _text_width(note, NOTE_SIZE) + _MARGIN)
    picture.height += NOTE_SIZE + _MARGIN


def _in_words(
    arcs: Sequence[Arc], forms: Sequence[str], relations: Sequence[str], with_gold: bool
) -> tuple[str, str]:
    """Title and description for readers who do not see the picture."""
    parts = [_arc_in_words(arc, forms, relations) for arc in arcs]
    meaning = "word ← its head"
    if with_gold:
        meaning += ", with a note where it is wrong"
    return f"Dependency tree: {' '.join(forms)}", f"{meaning}: {'; '.join(parts)}."


def _arc_in_words(arc: Arc, forms: Sequence[str], relations: Sequence[str]) -> str:
    head = forms[arc.head - 1] if arc.head else "root"
    notes = [relations[arc.dependent - 1]] if arc.head and arc.kind != MISSED else []
    notes += [MEANING[arc.kind]] if arc.kind in (WRONG, MISSED) else []
    notes += [CONFIDENCE[arc.kind]] if arc.kind in (UNSURE, DOUBTFUL) else []
    note = ", ".join(note for note in notes if note)
    return f"{forms[arc.dependent - 1]} ← {head}{note and f' ({note})'}"

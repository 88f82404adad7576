"""Trees as SVG: arcs with their levels and kinds, then the picture.

What both drawings of a tree share: its arcs and their kinds, the heights of arcs, and printable letters.

Words are numbered 1..n, head 0 is the root. Heads need not be a tree: the output of any parser can be drawn.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from dynet_vdgi.system.names import column_count

PLAIN, RIGHT, WRONG, MISSED = "plain", "right", "wrong", "missed"
"""Kinds of arcs: all plain without gold heads; `MISSED` are the gold arcs replaced by a wrong one."""

MEANING = {RIGHT: "right", WRONG: "wrong", MISSED: "gold, missed"}

SURE, UNSURE, DOUBTFUL = "sure", "unsure", "doubtful"
"""Kinds of arcs without gold heads, if the probabilities of the heads are known."""

_LEAST = {SURE: 0.8, UNSURE: 0.5, DOUBTFUL: 0.0}  # probability
CONFIDENCE = {SURE: "80 % sure or more", UNSURE: "50 to 80 %", DOUBTFUL: "less than 50 %"}


class Arc(NamedTuple):
    """An arc from the head (0: the root) to its dependent."""

    head: int
    dependent: int
    kind: str

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last word; the same one for an arc from the root."""
        other = self.head or self.dependent
        return min(other, self.dependent), max(other, self.dependent)


class DrawnTree(NamedTuple):
    """The contents of a drawing: a tree, a caption above it and, if there are gold heads, a note below it.

    `relations` are written over the arcs; empty: none. `sure`: probability that each head is right, None if
    it is unknown; it has no effect with gold heads.
    """

    forms: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]
    gold: Sequence[int] | None = None
    caption: str = ""
    note: str | None = None  # None: the number of right heads and of all heads
    relations: Sequence[str] = ()
    sure: Sequence[float | None] | None = None

    def arcs(self) -> list[Arc]:
        """The arcs to draw, by dependent; a wrong one is followed by the gold arc that was missed.

        Raises: ValueError if the lengths differ, or a head is outside 0..n or the word itself.
        """
        n, gold = len(self.forms), self.gold
        for name, values in (("tags", self.tags), ("heads", self.heads), ("gold heads", gold)):
            if values is not None and len(values) != n:
                raise ValueError(f"{len(values)} {name} for {n} words")
        for word, head in (pair for heads in (self.heads, gold or ()) for pair in enumerate(heads, 1)):
            if not 0 <= head <= n or head == word:
                raise ValueError(f"head {head} of word {word} in a sentence of {n} words")
        arcs = []
        for word, head in enumerate(self.heads, 1):
            if gold is not None:
                arcs.append(Arc(head, word, RIGHT if gold[word - 1] == head else WRONG))
                if gold[word - 1] != head:
                    arcs.append(Arc(gold[word - 1], word, MISSED))
                continue
            known = self.sure[word - 1] if self.sure is not None else None
            kind = PLAIN if known is None else next(kind for kind, p in _LEAST.items() if known >= p)
            arcs.append(Arc(head, word, kind))
        return arcs

    def note_on(self, arcs: Sequence[Arc]) -> str:
        """The note, or its default."""
        n_right = sum(arc.kind == RIGHT for arc in arcs)
        return f"{n_right} of {len(self.forms)} heads right" if self.note is None else self.note


def levels(spans: Sequence[tuple[int, int]], *, may_touch: bool) -> list[int]:
    """The level of each span, from 0: above all spans under it, and clear of all that cross it.

    A span is (first, last) with first < last. With `may_touch`, two may meet in a point at the same level.

    >>> levels([(1, 2), (2, 3), (1, 3), (4, 6), (5, 7)], may_touch=True)
    [0, 0, 1, 0, 1]
    >>> levels([(1, 2), (2, 3), (3, 4)], may_touch=False)
    [0, 1, 0]
    """
    n_places = max((last for _, last in spans), default=0)
    above = [0] * n_places  # above[p]: the first free level between p and p + 1
    ends: defaultdict[int, set[int]] = defaultdict(set)  # levels taken at a point
    result = [0] * len(spans)
    for k in sorted(range(len(spans)), key=lambda k: spans[k][1] - spans[k][0]):
        first, last = spans[k]
        level = max(above[first:last])
        while not may_touch and level in ends[first] | ends[last]:
            level += 1
        above[first:last] = [level + 1] * (last - first)
        ends[first].add(level)
        ends[last].add(level)
        result[k] = level
    return result


def clean(text: str) -> str:
    """The text without characters that would spoil a terminal or an XML file: controls, reordering marks."""
    # By distinct letters, because a form may be long.
    return text.translate(dict.fromkeys(map(ord, filter(_is_unfit, set(text))), "\N{REPLACEMENT CHARACTER}"))


def _is_unfit(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in "\ufffe\uffff":
        return True
    return "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069"


# ----------------------------------------------------------------------------------------------------
# Drawings of dependency trees as SVG, one tree or several below one another.
#
# Arcs stand above the words, tags below; a long sentence goes over several lines, and so do its arcs. The
# SVG is self-contained (no scripts, fonts, links), takes its colours from CSS variables (`--vdgi-paper` and
# so on) that follow the reader's light or dark scheme, and includes a description. Wherever colours
# distinguish right from wrong, or sure from doubtful, the width and the dashes of the lines do so too.
#
# Why not a library: deplacy (2.1.1, MIT, alive) draws CoNLL-U well in a terminal, but it does not compare
# with gold heads or keep to a width, and its SVG is made by a script in a browser. displaCy comes with all
# of spaCy. udapi is under the GPL, so it can only be called, and its pages load scripts from the web.
#
# Units are pixels, with x to the right and y downwards.


WIDTH = 960
"""Default width of a picture in pixels."""

_FORM, _TAG, _NOTE, _RELATION = 15, 11, 12, 10  # sizes of letters
_MARGIN, _GAP = 14, 14  # around a tree, between words
_FIRST_LEVEL, _LEVEL = 24, 17  # height of the lowest arcs over the words; of each level over the one below
_CORNER, _SLOT = 7, 9  # radius of an arc's corners, space between its ends at one word
_BELOW = 38  # from the ends of the arcs to the lower edge of the tags
_TIP, _TIP_HALF = 7, 3.5  # length of an arrowhead, and half of its width; the line ends at its back
_ROOT_LEVEL = -1  # of root arcs, which stand upright
_LINE_WIDTHS = {PLAIN: 1.4, RIGHT: 1.4, WRONG: 2.6, MISSED: 1.6, SURE: 1.4, UNSURE: 1.8, DOUBTFUL: 2.4}
_DASHES = {MISSED: "5 3", UNSURE: "8 2", DOUBTFUL: "3 3"}


def _colours(paper: str, ink: str, muted: str, right: str, wrong: str, missed: str) -> dict[str, str]:
    arcs = {PLAIN: muted, RIGHT: right, WRONG: wrong, MISSED: missed}
    doubts = {SURE: muted, UNSURE: missed, DOUBTFUL: wrong}
    return {"paper": paper, "ink": ink, "muted": muted, **arcs, **doubts}


_LIGHT = _colours("#ffffff", "#1f2328", "#59636e", "#1a7f37", "#c4320a", "#0550ae")
_DARK = _colours("#0d1117", "#e6edf3", "#9198a1", "#4ac26b", "#ff9a6b", "#79c0ff")


def _variables(colours: Mapping[str, str]) -> str:
    return "".join(f"--vdgi-{name}:{colour};" for name, colour in colours.items())


_RULES = ".vdgi-tree .vdgi-paper{fill:var(--vdgi-paper)}.vdgi-relation{stroke:var(--vdgi-paper)}" + "".join(
    f".vdgi-tree text.vdgi-{name},.vdgi-tree .vdgi-{name} .vdgi-tip{{fill:var(--vdgi-{name})}}"
    f".vdgi-tree .vdgi-{name} .vdgi-line{{stroke:var(--vdgi-{name})}}"
    for name in _LIGHT
    if name != "paper"
)
# Programs without CSS variables skip @supports and use the colours in the attributes of each element.
_STYLE = (
    f".vdgi-tree{{{_variables(_LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{.vdgi-tree{{{_variables(_DARK)}}}}}"
    f"@supports (fill:var(--vdgi-ink)){{{_RULES}}}"
)
_HALO = f' paint-order="stroke" stroke="{_LIGHT["paper"]}" stroke-width="3"'  # over lines that cross the text


def svg_document(trees: Iterable[DrawnTree], *, width: float = WIDTH) -> str:
    """Trees one below the other, as the text of one SVG file, for a page too; no wider than `width` pixels.

    A wider word has a line of its own and widens the picture. Each arc is a `<g>` of class
    `vdgi-arc` with `data-head` and `data-dependent`; with gold heads it is also of class `vdgi-right`,
    `vdgi-wrong` or `vdgi-missed`, and a legend follows below.

    Raises: ValueError if lengths differ, or a head is outside the sentence or the word itself.
    """
    pictures = [_Picture(tree, width) for tree in trees]
    if len(pictures) == 1:
        return pictures[0].element(style=f"<style>{_STYLE}</style>") + "\n"
    full_width, full_height = max(p.width for p in pictures), sum(p.height for p in pictures)
    parts, top = [], 0.0
    for picture in pictures:
        parts.append(picture.element(top, full_width))
        top += picture.height
    start = _start_tag(full_width, full_height, "") + f"<title>{len(pictures)} dependency trees</title>"
    return "\n".join([start, f"<style>{_STYLE}</style>", *parts, "</svg>"]) + "\n"


class _Place(NamedTuple):
    """The position of a word."""

    row: int
    x: float  # its middle
    cell: float  # its width


class _Row(NamedTuple):
    """A line of words."""

    top: float
    base: float  # where arcs end above its words
    heights: dict[int, float]  # y of each level that occurs in the line


class _Picture:
    """One tree as SVG elements, with y downwards from its upper edge."""

    def __init__(self, tree: DrawnTree, width: float) -> None:
        self._lines: list[str] = []
        self._labels: list[str] = []
        arcs = tree.arcs()
        self._forms, tags = list(map(clean, tree.forms)), list(map(clean, tree.tags))
        self._relations = list(map(clean, tree.relations)) or [""] * len(tags)
        self._places = self._placed(tags, width)
        self.width = max((place.x + place.cell / 2 for place in self._places), default=0) + _MARGIN
        self._edge = self.width
        found = iter(levels([arc.span for arc in arcs if arc.head], may_touch=True))
        its_levels = [next(found) if arc.head else _ROOT_LEVEL for arc in arcs]
        top = float(_MARGIN)
        if caption := clean(tree.caption):
            self._label(_MARGIN, top + _NOTE, caption, "note", _NOTE, "start", "muted")
            self.width = max(self.width, 2 * _MARGIN + _text_width(caption, _NOTE))
            top += _NOTE + _GAP
        self._rows = self._stacked(arcs, its_levels, top)
        for form, tag, place in zip(self._forms, tags, self._places):
            base = self._rows[place.row].base
            self._label(place.x, base + _FORM + 3, form, "form", _FORM)
            self._label(place.x, base + _BELOW - 4, tag, "tag", _TAG, kind="muted")
        for arc, level, (start, end) in zip(arcs, its_levels, self._ends(arcs)):
            self._draw(arc, level, start, end)
        self.height = (self._rows[-1].base + _BELOW if self._rows else top) + _MARGIN
        if tree.gold is not None:
            self._add_legend(MEANING, tree.note_on(arcs))
        elif tree.sure is not None:
            self._add_legend(CONFIDENCE, "")
        meaning = "word ← its head" + (", with a note where it is wrong" if tree.gold is not None else "")
        self._title = f"Dependency tree: {' '.join(self._forms)}"
        self._description = f"{meaning}: {'; '.join(map(self._in_words, arcs))}."

    def element(self, top: float = 0, width: float = 0, style: str = "") -> str:
        """The `<svg>` element."""
        place = f' y="{_number(top)}"' if top else ""
        lines = [
            _start_tag(max(width, self.width), self.height, f' role="img"{place}'),
            f"<title>{escape(self._title)}</title>",
            f"<desc>{escape(self._description)}</desc>",
            *([style] if style else []),
            f'<rect class="vdgi-paper" width="100%" height="100%" fill="{_LIGHT["paper"]}"/>',
        ]
        return "\n".join([*lines, *self._lines, *self._labels, "</svg>"])

    # --------------------------------------------------------------------------------------- positions
    def _placed(self, tags: Sequence[str], width: float) -> list[_Place]:
        """Fills lines of at most `width` pixels with words."""
        places, row, x = [], 0, float(_MARGIN)
        for form, tag, relation in zip(self._forms, tags, self._relations):
            texts = ((form, _FORM), (tag, _TAG), ("root", _TAG), (relation, _RELATION))
            cell = max(_text_width(text, size) for text, size in texts)
            if x > _MARGIN and x + cell + _MARGIN > width:
                row, x = row + 1, float(_MARGIN)
            places.append(_Place(row, x + cell / 2, cell))
            x += cell + _GAP
        return places

    def _stacked(self, arcs: Sequence[Arc], its_levels: Sequence[int], top: float) -> list[_Row]:
        """The rows below `top`, each high enough for its levels and root arcs."""
        used: list[set[int]] = [set() for _ in range(self._places[-1].row + 1 if self._places else 0)]
        for arc, level in zip(arcs, its_levels):
            first, last = (self._places[word - 1].row for word in arc.span)
            for levels_of_row in used[first : last + 1]:
                levels_of_row.add(level)
        rows = []
        for levels_of_row in used:
            ordered = sorted(levels_of_row - {_ROOT_LEVEL})
            room = _FIRST_LEVEL + _LEVEL * (len(ordered) - 1) if ordered else _TIP
            base = top + room + (_TAG + _CORNER) * (_ROOT_LEVEL in levels_of_row)
            heights = {level: base - _FIRST_LEVEL - _LEVEL * rank for rank, level in enumerate(ordered)}
            rows.append(_Row(top, base, heights))
            top = base + _BELOW + _GAP
        return rows

    def _ends(self, arcs: Sequence[Arc]) -> list[tuple[float, float]]:
        """The x of each arc at its head and at its dependent (twice the same for a root arc).

        At a word, first come arcs to the left, the shortest outermost, then arcs that go up, then arcs to the
        right, so that none cross needlessly. Of equal spans the later one counts as longer, as in `levels`.
        """
        x: dict[tuple[int, int], float] = {}
        for word, place in enumerate(self._places, 1):

            def order(k: int, word: int = word) -> tuple[int, int, int]:
                first, last = arcs[k].span
                if first == last:
                    return 1, 0, k
                return (2, first - last, -k) if first == word else (0, last - first, k)

            ours = sorted((k for k, arc in enumerate(arcs) if word in arc.span), key=order)
            slot = min(_SLOT, place.cell / max(len(ours), 1))
            for number, k in enumerate(ours):
                x[k, word] = place.x + (number - (len(ours) - 1) / 2) * slot
        return [(x[k, arc.head or arc.dependent], x[k, arc.dependent]) for k, arc in enumerate(arcs)]

    # --------------------------------------------------------------------------------------- elements
    def _draw(self, arc: Arc, level: int, start: float, end: float) -> None:
        """An arc with its arrowhead and its relation, between these x."""
        row = self._rows[self._places[arc.dependent - 1].row]
        relation = self._relations[arc.dependent - 1] if arc.head and arc.kind != MISSED else ""
        if arc.head:
            path, label_x, label_y = self._path(arc, level, start, end)
            if relation:
                self._label(label_x, label_y - 3, relation, "relation", _RELATION, kind=arc.kind)
        else:
            self._label(end, row.top + _TAG, "root", "note", _TAG, kind=arc.kind)
            path = _steps("M", end, row.top + _TAG + 3) + " " + _steps("L", end, row.base - _TIP)
        tip = [(end, row.base), (end - _TIP_HALF, row.base - _TIP), (end + _TIP_HALF, row.base - _TIP)]
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in tip)
        self._lines.append(
            f'<g class="vdgi-arc vdgi-{arc.kind}" data-head="{arc.head}" data-dependent="{arc.dependent}">'
            f'{_stroke(arc.kind, path)}<polygon class="vdgi-tip" points="{points}" '
            f'fill="{_LIGHT[arc.kind]}"/></g>'
        )

    def _path(self, arc: Arc, level: int, start: float, end: float) -> tuple[str, float, float]:
        """The line from head to dependent, through rows between, and the middle of its last level piece."""
        step = 1 if arc.head < arc.dependent else -1
        first, last = self._places[arc.head - 1].row, self._places[arc.dependent - 1].row
        heights = [row.heights.get(level, 0) for row in self._rows]
        corner = step * (min(_CORNER, abs(end - start) / 2) if first == last else _CORNER)
        out, back = (self._edge - 2, 2.0) if step > 0 else (2.0, self._edge - 2)
        high, low = heights[first], heights[last]
        steps = [
            _steps("M", start, self._rows[first].base),
            _steps("L", start, high + abs(corner)),
            _steps("Q", start, high, start + corner, high),
        ]
        before = start + corner
        if first != last:
            steps.append(_steps("L", out, high))
            for height in heights[first + step : last : step]:
                steps += [_steps("M", back, height), _steps("L", out, height)]
            steps.append(_steps("M", back, low))
            before = back
        steps += [
            _steps("L", end - corner, low),
            _steps("Q", end, low, end, low + abs(corner)),
            _steps("L", end, self._rows[last].base - _TIP),
        ]
        return " ".join(steps), (before + end - corner) / 2, low

    def _label(
        self, x: float, y: float, text: str, role: str, size: int, anchor: str = "middle", kind: str = "ink"
    ) -> None:
        self._labels.append(
            f'<text class="vdgi-{role} vdgi-{kind}" x="{_number(x)}" y="{_number(y)}" font-size="{size}" '
            f'text-anchor="{anchor}" fill="{_LIGHT[kind]}"{_HALO if role == "relation" else ""}>'
            f"{escape(text)}</text>"
        )

    def _add_legend(self, meanings: Mapping[str, str], note: str) -> None:
        x, y = float(_MARGIN), self.height + _NOTE - 4
        for kind, meaning in meanings.items():
            sample = _stroke(kind, _steps("M", x, y - 4) + " " + _steps("L", x + 26, y - 4))
            self._lines.append(f'<g class="vdgi-{kind}">{sample}</g>')
            self._label(x + 32, y, meaning, "note", _NOTE, "start")
            x += 32 + _text_width(meaning, _NOTE) + _GAP
        if note:
            self._label(x, y, note, "note", _NOTE, "start")
        self.width = max(self.width, x + _text_width(note, _NOTE) + _MARGIN)
        self.height += _NOTE + _MARGIN

    def _in_words(self, arc: Arc) -> str:
        """An arc, for readers who do not see the picture."""
        head = self._forms[arc.head - 1] if arc.head else "root"
        notes = [self._relations[arc.dependent - 1]] if arc.head and arc.kind != MISSED else []
        notes += [MEANING[arc.kind]] if arc.kind in (WRONG, MISSED) else []
        notes += [CONFIDENCE[arc.kind]] if arc.kind in (UNSURE, DOUBTFUL) else []
        note = ", ".join(filter(None, notes))
        return f"{self._forms[arc.dependent - 1]} ← {head}{note and f' ({note})'}"


def _start_tag(width: float, height: float, attributes: str) -> str:
    size = f"{_number(width)} {_number(height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="vdgi-tree"{attributes} width="{_number(width)}" '
        f'height="{_number(height)}" viewBox="0 0 {size}" '
        'font-family="system-ui, sans-serif" style="max-width:100%;height:auto">'
    )


def _stroke(kind: str, path: str) -> str:
    dashes = f' stroke-dasharray="{_DASHES[kind]}"' if kind in _DASHES else ""
    return (
        f'<path class="vdgi-line" d="{path}" fill="none" stroke="{_LIGHT[kind]}" '
        f'stroke-width="{_LINE_WIDTHS[kind]}"{dashes}/>'
    )


def _steps(command: str, *numbers: float) -> str:
    """A step of an SVG path with absolute coordinates."""
    return command + " ".join(map(_number, numbers))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


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

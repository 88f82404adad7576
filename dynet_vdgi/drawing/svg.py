"""Drawings of dependency trees as SVG, one tree or several below one another.

Arcs stand above the words, tags below. The SVG is self-contained (no scripts, styles, fonts, links)
and includes a description. Wherever colours distinguish right from wrong, or sure from doubtful,
the width and the dashes of the lines do so too. Units are pixels, with x to the right and y
downwards.

Why not a library: deplacy (2.1.1, MIT, alive) draws CoNLL-U well in a terminal, but it does not
compare with gold heads or keep to a width, and its SVG is made by a script in a browser. displaCy
comes with all of spaCy. udapi is under the GPL, so it can only be called, and its pages load
scripts from the web.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from dynet_vdgi.drawing.layout import (
    CONFIDENCE,
    DOUBTFUL,
    MEANING,
    MISSED,
    PLAIN,
    RIGHT,
    SURE,
    UNSURE,
    WRONG,
    Arc,
    DrawnTree,
    clean,
    levels,
)
from dynet_vdgi.system.text_tables import column_count

_FORM, _TAG, _NOTE, _RELATION = 15, 11, 12, 10  # sizes of letters

_MARGIN, _GAP = 14, 14  # around a tree, between words

# height of the lowest arcs over the words; of each level over the one below
_FIRST_LEVEL, _LEVEL = 24, 17

_CORNER, _SLOT = 7, 9  # radius of an arc's corners, space between its ends at one word

_BELOW = 38  # from the ends of the arcs to the lower edge of the tags

_TOKENS = 24  # from there to the lower edge of multiword tokens

_TIP, _TIP_HALF = 7, 3.5  # length of an arrowhead, and half of its width; the line ends at its back

_PAPER, _INK, _MUTED = "#ffffff", "#1f2328", "#59636e"

_GREEN, _RED, _BLUE = "#1a7f37", "#c4320a", "#0550ae"

_LINES = {  # colour, width and dashes of each kind of arc
    PLAIN: (_MUTED, 1.4, ""),
    RIGHT: (_GREEN, 1.4, ""),
    WRONG: (_RED, 2.6, ""),
    MISSED: (_BLUE, 1.6, "5 3"),
    SURE: (_MUTED, 1.4, ""),
    UNSURE: (_BLUE, 1.8, "8 2"),
    DOUBTFUL: (_RED, 2.4, "3 3"),
}


def svg_document(trees: Iterable[DrawnTree]) -> str:
    """Trees one below the other, as the text of one SVG file, for a page too.

    Each arc is a `<g>` of class `vdgi-arc` with `data-head` and `data-dependent`; with gold heads
    it is also of class `vdgi-right`, `vdgi-wrong` or `vdgi-missed`, and a legend follows below.

    Raises: ValueError if lengths differ, or a head is outside the sentence or the word itself.
    """
    pictures = [_Picture(tree) for tree in trees]
    if len(pictures) == 1:
        return pictures[0].element() + "\n"
    width, top, parts = max(picture.width for picture in pictures), 0.0, []
    for picture in pictures:
        parts.append(picture.element(top, width))
        top += picture.height
    start = _start_tag(width, top, "") + f"<title>{len(pictures)} dependency trees</title>"
    return "\n".join([start, *parts, "</svg>"]) + "\n"


class _Picture:
    """One tree as SVG elements, with y downwards from its upper edge."""

    def __init__(self, tree: DrawnTree) -> None:
        self._lines: list[str] = []
        self._labels: list[str] = []
        arcs = tree.arcs()
        self._forms, tags = list(map(clean, tree.forms)), list(map(clean, tree.tags))
        self._relations = list(map(clean, tree.relations)) or [""] * len(tags)
        self._middles, self._cells = [], []  # x and width of each word
        self.width = float(_MARGIN)
        for form, tag, relation in zip(self._forms, tags, self._relations):
            texts = ((form, _FORM), (tag, _TAG), ("root", _TAG), (relation, _RELATION))
            self._cells.append(max(_text_width(text, size) for text, size in texts))
            self._middles.append(self.width + self._cells[-1] / 2)
            self.width += self._cells[-1] + _GAP
        self.width += _MARGIN - _GAP
        top = float(_MARGIN)
        if caption := clean(tree.caption):
            self._label(_MARGIN, top + _NOTE, caption, "note", _NOTE, "start", _MUTED)
            self.width = max(self.width, 2 * _MARGIN + _text_width(caption, _NOTE))
            top += _NOTE + _GAP
        levels_of_arcs = levels([arc.span for arc in arcs if arc.head], may_touch=True)
        high = _FIRST_LEVEL + _LEVEL * max(levels_of_arcs) if levels_of_arcs else _TIP
        base = top + high + _TAG + _CORNER  # where arcs end; roots stand above all arcs
        for form, tag, x in zip(self._forms, tags, self._middles):
            self._label(x, base + _FORM + 3, form, "form", _FORM)
            self._label(x, base + _BELOW - 4, tag, "tag", _TAG, colour=_MUTED)
        of_arcs = iter(levels_of_arcs)
        for arc, (start, end) in zip(arcs, self._ends(arcs)):
            y = base - _FIRST_LEVEL - _LEVEL * next(of_arcs) if arc.head else top + _TAG
            self._draw(arc, y, base, start, end)
        self.height = base + _BELOW + _MARGIN
        self._add_tokens(tree, base + _BELOW)
        if tree.gold is not None:
            self._add_legend(MEANING, tree.note_on(arcs))
        elif tree.sure is not None:
            self._add_legend(CONFIDENCE, "")
        remarks = [_empty_nodes(tree), *(clean(fault) for fault in tree.faults)]
        remarks = [remark for remark in remarks if remark]
        for remark in remarks:
            self._add_line(remark)
        meaning = "word ← its head"
        if tree.gold is not None:
            meaning += ", with a note where it is wrong"
        self._title = f"Dependency tree: {' '.join(self._forms)}"
        more = [f"{clean(token.form)} is words {token.number}" for token in tree.tokens]
        more += [_empty_nodes(tree)] if tree.empty else []
        more += [clean(fault) for fault in tree.faults]
        of_arcs_in_words = "; ".join(self._in_words(arc) for arc in arcs)
        self._description = ". ".join([f"{meaning}: {of_arcs_in_words}", *more]) + "."

    def element(self, top: float = 0, width: float = 0) -> str:
        """The `<svg>` element."""
        place = f' y="{_number(top)}"' if top else ""
        lines = [
            _start_tag(max(width, self.width), self.height, f' role="img"{place}'),
            f"<title>{escape(self._title)}</title>",
            f"<desc>{escape(self._description)}</desc>",
            f'<rect width="100%" height="100%" fill="{_PAPER}"/>',
        ]
        return "\n".join([*lines, *self._lines, *self._labels, "</svg>"])

    def _ends(self, arcs: Sequence[Arc]) -> list[tuple[float, float]]:
        """The x of each arc at its head and at its dependent (twice the same for a root arc).

        At a word, first come arcs to the left, the shortest outermost, then arcs that go up, then
        arcs to the right, so that none cross needlessly. Of equal spans the later one counts as
        longer, as in `levels`.
        """
        x: dict[tuple[int, int], float] = {}
        for word, (middle, cell) in enumerate(zip(self._middles, self._cells), 1):

            def order(k: int, word: int = word) -> tuple[int, int, int]:
                first, last = arcs[k].span
                if first == last:
                    return 1, 0, k
                return (2, first - last, -k) if first == word else (0, last - first, k)

            ours = sorted((k for k, arc in enumerate(arcs) if word in arc.span), key=order)
            slot = min(_SLOT, cell / max(len(ours), 1))
            for number, k in enumerate(ours):
                x[k, word] = middle + (number - (len(ours) - 1) / 2) * slot
        return [
            (x[k, arc.head or arc.dependent], x[k, arc.dependent]) for k, arc in enumerate(arcs)
        ]

    def _draw(self, arc: Arc, y: float, base: float, start: float, end: float) -> None:
        """An arc at the height y between these x, with its arrowhead and its relation."""
        colour, back = _LINES[arc.kind][0], base - _TIP
        if arc.head:
            corner = min(_CORNER, abs(end - start) / 2) * (1 if start < end else -1)
            low = y + abs(corner)
            steps = [("M", start, base), ("L", start, low), ("Q", start, y, start + corner, y)]
            steps += [("L", end - corner, y), ("Q", end, y, end, low), ("L", end, back)]
            if arc.kind != MISSED and (relation := self._relations[arc.dependent - 1]):
                self._label(
                    (start + end) / 2, y - 3, relation, "relation", _RELATION, colour=colour
                )
        else:
            self._label(end, y, "root", "note", _TAG, colour=colour)
            steps = [("M", end, y + 3), ("L", end, back)]
        tip = [(end, base), (end - _TIP_HALF, back), (end + _TIP_HALF, back)]
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in tip)
        self._lines.append(
            f'<g class="vdgi-arc vdgi-{arc.kind}" data-head="{arc.head}" '
            f'data-dependent="{arc.dependent}">'
            f'{_stroke(arc.kind, steps)}<polygon points="{points}" fill="{colour}"/></g>'
        )

    def _label(
        self,
        x: float,
        y: float,
        text: str,
        role: str,
        size: int,
        anchor: str = "middle",
        colour: str = _INK,
    ) -> None:
        halo = f' paint-order="stroke" stroke="{_PAPER}" stroke-width="3"' * (role == "relation")
        self._labels.append(
            f'<text class="vdgi-{role}" x="{_number(x)}" y="{_number(y)}" font-size="{size}" '
            f'text-anchor="{anchor}" fill="{colour}"{halo}>{escape(text)}</text>'
        )

    def _add_legend(self, meanings: Mapping[str, str], note: str) -> None:
        x, y = float(_MARGIN), self.height + _NOTE - 4
        for kind, meaning in meanings.items():
            self._lines.append(_stroke(kind, [("M", x, y - 4), ("L", x + 26, y - 4)]))
            self._label(x + 32, y, meaning, "note", _NOTE, "start")
            x += 32 + _text_width(meaning, _NOTE) + _GAP
        if note:
            self._label(x, y, note, "note", _NOTE, "start")
        self.width = max(self.width, x + _text_width(note, _NOTE) + _MARGIN)
        self.height += _NOTE + _MARGIN

    def _add_tokens(self, tree: DrawnTree, y: float) -> None:
        """Multiword tokens, each under a bracket below the tags of its words."""
        for token in tree.tokens:
            left = self._middles[token.first - 1] - self._cells[token.first - 1] / 2
            right = self._middles[token.last - 1] + self._cells[token.last - 1] / 2
            steps = [("M", left, y), ("L", left, y + 4), ("L", right, y + 4), ("L", right, y)]
            bracket = _stroke(PLAIN, steps)
            self._lines.append(f'<g class="vdgi-token" data-words="{token.number}">{bracket}</g>')
            form = clean(token.form)
            x = max((left + right) / 2, _MARGIN + _text_width(form, _FORM) / 2)
            self._label(x, y + _TOKENS - 4, form, "form", _FORM)
            self.width = max(self.width, x + _text_width(form, _FORM) / 2 + _MARGIN)
        self.height += _TOKENS * bool(tree.tokens)

    def _add_line(self, text: str) -> None:
        """A line of text below everything so far."""
        self._label(_MARGIN, self.height + _NOTE - 4, text, "note", _NOTE, "start")
        self.width = max(self.width, _MARGIN + _text_width(text, _NOTE) + _MARGIN)
        self.height += _NOTE + _MARGIN / 2

    def _in_words(self, arc: Arc) -> str:
        """An arc, for readers who do not see the picture."""
        head = self._forms[arc.head - 1] if arc.head else "root"
        notes = [self._relations[arc.dependent - 1]] if arc.head and arc.kind != MISSED else []
        notes += [MEANING[arc.kind]] if arc.kind in (WRONG, MISSED) else []
        notes += [CONFIDENCE[arc.kind]] if arc.kind in (UNSURE, DOUBTFUL) else []
        note = ", ".join(filter(None, notes))
        return f"{self._forms[arc.dependent - 1]} ← {head}{note and f' ({note})'}"


def _empty_nodes(tree: DrawnTree) -> str:
    """The empty nodes in words; "" if there are none."""
    places = []
    for node in tree.empty:
        tag = f" ({clean(node.tag)})" if node.tag != "_" else ""
        places.append(f"{node.number} {clean(node.form)}{tag}")
    return f"Empty nodes: {', '.join(places)}" if places else ""


def _start_tag(width: float, height: float, attributes: str) -> str:
    size = f"{_number(width)} {_number(height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="vdgi-tree"{attributes} '
        f'width="{_number(width)}" '
        f'height="{_number(height)}" viewBox="0 0 {size}" font-family="system-ui, sans-serif">'
    )


def _stroke(kind: str, steps: Sequence[tuple[str | float, ...]]) -> str:
    """A line of absolute steps, each a letter of SVG's paths and its coordinates."""
    colour, width, dashes = _LINES[kind]
    path = " ".join(f"{letter}{' '.join(map(_number, numbers))}" for letter, *numbers in steps)
    more = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{more}/>'


def _number(value: Any) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text_width(label: str, size: float) -> float:
    """The approximate width in fonts without serifs, rather too large than too small."""
    width = 0.0
    for letter, times in Counter(label).items():
        n_columns = column_count(letter)
        if n_columns != 1:
            width += times * n_columns * 0.52
        elif letter in "iljtfrI.,:;'’|!()[]- ":
            width += times * 0.42
        else:
            is_wide = letter in "mwMW@%—…" or unicodedata.category(letter) == "Lu"
            width += times * (0.76 if is_wide else 0.62)
    return size * width

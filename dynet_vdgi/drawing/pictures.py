"""Drawings of dependency trees as SVG, one tree or several below one another.

Arcs stand above the words, tags below; a long sentence goes over several lines, and so do its arcs. The SVG
is self-contained (no scripts, fonts, links), takes its colours from CSS variables (`--vdgi-paper` and so on)
that follow the reader's light or dark scheme, and includes a description. Wherever colours distinguish right
from wrong, or sure from doubtful, the width and the dashes of the lines do so too.

Why not a library: deplacy (2.1.1, MIT, alive) draws CoNLL-U well in a terminal, but it does not compare with
gold heads or keep to a width, and its SVG is made by a script in a browser. displaCy comes with all of spaCy.
udapi is under the GPL, so it can only be called, and its pages load scripts from the web.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from xml.sax.saxutils import escape

from dynet_vdgi.drawing.arcs import DOUBTFUL, MISSED, PLAIN, RIGHT, SURE, UNSURE, WRONG
from dynet_vdgi.drawing.layout import TIP_LENGTH, DrawnTree, Line, Picture, lay_out

__all__ = ["WIDTH", "DrawnTree", "svg_document"]

WIDTH = 960
"""Default width of a picture in pixels."""

_TIP_HALF = 3.5
_LINE_WIDTHS = {PLAIN: 1.4, RIGHT: 1.4, WRONG: 2.6, MISSED: 1.6, SURE: 1.4, UNSURE: 1.8, DOUBTFUL: 2.4}
_DASHES = {MISSED: (5, 3), UNSURE: (8, 2), DOUBTFUL: (3, 3)}


def _colours(paper: str, ink: str, muted: str, right: str, wrong: str, missed: str) -> dict[str, str]:
    arcs = {PLAIN: muted, RIGHT: right, WRONG: wrong, MISSED: missed}
    doubts = {SURE: muted, UNSURE: missed, DOUBTFUL: wrong}
    return {"paper": paper, "ink": ink, "muted": muted, **arcs, **doubts}


_LIGHT = _colours("#ffffff", "#1f2328", "#59636e", "#1a7f37", "#c4320a", "#0550ae")
_DARK = _colours("#0d1117", "#e6edf3", "#9198a1", "#4ac26b", "#ff9a6b", "#79c0ff")
_MAX_PNG_PIXELS = 1 << 26  # of one file

_LOGGER = logging.getLogger("dynet_vdgi")


def svg_document(trees: Iterable[DrawnTree], *, width: float = WIDTH) -> str:
    """Trees one below the other, as the text of one SVG file, for a page too; no wider than `width` pixels.

    A wider word has a line of its own and widens the picture. Each arc is a `<g>` of class
    `vdgi-arc` with `data-head` and `data-dependent`; with gold heads it is also of class `vdgi-right`,
    `vdgi-wrong` or `vdgi-missed`, and a legend follows below.

    Raises: ValueError if lengths differ, or a head is outside the sentence or the word itself.
    """
    pictures = [lay_out(tree, width) for tree in trees]
    if len(pictures) == 1:
        return _element(pictures[0], style=True) + "\n"
    full_width, full_height = max(p.width for p in pictures), sum(p.height for p in pictures)
    parts, top = [], 0.0
    for picture in pictures:
        parts.append(_element(picture, style=False, top=top, width=full_width))
        top += picture.height
    start = _start_tag(full_width, full_height, "")
    title = f"<title>{len(pictures)} dependency trees</title>"
    return "\n".join([start + title, f"<style>{_STYLE}</style>", *parts, "</svg>"]) + "\n"


# ------------------------------------------------------------------------------------------- SVG
def _variables(colours: dict[str, str]) -> str:
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


def _start_tag(width: float, height: float, attributes: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="vdgi-tree"{attributes} width="{_number(width)}" '
        f'height="{_number(height)}" viewBox="0 0 {_number(width)} {_number(height)}" '
        'font-family="system-ui, sans-serif" style="max-width:100%;height:auto">'
    )


def _element(picture: Picture, *, style: bool, top: float = 0, width: float = 0) -> str:
    """The `<svg>` element; colours are also attributes, for programs without CSS variables."""
    width = max(width, picture.width)
    place = f' y="{_number(top)}"' if top else ""
    lines = [_start_tag(width, picture.height, f' role="img"{place}')]
    lines.append(f"<title>{escape(picture.title)}</title>")
    lines.append(f"<desc>{escape(picture.description)}</desc>")
    if style:
        lines.append(f"<style>{_STYLE}</style>")
    lines.append(f'<rect class="vdgi-paper" width="100%" height="100%" fill="{_LIGHT["paper"]}"/>')
    lines += [_line_element(line) for line in picture.lines]
    for label in picture.labels:
        lines.append(
            f'<text class="vdgi-{label.role} vdgi-{label.kind}" '
            f'x="{_number(label.x)}" y="{_number(label.y)}" '
            f'font-size="{label.size}" text-anchor="{label.anchor}" fill="{_LIGHT[label.kind]}"'
            f"{_HALO if label.role == 'relation' else ''}>"
            f"{escape(label.text)}</text>"
        )
    return "\n".join([*lines, "</svg>"])


def _line_element(line: Line) -> str:
    colour = _LIGHT[line.kind]
    data = " ".join(f"{command}{' '.join(map(_number, numbers))}" for command, numbers in line.path)
    dashes = f' stroke-dasharray="{" ".join(map(str, _DASHES[line.kind]))}"' if line.kind in _DASHES else ""
    stroke = (
        f'<path class="vdgi-line" d="{data}" fill="none" stroke="{colour}" '
        f'stroke-width="{_LINE_WIDTHS[line.kind]}"{dashes}/>'
    )
    if line.arc is None:
        return f'<g class="vdgi-{line.kind}">{stroke}</g>'
    tip = " ".join(f"{_number(x)},{_number(y)}" for x, y in _tip(*line.tip))
    return (
        f'<g class="vdgi-arc vdgi-{line.kind}" data-head="{line.arc.head}" '
        f'data-dependent="{line.arc.dependent}">{stroke}'
        f'<polygon class="vdgi-tip" points="{tip}" fill="{colour}"/></g>'
    )


def _tip(x: float, y: float) -> list[tuple[float, float]]:
    return [(x, y), (x - _TIP_HALF, y - TIP_LENGTH), (x + _TIP_HALF, y - TIP_LENGTH)]


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# ------------------------------------------------------------------------------------------- PNG

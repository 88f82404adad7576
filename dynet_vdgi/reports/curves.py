"""Learning curves as `<svg>` elements for a page: lines differ in colour and dashes, and have a description.

Colours are classes, `vdgi-series-0` and so on, to which the page's style sheet gives light and dark values. A
picture is about as wide as a telephone, so that it need not shrink there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 340, 220
N_COLOURS = 6
DASHES = ("", "7 3", "2 3", "10 3 2 3", "4 2")
"""With `N_COLOURS` colours, 30 lines can be told apart."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 22, 12, 40  # margins of the plot, with room for the numbers
_N_TICKS = 4
_MAX_DOTS = 30  # lines with more points have no dots
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Series(NamedTuple):
    """One line: points (x, y) in the order of x, drawn in the style of this number."""

    name: str
    points: Sequence[tuple[float, float]]
    number: int = 0


def ticks(low: float, high: float) -> list[float]:
    """Equidistant round numbers, from at most `low` to at least `high`, in about four steps.

    >>> ticks(0.12, 0.71)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        margin = abs(low) / 10 or 1.0
        low, high = low - margin, high + margin
    raw = (high - low) / _N_TICKS
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in _STEPS if factor * magnitude >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


def number(value: float) -> str:
    """A number in its shortest form.

    >>> number(12000), number(-0.25)
    ('12,000', '-0.25')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


class Axis(NamedTuple):
    """The unit of the x-axis, in singular and plural."""

    singular: str
    plural: str


UPDATES, ITERATIONS = Axis("update", "updates"), Axis("iteration", "iterations")


def in_words(series: Sequence[Series], axis: Axis = UPDATES) -> str:
    """A description of the lines: where each begins, ends, and is lowest and highest."""
    at = f"at {axis.singular}"
    parts = []
    for line in series:
        (first_x, first), (last_x, last) = line.points[0], line.points[-1]
        if len(line.points) == 1:
            parts.append(f"{line.name}: {number(first)} {at} {number(first_x)}.")
            continue
        values = [value for _, value in line.points]
        parts.append(
            f"{line.name}: from {number(first)} {at} {number(first_x)} to {number(last)} {at} "
            f"{number(last_x)}; lowest {number(min(values))}, highest {number(max(values))}."
        )
    return " ".join(parts)


def sample(line: int) -> str:
    """A sample of the line of this number, for a legend."""
    name = f"Line {line + 1}"
    return (
        '<svg class="vdgi-sample" width="44" height="12" viewBox="0 0 44 12" role="img">'
        f"<title>{name}</title>"
        f"<desc>{'Dashed' if _dashes(line) else 'Solid'}</desc>"
        f'<path class="{_classes(line)}" d="M2 6H42"{_dashes(line)}/></svg>'
    )


def svg(title: str, series: Sequence[Series], name: str, axis: Axis = UPDATES) -> str:
    """The lines against an axis; `name` must be unique among the elements of the page.

    Raises: ValueError without any point.
    """
    series = [line for line in series if line.points]
    if not series:
        raise ValueError("no point to draw")
    across = [x for line in series for x, _ in line.points]
    up = [y for line in series for _, y in line.points]
    x_end = max(across) if max(across) > 0 else 1.0
    x_ticks = [tick for tick in ticks(0.0, x_end) if tick <= x_end]
    y_ticks = ticks(min(up), max(up))
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        along = max(x, 0.0) / x_end
        high = (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _LEFT + along * (right - _LEFT), bottom - high * (bottom - _TOP)

    parts = [
        f'<svg class="vdgi-curve" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{escape(title)} against {axis.plural}</title>',
        f'<desc id="{name}-desc">{escape(in_words(series, axis))}</desc>',
    ]
    for value in y_ticks:
        _, y = place(0.0, value)
        parts.append(f'<path class="vdgi-grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    for value in x_ticks:
        x, _ = place(value, y_ticks[0])
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{number(value)}</text>')
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{axis.plural}</text>')
    for line in series:
        places = [place(x, y) for x, y in line.points]
        data = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        classes, dots = _classes(line.number), ""
        if len(places) <= _MAX_DOTS:
            dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places)
        parts.append(f'<g class="{classes}"><path d="M{data}"{_dashes(line.number)}/>{dots}</g>')
    return "\n".join([*parts, "</svg>"])


def _classes(line: int) -> str:
    return f"vdgi-series vdgi-series-{line % N_COLOURS}"


def _dashes(line: int) -> str:
    dashes = DASHES[line % len(DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""

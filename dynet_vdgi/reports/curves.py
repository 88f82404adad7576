"""Learning curves as `<svg>` elements for a page: lines differ in colour and dashes, and have a description.

Colours are classes, `vdgi-series-0` and so on, to which the page's style sheet gives light and dark values. A
picture is about as wide as a telephone, so that it need not shrink there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from dynet_vdgi.reports.runs import Run

CURVES = (
    ("Dev DDA, per cent", "dev_dda", 100.0),
    ("ELBO per word", "elbo_per_word", 1.0),
    ("|lambda|", "lambda_norm", 1.0),
    ("Rules per sentence", "rules_per_sentence", 1.0),
    ("Log-potential per sentence", "prior_per_sentence", 1.0),
    ("Entropy of the encoder", "entropy", 1.0),
)
"""Title, key of a log's rows, factor."""

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


class Curves(NamedTuple):
    """Pictures, by title, with one legend: samples of lines and the runs that they mean."""

    samples: Sequence[tuple[str, str]]
    pictures: Mapping[str, str]


def curves_of(runs: Sequence[Run]) -> Curves:
    """The curves of all measurements in the logs by the number of updates."""
    pictures: dict[str, str] = {}
    drawn = set()
    for title, key, factor in CURVES:
        series = []
        for index, run in enumerate(runs):
            both = [(number_in(row, "update"), number_in(row, key)) for row in run.rows]
            points = sorted((x, factor * y) for x, y in both if x is not None and y is not None)
            if points:
                series.append(Series(run.name, points, index))
                drawn.add(index)
        if series:
            pictures[title] = svg(title, series, f"curve-{key.replace('_', '-')}")
    return Curves([(_sample(index), runs[index].name) for index in sorted(drawn)], pictures)


def number_in(row: Mapping[str, Any], key: str) -> float | None:
    """The number under a key; None if there is no number."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


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


def svg(
    title: str, series: Sequence[Series], name: str, unit: tuple[str, str] = ("update", "updates")
) -> str:
    """The lines, each of which has a point; `name` must be unique among the elements of the page.

    unit: of the x-axis, in singular and plural.
    """
    across = [x for line in series for x, _ in line.points]
    up = [y for line in series for _, y in line.points]
    x_end = max(across) if max(across) > 0 else 1.0
    y_ticks = ticks(min(up), max(up))
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        high = (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _LEFT + max(x, 0.0) / x_end * (right - _LEFT), bottom - high * (bottom - _TOP)

    parts = [
        f'<svg class="vdgi-curve" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{escape(title)} against {unit[1]}</title>',
        f'<desc id="{name}-desc">{escape(" ".join(_in_words(line, unit[0]) for line in series))}</desc>',
    ]
    for value in y_ticks:
        _, y = place(0.0, value)
        parts.append(f'<path class="vdgi-grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    for value in (tick for tick in ticks(0.0, x_end) if tick <= x_end):
        x, _ = place(value, y_ticks[0])
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{_number(value)}</text>')
    parts.append(
        f'<text x="{(_LEFT + right) / 2:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{unit[1]}</text>'
    )
    for line in series:
        places = [place(x, y) for x, y in line.points]
        data = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places]
        path = f'<path d="M{data}"{_dashes(line.number)}/>'
        shown = "".join(dots) if len(places) <= _MAX_DOTS else ""
        parts.append(f'<g class="{_classes(line.number)}">{path}{shown}</g>')
    return "\n".join([*parts, "</svg>"])


def _in_words(line: Series, unit: str) -> str:
    """A description: where the line begins, ends, and is lowest and highest."""
    (first_x, first), (last_x, last) = line.points[0], line.points[-1]
    begin = f"{_number(first)} at {unit} {_number(first_x)}"
    if len(line.points) == 1:
        return f"{line.name}: {begin}."
    values = [value for _, value in line.points]
    return (
        f"{line.name}: from {begin} to {_number(last)} at {unit} {_number(last_x)}; "
        f"lowest {_number(min(values))}, highest {_number(max(values))}."
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _sample(line: int) -> str:
    """A sample of the line of this number, for a legend."""
    return (
        '<svg class="vdgi-sample" width="44" height="12" viewBox="0 0 44 12" role="img">'
        f"<title>Line {line + 1}</title><desc>{'Dashed' if _dashes(line) else 'Solid'}</desc>"
        f'<path class="{_classes(line)}" d="M2 6H42"{_dashes(line)}/></svg>'
    )


def _classes(line: int) -> str:
    return f"vdgi-series vdgi-series-{line % N_COLOURS}"


def _dashes(line: int) -> str:
    dashes = DASHES[line % len(DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""

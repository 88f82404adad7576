"""Pictures of pages, as SVG: predictions beside what came out, and accuracy by the number of
treebanks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from result_rows import rows

CURVE_WIDTH, CURVE_HEIGHT = 340, 220
DASHES = ("", "7 3")
_LEFT, _RIGHT, _TOP, _BOTTOM = (
    52,
    22,
    12,
    40,
)  # margins of the plot, with room for the numbers
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


def curves(title: str, series: Sequence[Series], name: str, unit: tuple[str, str]) -> str:
    """The lines, each of which has a point; `name` must be unique among the elements of the page.

    unit: of the x-axis, in singular and plural.
    """
    across = [x for line in series for x, _ in line.points]
    up = [y for line in series for _, y in line.points]
    x_end = max(across) if max(across) > 0 else 1.0
    y_ticks = ticks(min(up), max(up))
    right, bottom = CURVE_WIDTH - _RIGHT, CURVE_HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        high = (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _LEFT + max(x, 0.0) / x_end * (right - _LEFT), bottom - high * (bottom - _TOP)

    parts = [
        f'<svg class="vdgi-curve" viewBox="0 0 {CURVE_WIDTH} {CURVE_HEIGHT}" width="{CURVE_WIDTH}" '
        f'height="{CURVE_HEIGHT}" role="img" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{escape(title)} against {unit[1]}</title>',
        f'<desc id="{name}-desc">'
        f"{escape(' '.join(_in_words(line, unit[0]) for line in series))}</desc>",
    ]
    for value in y_ticks:
        _, y = place(0.0, value)
        parts.append(f'<path class="vdgi-grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_tick(value)}</text>'
        )
    for value in (tick for tick in ticks(0.0, x_end) if tick <= x_end):
        x, _ = place(value, y_ticks[0])
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{_tick(value)}</text>'
        )
    parts.append(
        f'<text x="{(_LEFT + right) / 2:.1f}" y="{CURVE_HEIGHT - 6}" text-anchor="middle">'
        f"{unit[1]}</text>"
    )
    for line in series:
        places = [place(x, y) for x, y in line.points]
        data = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places]
        dashes = f' stroke-dasharray="{DASHES[line.number]}"' if line.number else ""
        path = f'<path d="M{data}"{dashes}/>'
        shown = "".join(dots) if len(places) <= _MAX_DOTS else ""
        parts.append(f'<g class="vdgi-series vdgi-series-{line.number}">{path}{shown}</g>')
    return "\n".join([*parts, "</svg>"])


def _in_words(line: Series, unit: str) -> str:
    """A description: where the line begins, ends, and is lowest and highest."""
    (first_x, first), (last_x, last) = line.points[0], line.points[-1]
    begin = f"{_tick(first)} at {unit} {_tick(first_x)}"
    if len(line.points) == 1:
        return f"{line.name}: {begin}."
    values = [value for _, value in line.points]
    return (
        f"{line.name}: from {begin} to {_tick(last)} at {unit} {_tick(last_x)}; "
        f"lowest {_tick(min(values))}, highest {_tick(max(values))}."
    )


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def growth_picture() -> str:
    """DDA of five languages by the number of treebanks that a network has learnt from, as SVG."""
    systems = {10: "10 treebanks", 20: "20 treebanks", 40: "40 treebanks", 92: "branch left out"}
    chosen = [row for row in rows("universal-seeds.csv") if row["seed"] == "1"]
    languages = {row["language"] for row in chosen if row["system"] == systems[10]}
    lines = []
    for number, column in enumerate(("dda15", "dda40")):
        points = []
        for n, system in systems.items():
            of_size = [
                row for row in chosen if row["system"] == system and row["language"] in languages
            ]
            points.append((n, sum(float(row[column]) for row in of_size) / len(of_size)))
        lines.append(Series(f"up to {column[3:]} words", points, number))
    drawn = curves("DDA, per cent", lines, "growth", ("treebank", "treebanks learnt from"))
    style = "text{font:12px sans-serif;fill:#333}path{fill:none;stroke:#137}.vdgi-grid{stroke:#ccc}"
    for old, new in (
        ("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '),
        ("</svg>", f"<style>{style}</style></svg>\n"),
    ):
        drawn = drawn.replace(old, new, 1)
    return drawn


def picture() -> str:
    """Predictions and what came out, as SVG: languages that nothing was chosen on by name, others
    as dots."""
    lowest, size, marks = 40, 420, []

    def place(share: str) -> float:
        return (100 * float(share) - lowest) * size / (100 - lowest)

    for row in rows("expect.csv"):
        x, y = f"{50 + place(row['expected']):.1f}", f"{20 + size - place(row['right']):.1f}"
        if row["set"] == "guessed tags":
            continue
        if row["set"] == "check":
            marks.append(f'<text x="{x}" y="{y}" class="name">{row["treebank"]}</text>')
        else:
            marks.append(f'<circle cx="{x}" cy="{y}" r="2.5"/>')
    axes = [
        f'<path d="M50 {20 + size}H{50 + size}M50 {20 + size}V20M50 {20 + size}L{50 + size} 20"/>'
    ]
    for tick in range(lowest, 101, 10):
        step = place(str(tick / 100))
        axes.append(f'<text x="{50 + step:.0f}" y="{38 + size}" text-anchor="middle">{tick}</text>')
        axes.append(f'<text x="44" y="{24 + size - step:.0f}" text-anchor="end">{tick}</text>')
    axes.append(
        f'<text x="{50 + size / 2}" y="{58 + size}" text-anchor="middle">'
        "expected, % of the heads</text>"
    )
    axes.append('<text x="50" y="12">right, % of the heads</text>')
    style = (
        "text{font:12px sans-serif;fill:#333}path{stroke:#999;fill:none}"
        "circle{fill:#7aa}.name{fill:#b00}"
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size + 70} {size + 70}" role="img">'
    )
    title = (
        "<title>Expected and right heads of languages that the parser has not learnt from</title>"
    )
    return "\n".join([head, title, f"<style>{style}</style>", *axes, *sorted(marks), "</svg>", ""])


DRAWN = {"expect.svg": picture, "universal-growth.svg": growth_picture}
"""Files of docs/pictures that are drawn from rows."""

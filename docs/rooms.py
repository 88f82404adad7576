"""The imports among the modules of the package, and the picture of its rooms, which generate.py
writes.

A room is a package, or one of LOOSE. An arrow from a room leads to a room that it imports; imports
inside functions and for type checkers count. To keep the picture legible, an arrow is left out if
others imply it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from functools import cache
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "dynet_vdgi"

LOOSE = {"command line": ("__main__", "cli", "commands")}
"""The room of modules at the top of the package; any other module there is a room of its own."""

NO_ROOM = ("", "_version")
"""The package's `__init__`, which imports all rooms, and its version."""

Arrows = Mapping[str, set[str]]
"""By importing module or room, the imported ones."""


@cache
def imports() -> Arrows:
    """Imports of all modules, by dotted name; `from PACKAGE import MODULE` is an import of the
    module."""
    paths = {_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    return {name: imported(path, paths) - {name} for name, path in paths.items()}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def imported(path: Path, modules: Collection[str]) -> set[str]:
    """The modules among these that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative imports are not read"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules else str(node.module) for name in names}
    return found.intersection(modules)


def rooms() -> Arrows:
    """Imports of the rooms."""
    homes = {module: room for room, modules in LOOSE.items() for module in modules}
    arrows: dict[str, set[str]] = {}
    for module, others in imports().items():
        own, *there = (homes.get(top, top) for top in map(_top, (module, *others)))
        if own not in NO_ROOM:
            arrows.setdefault(own, set()).update({*there} - {own, *NO_ROOM})
    return arrows


def _top(module: str) -> str:
    """The package or module at the top of `dynet_vdgi` that holds a module; "" for its `__init__`."""
    return (*module.split("."), "")[1]


def floors(arrows: Arrows) -> dict[str, int]:
    """The floor of each room: 0, or one above the highest room that it imports. Raises: CycleError."""
    found: dict[str, int] = {}
    for room in TopologicalSorter(arrows).static_order():
        found[room] = max((found[other] + 1 for other in arrows[room]), default=0)
    return found


def drawn(arrows: Arrows) -> Arrows:
    """The arrows that others do not imply."""
    reached: dict[str, set[str]] = {}
    for room in TopologicalSorter(arrows).static_order():
        reached[room] = arrows[room].union(*(reached[other] for other in arrows[room]))
    return {
        room: others.difference(*(reached[other] for other in others))
        for room, others in arrows.items()
    }


WIDTH, HEIGHT, GAP, LANE, FLOOR = 112, 30, 14, 8, 74
"""Distances in pixels: of a box, between places, of an arrow that passes a floor, and between
floors."""

NOTE = "<!-- Written by docs/generate.py: do not edit. -->"
COLOUR = "#567"


def picture() -> str:
    """The rooms as SVG; each is above the rooms that it imports."""
    arrows, levels = drawn(rooms()), floors(rooms())
    top = max(levels.values())
    ways = {  # an arrow across floors has a place of its own on each
        (room, other): [
            room,
            *(f"{room} {other} {k}" for k in range(levels[room] - 1, levels[other], -1)),
            other,
        ]
        for room, others in sorted(arrows.items())
        for other in sorted(others)
    }
    rows: list[list[str]] = [[] for _ in range(top + 1)]  # from the top
    for room in sorted(levels):
        rows[top - levels[room]].append(room)
    for (room, _), way in ways.items():
        for k, place in enumerate(way[1:-1], 1):
            rows[top - levels[room] + k].append(place)
    centre = _centres(rows, ways.values(), levels)
    y = {place: 10 + k * FLOOR for k, row in enumerate(rows) for place in row}
    left, right = (end(centre.values()) for end in (min, max))
    frame = f"{left - WIDTH:.0f} 0 {right - left + 2 * WIDTH:.0f} {top * FLOOR + HEIGHT + 20}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{frame}" font-family="sans-serif" font-size="13">',
        NOTE,
        '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{COLOUR}"/></marker>',
        f'<rect x="{left - WIDTH:.0f}" width="100%" height="100%" fill="#fff"/>',
    ]
    for room, *passed, other in ways.values():
        points = [
            (room, HEIGHT),
            *((place, h) for place in passed for h in (0, HEIGHT)),
            (other, 0),
        ]
        path = " ".join(f"{centre[place]:.0f},{y[place] + h}" for place, h in points)
        lines.append(
            f'<polyline points="{path}" fill="none" stroke="{COLOUR}" marker-end="url(#tip)"/>'
        )
    for room in sorted(levels):
        box = f'x="{centre[room] - WIDTH / 2:.0f}" y="{y[room]}" width="{WIDTH}" height="{HEIGHT}" rx="4"'
        lines.append(f'<rect {box} fill="#eef3f8" stroke="{COLOUR}"/>')
        middle = f'x="{centre[room]:.0f}" y="{y[room] + 20}" text-anchor="middle"'
        lines.append(f"<text {middle}>{escape(room)}</text>")
    return "\n".join([*lines, "</svg>"]) + "\n"


def _centres(
    rows: list[list[str]], ways: Collection[list[str]], levels: Mapping[str, int]
) -> dict[str, float]:
    """The centre of each place, from left to right; sorts the rows so that few arrows cross."""
    beside: dict[str, list[str]] = {place: [] for row in rows for place in row}
    for way in ways:
        for upper, lower in zip(way, way[1:]):
            beside[upper].append(lower)
            beside[lower].append(upper)
    centre = {place: x for row in rows for place, x in _spread(row, levels)}
    for _ in range(20):  # each place moves towards the centre of its neighbours
        for row in (*rows, *rows[::-1]):
            aim = {
                place: sum(centre[other] for other in beside[place]) / len(beside[place])
                for place in row
            }
            row.sort(key=aim.__getitem__)
            centre.update(_spread(row, levels))
    return centre


def _spread(row: list[str], levels: Mapping[str, int]) -> list[tuple[str, float]]:
    """The places of a floor with their centres, around 0."""
    widths = [WIDTH if place in levels else LANE for place in row]
    at, found = -(sum(widths) + GAP * (len(row) - 1)) / 2, []
    for place, width in zip(row, widths):
        found.append((place, at + width / 2))
        at += width + GAP
    return found

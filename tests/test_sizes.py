"""Rules of the house that no tool checks: how long functions and modules are, and what tests import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@cache
def trees(folder: str) -> dict[str, ast.Module]:
    """Syntax trees of the modules in a folder, by path."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


@pytest.fixture(scope="module", autouse=True)
def memory_is_given_back() -> Iterator[None]:
    yield
    trees.cache_clear()


# The limits say when to look again, not how to write. They leave room because, at 60 and 500 lines,
# arguments were squeezed into groups of stars, and functions cut in two, only to stay below them.
MOST_LINES_OF_A_FUNCTION = 90
MOST_LINES_OF_A_MODULE = 600

# Lines of Python in each room. Raise one only with a reason, in the message of the commit.
MOST_LINES_OF_A_ROOM = {
    "": 1160,  # modules at the top
    "annotation": 5355,
    "commands": 2280,
    "data": 3705,
    "drawing": 660,
    "evaluation": 1870,
    "experiments": 990,
    "grammar": 4330,
    "labels": 1400,
    "model": 1420,
    "parsing": 2390,
    "recipes": 2140,
    "release": 400,
    "rivals": 380,
    "runs": 670,
    "settings": 1010,
    "students": 730,
    "system": 860,
    "tagging": 2630,
    "teachers": 1510,
    "tokenising": 1330,
    "universal": 2690,
    "variational": 960,
}


def test_no_function_is_longer_than_ninety_lines() -> None:
    functions = [
        (path, node.name, (node.end_lineno or 0) - node.lineno + 1)
        for path, tree in trees("dynet_vdgi").items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    assert len(functions) > 500
    assert [function for function in functions if function[2] > MOST_LINES_OF_A_FUNCTION] == []


def test_no_module_is_longer_than_six_hundred_lines() -> None:
    sizes = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in trees("dynet_vdgi")}
    assert {path for path, size in sizes.items() if size > MOST_LINES_OF_A_MODULE} == set()


def test_no_room_grows_beyond_its_budget() -> None:
    sizes = dict.fromkeys(MOST_LINES_OF_A_ROOM, 0)
    for path in trees("dynet_vdgi"):
        room = path.split("/")[1] if path.count("/") > 1 else ""
        sizes[room] += len((ROOT / path).read_text(encoding="utf-8").splitlines())
    assert {room: size for room, size in sizes.items() if size > MOST_LINES_OF_A_ROOM[room]} == {}


def test_no_group_of_stars_saves_lines() -> None:
    """`f(*(a, b), c)` hides from readers and tools which argument is which; `f(a, b, c)` says the same."""
    found = {
        path
        for folder in ("dynet_vdgi", "benchmarks", "tests", "docs")
        for path, tree in trees(folder).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Starred) and isinstance(node.value, (ast.Tuple, ast.List))
    }
    assert found == set()


def test_no_test_imports_another() -> None:
    found = []
    for path, tree in trees("tests").items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [(path, name) for name in names if name.startswith("test_")]
    assert found == []

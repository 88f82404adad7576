"""Rules of the house that no tool checks: groups of stars, and what tests import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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


def test_no_group_of_stars_saves_lines() -> None:
    """`f(*(a, b), c)` hides from readers and tools which argument is which; `f(a, b, c)` says the
    same."""
    found = {
        path
        for folder in ("dynet_vdgi", "experiments", "tests", "docs")
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

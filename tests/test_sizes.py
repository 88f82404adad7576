"""Rules of the house that no tool checks: how long functions and modules are, and what tests import."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]

PACKAGE = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "dynet_vdgi").rglob("*.py"))
}
"""Syntax trees of the package's modules by path."""


def test_no_function_is_longer_than_sixty_lines() -> None:
    functions = [
        (path, node.name, (node.end_lineno or 0) - node.lineno + 1)
        for path, tree in PACKAGE.items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    assert len(functions) > 500
    assert [function for function in functions if function[2] > 60] == []


def test_no_module_is_longer_than_five_hundred_lines() -> None:
    sizes = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in PACKAGE}
    assert {path: size for path, size in sizes.items() if size > 500} == {}


def test_every_class_has_a_name_of_its_own() -> None:
    places = defaultdict(list)
    for path, tree in PACKAGE.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_no_test_imports_another() -> None:
    found = []
    for path in sorted(Path(__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [(path.name, name) for name in names if name.startswith("test_")]
    assert found == []

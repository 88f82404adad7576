"""One name, one thing: no two classes share a name, and modules share one only where it is meant
so."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import dynet_vdgi

PACKAGE = Path(dynet_vdgi.__file__).parent

SHARED = {
    # A verb of the command line and what it is about.
    "clusters",
    "rules",
    "agreement",  # of annotators, and a part of rule tables
    # One thing seen from several packages, whose names tell the modules apart.
    "files",
    "settings",  # of all recipes, and those of the paper's parser
    "recipe",  # what every recipe gives, and the paper's
}
"""Names that several modules have on purpose."""


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if not path.name.startswith("__")]


def places_of_classes() -> dict[str, list[str]]:
    """Where each class is defined, by its name without underscores in front."""
    found = defaultdict(list)
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(str(path.relative_to(PACKAGE)))
    return found


def test_no_two_classes_have_one_name() -> None:
    places = places_of_classes()
    assert len(places) > 100
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_modules_share_a_name_on_purpose_only() -> None:
    found = defaultdict(list)
    for path in modules():
        found[path.stem].append(str(path.relative_to(PACKAGE)))
    shared = {name: where for name, where in found.items() if len(where) > 1}
    assert {name: where for name, where in shared.items() if name not in SHARED} == {}

"""Names say what a thing is: `found`, `told` and their like are used no more, and go where they
still are.

`names_to_replace.txt` counts them by module. A module may get fewer of them, never more; when you
rename some, run `VDGI_REGENERATE=1 pytest tests/project/test_words_of_names.py`, which writes
today's counts and refuses larger ones (it takes any where the file is missing).
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from pathlib import Path

import dynet_vdgi

PACKAGE = Path(dynet_vdgi.__file__).parent
COUNTS = Path(__file__).with_name("names_to_replace.txt")
VAGUE = frozenset(["found", "told", "said", "its", "own", "known", "kept", "in_short", "beside"])
"""Names that do not say what is found, told or kept: write `tags`, `heads`, `message`, `rows` ..."""

VAGUE_CONSTANTS = frozenset(
    [
        "FEW",
        "MORE",
        "LONGEST",
        "NOTHING",
        "EVEN",
        "SMALL",
        "LITTLE",
        "AHEAD",
        "MANY",
        "SHOWN",
        "OFTEN",
        "RARE",
        "LEAST",
    ]
)
"""Numbers without a noun: write what is counted, such as `FEW_SENTENCES`, `LONGEST_ENDING`."""


def names_given(text: str) -> list[str]:
    """Names that a module gives: of functions, classes, arguments, variables and attributes."""
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append(node.attr)
    return names


def vague_names(text: str) -> list[str]:
    """The vague ones of these names, without underscores around them."""
    names = [name.strip("_") for name in names_given(text)]
    return [name for name in names if name in VAGUE or name in VAGUE_CONSTANTS]


def counts_of_today() -> Counter[str]:
    paths = sorted(PACKAGE.rglob("*.py"))
    counts = {
        path.relative_to(PACKAGE).as_posix(): len(vague_names(path.read_text(encoding="utf-8")))
        for path in paths
    }
    return Counter({module: count for module, count in counts.items() if count})


def counts_allowed() -> Counter[str]:
    rows = [
        line.split()
        for line in COUNTS.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    return Counter({module: int(count) for count, module in rows})


def test_no_module_gets_more_vague_names() -> None:
    regenerates = bool(os.environ.get("VDGI_REGENERATE"))
    today = counts_of_today()
    allowed = today if regenerates and not COUNTS.exists() else counts_allowed()
    more = {
        module: (allowed[module], count)
        for module, count in today.items()
        if count > allowed[module]
    }
    assert more == {}, "name the thing: see the list of words in CONTRIBUTING.md"
    if regenerates:
        first = "# Names such as `found` and `told` by module, to be replaced: test_words_of_names.py.\n"
        rows = [f"{count} {module}\n" for module, count in sorted(today.items())]
        COUNTS.write_text(first + "".join(rows), encoding="utf-8")


def test_vague_names_are_seen() -> None:
    text = "FEW = 3\ndef told(its):\n    found = [kept for kept in its]\n    self._own = found\n    return found\n"
    assert sorted(vague_names(text)) == ["FEW", "found", "its", "kept", "own", "told"]
    assert vague_names("FEW_WORDS = 3\ntags = found_tags = told(3)\n") == []

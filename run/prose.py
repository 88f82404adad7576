#!/usr/bin/env python3
"""Finds turns of phrase to avoid in pages, docstrings and messages: those of run/prose.toml.

    python run/prose.py

Words that are misspelt are codespell's work; this finds phrases of several words. Code is left out: blocks
and spans of code in pages, and in docstrings what stands between backquotes. Prints `file:line: phrase`
and ends with status 1 if a phrase has more places than its `left`, or if fewer have it by more than SLACK
(then lower `left`), or if its own example does not have it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
GENERATED = {"docs/api.md", "docs/command-line.md", "docs/settings.md"}
"""Pages made of docstrings, help texts and presets; `docs/generate.py` writes them."""

SLACK = 3
"""How far places may fall below `left` before it must be lowered: branches merge in any order."""

FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)


class Passage(NamedTuple):
    """Words for readers, with white space joined and code left out, and the place where they begin."""

    place: str
    words: str


def without_code(text: str) -> str:
    """Markdown without fenced blocks and code spans, its white space joined."""
    return " ".join(re.sub(r"`[^`\n]*`", "`code`", FENCED.sub("", text)).split())


def passages_of_page(path: Path) -> Iterator[Passage]:
    """The paragraphs of a page."""
    text = re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", text):
        if paragraph.strip():
            yield Passage(f"{path.relative_to(ROOT)}:{line}", without_code(paragraph))
        line += paragraph.count("\n")


def passages_of_module(path: Path) -> Iterator[Passage]:
    """Docstrings, the strings below constants, help texts and messages: all strings with a space."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Passage(f"{path.relative_to(ROOT)}:{node.lineno}", without_code(node.value))


def passages() -> Iterator[Passage]:
    """Everything that users and contributors read."""
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"):
        yield from passages_of_page(ROOT / name)
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if str(page.relative_to(ROOT)) not in GENERATED:
            yield from passages_of_page(page)
    for module in sorted((ROOT / "dynet_vdgi").rglob("*.py")):
        yield from passages_of_module(module)


def faults(phrase: dict[str, Any], texts: list[Passage]) -> Iterator[str]:
    """What is wrong with a phrase, or with the places that have it."""
    pattern, left = re.compile(phrase["pattern"], re.IGNORECASE), phrase.get("left", 0)
    example = phrase["example"]
    if not pattern.search(example) or pattern.search(without_code(f"Run `{example}` first.")):
        yield f"run/prose.toml: {phrase['pattern']} must be found in its example, and not in code"
    places = [
        f"{text.place}: ...{text.words[max(0, match.start() - 40) : match.end() + 30]}..."
        for text in texts
        for match in pattern.finditer(text.words)
    ]
    if len(places) > left:
        yield from (f"{place} (write instead: {phrase['instead']})" for place in places)
    if len(places) < left - SLACK:
        yield f"run/prose.toml: lower `left` of {phrase['pattern']}: {len(places)} places have it"


def main() -> int:
    phrases = tomllib.loads((ROOT / "run" / "prose.toml").read_text(encoding="utf-8"))["phrase"]
    texts = list(passages())
    lines = [line for phrase in phrases for line in faults(phrase, texts)]
    print("\n".join(lines), end="\n" if lines else "")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())

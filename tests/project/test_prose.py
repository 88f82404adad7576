"""Turns of phrase to avoid: pages, docstrings and messages have none, but for exceptions that are
counted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATED = {"docs/api.md", "docs/command-line.md", "docs/settings.md"}
"""Pages made of docstrings, help texts and presets; `docs/generate.py` writes them."""

SLACK = 3
"""How far places may fall below a habit's `left` before it must be lowered: branches merge in any
order."""


@dataclass(frozen=True)
class Habit:
    """A pattern, what to write instead, an example that it must find, and how many places may have
    it."""

    pattern: str
    instead: str
    example: str
    left: int = 0


HABITS = [
    Habit(
        r"\b(?:is|are|was|were|be|been) told\b(?! apart)",
        "name who learns it: says, shows, sees, reports",
        "The user is told once.",
    ),
    Habit(r"\btold of\b", "about, or name who reports it", "what the student was told of words"),
    Habit(
        r"\bwhat\b[^.;:]{1,40}\bof those that\b",
        "name the thing",
        "what is told of those that changed",
    ),
    Habit(r"\bthose that\b", "repeat the noun: relations that", "first those that changed", left=5),
    Habit(r"\AThe same\b(?! as\b)", "name what it equals", "The same for columns."),
    Habit(r"\bshall\b", "must, is to, should", "if lemmas shall be learnt"),
    Habit(r"\bknown of\b", "known about, or name who knows", "What is known of punctuation"),
    Habit(r"\banew\b", "again, from the start", "Everything is learnt anew.", left=1),
    Habit(
        r"\b(?:of|for|over|least|have|has|levels?|most) so many\b",
        "this many, or the argument's name",
        "a text of so many words",
    ),
    Habit(r"\b(?:is|are) silent\b", "does nothing, has none", "where MISC is silent"),
    Habit(r"\bof theirs\b", "their, in them", "other tags of theirs"),
    Habit(r"\bin the place of\b", "instead of", "a link in the place of a file"),
    Habit(
        r"\b(?:is|are|was|were) looked at\b",
        "name who looks: checks, reads, scores",
        "Labels are looked at.",
    ),
    Habit(
        r"\b(?:is|are) said\b",
        "name who says it",
        "the distance between what is said and what holds",
    ),
    Habit(
        r"\bdoes not know it\b",
        "name what is unknown",
        "A model of two languages does not know it.",
    ),
    Habit(r"\b(?:allows?|permits?|enables?) to\b", "lets you", "This option allows to parse."),
    Habit(
        r"\b(?:in order to|utili[sz]e\w*|informations|please note)\b",
        "the common word",
        "in order to parse",
    ),
    Habit(
        r"\b(?:i\.e\.|etc\.|cf\.)", "that is, and so on, see", "brackets, commas etc. are removed"
    ),
]


@dataclass(frozen=True)
class Passage:
    """Words for readers, with white space joined and code left out, and the place where they begin."""

    place: str
    words: str


def without_code(text: str) -> str:
    """Markdown without fenced blocks and code spans, its white space joined."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2", "", text, flags=re.MULTILINE | re.DOTALL)
    return " ".join(re.sub(r"`[^`\n]*`", "`code`", text).split())


def passages_of_page(path: Path) -> Iterator[Passage]:
    """The paragraphs of a page."""
    text = re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(
        r"^( *)(```|~~~).*?^\1\2",
        lambda m: "\n" * m[0].count("\n"),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
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


@cache
def passages() -> list[Passage]:
    """Everything that users and contributors read; each process that collects the tests would be
    too many."""
    pages = [
        ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    ]
    pages += [
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if str(page.relative_to(ROOT)) not in GENERATED
    ]
    found = [passage for page in pages for passage in passages_of_page(page)]
    for module in sorted((ROOT / "dynet_vdgi").rglob("*.py")):
        found.extend(passages_of_module(module))
    return found


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.example)
def test_no_passage_falls_back_into_a_habit(habit: Habit) -> None:
    pattern = re.compile(habit.pattern, re.IGNORECASE)
    places = [
        f"{passage.place}: ...{passage.words[max(0, match.start() - 40) : match.end() + 30]}..."
        for passage in passages()
        for match in pattern.finditer(passage.words)
    ]
    assert len(places) <= habit.left, "\n".join([f"write instead: {habit.instead}", *places])
    assert len(places) >= habit.left - SLACK, (
        f"lower `left` of {habit.pattern}: {len(places)} places have it"
    )


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.example)
def test_a_habit_is_found_in_its_example_and_not_in_code(habit: Habit) -> None:
    assert re.search(habit.pattern, habit.example, re.IGNORECASE)
    assert not re.search(
        habit.pattern, without_code(f"Run `{habit.example}` first."), re.IGNORECASE
    )

"""The demo treebank is what its generator makes, is well-formed, and is neither trivial nor hopeless."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

DEMO = Path(__file__).parents[1] / "resources" / "demo"
SIZES = {"train": 600, "dev": 100, "test": 200}
TAGS = {"NOUN", "PROPN", "PRON", "VERB", "AUX", "ADJ", "ADV", "DET", "NUM"}
TAGS |= {"ADP", "CONJ", "SCONJ", "PART", "INTJ", "SYM", "X", "PUNCT"}


class Tree:
    """One block of a file: comments, the rows of the words, and rows of other kinds."""

    def __init__(self, block: str) -> None:
        lines = block.split("\n")
        self.comments = dict(line[2:].split(" = ", 1) for line in lines if line.startswith("#"))
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        self.widths = {len(row) for row in rows}
        self.words = [row for row in rows if row[0].isdigit()]
        self.ranges = [row for row in rows if "-" in row[0]]
        self.empty = [row for row in rows if "." in row[0]]
        self.forms = [row[1] for row in self.words]
        self.tags = [row[3] for row in self.words]
        self.heads = [int(row[6]) for row in self.words]

    def text(self) -> str:
        """The raw text, put together again from the token lines."""
        covered = {str(i) for r in self.ranges for i in range(*span(r))}
        tokens = self.ranges + [row for row in self.words if row[0] not in covered]
        tokens.sort(key=lambda row: int(row[0].split("-")[0]))
        return "".join(row[1] + ("" if row[9] == "SpaceAfter=No" else " ") for row in tokens).rstrip()


def span(row: list[str]) -> tuple[int, int]:
    first, last = row[0].split("-")
    return int(first), int(last) + 1


def reaches_root(heads: list[int], word: int) -> bool:
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo_generate", DEMO / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def treebank() -> dict[str, list[Tree]]:
    texts = {part: (DEMO / f"demo-ud-{part}.conllu").read_text(encoding="utf-8") for part in SIZES}
    assert all(text.endswith("\n\n") for text in texts.values())
    return {part: [Tree(block) for block in text[:-2].split("\n\n")] for part, text in texts.items()}


@pytest.fixture(scope="module")
def trees(treebank: dict[str, list[Tree]]) -> list[Tree]:
    return [tree for part in treebank.values() for tree in part]


def test_generator_makes_the_files_byte_for_byte(generator: ModuleType, tmp_path: Path) -> None:
    generator.write(tmp_path)
    for part in SIZES:
        name = f"demo-ud-{part}.conllu"
        assert (tmp_path / name).read_bytes() == (DEMO / name).read_bytes(), f"{name}: run generate.py"


def test_generator_doctests(generator: ModuleType) -> None:
    result = doctest.testmod(generator)
    assert result.attempted
    assert not result.failed


def test_rows_are_well_formed(trees: list[Tree]) -> None:
    assert {width for tree in trees for width in tree.widths} == {10}
    for tree in trees:
        assert [row[0] for row in tree.words] == [str(i) for i in range(1, len(tree.words) + 1)]
        assert tree.comments["text"] == tree.text()
        assert all((row[7] == "root") == (row[6] == "0") for row in tree.words)
        assert all((row[7] == "punct") == (row[3] == "PUNCT") for row in tree.words)


def test_every_tree_has_one_root_and_no_cycle(trees: list[Tree]) -> None:
    for tree in trees:
        assert tree.heads.count(0) == 1
        assert all(reaches_root(tree.heads, word) for word in range(1, len(tree.heads) + 1))


def test_readme_has_the_tag_counts(treebank: dict[str, list[Tree]]) -> None:
    counts = {part: Counter(tag for tree in treebank[part] for tag in tree.tags) for part in SIZES}
    rows = re.findall(r"^\| ([A-Z]+) \|(.*)\|$", (DEMO / "README.md").read_text(encoding="utf-8"), re.M)
    shown = {tag: [int(n) for n in cells.split("|")] for tag, cells in rows}
    expected = {tag: [counts[part][tag] for part in SIZES] for tag in TAGS}
    assert shown == {tag: [*numbers, sum(numbers)] for tag, numbers in expected.items()}

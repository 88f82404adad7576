"""The demo treebank is what its generator makes, is well-formed, and is neither trivial nor hopeless."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from random import Random
from types import ModuleType

import conllu
import pytest

DEMO = Path(__file__).parents[1] / "resources" / "demo"
SIZES = {"train": 600, "dev": 100, "test": 200}
TAGS = {"NOUN", "PROPN", "PRON", "VERB", "AUX", "ADJ", "ADV", "DET", "NUM"}
TAGS |= {"ADP", "CONJ", "SCONJ", "PART", "INTJ", "SYM", "X", "PUNCT"}
RULES = {
    ("ROOT", "VERB"),
    ("ROOT", "NOUN"),
    ("VERB", "NOUN"),
    ("VERB", "ADV"),
    ("VERB", "VERB"),
    ("VERB", "AUX"),
    ("NOUN", "ADJ"),
    ("NOUN", "DET"),
    ("NOUN", "NUM"),
    ("NOUN", "NOUN"),
    ("NOUN", "CONJ"),
    ("NOUN", "ADP"),
    ("ADJ", "ADV"),
}


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

    def without_punctuation(self) -> tuple[list[str], list[int]]:
        """Tags and heads; children of a removed mark climb to its nearest kept ancestor."""
        kept = [i for i, tag in enumerate(self.tags, 1) if tag != "PUNCT"]
        position = {0: 0, **{i: k for k, i in enumerate(kept, 1)}}
        heads = []
        for i in kept:
            head = self.heads[i - 1]
            while head not in position:
                head = self.heads[head - 1]
            heads.append(position[head])
        return [self.tags[i - 1] for i in kept], heads


def span(row: list[str]) -> tuple[int, int]:
    first, last = row[0].split("-")
    return int(first), int(last) + 1


def is_projective(heads: list[int]) -> bool:
    arcs = [(min(h, d), max(h, d)) for d, h in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def reaches_root(heads: list[int], word: int) -> bool:
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


def accuracy(trees: list[list[int]], guesses: list[list[int]]) -> float:
    right = sum(a == b for gold, guess in zip(trees, guesses) for a, b in zip(gold, guess))
    return right / sum(map(len, trees))


def random_transitions(n: int, rng: Random) -> list[int]:
    """Heads from uniformly drawn legal arc-standard moves."""
    heads, stack, seen = [0] * n, [], 0
    while seen < n or len(stack) > 1:
        moves = ["shift"] * (seen < n) + ["left", "right"] * (len(stack) > 1)
        move = moves[int(rng.random() * len(moves))]
        if move == "shift":
            seen += 1
            stack.append(seen)
        else:
            dependent = stack.pop(-2 if move == "left" else -1)
            heads[dependent - 1] = stack[-1]
    return heads


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


def test_sizes_and_lengths(treebank: dict[str, list[Tree]], trees: list[Tree]) -> None:
    assert {part: len(sentences) for part, sentences in treebank.items()} == SIZES
    assert all(len(tree.tags) <= 22 for tree in trees)
    lengths = [len(tree.without_punctuation()[0]) for tree in trees]
    assert (min(lengths), max(lengths)) == (2, 20)
    assert 8 < sum(lengths) / len(lengths) < 10


def test_rows_are_well_formed(trees: list[Tree]) -> None:
    assert {width for tree in trees for width in tree.widths} == {10}
    for tree in trees:
        assert [row[0] for row in tree.words] == [str(i) for i in range(1, len(tree.words) + 1)]
        assert tree.comments["text"] == tree.text()
        assert all((row[7] == "root") == (row[6] == "0") for row in tree.words)
        assert all((row[7] == "punct") == (row[3] == "PUNCT") for row in tree.words)


def test_sentence_ids_are_unique_and_no_sentence_is_repeated(trees: list[Tree]) -> None:
    assert len({tree.comments["sent_id"] for tree in trees}) == len(trees)
    assert len({tree.comments["text"] for tree in trees}) == len(trees)


def test_every_tree_has_one_root_and_no_cycle(trees: list[Tree]) -> None:
    for tree in trees:
        assert tree.heads.count(0) == 1
        assert all(reaches_root(tree.heads, word) for word in range(1, len(tree.heads) + 1))


def test_punctuation_is_a_leaf_and_crosses_nothing_of_its_own(trees: list[Tree]) -> None:
    for tree in trees:
        marks = {i for i, tag in enumerate(tree.tags, 1) if tag == "PUNCT"}
        assert not marks & set(tree.heads)
        assert is_projective(tree.heads) == is_projective(tree.without_punctuation()[1])


@pytest.mark.parametrize("part", SIZES)
def test_a_few_trees_are_not_projective(treebank: dict[str, list[Tree]], part: str) -> None:
    n_crossing = sum(not is_projective(tree.without_punctuation()[1]) for tree in treebank[part])
    assert 0.015 < n_crossing / SIZES[part] < 0.045


@pytest.mark.parametrize("part", SIZES)
def test_every_tag_occurs_and_the_writer_has_work(treebank: dict[str, list[Tree]], part: str) -> None:
    assert {tag for tree in treebank[part] for tag in tree.tags} == TAGS
    assert sum(len(tree.ranges) for tree in treebank[part]) >= 5
    assert sum(len(tree.empty) for tree in treebank[part]) == 1


def test_readme_has_the_tag_counts(treebank: dict[str, list[Tree]]) -> None:
    counts = {part: Counter(tag for tree in treebank[part] for tag in tree.tags) for part in SIZES}
    rows = re.findall(r"^\| ([A-Z]+) \|(.*)\|$", (DEMO / "README.md").read_text(encoding="utf-8"), re.M)
    shown = {tag: [int(n) for n in cells.split("|")] for tag, cells in rows}
    expected = {tag: [counts[part][tag] for part in SIZES] for tag in TAGS}
    assert shown == {tag: [*numbers, sum(numbers)] for tag, numbers in expected.items()}


@pytest.mark.parametrize("part", ["dev", "test"])
def test_the_conllu_library_reads_the_same_trees(treebank: dict[str, list[Tree]], part: str) -> None:
    parsed = conllu.parse((DEMO / f"demo-ud-{part}.conllu").read_text(encoding="utf-8"))
    heads = [[row["head"] for row in sentence if isinstance(row["id"], int)] for sentence in parsed]
    assert heads == [tree.heads for tree in treebank[part]]


def test_branching_and_chance_are_poor_parsers(treebank: dict[str, list[Tree]]) -> None:
    gold = [tree.without_punctuation()[1] for tree in treebank["test"]]
    rng = Random(0)
    assert accuracy(gold, [[*range(2, len(heads) + 1), 0] for heads in gold]) < 0.4  # left: head = next word
    assert accuracy(gold, [list(range(len(heads))) for heads in gold]) < 0.4
    chance = [accuracy(gold, [random_transitions(len(heads), rng) for heads in gold]) for _ in range(10)]
    assert 0.15 < sum(chance) / len(chance) < 0.25


def test_the_rules_license_most_arcs_but_not_all(trees: list[Tree]) -> None:
    arcs: Counter[bool] = Counter()
    for tags, heads in (tree.without_punctuation() for tree in trees):
        arcs.update((["ROOT", *tags][head], tag) in RULES for tag, head in zip(tags, heads))
    assert 0.6 < arcs[True] / sum(arcs.values()) < 0.7


def test_words_are_zipfian_and_some_are_new_in_the_test_part(treebank: dict[str, list[Tree]]) -> None:
    train = Counter(form for tree in treebank["train"] for form in tree.forms)
    test = [form for tree in treebank["test"] for form in tree.forms]
    assert sum(n == 1 for n in train.values()) > len(train) / 3
    assert 0.05 < sum(form not in train for form in test) / len(test) < 0.2

"""The README: its blocks run in order on cuts of the demo treebank, and show what the program
prints."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from shell import Vdgi

import dynet_vdgi as vdgi_package
from dynet_vdgi import cli
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.explanation import idle_facts
from dynet_vdgi.rule_tables.facts import parse_facts
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "resources" / "demo"
README = (ROOT / "README.md").read_text(encoding="utf-8")

_BLOCK = re.compile(r"(<!-- not run: needs [^\n]+ -->\n)?```(\w*)\n(.*?)```", re.DOTALL)


class Block(NamedTuple):
    """A code block; `is_run` unless a comment above it says what it needs."""

    language: str
    text: str
    is_run: bool


def blocks() -> list[Block]:
    """All code blocks, in order."""
    return [Block(match[2], match[3], not match[1]) for match in _BLOCK.finditer(README)]


def commands(text: str) -> Iterator[list[str]]:
    """The command lines of a block, split as a shell does, without comments."""
    for line in text.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words:
            yield words


def shown_commands() -> list[list[str]]:
    """The lines of all blocks that call `vdgi`."""
    lines = [
        words for block in blocks() if block.language == "sh" for words in commands(block.text)
    ]
    return [words for words in lines if words[0] == "vdgi"]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 120


def test_every_block_is_run_or_says_what_it_needs() -> None:
    found = blocks()
    assert len(found) == README.count("```") / 2
    assert [block.language for block in found if block.is_run].count("python") == 1
    assert len([block for block in found if not block.is_run]) == 2


@pytest.mark.parametrize("words", shown_commands(), ids=" ".join)
def test_commands_are_understood(words: list[str]) -> None:
    arguments = cli.build_parser().parse_args(words[1:])
    assert callable(arguments.run)


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    assert len(links) > 15
    assert [
        link for link in links if not link.startswith("http") and not (ROOT / link).exists()
    ] == []


def without_figures(text: str) -> str:
    """A page without code, links and the figures that `experiments/figures.py` writes."""
    text = re.sub(r"<!-- figure [\w.-]+ -->.*?<!-- end -->", "", text, flags=re.DOTALL)
    return re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_every_accuracy_is_a_figure_of_committed_rows(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text.count("<!-- figure ") >= 2
    assert re.findall(r"\b\d\d\.\d\b", without_figures(text)) == []


def facts_file() -> str:
    """The lines of a file of facts that the README shows."""
    lines = re.search(r"lines such as `([^`]+)` and\s`([^`]+)`", README)
    assert lines is not None
    return f"{lines[1]}\n{lines[2]}\n"


def test_the_facts_that_it_shows_do_something() -> None:
    rules = load_rules(rules_path("best"))
    text = list(reading.read(DEMO / "demo-ud-dev.conllu", heads="ignored"))
    assert idle_facts(rules, text, parse_facts(facts_file(), rules)) == []


def test_the_drawn_tree_is_what_the_program_prints(folder: Path, vdgi: Vdgi) -> None:
    first, drawn = blocks()[:2]
    *others, (_, *draw) = commands(first.text)
    Path("resources").symlink_to(ROOT / "resources")
    for _, *words in others:
        vdgi.good(*words)
    assert vdgi.good(*draw).out.rstrip() == drawn.text.rstrip()


def shortest(part: str, n_sentences: int) -> list[Sentence]:
    """The shortest sentences of a part of the demo treebank, so that training is quick."""
    every = [s for s in reading.read(DEMO / f"demo-ud-{part}.conllu") if len(s) > 3]
    return sorted(every, key=len)[:n_sentences]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_blocks_run_in_order(folder: Path, vdgi: Vdgi) -> None:
    train, test = shortest("train", 150), shortest("test", 20)
    for name, sentences in {
        "my.conllu": train[:60],
        "eu.conllu": train[:60],
        "fr.conllu": train[60:120],
        "corrected.conllu": train[120:],
        "treebank.conllu": train[:60],
        "new.conllu": test,
        "gold.conllu": test,
    }.items():
        vdgi_package.write(sentences, name)
    Path("resources").symlink_to(ROOT / "resources")
    Path("facts.txt").write_text(facts_file(), encoding="utf-8")
    n_run = 0
    for block in blocks():
        if not block.is_run or block.language not in ("sh", "python"):
            continue
        if block.language == "python":
            exec(compile(block.text, "README.md", "exec"), {})
            n_run += 1
            continue
        for words in commands(block.text):
            assert words[0] == "vdgi", f"cannot run {words[0]}"
            vdgi.good(*words[1:])
            n_run += 1
    assert n_run >= 15
    for made in ("runs/my/model.vdgi", "welsh.trees.conllu", "out.conllu", "my.vdgi"):
        assert Path(made).stat().st_size > 0
    assert "HeadConf=" in Path("sure.conllu").read_text(encoding="utf-8")

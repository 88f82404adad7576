"""The README: its blocks run in order on cuts of the demo treebank, and show what the program prints."""

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
from dynet_vdgi.data import conllu
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.explanation import idle_facts
from dynet_vdgi.grammar.facts import parse_facts
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path

ROOT = Path(__file__).parents[1]
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
    lines = [words for block in blocks() if block.language == "sh" for words in commands(block.text)]
    return [words for words in lines if words[0] == "vdgi"]


# ------------------------------------------------------------------------------------------- what it says
def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 120


def test_every_block_is_run_or_says_what_it_needs() -> None:
    found = blocks()
    assert len(found) == README.count("```") / 2
    assert [block.language for block in found if block.is_run].count("python") == 1
    assert len([block for block in found if not block.is_run]) == 3


@pytest.mark.parametrize("words", shown_commands(), ids=" ".join)
def test_commands_are_understood(words: list[str]) -> None:
    arguments = cli.build_parser().parse_args(words[1:])
    assert callable(arguments.run)


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    assert len(links) > 15
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []


def cells(row: str) -> list[str]:
    """The figures in the row of the README's table that begins like this."""
    found = re.search(rf"^\| {re.escape(row)}[^|]*\|(.*)\|$", README, re.MULTILINE)
    assert found is not None, row
    return [cell.strip() for cell in found[1].split("|")]


def page(name: str) -> str:
    """A page of results."""
    return (ROOT / "docs" / "results" / f"{name}.md").read_text(encoding="utf-8")


def test_accuracies_are_those_of_the_results() -> None:
    """Every figure of the README's table is a mean of a page of results, of the system that it names."""
    of_best = re.findall(r"^\| best \| \*\*([\d./]+)\*\*", page("knowledge"), re.MULTILINE)
    assert cells("none at all") == [of_best[1], of_best[0]]
    universal = re.search(r"^\| shipped model \| \*\*([\d./]+)\*\*", page("universal"), re.MULTILINE)
    assert universal is not None
    assert cells("of other languages") == [universal[1], ""]
    learner, of_udpipe = (
        next(re.findall(rf"^\| {name} \| (.*) \|$", page("few-trees"), re.MULTILINE).__iter__()).split(" | ")
        for name in ("this", "UDPipe")
    )
    assert cells("100 of this language, `") == ["", learner[3]]
    assert cells("300 of this language") == ["", learner[4]]
    assert cells("100 of this language, U") == ["", of_udpipe[2]]


def test_the_first_page_of_the_documentation_has_the_same_figures() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    rows = cells("of other languages")[0], cells("none at all")[0]
    assert re.findall(r"(\d\d\.\d) %", index) == [row.partition("/")[0] for row in rows]


def test_the_papers_figures_are_those_of_the_summary() -> None:
    said = re.findall(r"(\d\d\.\d)/(\d\d\.\d)", README.partition("## The paper")[2])
    assert len(said) == 3
    assert [pair for pair in said if f"| {pair[0]} | {pair[1]} |" not in page("index")] == []


def facts_file() -> str:
    """The lines of a file of facts that the README shows."""
    lines = re.search(r"lines such as `([^`]+)` and\s`([^`]+)`", README)
    assert lines is not None
    return f"{lines[1]}\n{lines[2]}\n"


def test_the_facts_that_it_shows_do_something() -> None:
    rules = load_rules(rules_path("best"))
    text = list(conllu.read(DEMO / "demo-ud-dev.conllu", heads="ignored"))
    assert idle_facts(rules, text, parse_facts(facts_file(), rules)) == []


# ------------------------------------------------------------------------------------------- what it does
def test_the_drawn_tree_is_what_the_program_prints(folder: Path, vdgi: Vdgi) -> None:
    block = next(block for block in blocks() if block.text.startswith("$ vdgi draw"))
    command, _, drawn = block.text.partition("\n")
    words = next(commands(command))
    vdgi.good("parse", "universal", DEMO / "welsh.conllu", "-o", words[2])
    assert vdgi.good(*words[1:]).out.rstrip() == drawn.rstrip()


def shortest(part: str, n_sentences: int) -> list[Sentence]:
    """The shortest sentences of a part of the demo treebank, so that training is quick."""
    every = [s for s in conllu.read(DEMO / f"demo-ud-{part}.conllu") if len(s) > 3]
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
        "tagged.conllu": train[:60],
        "new.conllu": test,
        "gold.conllu": test,
    }.items():
        vdgi_package.write(sentences, name)
    Path("raw.txt").write_text("Wa peku zegrun sebal. Relem tolu zim.\n", encoding="utf-8")
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
    for made in ("runs/my/model.vdgi", "my.html", "trees.conllu", "out.conllu", "my.vdgi"):
        assert Path(made).stat().st_size > 0
    assert "HeadConf=" in Path("doubts.conllu").read_text(encoding="utf-8")

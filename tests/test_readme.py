"""The README: its blocks run in order on cuts of the demo treebank, and show what the program prints."""

from __future__ import annotations

import csv
import re
import shlex
import statistics
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
    assert len(README.splitlines()) < 190


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


def test_accuracies_are_those_of_the_results() -> None:
    """Every row of the README's table is one of the summary of docs/results."""
    summary = (ROOT / "docs" / "results" / "index.md").read_text(encoding="utf-8")
    figures = re.findall(r"\| \**(\d\d\.\d)\** \| \**(\d\d\.\d)\** \|", README)
    assert len(figures) == 7
    assert [pair for pair in figures if f"| {pair[0]} | {pair[1]} |" not in summary] == []


def test_the_first_page_of_the_documentation_has_the_accuracy_of_the_default() -> None:
    first = re.search(r"^\| \*\*`best`.*?\*\*(\d\d\.\d)\*\*", README, re.MULTILINE)
    assert first is not None
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"(\d\d\.\d) % of the words", index) == [first[1]]


def test_it_says_which_treebanks_were_looked_at_and_what_the_others_give() -> None:
    """In the words of the page of results, with the mean of its rows."""
    page = ROOT / "docs" / "results" / "knowledge.md"
    said = re.search(r"No weight was chosen on .*?\.\d\.$", README, re.MULTILINE | re.DOTALL)
    assert said is not None
    assert said[0] in page.read_text(encoding="utf-8")
    with page.with_suffix(".csv").open(newline="", encoding="utf-8") as handle:
        figures = {
            row["language"]: (float(row["short"]), float(row["long"]))
            for row in csv.DictReader(handle)
            if (row["set"], row["system"], row["scored"], row["decoder"])
            == ("check", "best", "test", "student")
        }
    untouched = [pair for language, pair in figures.items() if language not in ("cy", "kmr", "bm")]
    assert (len(figures), len(untouched)) == (11, 8)
    means = [f"{statistics.mean(column):.1f}" for column in zip(*untouched)]
    assert said[0].endswith(f"other eight is {'/'.join(means)}.")


def facts_file() -> str:
    """The lines of a file of facts that the README shows."""
    lines = re.search(r"lines such as `([^`]+)` and\s`([^`]+)`", README)
    assert lines is not None
    return f"{lines[1]}\n{lines[2]}\n"


def test_the_facts_that_it_shows_do_something() -> None:
    rules = load_rules(rules_path("best"))
    text = list(conllu.read(DEMO / "demo-ud-dev.conllu", heads="ignored"))
    assert idle_facts(rules, text, parse_facts(facts_file(), rules)) == []


def test_the_first_row_is_what_its_command_gave() -> None:
    """The averages of the plan's table on the page of results."""
    page = (ROOT / "docs" / "results" / "knowledge.md").read_text(encoding="utf-8")
    command = re.search(r"^vdgi experiment (\S+) ", README, re.MULTILINE)
    assert command is not None
    made = page.partition(f"vdgi experiment {command[1]} ")[2]
    averages = re.findall(r"^\| best \|.*\| (\d\d\.\d) \([^|]*\|$", made, re.MULTILINE)
    first = re.search(r"^\| \*\*`best`.*?\*\*(\d\d\.\d)\*\* \| \*\*(\d\d\.\d)\*\*", README, re.MULTILINE)
    assert first is not None
    assert averages[:2] == list(first.groups())


# ------------------------------------------------------------------------------------------- what it does
def test_the_drawn_tree_is_what_the_program_prints(folder: Path, vdgi: Vdgi) -> None:
    block = next(block for block in blocks() if block.text.startswith("$ vdgi draw"))
    command, _, drawn = block.text.partition("\n")
    words = next(commands(command))
    run = Path(words[2]).parent
    vdgi.good("train", "--train", DEMO / "demo-ud-train.conllu", "--out", run)
    vdgi.good("parse", run, DEMO / "demo-ud-test.conllu", "-o", words[2])
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
        "new.conllu": test,
        "gold.conllu": test,
    }.items():
        vdgi_package.write(sentences, name)
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
    for made in ("runs/my/model.vdgi", "my.html", "runs/sn/model.vdgi", "out.conllu", "my.vdgi"):
        assert Path(made).stat().st_size > 0
    assert "HeadProb=" in Path("new.probs.conllu").read_text(encoding="utf-8")
